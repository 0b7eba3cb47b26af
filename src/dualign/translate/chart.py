"""Parsing a source sentence with a synchronous grammar into the forest of its translations.

Bottom-up over spans of the source: a dotted item is a node of the grammar's tree of source sides and the
chart vertices behind its non-terminals. Rules with left-hand side X cover at most `span` words. A word with
no rule of its own is copied (feature `Copy`). Above them stand the *glue* rules of Chiang (2007), which
join any pieces in order: `S → X` and `S → S X` (feature `Glue`).

Each vertex of the forest is a pair of a label and a span; leaves are shared among the rules of one vertex.
The features of an edge are those of its rule, and `Words`, the number of its target words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dualign.core.arrays import Array
from dualign.core.errors import DataError
from dualign.translate.grammar import Grammar, Rule, _Node, is_nonterminal
from dualign.translate.hypergraph import Hypergraph

__all__ = ["Parsed", "parse"]

_TOP = "S"


@dataclass(frozen=True, slots=True)
class Parsed:
    """A forest, and for each of its edges the rule (−1: glue, −2: a copied word) and the features."""

    hypergraph: Hypergraph
    rules: list[int]
    features: list[Mapping[str, float]]


def parse(
    sentence: Sequence[str],
    grammar: Grammar,
    weights: Mapping[str, float],
    *,
    span: int = 10,
    limit: int | None = None,
    label: str = "X",
) -> Parsed:
    """The forest of `sentence`, with edge weights Σ weights[feature] · value, without a language model.

    `limit` is the most rules for one source side and span that are kept, by weight.
    """
    if not sentence:
        raise DataError("an empty sentence has no forest; write an empty line for it")
    builder = _Builder(grammar, weights, limit)
    n = len(sentence)
    # chart[i][j]: vertex of each label over words i..j; active[i][j]: dotted items there.
    chart: list[list[dict[str, int]]] = [[{} for _ in range(n + 1)] for _ in range(n + 1)]
    active: list[list[list[tuple[_Node, tuple[int, ...]]]]] = [
        [[] for _ in range(n + 1)] for _ in range(n + 1)
    ]
    for j in range(1, n + 1):
        for i in range(j - 1, max(-1, j - 1 - span), -1):
            dotted = active[i][j]
            word = sentence[j - 1]
            before = [(grammar.root, ())] if i == j - 1 else active[i][j - 1]
            for node, below in before:
                if word in node.next and not is_nonterminal(word):
                    dotted.append((node.next[word], below))
            for k in range(i + 1, j):
                complete = chart[k][j]
                if not complete:
                    continue
                for node, below in active[i][k]:
                    if node.next:
                        for name, vertex in complete.items():
                            following = node.next.get(f"[{name}]")
                            if following is not None:
                                dotted.append((following, (*below, vertex)))
            for node, below in dotted:
                if node.rules:
                    builder.apply(node, below, chart[i][j], i, j)
            if i == j - 1 and label not in chart[i][j]:
                builder.copy(word, chart[i][j], label, i, j)
            # A rule may begin with a non-terminal; one that is nothing else would be a unary cycle.
            for name, vertex in chart[i][j].items():
                following = grammar.root.next.get(f"[{name}]")
                if following is not None:
                    dotted.append((following, (vertex,)))
    return builder.glued(chart, n, label, span)


class _Builder:
    """Vertices and edges of the forest as they come."""

    def __init__(self, grammar: Grammar, weights: Mapping[str, float], limit: int | None) -> None:
        self.grammar = grammar
        self.weights = weights
        self.limit = limit
        self.labels: list[str | None] = []
        self.edges: list[tuple[int, list[int], float]] = []
        self.rules: list[int] = []
        self.features: list[Mapping[str, float]] = []
        self._leaves: dict[tuple[str, int, int], int] = {}
        self._scored: dict[int, tuple[float, Mapping[str, float]]] = {}
        self._best: dict[int, list[int]] = {}

    def _score(self, number: int) -> tuple[float, Mapping[str, float]]:
        if number not in self._scored:
            rule = self.grammar.rules[number]
            words = sum(not isinstance(symbol, int) for symbol in rule.target)
            features = {**rule.features, "Words": float(words)}
            self._scored[number] = self._weight(features), features
        return self._scored[number]

    def _weight(self, features: Mapping[str, float]) -> float:
        return sum(self.weights.get(name, 0.0) * value for name, value in features.items())

    def _chosen(self, node: _Node) -> list[int]:
        if self.limit is None or len(node.rules) <= self.limit:
            return node.rules
        if id(node) not in self._best:
            ranked = sorted(node.rules, key=lambda number: -self._score(number)[0])
            self._best[id(node)] = ranked[: self.limit]
        return self._best[id(node)]

    def vertex(self, cell: dict[str, int], name: str) -> int:
        if name not in cell:
            cell[name] = len(self.labels)
            self.labels.append(None)
        return cell[name]

    def leaf(self, word: str, i: int, j: int) -> int:
        key = (word, i, j)
        if key not in self._leaves:
            self._leaves[key] = len(self.labels)
            self.labels.append(word)
        return self._leaves[key]

    def edge(
        self, head: int, tail: list[int], weight: float, rule: int, features: Mapping[str, float]
    ) -> None:
        self.edges.append((head, tail, weight))
        self.rules.append(rule)
        self.features.append(features)

    def apply(self, node: _Node, below: tuple[int, ...], cell: dict[str, int], i: int, j: int) -> None:
        for number in self._chosen(node):
            rule: Rule = self.grammar.rules[number]
            tail = [below[s] if isinstance(s, int) else self.leaf(s, i, j) for s in rule.target]
            weight, features = self._score(number)
            self.edge(self.vertex(cell, rule.left), tail, weight, number, features)

    def copy(self, word: str, cell: dict[str, int], label: str, i: int, j: int) -> None:
        features = {"Copy": 1.0, "Words": 1.0}
        # A word that is reserved to the language model cannot be copied as it is.
        text = {"<s>": "<S>", "</s>": "</S>"}.get(word, word)
        self.edge(self.vertex(cell, label), [self.leaf(text, i, j)], self._weight(features), -2, features)

    def glued(self, chart: list[list[dict[str, int]]], n: int, label: str, span: int) -> Parsed:
        tops: dict[int, int] = {}
        for j in range(1, n + 1):
            whole = chart[0][j].get(label)
            pieces = [
                (tops[k], chart[k][j][label])
                for k in range(max(1, j - span), j)
                if k in tops and label in chart[k][j]
            ]
            if whole is None and not pieces:
                continue
            tops[j] = self.vertex({}, _TOP)
            if whole is not None:
                self.edge(tops[j], [whole], 0.0, -1, {})
            features = {"Glue": 1.0}
            for pair in pieces:
                self.edge(tops[j], list(pair), self._weight(features), -1, features)
        return self._pruned(tops[n])

    def _pruned(self, root: int) -> Parsed:
        """Only what derivations of the root use: most of what a chart finds leads nowhere."""
        by_head: dict[int, list[int]] = {}
        for number, (head, _, _) in enumerate(self.edges):
            by_head.setdefault(head, []).append(number)
        place: dict[int, int] = {root: 0}
        kept: list[int] = []
        queue = [root]
        for vertex in queue:
            for number in by_head.get(vertex, ()):
                kept.append(number)
                for child in self.edges[number][1]:
                    if child not in place:
                        place[child] = len(queue)
                        queue.append(child)
        graph = Hypergraph(
            [(self.labels[v], 0.0) for v in queue],
            [(place[h], [place[t] for t in tail], w) for h, tail, w in (self.edges[e] for e in kept)],
            0,
        )
        return Parsed(graph, [self.rules[e] for e in kept], [self.features[e] for e in kept])


def feature_matrix(features: Sequence[Mapping[str, float]], names: Sequence[str]) -> Array:
    """Features of edges as rows, in the order of `names`; float64."""
    index = {name: n for n, name in enumerate(names)}
    matrix = np.zeros((len(features), len(names)))
    for row, values in enumerate(features):
        for name, value in values.items():
            if name in index:
                matrix[row, index[name]] = value
    return matrix
