"""`exact`: dual ascent with pruning; where a gap remains, branch and bound. Always ends in a proof.

The two-sided bound (`dualign.decode.joint.bound`) closes most pairs at the root. Otherwise the search
branches on the choice that the halves disagree about most, best bound first; children start from their
parent's multipliers and from what its pruning left.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from time import perf_counter

import numpy as np

from dualign.core.arrays import Array
from dualign.decode.joint.bound import (
    CLOSED,
    MET,
    Halves,
    Multipliers,
    ascend,
    new_halves,
    new_multipliers,
    prune_by_chains,
    rounds_at_once,
)
from dualign.decode.joint.masks import Masks, all_allowed, copied, decided, propagate
from dualign.decode.joint.objective import Problem
from dualign.decode.joint.outcome import Outcome
from dualign.decode.joint.primal import new_incumbent, offer
from dualign.decode.joint.tied_chain import IMPOSSIBLE, NEVER
from dualign.search.dual import BOUND, ROUNDS, Ascent, new_ascent, trace_of

__all__ = ["search"]

ROOT_ROUNDS, NODE_ROUNDS = 300, 60


@dataclass(frozen=True, slots=True)
class Node:
    """A part of the search space, its bound, and the multipliers to go on from."""

    masks: Masks
    multipliers: Multipliers
    bound: float


class _Search:
    """What all nodes share."""

    def __init__(self, problem: Problem, tolerance: float, deadline: float, trace: int) -> None:
        self.problem, self.tolerance, self.deadline = problem, tolerance, deadline
        I, J = len(problem.theta), len(problem.omega)
        self.halves: Halves = new_halves(I, J)
        self.incumbent = new_incumbent(I, J)
        self.chunk = min(25, rounds_at_once(I, J))
        self.strict = problem.gamma < IMPOSSIBLE
        self.rounds = 0
        self.root: Ascent = new_ascent(trace)

    @property
    def least(self) -> float:
        return float(self.incumbent.value[0])

    def out_of_time(self) -> bool:
        return perf_counter() >= self.deadline

    def tighten(self, masks: Masks, multipliers: Multipliers, ascent: Ascent, most: int) -> float:
        """Dual ascent until the gap is closed, progress is slow, or time is up; the bound that it proves."""
        before = np.inf
        while True:
            outcome = ascend(
                self.problem,
                masks,
                multipliers,
                self.halves,
                self.incumbent,
                ascent,
                self.chunk,
                self.tolerance,
            )
            bound = float(ascent.numbers[BOUND])
            if outcome == CLOSED:
                return bound
            rounds = int(ascent.numbers[ROUNDS])
            slow = before - bound < 0.1 * (bound - self.least)
            # Halves that agree have no direction to step in; in soft agreement a gap may remain even so.
            if outcome == MET or rounds >= most or (slow and rounds >= 2 * self.chunk) or self.out_of_time():
                return bound
            before = bound


def search(
    problem: Problem,
    tolerance: float,
    time_limit: float | None = None,
    most_nodes: int | None = None,
    trace: int = ROOT_ROUNDS,
) -> Outcome:
    """Maximise; the bound equals the score up to the tolerance unless a limit cuts the search.

    Unlike a time limit, a limit on the nodes cuts it at the same place every time.
    """
    state = _Search(problem, tolerance, np.inf if time_limit is None else perf_counter() + time_limit, trace)
    I, J = len(problem.theta), len(problem.omega)
    masks = all_allowed(I, J)
    bound = float(prune_by_chains(problem, masks, state.incumbent, tolerance))
    multipliers = new_multipliers(I, J)
    if bound > IMPOSSIBLE and propagate(masks, state.strict):
        bound = min(bound, state.tighten(masks, multipliers, state.root, ROOT_ROUNDS))
    else:
        bound = NEVER
    rounds, nodes = int(state.root.numbers[ROUNDS]), 1
    heap: list[tuple[float, int, Node]] = []
    numbers = count()
    closed = NEVER  # what is in parts that are not searched any further is worth at most this
    if bound > state.least + tolerance:
        heappush(heap, (-bound, next(numbers), Node(masks, multipliers, bound)))
    else:
        closed = bound
    most_nodes = most_nodes or sys.maxsize
    while heap and heap[0][2].bound > state.least + tolerance:
        if nodes >= most_nodes or state.out_of_time():
            break
        node = heappop(heap)[2]
        for masks in children(node, state.strict):
            if decided(masks):
                offer(problem, *chains_of(masks), state.incumbent)
                continue
            multipliers = Multipliers(*(part.copy() for part in node.multipliers))
            ascent = new_ascent(0, state.least)
            bound = min(node.bound, state.tighten(masks, multipliers, ascent, NODE_ROUNDS))
            rounds += int(ascent.numbers[ROUNDS])
            nodes += 1
            if bound > state.least + tolerance:
                heappush(heap, (-bound, next(numbers), Node(masks, multipliers, bound)))
            else:
                closed = max(closed, bound)
    bound = max((node.bound for _, _, node in heap), default=NEVER)
    return Outcome(state.incumbent, max(bound, closed, state.least), rounds, trace_of(state.root), nodes)


def children(node: Node, strict: bool) -> Iterator[Masks]:
    """The two halves of a node's space: a choice made, and the same choice excluded."""
    kind, i, j = branching_choice(node)
    for chosen in (True, False):
        masks = copied(node.masks)
        if not chosen:
            masks[kind][i, j] = 0
        elif kind == 0:
            masks.x[i] = 0
            masks.x[i, j] = 1
        else:
            masks.y[:, j] = 0
            masks.y[i, j] = 1
        if propagate(masks, strict):
            yield masks


def branching_choice(node: Node) -> tuple[int, int, int]:
    """Kind (0: a_i = j, 1: b_j = i) and place of the undecided choice that is most in doubt."""
    masks, means = node.masks, (node.multipliers.mean_x, node.multipliers.mean_y)
    doubts = []
    for kind in (0, 1):
        # A row has choices in its columns, a column in its rows.
        undecided = masks[kind].sum(axis=1 - kind, keepdims=True) > 1
        doubt = np.where((masks[kind] > 0) & undecided, 1.0 - np.abs(2 * means[kind] - 1), -1.0)
        doubt[0 if kind == 0 else slice(None), slice(None) if kind == 0 else 0] = -1.0
        doubts.append(doubt)
    kind = int(doubts[1].max() >= doubts[0].max())
    i, j = np.unravel_index(int(doubts[kind].argmax()), doubts[kind].shape)
    return kind, int(i), int(j)


def chains_of(masks: Masks) -> tuple[Array, Array]:
    """The only alignment that decided masks allow."""
    a, b = masks.x.argmax(axis=1).astype(np.int64), masks.y.argmax(axis=0).astype(np.int64)
    a[0] = b[0] = 0
    return a, b
