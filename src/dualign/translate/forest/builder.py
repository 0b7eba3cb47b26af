"""Forests as they grow, whatever finds the rules that apply: a chart (`parse`) or a tree (`match`).

`parse` works bottom-up over spans of the source: a dotted item is a node of the grammar's tree of source
sides and the chart vertices behind its non-terminals. Rules with left-hand side X cover at most `span` words.
A word with no rule of its own is copied (feature `Copy`). Above them stand the *glue* rules of Chiang (2007),
which join any pieces in order: `S → X` and `S → S X` (feature `Glue`). Each vertex of the forest is a pair of
a label and a span; leaves are shared among the rules of one vertex.

`match` applies every rule of a tree-to-string grammar at every node of a source tree where it fits. A rule's
source side is a fragment of a tree as text (`rules.trees`), so that matching reads the tree from left to
right and follows the grammar's tree of source sides: at a node either its label, as a non-terminal, or on
into it. So that each tree has a derivation, a node without words of its own can also be the sequence of its
children (feature `Glue`), and a node with words where no rule fits copies them (feature `Copy`).

The features of an edge are those of its rule, and `Words`, the number of its target words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dualign._core.errors import DataError
from dualign.text.brackets import Tree, unescaped
from dualign.translate.forest.hypergraph import Hypergraph
from dualign.translate.rules.grammar import Grammar, GrammarNode, is_nonterminal

_TOP = "S"
_GLUE, _COPY = -1, -2


@dataclass(frozen=True, slots=True)
class Parsed:
    """A forest, and for each of its edges the rule (−1: glue, −2: a copied word) and the features."""

    hypergraph: Hypergraph
    rules: list[int]
    features: list[Mapping[str, float]]


class ForestBuilder:
    """Vertices and edges of the forest as they come; edges (tail, weight, rule, features) by their head."""

    def __init__(self, grammar: Grammar, weights: Mapping[str, float], limit: int | None) -> None:
        self.grammar, self._weights, self.limit = grammar, weights, limit
        self.labels: list[str | None] = []
        self.edges: dict[int, list[tuple[list[int], float, int, Mapping[str, float]]]] = {}
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
        return sum(self._weights.get(name, 0.0) * value for name, value in features.items())

    def _chosen(self, node: GrammarNode) -> list[int]:
        if self.limit is None or len(node.rules) <= self.limit:
            return node.rules
        if id(node) not in self._best:
            ranked = sorted(node.rules, key=lambda number: -self._score(number)[0])
            self._best[id(node)] = ranked[: self.limit]
        return self._best[id(node)]

    def vertex(self, cell: dict[str, int], name: str) -> int:
        """Return the vertex with that label in a cell, a new one if there is none."""
        if name not in cell:
            cell[name] = len(self.labels)
            self.labels.append(None)
        return cell[name]

    def leaf(self, word: str, i: int, j: int) -> int:
        """Return the leaf with that word at words i..j."""
        key = (word, i, j)
        if key not in self._leaves:
            self._leaves[key] = len(self.labels)
            self.labels.append(word)
        return self._leaves[key]

    def copied(self, word: str, i: int, j: int) -> int:
        """Return a leaf that copies a word; one that is reserved to the language model is changed."""
        return self.leaf({"<s>": "<S>", "</s>": "</S>"}.get(word, word), i, j)

    def edge(self, head: int, tail: list[int], rule: int, features: Mapping[str, float]) -> None:
        """Add an edge that is not made by a rule of the grammar."""
        self.edges.setdefault(head, []).append((tail, self._weight(features), rule, features))

    def apply(self, node: GrammarNode, below: tuple[int, ...], cell: dict[str, int], i: int, j: int) -> None:
        """Add the edges of the rules that end at a node of the grammar, at words i..j."""
        for number in self._chosen(node):
            rule = self.grammar.rules[number]
            tail = [below[s] if isinstance(s, int) else self.leaf(s, i, j) for s in rule.target]
            weight, features = self._score(number)
            self.edges.setdefault(self.vertex(cell, rule.left), []).append((tail, weight, number, features))

    def pruned(self, root: int) -> Parsed:
        """Only what derivations of the root use: most of what a chart finds leads nowhere."""
        place: dict[int, int] = {root: 0}
        kept = []
        queue = [root]
        for vertex in queue:
            for edge in self.edges.get(vertex, ()):
                kept.append((vertex, *edge))
                for child in edge[0]:
                    if child not in place:
                        place[child] = len(queue)
                        queue.append(child)
        graph = Hypergraph.trusted(
            [(self.labels[v], 0.0) for v in queue],
            [(place[head], [place[t] for t in tail], weight) for head, tail, weight, *_ in kept],
            0,
        )
        return Parsed(graph, [edge[3] for edge in kept], [edge[4] for edge in kept])


def parse(
    sentence: Sequence[str],
    grammar: Grammar,
    weights: Mapping[str, float],
    *,
    span: int = 10,
    limit: int | None = None,
    label: str = "X",
) -> Parsed:
    """Return the forest of `sentence`, with edge weights Σ weights[feature] · value, without a language
    model.

    `limit` is the most rules for one source side and span that are kept, by weight.
    """
    if not sentence:
        raise DataError("an empty sentence has no forest; write an empty line for it")
    builder = ForestBuilder(grammar, weights, limit)
    n = len(sentence)
    # chart[i][j]: vertex of each label over words i..j; active[i][j]: dotted items there.
    chart: list[list[dict[str, int]]] = [[{} for _ in range(n + 1)] for _ in range(n + 1)]
    active: list[list[list[tuple[GrammarNode, tuple[int, ...]]]]] = [
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
                vertex = builder.vertex(chart[i][j], label)
                builder.edge(vertex, [builder.copied(word, i, j)], _COPY, {"Copy": 1.0, "Words": 1.0})
            # A rule may begin with a non-terminal; one that is nothing else would be a unary cycle.
            for name, vertex in chart[i][j].items():
                following = grammar.root.next.get(f"[{name}]")
                if following is not None:
                    dotted.append((following, (vertex,)))
    tops: dict[int, int] = {}
    for j in range(1, n + 1):
        whole = chart[0][j].get(label)
        pieces = [
            [tops[k], chart[k][j][label]]
            for k in range(max(1, j - span), j)
            if k in tops and label in chart[k][j]
        ]
        if whole is None and not pieces:
            continue
        tops[j] = builder.vertex({}, _TOP)
        if whole is not None:
            builder.edge(tops[j], [whole], _GLUE, {})
        for piece in pieces:
            builder.edge(tops[j], piece, _GLUE, {"Glue": 1.0})
    return builder.pruned(tops[n])


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
        builder.edge(vertex[n], tail, _COPY if words else _GLUE, features)
    return builder.pruned(vertex[0])
