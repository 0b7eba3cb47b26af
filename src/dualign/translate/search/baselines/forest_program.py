"""The decoding problem as an integer program, and its linear relaxation, on HiGHS.

Variables: `y_e` for each edge; for each state s (see `paths`) and leaf c the flow `f(s, c) ≥ 0` of walks
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

from typing import Any

import numpy as np

from dualign.core.arrays import Array
from dualign.translate.forest.hypergraph import Hypergraph
from dualign.translate.lm.trie import find
from dualign.translate.search.baselines.leaf_paths import Paths
from dualign.translate.search.incumbents import Incumbents, rounding
from dualign.translate.search.passes import Clock, cube, word_bound
from dualign.translate.search.translation_problem import Problem

MOST_PAIRS = 100_000
MOST_VARIABLES = 2_000_000
MOST_VERTICES = 20_000


def program(
    problem: Problem, incumbents: Incumbents, clock: Clock, trace: list[Any], whole: bool
) -> tuple[float, bool]:
    """Fill `incumbents`; returns a bound, and whether the best of them is proved to be the best."""
    incumbents.offer(cube(problem, max(10, 2 * incumbents.k), incumbents.k))
    bound, _ = word_bound(problem, incumbents.score)
    copy = single_use(problem.hypergraph)
    if copy is None or problem.order < 1:
        return bound, False
    graph, origin = copy
    small = Problem(graph, problem.model, problem.order)
    paths = Paths.of(small, 1, MOST_PAIRS)
    built = None if paths is None else _Program.of(small, paths, clock)
    if built is None:
        return bound, False
    value, y, proved = built.solve(whole, clock)
    if value is not None:
        bound = min(bound, value + 1e-7 * (1.0 + abs(value)))
    what = "cut off"
    if y is not None:
        if proved:
            what = "fractional" if (np.abs(y - np.round(y)) > 1e-6).any() else "whole"
        incumbents.offer([[origin[e] for e in built.derivation(y)]])
    trace.append((what, bound, incumbents.score, clock.seconds))
    met = bound - incumbents.score <= 1e-6 * (1.0 + abs(bound)) + rounding(bound)
    return (max(incumbents.score, bound), incumbents.k == 1 and met and proved)


def single_use(graph: Hypergraph) -> tuple[Hypergraph, list[int]] | None:
    """The same forest, with vertices copied so that no derivation uses one twice, and the edges' origins.

    None if that takes too many copies. Leaves are copied for each place where they stand.
    """
    labels: list[tuple[str | None, float]] = []
    edges: list[tuple[int, list[int], float]] = []
    origin: list[int] = []
    weights = graph.vertex_weight.tolist()
    incoming, first = graph.incoming.tolist(), graph.incoming_begin.tolist()
    below: list[frozenset[int]] = []

    def add(vertex: int, memory: dict[int, int]) -> int:
        """A copy of a vertex and all below it; vertices in `memory` are shared."""
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
    # Leaves that were replaced by copies are left over.
    return Hypergraph(labels, edges, root), origin


class _Program:
    """Columns: y of the edges, then flows, then chains of leaves of length 3 … n."""

    def __init__(
        self, paths: Paths, problem: Problem, columns: int, objective: Array, rows: tuple[Any, Array]
    ) -> None:
        self.paths = paths
        self.problem = problem
        self.columns = columns
        self.objective = objective
        self.rows = rows

    @classmethod
    def of(cls, problem: Problem, paths: Paths, clock: Clock) -> _Program | None:
        """None if there are too many variables."""
        V, E = len(paths.leaf), len(paths.head)
        objective: list[float] = paths.edge_weight.tolist()
        entries: list[tuple[int, int, float]] = []
        right: list[float] = []

        def row(value: float = 0.0) -> int:
            right.append(value)
            return len(right) - 1

        # D0, with the weight of a vertex on the edges that make it, or for leaves, that use it.
        balance = {v: row() for v in range(V - 1) if paths.leaf[v] < 0}
        goal = row(1.0)
        for e in range(E):
            head = int(paths.head[e])
            entries.append((goal if head == V - 1 else balance[head], e, 1.0))
            objective[e] += float(paths.vertex_weight[head])
            for v in paths.tail[paths.tail_begin[e] : paths.tail_begin[e + 1]].tolist():
                if paths.leaf[v] < 0:
                    entries.append((balance[v], e, -1.0))
                else:
                    objective[e] += float(paths.vertex_weight[v])
        # Flows.
        state_row: dict[int, int] = {}
        node_row: dict[tuple[int, int], int] = {}
        pair_columns: dict[tuple[int, int], list[int]] = {}
        on_path = set()
        for c in np.flatnonzero(paths.leaf >= 0).tolist():
            if c in paths.ends:
                continue  # nothing follows
            seen, stack = {c}, [c]
            while stack:
                p = stack.pop()
                for s in paths.leaving[paths.leave[p] : paths.leave[p + 1]].tolist():
                    q = int(paths.head_of[s])
                    column = len(objective)
                    objective.append(0.0)
                    on_path.add(s)
                    if s not in state_row:
                        state_row[s] = row()
                    entries.append((state_row[s], column, 1.0))
                    if p != c:
                        entries.append((node_row.setdefault((p, c), len(right)), column, -1.0))
                        if node_row[p, c] == len(right):
                            row()
                    if q >= V and paths.leaf[2 * V - 1 - q] >= 0:
                        pair_columns.setdefault((c, 2 * V - 1 - q), []).append(column)
                        continue
                    entries.append((node_row.setdefault((q, c), len(right)), column, 1.0))
                    if node_row[q, c] == len(right):
                        row()
                    if q not in seen:
                        seen.add(q)
                        stack.append(q)
            if len(objective) > MOST_VARIABLES or clock.left <= 0:
                return None
        for e in range(E):
            for s in paths.states[paths.state_begin[e] : paths.state_begin[e + 1]].tolist():
                if s in on_path:
                    entries.append((state_row[s], e, -1.0))
        chains = _chains(problem, paths, pair_columns, objective, entries, right, clock)
        if chains is None:
            return None
        from scipy.sparse import csc_matrix

        i, j, value = zip(*entries, strict=True)
        matrix = csc_matrix((value, (i, j)), (len(right), len(objective)))
        return cls(paths, problem, E, np.array(objective), (matrix, np.array(right)))

    def solve(self, whole: bool, clock: Clock) -> tuple[float | None, Array | None, bool]:
        """A proved bound if there is one, the values of y, and whether HiGHS came to its end."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        matrix, right = self.rows
        integrality = np.zeros(len(self.objective))
        integrality[: self.columns] = whole
        options: dict[str, Any] = {"mip_rel_gap": 0.0, "presolve": True}
        if clock.limit is not None:
            options["time_limit"] = max(clock.left, 0.01)
        result = milp(
            -self.objective,
            integrality=integrality,
            bounds=Bounds(0.0, 1.0),
            constraints=LinearConstraint(matrix, right, right),
            options=options,
        )
        dual = getattr(result, "mip_dual_bound", None)
        done = result.status == 0
        value = -float(dual) if whole and dual is not None else (-float(result.fun) if done else None)
        return value, (None if result.x is None else result.x[: self.columns]), done

    def derivation(self, y: Array) -> list[int]:
        """The edges that y chooses, or where it is undecided, prefers; by the hypergraph's numbers."""
        paths = self.paths
        numbers = paths.edge_numbers(self.problem)
        edges, stack = [], [len(paths.leaf) - 1]
        while stack:
            v = stack.pop()
            if paths.leaf[v] >= 0:
                continue
            choices = paths.incoming[paths.incoming_begin[v] : paths.incoming_begin[v + 1]]
            e = int(choices[np.argmax(y[choices])])
            if numbers[e] >= 0:
                edges.append(int(numbers[e]))
            stack.extend(paths.tail[paths.tail_begin[e] : paths.tail_begin[e + 1]][::-1].tolist())
        return edges


def _chains(
    problem: Problem,
    paths: Paths,
    pairs: dict[tuple[int, int], list[int]],
    objective: list[float],
    entries: list[tuple[int, int, float]],
    right: list[float],
    clock: Clock,
) -> bool | None:
    """Variables of chains of leaves and their rows; scores go to the longest, or where <s> begins one, to
    it. None if there are too many, or there is no time for them."""
    lm, n = problem.automaton, problem.order
    start = paths.starts[0]

    def charge(chain: tuple[int, ...], columns: list[int]) -> None:
        words = [int(paths.leaf[v]) for v in chain]
        state = 1 + words[0]
        value = 0.0
        for w in words[1:]:
            node = find(lm.first, lm.word, state, w)
            value = 0.0
            while node < 0:
                value += lm.backoff[state]
                state = lm.suffix[state]
                node = find(lm.first, lm.word, state, w)
            value += lm.logprob[node]
            state = lm.state[node]
        for column in columns:
            objective[column] += value

    following: dict[int, list[int]] = {}
    for a, b in pairs:
        following.setdefault(a, []).append(b)
    now: dict[tuple[int, ...], list[int]] = {(a, b): columns for (a, b), columns in pairs.items()}
    for length in range(2, n + 1):
        # Words near the beginning have no n-gram of full length; that with <s> is all there is.
        for chain, columns in now.items():
            if length == n or chain[0] == start:
                charge(chain, columns)
            if clock.left <= 0:
                return None
        if length == n:
            break
        longer: dict[tuple[int, ...], list[int]] = {}
        by_suffix: dict[tuple[int, ...], list[int]] = {}
        by_prefix: dict[tuple[int, ...], list[int]] = {}
        for chain in now:
            for w in following.get(chain[-1], ()):
                column = len(objective)
                objective.append(0.0)
                longer[(*chain, w)] = [column]
                by_suffix.setdefault((*chain[1:], w), []).append(column)
                by_prefix.setdefault(chain, []).append(column)
            if len(objective) > MOST_VARIABLES or clock.left <= 0:
                return None
        for groups in (by_suffix, by_prefix):
            for chain, columns in groups.items():
                number = len(right)
                right.append(0.0)
                entries.extend((number, column, 1.0) for column in columns)
                entries.extend((number, column, -1.0) for column in now[chain])
        now = longer
    if n == 1:
        for v in np.flatnonzero(paths.leaf >= 0).tolist():
            if v != start:
                value = float(lm.logprob[1 + paths.leaf[v]])
                for e in range(len(paths.head)):
                    tail = paths.tail[paths.tail_begin[e] : paths.tail_begin[e + 1]]
                    objective[e] += value * int((tail == v).sum())
    return True
