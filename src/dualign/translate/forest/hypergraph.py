"""`Hypergraph`: a forest of translations, in flat arrays.

A vertex is a *leaf*, which has a word for its label, or the head of one or more hyperedges. A hyperedge
rewrites its head as the sequence of its tail. A *derivation* chooses an edge for the root, for each vertex of
that edge's tail, and so on down to the leaves; it is a tree, and a vertex that it passes twice counts twice.
Its score is the sum of the weights (natural logarithms) of its vertices and edges; its yield is the sequence
of the leaves' words, from left to right (Rush & Collins 2011, §3).

**The JSON form** is one object:

    {"vertices": [[null, 0.0], ["dog", -0.5], …], "edges": [[0, [1, 2], -1.5], …], "root": 0}

`vertices` holds `[label, weight]`, where label is null unless the vertex is a leaf; `edges` holds `[head,
tail, weight]` with vertices by their number, counted from 0. Words that the language model adds by itself,
`<s>` and `</s>`, are left out.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError, refusing
from dualign._core.fields import check_value
from dualign._core.files.streams import FilePath, open_input, open_output
from dualign._search.inside import Weighted, inside, outside

_RESERVED = ("<s>", "</s>")

MOST_WEIGHT = 1e20
"""Beyond this, up or down, sums lose all that smaller weights have to say."""

MOST_EDGES = 1_000_000
"""Of a derivation. A few dozen vertices are enough for one of 2^60 words."""

_log = logging.getLogger("dualign")


@dataclass(frozen=True, slots=True)
class Derivation:
    """A tree of edges and the words it yields.

    `edges` are the numbers of the edges in the order in which a walk from the root, left to right, meets
    them; together with the hypergraph they determine the tree.
    """

    words: tuple[str, ...]
    edges: tuple[int, ...]

    def __str__(self) -> str:
        return " ".join(self.words)


class Hypergraph:
    """An acyclic hypergraph with weights; `vertices` are `(label, weight)`, `edges` `(head, tail, weight)`.

    What is not a forest of translations is refused with a `DataError`: an unknown vertex, an edge without a
    tail, a leaf without a word, a cycle, a root without a derivation. What no derivation of the root uses is
    kept, and ignored; the logger `dualign` says so.

    Arrays: `vertex_weight` float64 (V); `head` int32 (E), `tail_begin` int64 (E + 1) and `tail` int32, where
    edge e has `tail[tail_begin[e] : tail_begin[e + 1]]`; `edge_weight` float64 (E); `incoming_begin` (V + 1)
    and `incoming` (E), the edges by head; `order`, the vertices that derivations of the root can use, tails
    before heads.
    """

    def __init__(
        self,
        vertices: Iterable[tuple[str | None, float]],
        edges: Iterable[tuple[int, Sequence[int], float]],
        root: int,
    ) -> None:
        checked = [_checked_vertex(number, vertex) for number, vertex in enumerate(vertices)]
        count = len(checked)
        if not _is_index(root, count):
            raise DataError(f"root {root!r} is not one of the {count} vertices (0 to {count - 1})")
        self._fill(
            checked, [_checked_edge(number, edge, count) for number, edge in enumerate(edges)], int(root)
        )
        self._check_leaves()
        self.order = self._ordered()
        if len(self.order) < count and (unused := int(np.sum(~np.isin(self.head, self.order)))):
            _log.warning(
                "the root %d leads to all but %d of the forest's edges; these are ignored", self.root, unused
            )

    @classmethod
    def trusted(
        cls,
        vertices: Sequence[tuple[str | None, float]],
        edges: Sequence[tuple[int, Sequence[int], float]],
        root: int,
    ) -> Hypergraph:
        """Take edges that a program has made: heads and tails are not checked, leaves have words, and
        nothing is said of what the root does not lead to."""
        result = cls.__new__(cls)
        result._fill([_checked_vertex(*vertex) for vertex in enumerate(vertices)], edges, root)
        for number in np.flatnonzero(~(np.abs(result.edge_weight) <= MOST_WEIGHT)).tolist():
            _checked_weight(f"edge {number}", edges[number][2])
        result.order = result._ordered()
        return result

    def _fill(
        self,
        vertices: Sequence[tuple[str | None, float]],
        edges: Sequence[tuple[int, Sequence[int], float]],
        root: int,
    ) -> None:
        self.labels = [label for label, _ in vertices]
        self.vertex_weight = np.array([weight for _, weight in vertices], np.float64)
        self.root = root
        self.head = np.array([head for head, _, _ in edges], np.int32)
        self.tail = np.array([vertex for _, tail, _ in edges for vertex in tail], np.int32)
        self.tail_begin = np.zeros(len(edges) + 1, np.int64)
        np.cumsum([len(tail) for _, tail, _ in edges], out=self.tail_begin[1:])
        self.edge_weight = np.array([weight for _, _, weight in edges], np.float64)
        self.incoming = np.argsort(self.head, kind="stable").astype(np.int32)
        self.incoming_begin = np.zeros(len(self.labels) + 1, np.int64)
        np.cumsum(np.bincount(self.head, minlength=len(self.labels)), out=self.incoming_begin[1:])

    @property
    def vertices(self) -> list[tuple[str | None, float]]:
        """`(label, weight)` of each vertex."""
        return list(zip(self.labels, self.vertex_weight.tolist(), strict=True))

    @property
    def edges(self) -> list[tuple[int, tuple[int, ...], float]]:
        """`(head, tail, weight)` of each edge."""
        tail, begin = self.tail.tolist(), self.tail_begin.tolist()
        columns = zip(self.head.tolist(), begin[:-1], begin[1:], self.edge_weight.tolist(), strict=True)
        return [(head, tuple(tail[a:b]), weight) for head, a, b, weight in columns]

    def tail_of(self, edge: int) -> list[int]:
        """Return the vertices that edge `edge` puts in place of its head."""
        return self.tail[self.tail_begin[edge] : self.tail_begin[edge + 1]].tolist()

    def reweighted(self, edge_weight: Array) -> Hypergraph:
        """Return the same forest with other weights on its edges, float64 (E)."""
        result = copy(self)
        result.edge_weight = edge_weight
        return result

    # Validation

    def _check_leaves(self) -> None:
        heads = np.diff(self.incoming_begin) > 0
        for vertex, (label, is_head) in enumerate(zip(self.labels, heads.tolist(), strict=True)):
            if label is None and not is_head:
                raise DataError(
                    f"vertex {vertex} has neither a word nor an edge: label it, or give it an edge "
                    f"{'(it is the root, so there is no derivation)' if vertex == self.root else ''}".rstrip()
                )
            if label is not None and is_head:
                raise DataError(
                    f"vertex {vertex} is the head of an edge but has the label {label!r}; "
                    "only leaves have words, others have None"
                )

    def _ordered(self) -> Array:
        """Return topological order of what the root can reach; cycles, wherever they are, are errors."""
        tails, begin = self.tail.tolist(), self.tail_begin.tolist()
        incoming, first = self.incoming.tolist(), self.incoming_begin.tolist()
        state = bytearray(len(self.labels))  # 0: not seen, 1: on the way down, 2: done
        path: list[int] = []
        finished: list[int] = []
        reached = 0
        for start in (self.root, *range(len(self.labels))):
            stack = [start]
            while stack:
                vertex = stack[-1]
                if state[vertex]:
                    stack.pop()
                    if state[vertex] == 1:
                        state[vertex] = 2
                        path.pop()
                        finished.append(vertex)
                    continue
                state[vertex] = 1
                path.append(vertex)
                for edge in incoming[first[vertex] : first[vertex + 1]]:
                    for child in tails[begin[edge] : begin[edge + 1]]:
                        if state[child] == 1:
                            cycle = [*path[path.index(child) :], child]
                            raise DataError(
                                f"the hypergraph has a cycle: {' → '.join(map(str, cycle[:12]))}; "
                                "edges must lead from heads down to leaves"
                            )
                        if not state[child]:
                            stack.append(child)
            reached = reached or len(finished)
        return np.array(finished[:reached], np.int32)

    # Sums and maxima over all derivations

    @property
    def weighted(self) -> Weighted:
        """The arrays that `dualign._search.inside` takes."""
        return Weighted(
            self.order, self.incoming_begin, self.incoming, self.tail_begin, self.tail,
            self.vertex_weight, self.edge_weight,
        )  # fmt: skip

    def inside(self, *, maximum: bool = False) -> Array:
        """Return for each vertex the log of the sum over its derivations, or the best one's score; float64
        (V)."""
        result = np.full(len(self.labels), -np.inf)
        inside(self.weighted, maximum, result)
        return result

    def outside(self, *, maximum: bool = False) -> Array:
        """Return the same for what is around a vertex: `inside + outside` is over all derivations through it.

        −inf for a vertex that no derivation of the root uses.
        """
        return self._outside(maximum)[0]

    def edge_marginals(self, *, maximum: bool = False) -> Array:
        """Return for each edge the log of the sum over all derivations that use it, or the best one's
        score."""
        return self._outside(maximum)[1]

    def _outside(self, maximum: bool) -> tuple[Array, Array]:
        vertices, edges = np.full(len(self.labels), -np.inf), np.full(len(self.head), -np.inf)
        outside(self.weighted, maximum, self.inside(maximum=maximum), vertices, edges)
        return vertices, edges

    def best(self) -> tuple[Derivation, float]:
        """Return the best derivation without a language model, and its score."""
        return next(self.k_best(1))

    def k_best(self, k: int) -> Iterator[tuple[Derivation, float]]:
        """Return the k best derivations without a language model, best first; fewer if there are fewer."""
        check_value("k", k, least=1)
        incoming, first = self.incoming.tolist(), self.incoming_begin.tolist()
        for score, edges in k_best(
            self.order.tolist(),
            k,
            lambda vertex: incoming[first[vertex] : first[vertex + 1]],
            self.tail_of,
            self.edge_weight.tolist(),
            self.vertex_weight.tolist(),
        ):
            yield self.derivation(edges), score

    # Derivations

    def derivation(self, edges: Sequence[int]) -> Derivation:
        """Return the derivation of these edges, given in the order of `Derivation.edges`."""
        return Derivation(tuple(str(self.labels[v]) for v in self.leaves(edges)), tuple(edges))

    def leaves(self, edges: Sequence[int]) -> list[int]:
        """Return the leaves of a derivation from left to right; refuses what is not a derivation."""
        following = iter(edges)
        leaves: list[int] = []
        stack = [self.root]
        while stack:
            vertex = stack.pop()
            if self.labels[vertex] is not None:
                leaves.append(vertex)
                continue
            edge = next(following, None)
            if edge is None or not _is_index(edge, len(self.head)) or int(self.head[edge]) != vertex:
                raise DataError(f"not a derivation: vertex {vertex} is not rewritten by edge {edge}")
            stack.extend(reversed(self.tail_of(edge)))
        if (more := next(following, None)) is not None:
            raise DataError(f"not a derivation: edge {more} is left over")
        return leaves

    def weight(self, edges: Sequence[int]) -> float:
        """Return vertex and edge weights of a derivation, added up from its edges."""
        chosen, inner = list(edges), self.vertex_weight[self.head[list(edges)]]
        parts = self.edge_weight[chosen], inner, self.vertex_weight[self.leaves(chosen)]
        return float(sum(map(np.sum, parts)))

    # Files

    def as_json(self) -> str:
        """Return the JSON form, on one line."""
        return json.dumps({"vertices": self.vertices, "edges": self.edges, "root": self.root})

    @classmethod
    def from_json(cls, text: str, place: str = "hypergraph") -> Hypergraph:
        """Read the JSON form; `place` stands in messages."""
        with refusing(ValueError, RecursionError, what="not JSON ({cause})", place=place):
            content: Any = json.loads(text)
        if not isinstance(content, dict) or not {"vertices", "edges", "root"} <= content.keys():
            raise DataError(f'{place}: must be an object with "vertices", "edges" and "root"')
        for name in ("vertices", "edges"):
            if not isinstance(content[name], list):
                raise DataError(f'{place}: "{name}" must be a list')
        with refusing(DataError, place=place):
            return cls(content["vertices"], content["edges"], content["root"])

    def write(self, path: FilePath) -> None:
        """Write the JSON form to a file."""
        with open_output(path) as stream:
            stream.write(self.as_json() + "\n")

    @classmethod
    def read(cls, path: FilePath) -> Hypergraph:
        """Read a file in the JSON form."""
        path = os.fspath(path)
        with open_input(path) as stream:
            content = stream.read()
        with refusing(UnicodeDecodeError, what="invalid UTF-8; convert the file", place=path):
            return cls.from_json(content.decode("utf-8-sig"), path)


def k_best(
    order: Iterable[int],
    k: int,
    edges_of: Callable[[int], Sequence[int]],
    tail_of: Callable[[int], Sequence[int]],
    edge_weight: Sequence[float] | Mapping[int, float],
    vertex_weight: Sequence[float] | Mapping[int, float],
) -> Iterator[tuple[float, list[int]]]:
    """Return the k best trees of the last vertex of `order`: score, and edges from the root, left to right.

    `order` has tails before heads. Each vertex pops its k best candidates (an edge and the ranks of its
    children's trees) from a queue (Huang & Chiang 2005, algorithm 2). Ties fall to the edge that comes first.
    """
    trees: dict[int, list[tuple[float, int, tuple[int, ...]]]] = {}
    vertex = -1
    for vertex in order:
        if not edges_of(vertex):
            trees[vertex] = [(vertex_weight[vertex], -1, ())]
            continue
        queue = []
        for edge in edges_of(vertex):
            tail = tail_of(edge)
            score = vertex_weight[vertex] + edge_weight[edge] + sum(trees[child][0][0] for child in tail)
            queue.append((-score, edge, (0,) * len(tail)))
        heapify(queue)
        seen = set()
        best: list[tuple[float, int, tuple[int, ...]]] = []
        while queue and len(best) < k:
            negative, edge, ranks = heappop(queue)
            best.append((-negative, edge, ranks))
            tail = tail_of(edge)
            for place, child in enumerate(tail):
                following = (*ranks[:place], ranks[place] + 1, *ranks[place + 1 :])
                if following[place] < len(trees[child]) and (edge, following) not in seen:
                    seen.add((edge, following))
                    score = vertex_weight[vertex] + edge_weight[edge]
                    score += sum(trees[c][r][0] for c, r in zip(tail, following, strict=True))
                    heappush(queue, (-score, edge, following))
        trees[vertex] = best
    for rank, (score, _, _) in enumerate(trees.get(vertex, ())):
        edges: list[int] = []
        stack = [(vertex, rank)]
        while stack:
            at, which = stack.pop()
            _, edge, ranks = trees[at][which]
            if edge >= 0:
                edges.append(edge)
                if len(edges) > MOST_EDGES:
                    raise too_long("one of the best derivations", len(edges))
                stack.extend(reversed(list(zip(tail_of(edge), ranks, strict=True))))
        yield score, edges


def too_long(what: str, edges: float) -> DataError:
    """Return what to say of a derivation with that many edges."""
    return DataError(
        f"{what} has {edges:,.0f} edges or more, and {MOST_EDGES:,} is the most; "
        "does an edge lead to the same vertex twice?"
    )


def _checked_vertex(number: int, vertex: Any) -> tuple[str | None, float]:
    if isinstance(vertex, str) or not isinstance(vertex, Sequence) or len(vertex) != 2:
        raise DataError(f"vertex {number} is not a pair (label, weight): {vertex!r:.60}")
    label, weight = vertex
    if label is not None:
        if not isinstance(label, str) or not label or label.split() != [label]:
            raise DataError(f"vertex {number}: the label {label!r:.60} is not one word; use None if no leaf")
        if label in _RESERVED:
            raise DataError(f"vertex {number}: {label} is added by the language model; leave it out")
    return label, _checked_weight(f"vertex {number}", weight)


def _checked_edge(number: int, edge: Any, count: int) -> tuple[int, list[int], float]:
    if isinstance(edge, str) or not isinstance(edge, Sequence) or len(edge) != 3:
        raise DataError(f"edge {number} is not a triple (head, tail, weight): {edge!r:.60}")
    head, tail, weight = edge
    if isinstance(tail, str) or not isinstance(tail, Sequence | np.ndarray):
        raise DataError(f"edge {number}: its tail {tail!r:.60} is not a list of vertices")
    if len(tail) == 0:
        raise DataError(f"edge {number} has an empty tail; an edge has at least one vertex to lead to")
    for vertex in (head, *tail):
        if not _is_index(vertex, count):
            raise DataError(f"edge {number}: {vertex!r} is not one of the {count} vertices")
    return int(head), [int(vertex) for vertex in tail], _checked_weight(f"edge {number}", weight)


def _checked_weight(place: str, weight: Any) -> float:
    if isinstance(weight, bool) or not isinstance(weight, int | float | np.floating | np.integer):
        raise DataError(f"{place}: the weight {weight!r:.60} is not a number")
    # A comparison with an integer of any size is exact; making a float of it may fail.
    if not -MOST_WEIGHT <= weight <= MOST_WEIGHT:
        shown = f"{weight}" if isinstance(weight, float) else "of many digits"
        raise DataError(
            f"{place}: the weight {shown} is not between ±{MOST_WEIGHT:g}; leave out what is impossible"
        )
    return float(weight)


def _is_index(value: Any, count: int) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(0 <= value < count)
