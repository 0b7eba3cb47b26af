"""Constituent trees in the brackets of the Penn Treebank, one tree per line.

    (S (NP (DT la) (NN casa)) (VP (VBZ es) (JJ verde)))

A node is `(`, its label, and its children, which are nodes or words. A label that is left out, as that of the
outermost brackets often is, becomes `TOP`. Words write brackets as `-LRB-`, `-RRB-`, `-LSB-` and `-RSB-`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from sys import intern

from dualign._core.errors import DataError
from dualign._core.files.streams import FilePath
from dualign.text.checks import in_step
from dualign.text.utf8 import parsed, read_lines, tokenize

_SYMBOL = re.compile(r"[()]|[^()\s]+")
_ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "|||": "-BARS-"}


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree in the order of its text.

    `tokens` has `(label` where a node begins, `)` where it ends, and words between. `after[p]` is the place
    after the node or word that begins at p; `words[p]` is the number of words before p, with one entry more
    for the end.
    """

    tokens: tuple[str, ...]
    after: tuple[int, ...]
    words: tuple[int, ...]

    @property
    def nodes(self) -> Iterator[int]:
        """Where nodes begin, the last first: children come before their parents."""
        return (p for p in reversed(range(len(self.tokens))) if self.is_node(p))

    def is_node(self, p: int) -> bool:
        """Return whether a node begins at p."""
        return self.tokens[p][0] == "("

    def children(self, p: int) -> Iterator[int]:
        """Return where the children of the node at p begin, nodes and words."""
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
    """Return a word as a leaf of a tree: without brackets, and without the bars that part the fields of a
    rule."""
    for text, name in _ESCAPES.items():
        word = word.replace(text, name)
    return word


def unescaped(leaf: str) -> str:
    """Return the word of a leaf."""
    for text, name in _ESCAPES.items():
        leaf = leaf.replace(name, text)
    return leaf


def parse_tree(text: str) -> Tree:
    """Read one tree."""
    tokens: list[str] = []
    after: list[int] = []
    words: list[int] = []
    opened: list[int] = []
    count = 0
    symbols = _SYMBOL.findall(" ".join(tokenize(text)))
    for number, symbol in enumerate(symbols):
        if tokens and not opened:
            raise DataError(f"{symbol!r} comes after the end of the tree; write one tree per line")
        if symbol == ")":
            if not opened:
                raise DataError("`)` without its `(`; are the brackets balanced?")
            begin = opened.pop()
            if len(tokens) == begin + 1:
                raise DataError(f"the node {tokens[begin]}) has no words; leave it out")
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
            raise DataError(f"{symbol[:40]!r} stands outside all brackets; write (label word …)")
        tokens.append(intern(symbol if symbol[0] in "()" else escaped(symbol)))
        after.append(len(tokens))
        words.append(count)
        count += symbol[0] not in "()"
    if opened:
        raise DataError(f"{len(opened)} `(` without `)`; are the brackets balanced?")
    if not tokens:
        raise DataError("no tree; write (label word …)")
    return Tree(tuple(tokens), tuple(after), (*words, count))


def read_trees(path: FilePath, errors: str = "strict") -> Iterator[Tree | None]:
    """Return the trees of a file, one per line; None for an empty line, and for `()` and `(())`, which
    parsers write if they fail."""
    path = os.fspath(path)
    return parsed(path, read_lines(path, errors), _tree_or_none)


def _tree_or_none(line: str) -> Tree | None:
    return parse_tree(line) if line.replace("(", "").replace(")", "").strip() else None


def trees_of(path: str, sentences: Iterable[Sequence[str]], errors: str = "strict") -> Iterator[Tree | None]:
    """Return the trees of a file that belongs to these sentences, line by line: their leaves must be the
    words."""
    trees = read_trees(path, errors)
    both = in_step((path, trees), ("the text", sentences), remedy="write one tree per sentence")
    for number, (tree, sentence) in enumerate(both, 1):
        if tree is not None:
            for at, (leaf, word) in enumerate(zip_longest(tree.leaves, map(escaped, sentence)), 1):
                if leaf != word:
                    raise DataError(
                        f"{path}:{number}: word {at} is {leaf or 'missing'!r} in the tree and "
                        f"{word or 'missing'!r} in the text; parse the text as it is tokenised"
                    )
        yield tree
