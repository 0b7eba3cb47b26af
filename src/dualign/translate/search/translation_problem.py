"""A forest and a language model, made ready for the decoders.

**Binary steps.** Every decoder that follows the language model builds the yield of an edge from left to
right. So an edge with tail `t_1..t_k` becomes k − 1 steps over *prefixes* `t_1..t_i`, each the pair of the
prefix before it and `t_i`. Edges with a common prefix share it. Above the root stands the goal, `<s> root
</s>`.

**Only what can occur.** Words that can stand side by side somewhere in the forest are found from the first
and last words of all vertices; of the language model only n-grams of such pairs are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.translate.forest.hypergraph import Derivation, Hypergraph
from dualign.translate.lm.language_model import Automaton, LanguageModel

if TYPE_CHECKING:
    from dualign.search.inside import Weighted


class Forest(NamedTuple):
    """Nodes in topological order. `word[n]` is the word of a leaf, −1 otherwise; `weight[n]` that of a leaf.

    Steps `begin[n] .. begin[n + 1]` lead to node n, from `left[s]` and `right[s]` (−1: none); `step_weight`
    holds the weights of edge and head, `edge` the edge that a step completes, −1 within an edge.
    """

    word: Array
    weight: Array
    begin: Array
    left: Array
    right: Array
    step_weight: Array
    edge: Array


@dataclass(frozen=True)
class Problem:
    """Hypergraph, model and the number of words, `order`, that n-grams may have."""

    hypergraph: Hypergraph
    model: LanguageModel
    order: int

    def reweighted(self, edge_weight: Array, model: LanguageModel) -> Problem:
        """The same forest with other weights on its edges, and a model of the same words."""
        result = Problem(self.hypergraph.reweighted(edge_weight), model, self.order)
        for name in ("vocabulary", "leaf_word", "adjacent"):  # what does not depend on weights
            result.__dict__[name] = getattr(self, name)
        return result

    @cached_property
    def vocabulary(self) -> Array:
        """Words of the model that matter, ascending: those of the leaves, `<s>` and `</s>`."""
        labels = (self.hypergraph.labels[v] for v in self.hypergraph.order.tolist())
        words = {self.model.index.get(label, self.model.unknown) for label in labels if label is not None}
        return np.array(sorted(words | {self.model.begin, self.model.end}), np.int32)

    @cached_property
    def leaf_word(self) -> Array:
        """For each vertex the position of its word in `vocabulary`, −1 unless a leaf that is used; int32
        (V)."""
        graph = self.hypergraph
        used = [v for v in graph.order.tolist() if graph.labels[v] is not None]
        result = np.full(len(graph.labels), -1, np.int32)
        words = self.model.encode([str(graph.labels[v]) for v in used])
        result[used] = np.searchsorted(self.vocabulary, words)
        return result

    @property
    def ends(self) -> tuple[int, int]:
        """Positions of `<s>` and `</s>` in `vocabulary`."""
        begin, end = np.searchsorted(self.vocabulary, [self.model.begin, self.model.end]).tolist()
        return begin, end

    @cached_property
    def forest(self) -> Forest:
        """The hypergraph in binary steps."""
        graph, leaf = self.closed
        forest = binary(graph, leaf)
        return forest._replace(edge=np.where(forest.edge == len(self.hypergraph.head), -1, forest.edge))

    @property
    def closed(self) -> tuple[Weighted, Array]:
        """The hypergraph with `<s> root </s>` above the root, and each vertex's `leaf_word`: `<s>`, `</s>`
        and the goal are vertices V, V + 1, V + 2; the goal's edge is E."""
        from dualign.search.inside import Weighted

        graph = self.hypergraph
        V, E = len(graph.labels), len(graph.head)
        return Weighted(
            np.concatenate((graph.order, [V, V + 1, V + 2])).astype(np.int32),
            np.concatenate((graph.incoming_begin, [E, E, E + 1])),
            np.append(graph.incoming, E).astype(np.int32),
            np.append(graph.tail_begin, graph.tail_begin[-1] + 3),
            np.concatenate((graph.tail, [V, graph.root, V + 1])).astype(np.int32),
            np.concatenate((graph.vertex_weight, [0.0, 0.0, 0.0])),
            np.append(graph.edge_weight, 0.0),
        ), np.concatenate((self.leaf_word, [*self.ends, -1])).astype(np.int32)

    @cached_property
    def adjacent(self) -> Array:
        """Whether a word of the vocabulary can follow another directly; bool (before, after)."""
        from dualign.translate.search.adjacency import adjacency

        size = len(self.vocabulary)
        forest = self.forest
        adjacent = np.zeros((size, size), np.bool_)
        adjacency(forest.word, forest.begin, forest.left, forest.right, adjacent)
        return adjacent

    @cached_property
    def automaton(self) -> Automaton:
        """The language model over the forest's words."""
        return self.model.automaton(self.vocabulary, self.adjacent, self.order)

    @cached_property
    def pairs(self) -> Array:
        """`dualign.translate.search.levels.pair_scores` of the automaton."""
        from dualign.translate.search.levels import pair_scores

        return pair_scores(self.automaton, self.adjacent)

    def score(self, edges: Sequence[int]) -> float:
        """The score of a derivation, from scratch: weights and language model."""
        derivation = self.hypergraph.derivation(edges)
        return self.hypergraph.weight(edges) + self.model.score(derivation.words, order=self.order)

    def derivation(self, edges: Sequence[int]) -> Derivation:
        """Words and edges."""
        return self.hypergraph.derivation(edges)


def binary(graph: Weighted, leaf: Array) -> Forest:
    """A hypergraph in binary steps; `leaf[v]` is the word of a vertex that is a leaf, −1 otherwise.

    Of `graph.order` only; the last vertex becomes the last node.
    """
    leaf_word = leaf.tolist()
    vertex_weight, edge_weight = graph.vertex_weight.tolist(), graph.edge_weight.tolist()
    incoming, first = graph.incoming.tolist(), graph.incoming_begin.tolist()
    tails, tail_begin = graph.tail.tolist(), graph.tail_begin.tolist()
    node_of = [-1] * len(leaf_word)
    word: list[int] = []
    weight: list[float] = []
    begin: list[int] = []
    left: list[int] = []
    right: list[int] = []
    step_weight: list[float] = []
    edge_of: list[int] = []
    prefixes: dict[tuple[int, int], int] = {}

    def add_node(label: int, value: float) -> int:
        word.append(label)
        weight.append(value)
        begin.append(len(left))
        return len(word) - 1

    def add_step(a: int, b: int, value: float, edge: int) -> None:
        left.append(a)
        right.append(b)
        step_weight.append(value)
        edge_of.append(edge)

    for vertex in graph.order.tolist():
        if leaf_word[vertex] >= 0:
            node_of[vertex] = add_node(leaf_word[vertex], vertex_weight[vertex])
            continue
        steps = []
        for edge in incoming[first[vertex] : first[vertex + 1]]:
            tail = tails[tail_begin[edge] : tail_begin[edge + 1]]
            a = node_of[tail[0]]
            for child in tail[1:-1]:
                b = node_of[child]
                if (a, b) not in prefixes:
                    prefixes[a, b] = add_node(-1, 0.0)
                    add_step(a, b, 0.0, -1)
                a = prefixes[a, b]
            b = node_of[tail[-1]] if len(tail) > 1 else -1
            steps.append((a, b, vertex_weight[vertex] + edge_weight[edge], edge))
        node_of[vertex] = add_node(-1, 0.0)
        for step in steps:
            add_step(*step)
    begin.append(len(left))
    return Forest(
        np.array(word, np.int32),
        np.array(weight, np.float64),
        np.array(begin, np.int64),
        np.array(left, np.int32),
        np.array(right, np.int32),
        np.array(step_weight, np.float64),
        np.array(edge_of, np.int32),
    )
