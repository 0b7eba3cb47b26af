"""A forest and a language model, made ready for the decoders.

Above the root stands the goal, `<s> root </s>`. Every decoder that follows the language model builds the
yield of an edge from left to right. So an edge with tail `t_1..t_k` becomes k − 1 steps over *prefixes*
`t_1..t_i`, each the pair of the prefix before it and `t_i`. Edges with a common prefix share it.

From the words that can begin and end the yields of nodes follows which words can stand side by side; of the
language model only n-grams of such words are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.kernel_arrays import EMPTY, new_slots, slot_of
from dualign._search.inside import Weighted, inside
from dualign.translate.forest.hypergraph import Hypergraph
from dualign.translate.lm.language_model import LanguageModel
from dualign.translate.lm.trie import Automaton


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


@kernel
def binary(graph: Weighted, leaf: Array) -> Forest:
    """Return a hypergraph in binary steps; `leaf[v]` is the word of a vertex that is a leaf, −1 otherwise.

    Of `graph.order` only; the last vertex becomes the last node.
    """
    room = len(leaf) + len(graph.tail)
    word, weight = np.full(room, -1, np.int32), np.zeros(room)
    begin = np.zeros(room + 1, np.int64)
    left, right = np.empty(room, np.int32), np.full(room, -1, np.int32)
    step_weight, edge_of = np.zeros(room), np.full(room, -1, np.int32)
    node_of = np.full(len(leaf), -1, np.int32)
    # The pairs of nodes that are prefixes, and the node of each.
    pair, prefix, prefixes = np.empty((len(graph.tail), 2), np.int32), np.empty(len(graph.tail), np.int32), 0
    slots = new_slots(len(graph.tail))
    nodes = steps = 0
    for v in graph.order:
        last = np.empty(graph.incoming_begin[v + 1] - graph.incoming_begin[v], np.int32)
        for k in range(len(last)):
            e = graph.incoming[graph.incoming_begin[v] + k]
            tail = graph.tail[graph.tail_begin[e] : graph.tail_begin[e + 1]]
            a = node_of[tail[0]]
            for child in tail[1:-1]:
                pair[prefixes, 0], pair[prefixes, 1] = a, node_of[child]
                slot = slot_of(slots, pair, pair[prefixes])
                if slots[slot] == EMPTY:
                    slots[slot], prefix[prefixes] = prefixes, nodes
                    left[steps], right[steps] = a, node_of[child]
                    begin[nodes], nodes = steps, nodes + 1
                    prefixes, steps = prefixes + 1, steps + 1
                a = prefix[slots[slot]]
            last[k] = a
        node_of[v] = nodes
        begin[nodes] = steps
        if leaf[v] >= 0:
            word[nodes], weight[nodes] = leaf[v], graph.vertex_weight[v]
        for k in range(len(last)):
            e = graph.incoming[graph.incoming_begin[v] + k]
            left[steps], edge_of[steps] = last[k], e
            if graph.tail_begin[e + 1] - graph.tail_begin[e] > 1:
                right[steps] = node_of[graph.tail[graph.tail_begin[e + 1] - 1]]
            step_weight[steps] = graph.vertex_weight[v] + graph.edge_weight[e]
            steps += 1
        nodes += 1
    begin[nodes] = steps
    return Forest(
        word[:nodes], weight[:nodes], begin[: nodes + 1], left[:steps], right[:steps], step_weight[:steps],
        edge_of[:steps],
    )  # fmt: skip


@part(allocates=False)
def is_member(words: Array, w: int) -> bool:
    """Return whether w is in a set."""
    return (words[w >> 6] >> np.uint64(w & 63) & np.uint64(1)) != 0


@part(allocates=False)
def include(words: Array, others: Array) -> None:
    """Add the members of another set."""
    for k in range(len(words)):
        words[k] |= others[k]


@part
def boundary_sets(forest: Forest, W: int) -> Array:
    """Return the first and the last words of the nodes, of W words; uint64 (2, N, blocks)."""
    N = len(forest.word)
    sets = np.zeros((2, N, (W + 63) // 64), np.uint64)
    for n in range(N):
        w = forest.word[n]
        if w >= 0:
            sets[0, n, w >> 6] = sets[1, n, w >> 6] = np.uint64(1) << np.uint64(w & 63)
        for s in range(forest.begin[n], forest.begin[n + 1]):
            a, b = forest.left[s], forest.right[s]
            include(sets[0, n], sets[0, a])
            include(sets[1, n], sets[1, a if b < 0 else b])
    return sets


@kernel
def adjacency(forest: Forest, W: int) -> Array:
    """Return whether word w can follow word x directly; bool (x, w)."""
    sets = boundary_sets(forest, W)
    blocks = sets.shape[2]
    # What can follow each node, then each word.
    after, following = np.zeros((sets.shape[1], blocks), np.uint64), np.zeros((W, blocks), np.uint64)
    for s in range(len(forest.left)):
        if forest.right[s] >= 0:
            include(after[forest.left[s]], sets[0, forest.right[s]])
    for n in range(len(after)):
        if not after[n].any():
            continue
        for x in range(W):
            if sets[1, n, x >> 6] != 0 and is_member(sets[1, n], x):
                include(following[x], after[n])
    result = np.zeros((W, W), np.bool_)
    for x in range(W):
        for w in range(W):
            result[x, w] = is_member(following[x], w)
    return result


@dataclass(frozen=True)
class ForestProblem:
    """Hypergraph, model and the number of words, `order`, that n-grams may have."""

    hypergraph: Hypergraph
    model: LanguageModel
    order: int

    def reweighted(self, edge_weight: Array, model: LanguageModel) -> ForestProblem:
        """Return the same forest with other weights on its edges, and a model of the same words."""
        result = ForestProblem(self.hypergraph.reweighted(edge_weight), model, self.order)
        for name in ("vocabulary", "leaf_word", "adjacent"):  # what does not depend on weights
            result.__dict__[name] = getattr(self, name)
        return result

    @cached_property
    def vocabulary(self) -> Array:
        """Words of the model that matter, ascending: those of the leaves, `<s>` and `</s>`."""
        return np.unique([*self._leaves[1], self.model.begin, self.model.end]).astype(np.int32)

    @cached_property
    def _leaves(self) -> tuple[list[int], list[int]]:
        """The leaves that are used, and their words in the model."""
        labels = self.hypergraph.labels
        used = [v for v in self.hypergraph.order.tolist() if labels[v] is not None]
        return used, self.model.encode([str(labels[v]) for v in used])

    @cached_property
    def leaf_word(self) -> Array:
        """For each vertex the position of its word in `vocabulary`, −1 unless a leaf that is used; int32
        (V)."""
        used, words = self._leaves
        result = np.full(len(self.hypergraph.labels), -1, np.int32)
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
        return adjacency(self.forest, len(self.vocabulary))

    @cached_property
    def automaton(self) -> Automaton:
        """The language model over the forest's words."""
        return self.model.automaton(self.vocabulary, self.adjacent, self.order)

    @cached_property
    def longest(self) -> float:
        """The most words and edges of a derivation, together."""
        graph = self.hypergraph.weighted
        words, size = (self.leaf_word >= 0).astype(np.float64), np.full(len(self.leaf_word), -np.inf)
        inside(graph._replace(vertex_weight=words, edge_weight=np.ones(len(graph.edge_weight))), True, size)
        return float(size[self.hypergraph.root])

    def score(self, edges: Sequence[int]) -> float:
        """Return the score of a derivation, from scratch: weights and language model."""
        derivation = self.hypergraph.derivation(edges)
        return self.hypergraph.weight(edges) + self.model.score(derivation.words, order=self.order)
