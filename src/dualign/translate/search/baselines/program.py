"""The decoding problem as an integer program, and its linear relaxation, on HiGHS.

Variables: `y_e` for each edge; for each state s (see `leaf_paths`) and leaf c the flow `f(s, c) ≥ 0` of walks
through s that left c last; for each chain of k = 3..n leaves that can follow each other, `z_k`. With
`b(c, w)` the flow of c into w↓:

    Σ_e into the root = 1;  Σ_{e: h(e)=v} y_e = Σ_{e: v∈t(e)} y_e       a derivation (D0)
    Σ_c f(s, c) = Σ_{e: s∈S(e)} y_e                                     states (D1, D5, D6)
    Σ_in f(·, c) = Σ_out f(·, c)  at each position but leaves           paths
    Σ_first z_k = z_{k−1}(all but the first)                            chains (D2-D4),
    Σ_last z_k = z_{k−1}(all but the last)                              z_2 = b

maximise θ · y + Σ log p · z_n. The two sets of path variables of D5 and D6 are one here: they agree in
every derivation, so the linear program is smaller and at least as tight. Only y need be whole.

This holds where no derivation uses a vertex twice. In other forests such vertices are copied first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite

import numpy as np

from dualign._core.certified import Stage
from dualign._core.progress import Clock
from dualign._search.certificate import PRECISION, have_met
from dualign._search.highs import Program
from dualign.translate.forest.hypergraph import Hypergraph
from dualign.translate.lm.trie import last_score
from dualign.translate.search.baselines.leaf_paths import Paths
from dualign.translate.search.derivations import Incumbents, rounding
from dualign.translate.search.multipliers import first_bound
from dualign.translate.search.problem import ForestProblem

MOST_PAIRS = 100_000
MOST_VARIABLES = 2_000_000
MOST_VERTICES = 20_000


def program(
    problem: ForestProblem, incumbents: Incumbents, clock: Clock, trace: list[Stage], whole: bool
) -> tuple[float, bool]:
    """Fill `incumbents`; returns a bound, and whether the best of them is proved to be the best."""
    bound = first_bound(problem, incumbents, max(10, 2 * incumbents.k), clock)
    copy = single_use(problem.hypergraph)
    if copy is None:
        return bound, False
    graph, origin = copy
    small = ForestProblem(graph, problem.model, problem.order)
    paths = Paths.of(small, 1, MOST_PAIRS)
    columns = None if paths is None else _columns(small, paths, clock)
    if paths is None or columns is None:
        return bound, False
    size = len(paths.edge)
    solved = columns.program(size, whole).solve(max(clock.left, 0.01))
    if isfinite(solved.bound):
        bound = min(bound, solved.bound)
    what = "cut off"
    if solved.values is not None:
        y = solved.values[:size]
        if solved.ended:
            what = "fractional" if (np.abs(y - np.round(y)) > 1e-6).any() else "whole"
        # Where y is undecided, what it prefers.
        edges = paths.edge[paths.derivation(y)[0]].tolist()
        incumbents.offer([[origin[e] for e in edges if e >= 0]])
    trace.append((what, bound, incumbents.score, clock.seconds))
    met = have_met(incumbents.score, bound, PRECISION * (1.0 + abs(bound)) + rounding(bound))
    return max(incumbents.score, bound), incumbents.k == 1 and met and solved.ended


def single_use(graph: Hypergraph) -> tuple[Hypergraph, list[int]] | None:
    """Return the same forest, with vertices copied so that no derivation uses one twice, and the edges'
    origins.

    None if that takes too many copies. Leaves are copied for each place where they stand.
    """
    labels: list[tuple[str | None, float]] = []
    edges: list[tuple[int, list[int], float]] = []
    origin: list[int] = []
    weights = graph.vertex_weight.tolist()
    incoming, first = graph.incoming.tolist(), graph.incoming_begin.tolist()
    below: list[frozenset[int]] = []

    def add(vertex: int, memory: dict[int, int]) -> int:
        """Return a copy of a vertex and all below it; vertices in `memory` are shared."""
        for v in wanted(vertex, memory):
            number = len(labels)
            memory[v] = number
            labels.append((graph.labels[v], weights[v]))
            below.append(frozenset((number,)))
            for e in incoming[first[v] : first[v + 1]]:
                tail: list[int] = []
                taken: set[int] = set()
                for child in graph.tail_of(e):
                    at = memory[child]
                    if graph.labels[child] is not None or taken & below[at]:
                        at = add(child, {})
                    taken |= below[at]
                    tail.append(at)
                    if len(labels) > MOST_VERTICES:
                        raise OverflowError
                edges.append((number, tail, float(graph.edge_weight[e])))
                origin.append(e)
                below[number] |= taken
        return memory[vertex]

    def wanted(vertex: int, memory: dict[int, int]) -> list[int]:
        reached, stack = set(), [vertex]
        while stack:
            v = stack.pop()
            if v in reached or v in memory:
                continue
            reached.add(v)
            for e in incoming[first[v] : first[v + 1]]:
                stack.extend(graph.tail_of(e))
        return [v for v in graph.order.tolist() if v in reached]

    try:
        root = add(graph.root, {})
    except OverflowError:
        return None
    # What was replaced by copies is left over.
    return Hypergraph.trusted(labels, edges, root), origin


@dataclass
class _Columns:
    """Objectives of the columns (y of the edges, then flows, then chains of leaves of length 3 … n), right
    sides of the rows, and entries (row, column, value)."""

    objective: list[float]
    right: list[float] = field(default_factory=list)
    entries: list[tuple[int, int, float]] = field(default_factory=list)

    def row(self, value: float = 0.0) -> int:
        """Return a new row."""
        self.right.append(value)
        return len(self.right) - 1

    def column(self) -> int:
        """Return a new column."""
        self.objective.append(0.0)
        return len(self.objective) - 1

    def is_too_much(self, clock: Clock) -> bool:
        """Return whether there are too many variables, or there is no time for more."""
        return len(self.objective) > MOST_VARIABLES or clock.is_over

    def program(self, edges: int, whole: bool) -> Program:
        """Return the program for HiGHS."""
        program = Program()
        program.add_variables(self.objective[:edges], whole=whole)
        program.add_variables(self.objective[edges:])
        program.add_constraints(self.right, self.right)
        rows, columns, values = map(np.array, zip(*self.entries, strict=True))
        program.add_entries(rows, columns, values)
        return program


def _columns(problem: ForestProblem, paths: Paths, clock: Clock) -> _Columns | None:
    """Return the columns, None if there are too many."""
    graph, V, weight = paths.graph, len(paths.leaf), paths.graph.vertex_weight.tolist()
    built = _Columns(graph.edge_weight.tolist())
    # D0, with the weight of a vertex on the edges that make it, or for leaves, that use it.
    balance = {v: built.row() for v in range(V - 1) if paths.leaf[v] < 0}
    balance[V - 1] = built.row(1.0)
    for e, head in enumerate(graph.head.tolist()):
        built.entries.append((balance[head], e, 1.0))
        built.objective[e] += weight[head]
        for v in graph.tail_of(e):
            if paths.leaf[v] < 0:
                built.entries.append((balance[v], e, -1.0))
            else:
                built.objective[e] += weight[v]
    pairs = _flows(paths, built, clock)
    return built if pairs is not None and _chains(problem, paths, pairs, built, clock) else None


def _flows(paths: Paths, built: _Columns, clock: Clock) -> dict[tuple[int, int], list[int]] | None:
    """Add flows and their rows; return the columns of `b`, those that reach a leaf, by both leaves."""
    V, walk = len(paths.leaf), paths.walk
    state_row: dict[int, int] = {}
    node_row: dict[tuple[int, int], int] = {}
    pairs: dict[tuple[int, int], list[int]] = {}

    def balance(position: int, leaf: int, column: int, value: float) -> None:
        if (position, leaf) not in node_row:
            node_row[position, leaf] = built.row()
        built.entries.append((node_row[position, leaf], column, value))

    for c in np.flatnonzero(paths.leaf >= 0).tolist():
        if c in paths.ends:
            continue  # nothing follows
        seen, stack = {c}, [c]
        while stack:
            p = stack.pop()
            for s in walk.leaving[walk.leave[p] : walk.leave[p + 1]].tolist():
                q = int(walk.head_of[s])
                column = built.column()
                if s not in state_row:
                    state_row[s] = built.row()
                built.entries.append((state_row[s], column, 1.0))
                if p != c:
                    balance(p, c, column, -1.0)
                if q >= V and paths.leaf[2 * V - 1 - q] >= 0:
                    pairs.setdefault((c, 2 * V - 1 - q), []).append(column)
                    continue
                balance(q, c, column, 1.0)
                if q not in seen:
                    seen.add(q)
                    stack.append(q)
        if built.is_too_much(clock):
            return None
    for e in range(len(paths.edge)):
        for s in paths.states[paths.state_begin[e] : paths.state_begin[e + 1]].tolist():
            if s in state_row:
                built.entries.append((state_row[s], e, -1.0))
    return pairs


def _chains(
    problem: ForestProblem,
    paths: Paths,
    pairs: dict[tuple[int, int], list[int]],
    built: _Columns,
    clock: Clock,
) -> bool:
    """Add variables of chains of leaves and their rows; scores go to the longest, or where <s> begins one,
    to it. False if there are too many, or there is no time for them."""
    lm, n = problem.automaton, problem.order
    start = paths.starts[0]
    following: dict[int, list[int]] = {}
    for a, b in pairs:
        following.setdefault(a, []).append(b)
    now: dict[tuple[int, ...], list[int]] = {(a, b): columns for (a, b), columns in pairs.items()}
    for length in range(2, n + 1):
        # Words near the beginning have no n-gram of full length; that with <s> is all there is.
        for chain, columns in now.items():
            if length == n or chain[0] == start:
                value = last_score(lm, paths.leaf[list(chain)])
                for column in columns:
                    built.objective[column] += value
            if clock.is_over:
                return False
        if length == n:
            break
        longer: dict[tuple[int, ...], list[int]] = {}
        by_suffix: dict[tuple[int, ...], list[int]] = {}
        by_prefix: dict[tuple[int, ...], list[int]] = {}
        for chain in now:
            for w in following.get(chain[-1], ()):
                longer[*chain, w] = [column := built.column()]
                by_suffix.setdefault((*chain[1:], w), []).append(column)
                by_prefix.setdefault(chain, []).append(column)
            if built.is_too_much(clock):
                return False
        for groups in (by_suffix, by_prefix):
            for chain, columns in groups.items():
                row = built.row()
                built.entries.extend((row, column, 1.0) for column in columns)
                built.entries.extend((row, column, -1.0) for column in now[chain])
        now = longer
    if n == 1:
        for e in range(len(paths.edge)):
            words = [int(paths.leaf[v]) for v in paths.graph.tail_of(e) if paths.leaf[v] >= 0 and v != start]
            built.objective[e] += sum(float(lm.logprob[1 + w]) for w in words)
    return True
