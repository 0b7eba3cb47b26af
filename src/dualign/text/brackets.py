"""Constituent trees in the brackets of the Penn Treebank, one tree a line.

    (S (NP (DT la) (NN casa)) (VP (VBZ es) (JJ verde)))

A node is `(`, its label, and its children, which are nodes or words. A label that is left out, as that of the
outermost brackets often is, becomes `TOP`. Words write brackets as `-LRB-`, `-RRB-`, `-LSB-` and `-RSB-`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from sys import intern

from dualign.core.errors import DataError
from dualign.text.lines import read_lines, tokenize

_SYMBOL = re.compile(r"[()]|[^()\s]+")
_ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "|||": "-BARS-"}


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree in the order of its text.

    `tokens` has `(label` where a node begins, `)` where it ends, and words between. `after[p]` is the place
    behind the node that begins at p, or behind the word there; `words[p]` the number of words before p, with
    one entry more for the end.
    """

    tokens: tuple[str, ...]
    after: tuple[int, ...]
    words: tuple[int, ...]

    @property
    def nodes(self) -> Iterator[int]:
        """Where nodes begin, the last first: children come before their parents."""
        return (p for p in reversed(range(len(self.tokens))) if self.is_node(p))

    def is_node(self, p: int) -> bool:
        """Whether a node begins at p."""
        return self.tokens[p][0] == "("

    def children(self, p: int) -> Iterator[int]:
        """Where the children of the node at p begin, nodes and words."""
        at = p + 1
        while at < self.after[p] - 1:
            yield at
            at = self.after[at]

    @property
    def leaves(self) -> list[str]:
        """The words."""
        return [token for token in self.tokens if token[0] not in "()"]

    def __str__(self) -> str:
        return " ".join(self.tokens).replace(" )", ")")


def escaped(word: str) -> str:
    """A word as a leaf of a tree: without brackets, and without the bars that part the fields of a rule."""
    for text, name in _ESCAPES.items():
        word = word.replace(text, name)
    return word


def unescaped(leaf: str) -> str:
    """The word of a leaf."""
    for text, name in _ESCAPES.items():
        leaf = leaf.replace(name, text)
    return leaf


def parse_tree(text: str, place: str = "tree") -> Tree:
    """Read one tree; `place` stands in messages."""
    tokens: list[str] = []
    after: list[int] = []
    words: list[int] = []
    opened: list[int] = []
    count = 0
    symbols = _SYMBOL.findall(" ".join(tokenize(text)))
    for number, symbol in enumerate(symbols):
        if tokens and not opened:
            raise DataError(f"{place}: {symbol!r} comes after the end of the tree; write one tree a line")
        if symbol == ")":
            if not opened:
                raise DataError(f"{place}: `)` without its `(`; are the brackets balanced?")
            begin = opened.pop()
            if len(tokens) == begin + 1:
                raise DataError(f"{place}: the node {tokens[begin]}) has no words; leave it out")
            after[begin] = len(tokens) + 1
        elif symbol == "(":
            opened.append(len(tokens))
            following = symbols[number + 1] if number + 1 < len(symbols) else "("
            # A comma or bracket in a label would read as markup in a rule.
            label = "TOP" if following in "()" else escaped(following).replace(",", "-COMMA-")
            symbol = f"({label}"
        elif symbols[number - 1] == "(" and number:
            continue  # the label
        elif not opened:
            raise DataError(f"{place}: {symbol[:40]!r} stands outside all brackets; write (label word …)")
        tokens.append(intern(symbol if symbol[0] in "()" else escaped(symbol)))
        after.append(len(tokens))
        words.append(count)
        count += symbol[0] not in "()"
    if opened:
        raise DataError(f"{place}: {len(opened)} `(` without `)`; are the brackets balanced?")
    if not tokens:
        raise DataError(f"{place}: no tree; write (label word …)")
    return Tree(tuple(tokens), tuple(after), (*words, count))


def read_trees(path: str, errors: str = "strict") -> Iterator[Tree | None]:
    """The trees of a file, one a line; None for an empty line, or `()` or `(())`, which parsers write where
    they fail."""
    for number, line in enumerate(read_lines(path, errors), 1):
        empty = not line.translate({ord("("): None, ord(")"): None}).strip()
        yield None if empty else parse_tree(line, f"{path}:{number}")


def trees_of(path: str, sentences: Iterable[Sequence[str]], errors: str = "strict") -> Iterator[Tree | None]:
    """The trees of a file that belongs to these sentences, line by line: their leaves must be the words."""
    count = 0
    for count, (tree, sentence) in enumerate(
        zip_longest(read_trees(path, errors), sentences, fillvalue=...), 1
    ):
        if tree is ... or sentence is ...:
            which = "fewer" if tree is ... else "more"
            raise DataError(f"{path}: {which} lines than the text has; write one tree for each sentence")
        if tree is not None:
            for at, (leaf, word) in enumerate(zip_longest(tree.leaves, map(escaped, sentence)), 1):
                if leaf != word:
                    raise DataError(
                        f"{path}:{count}: word {at} is {leaf or 'missing'!r} in the tree and "
                        f"{word or 'missing'!r} in the text; parse the text as it is tokenised"
                    )
        yield tree
