"""A forest and a language model, made ready for the decoders.

Above the root stands the goal, `<s> root </s>`. Words that can stand side by side somewhere in the forest
are found from the first and last words of all vertices; of the language model only n-grams of such pairs are
kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dualign._core.arrays import Array
from dualign._search.inside import Weighted, inside
from dualign.translate.forest.binary import Forest, binary
from dualign.translate.forest.hypergraph import Derivation, Hypergraph
from dualign.translate.lm.language_model import LanguageModel
from dualign.translate.lm.trie import Automaton
from dualign.translate.search.contexts import adjacency


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

    def derivation(self, edges: Sequence[int]) -> Derivation:
        """Return the words and edges of a derivation."""
        return self.hypergraph.derivation(edges)
