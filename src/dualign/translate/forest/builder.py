"""Forests as they grow, whatever finds the rules that apply: a chart (`chart.parse`) or a tree (`match`).

`match` applies every rule of a tree-to-string grammar at every node of a source tree where it fits. A rule's
source side is a fragment of a tree as text (`rules.trees`), so that matching reads the tree from left to
right and follows the grammar's tree of source sides: at a node either its label, as a non-terminal, or on
into it.

So that each tree has a derivation, a node without words of its own can also be the sequence of its children
(feature `Glue`), and a node with words where no rule fits copies them (feature `Copy`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dualign.text.brackets import Tree, unescaped
from dualign.translate.forest.hypergraph import Hypergraph
from dualign.translate.rules.grammar import Grammar, GrammarNode, Rule


@dataclass(frozen=True, slots=True)
class Parsed:
    """A forest, and for each of its edges the rule (−1: glue, −2: a copied word) and the features."""

    hypergraph: Hypergraph
    rules: list[int]
    features: list[Mapping[str, float]]


class ForestBuilder:
    """Vertices and edges of the forest as they come."""

    def __init__(self, grammar: Grammar, weights: Mapping[str, float], limit: int | None) -> None:
        self.grammar = grammar
        self._weights = weights
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
            self._scored[number] = self.weight(features), features
        return self._scored[number]

    def weight(self, features: Mapping[str, float]) -> float:
        return sum(self._weights.get(name, 0.0) * value for name, value in features.items())

    def _chosen(self, node: GrammarNode) -> list[int]:
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

    def apply(self, node: GrammarNode, below: tuple[int, ...], cell: dict[str, int], i: int, j: int) -> None:
        for number in self._chosen(node):
            rule: Rule = self.grammar.rules[number]
            tail = [below[s] if isinstance(s, int) else self.leaf(s, i, j) for s in rule.target]
            weight, features = self._score(number)
            self.edge(self.vertex(cell, rule.left), tail, weight, number, features)

    def copy(self, word: str, cell: dict[str, int], label: str, i: int, j: int) -> None:
        features = {"Copy": 1.0, "Words": 1.0}
        tail = [self.copied(word, i, j)]
        self.edge(self.vertex(cell, label), tail, self.weight(features), -2, features)

    def copied(self, word: str, i: int, j: int) -> int:
        # A word that is reserved to the language model cannot be copied as it is.
        return self.leaf({"<s>": "<S>", "</s>": "</S>"}.get(word, word), i, j)

    def pruned(self, root: int) -> Parsed:
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
        graph = Hypergraph.trusted(
            [(self.labels[v], 0.0) for v in queue],
            [(place[h], [place[t] for t in tail], w) for h, tail, w in (self.edges[e] for e in kept)],
            0,
        )
        return Parsed(graph, [self.rules[e] for e in kept], [self.features[e] for e in kept])


def match(tree: Tree, grammar: Grammar, weights: Mapping[str, float], *, limit: int | None = None) -> Parsed:
    """Return the forest of `tree`, with edge weights Σ weights[feature] · value, without a language model.

    `limit` is the most rules for one source side that are kept, by weight. Each vertex is a node of the tree.
    """
    builder = ForestBuilder(grammar, weights, limit)
    label = {n: tree.tokens[n][1:] for n in tree.nodes}
    cell: dict[int, dict[str, int]] = {n: {} for n in label}
    vertex = {n: builder.vertex(cell[n], label[n]) for n in label}
    for n in label:
        end = tree.after[n]
        fits = False
        agenda: list[tuple[int, GrammarNode, tuple[int, ...]]] = [(n, grammar.root, ())]
        while agenda:
            p, node, below = agenda.pop()
            if p == end:
                fits = fits or bool(node.rules)
                builder.apply(node, below, cell[n], n, n)
                continue
            following = node.next.get(tree.tokens[p])
            if following is not None:
                agenda.append((p + 1, following, below))
            following = node.next.get(f"[{label[p]}]") if p in label and p != n else None
            if following is not None:
                agenda.append((tree.after[p], following, (*below, vertex[p])))
        children = list(tree.children(n))
        words = sum(child not in label for child in children)
        if words and fits:
            continue
        tail = [
            vertex[c] if c in label else builder.copied(unescaped(tree.tokens[c]), n, n) for c in children
        ]
        features = {"Copy": float(words), "Words": float(words)} if words else {}
        if words < len(children):
            features["Glue"] = 1.0
        builder.edge(vertex[n], tail, builder.weight(features), -2 if words else -1, features)
    return builder.pruned(vertex[0])
