"""From links and source trees to rules: tree-to-string extraction (Galley et al. 2004, 2006).

The *span* of a node is what its words are linked to, from the first to the last target word. A node is on
the *frontier* if its span is not empty and no word outside the node is linked into it. A rule is a fragment
of the tree below a node of the frontier: each node in it has all its children, and where it ends there are
words or other nodes of the frontier, the non-terminals. The target side is the node's span, with the spans
of the non-terminals taken out. In a *minimal* rule every node of the frontier below the root is a
non-terminal; a rule *composed* of k minimal ones goes on below k − 1 of them.

Target words without links inside a span belong to the lowest rule around them; those at the edges of the
sentence to none.

A rule's source side is the fragment in brackets, with the symbols apart:

    [NP] ||| (NP (DT la ) [NN,1] (JJ verde ) ) ||| the green [NN,1] ||| EgivenF=-0.2
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dualign._core.fields import check_value
from dualign.text.brackets import Tree
from dualign.text.checks import same_length
from dualign.text.links import Alignment
from dualign.translate.rules.grammar import Rule, Symbol, is_markup
from dualign.translate.rules.hiero import linked_text, ranked, rule_of

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TreeExtraction:
    """Settings: most minimal rules in one, most words and non-terminals on a source side, least count of
    a composed rule, most target sides for one source side."""

    parts: int = 3
    symbols: int = 8
    least: int = 2
    limit: int = 20

    def __post_init__(self) -> None:
        for name in ("parts", "symbols", "least", "limit"):
            check_value(name, getattr(self, name), least=1)


class Fragment(NamedTuple):
    """One place of a rule: its two sides, of how many minimal rules it is made, and the positions of its
    words in the two sentences."""

    source: tuple[str, ...]
    target: tuple[Symbol, ...]
    parts: int
    source_at: tuple[int, ...]
    target_at: tuple[int, ...]


def extract_from_trees(
    pairs: Sequence[tuple[Sequence[str], Sequence[str]]],
    trees: Sequence[Tree | None],
    alignments: Sequence[Alignment],
    settings: TreeExtraction | None = None,
) -> Iterator[Rule]:
    """Return the rules of linked sentence pairs whose sources have trees (None: left out), sorted by source
    side.

    Features are those of `hiero`. A sentence pair counts a rule once; the best of its lexical weights count.
    """
    settings = settings or TreeExtraction()
    same_length(("the text", len(pairs)), ("the list of trees", len(trees)), unit="sentences")
    text, _, _ = linked_text(pairs, alignments)
    # Of each rule: count, lexical weights, fewest parts.
    table: dict[tuple[tuple[str, ...], tuple[Symbol, ...]], list[float]] = {}
    for n, (tree, (_, target)) in enumerate(zip(trees, pairs, strict=True)):
        if tree is None:
            continue
        source_weight = text.source_weight[text.source_begin[n] : text.source_begin[n + 1]].tolist()
        target_weight = text.target_weight[text.target_begin[n] : text.target_begin[n + 1]].tolist()
        links = text.link[text.begin[n] : text.begin[n + 1]].tolist()
        seen: set[tuple[tuple[str, ...], tuple[Symbol, ...]]] = set()
        for found in fragments(tree, target, links, settings):
            key = found.source, found.target
            forward = sum(target_weight[j] for j in found.target_at)
            backward = sum(source_weight[i] for i in found.source_at)
            entry = table.setdefault(key, [0, forward, backward, found.parts])
            entry[0] += key not in seen
            entry[1:] = max(entry[1], forward), max(entry[2], backward), min(entry[3], found.parts)
            seen.add(key)
    return _rules(table, settings)


def _rules(
    table: dict[tuple[tuple[str, ...], tuple[Symbol, ...]], list[float]], settings: TreeExtraction
) -> Iterator[Rule]:
    keys = sorted(table, key=lambda key: (key[0], tuple(map(str, key[1]))))
    counts = np.array([table[key][0] for key in keys], np.float64)
    sources, targets = [source for source, _ in keys], [target for _, target in keys]
    for r, *frequencies in ranked(sources, targets, counts, settings.limit):
        source, target = keys[r]
        count, forward, backward, parts = table[keys[r]]
        if parts == 1 or count >= settings.least:
            open_ = any(isinstance(symbol, int) for symbol in target)
            yield rule_of(source[0][1:], source, target, (*frequencies, forward, backward), open_)


def fragments(
    tree: Tree, target: Sequence[str], links: Sequence[Sequence[int]], settings: TreeExtraction
) -> Iterator[Fragment]:
    """Return every place of every rule in one sentence pair."""
    spans = frontier(tree, links, len(target))
    for n in tree.nodes:
        if n in spans:
            for source, holes, parts, words in _below(tree, n, spans, settings):
                made = _target_side(target, spans[n], [spans[h] for h in holes])
                if made is not None:
                    yield Fragment(source, made[0], parts, words, made[1])


def frontier(tree: Tree, links: Sequence[Sequence[int]], length: int) -> dict[int, Span]:
    """Return the nodes of the frontier and their spans in the target sentence."""
    forward: list[list[int]] = [[] for _ in range(tree.words[-1])]
    backward: list[list[int]] = [[] for _ in range(length)]
    for i, j in links:
        forward[i].append(j)
        backward[j].append(i)
    spans: dict[int, Span] = {}
    for n in tree.nodes:
        begin, end = tree.words[n], tree.words[tree.after[n]]
        linked = [j for i in range(begin, end) for j in forward[i]]
        if linked:
            low, high = min(linked), max(linked) + 1
            if all(begin <= i < end for j in range(low, high) for i in backward[j]):
                spans[n] = low, high
    return spans


def _below(
    tree: Tree, n: int, spans: dict[int, Span], settings: TreeExtraction
) -> Iterator[tuple[tuple[str, ...], tuple[int, ...], int, tuple[int, ...]]]:
    """Return all fragments with root n: symbols, non-terminals, parts, positions of the words."""
    end = tree.after[n]
    agenda: list[tuple[int, tuple[str, ...], tuple[int, ...], int, tuple[int, ...]]] = [
        (n + 1, (tree.tokens[n],), (), 1, ())
    ]
    while agenda:
        p, before, holes, parts, words = agenda.pop()
        source = list(before)
        while p < end and len(holes) + len(words) <= settings.symbols:
            token = tree.tokens[p]
            if p in spans:
                if parts < settings.parts:
                    agenda.append((p + 1, (*source, token), holes, parts + 1, words))
                source.append(f"[{token[1:]}]")
                holes = (*holes, p)
                p = tree.after[p]
                continue
            if token[0] not in "()":
                words = (*words, tree.words[p])
            source.append(token)
            p += 1
        if p == end and len(holes) + len(words) <= settings.symbols:
            yield tuple(source), holes, parts, words


def _target_side(
    target: Sequence[str], span: Span, holes: list[Span]
) -> tuple[tuple[Symbol, ...], tuple[int, ...]] | None:
    """Return symbols, and positions of the words; None if a word would read as markup."""
    hole_at = {low: (number, high) for number, (low, high) in enumerate(holes)}
    symbols: list[Symbol] = []
    words = []
    j = span[0]
    while j < span[1]:
        if j in hole_at:
            number, j = hole_at[j]
            symbols.append(number)
            continue
        if is_markup(target[j]):
            return None
        symbols.append(target[j])
        words.append(j)
        j += 1
    return tuple(symbols), tuple(words)
