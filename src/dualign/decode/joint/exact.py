"""`exact`: the dual with pruning, then branch and bound if a gap remains. Always ends in a proof.

The two-sided bound (`dualign.decode.joint.bound`) closes most pairs at the root. Otherwise the search
branches on the choice that the halves disagree about most, best bound first; children start from their
parent's multipliers and from what its pruning left.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dualign._core.arrays import Array
from dualign._core.progress import Clock, Pace
from dualign._search.branching import best_first
from dualign._search.dual import BOUND, IMPOSSIBLE, NEVER, OPEN, ROUNDS, Record, new_record, trace_of
from dualign.decode.joint.bound import (
    ChainPair,
    Halves,
    Multipliers,
    descend,
    new_halves,
    new_multipliers,
    prune_by_chains,
    rounds_at_once,
)
from dualign.decode.joint.feasible import JointOutcome, compiled_offer, new_incumbent
from dualign.decode.joint.model import JointProblem, Masks, all_allowed, compiled_propagate, copied, decided

ROOT_ROUNDS, NODE_ROUNDS = 300, 60

MOST_STEPS = 300_000_000
"""Where the nodes are limited, so are the steps from cell to cell of all rounds: some ten seconds."""


@dataclass(frozen=True, slots=True)
class SearchNode:
    """A part of the search space, and the multipliers to go on from."""

    masks: Masks
    multipliers: Multipliers


class _Search:
    """What all parts of a search share."""

    def __init__(self, problem: JointProblem, tolerance: float, clock: Clock) -> None:
        self.problem, self.tolerance, self.clock = problem, tolerance, clock
        I, J = len(problem.theta), len(problem.omega)
        self.halves: Halves = new_halves(I, J)
        self.incumbent = new_incumbent(I, J)
        self.pace = Pace(clock, min(25, rounds_at_once(I, J)))
        self.strict = problem.gamma < IMPOSSIBLE
        self.root: Record = new_record(ROOT_ROUNDS)
        self.rounds = 0
        self.nodes = 1

    @property
    def least(self) -> float:
        """The best score so far."""
        return float(self.incumbent.value[0])

    def enough(self) -> float:
        """Parts of the search space whose bound is not above this need not be searched."""
        return self.least + self.tolerance

    def tighten(self, masks: Masks, multipliers: Multipliers, record: Record, most: int) -> float:
        """Descend until the gap is closed, progress is slow, or time is up; the bound that it proves."""
        pair = ChainPair(self.problem, masks, multipliers, self.halves, self.incumbent, np.empty(2))

        outcome: int | None
        before, since = np.inf, 0  # the bound at a round, a chunk of rounds ago
        while True:
            done, outcome = int(record.numbers[ROUNDS]), None
            if (chosen := self.pace.rounds(self.pace.chunk)) is not None:
                outcome = descend(pair, record, chosen, self.tolerance)
                self.pace.done(int(record.numbers[ROUNDS]) - done)
            bound, rounds = float(record.numbers[BOUND]), int(record.numbers[ROUNDS])
            later = rounds >= since + self.pace.chunk
            slow = later and before - bound < 0.1 * (bound - self.least)
            # Halves that agree have no direction to step in; in soft agreement a gap may remain even so.
            if outcome != OPEN or rounds >= most or slow:
                self.rounds += rounds
                return bound
            if later:
                before, since = bound, rounds

    def split(self, bound: float, node: SearchNode) -> Iterator[tuple[float, SearchNode]]:
        """The two halves of a node's space, with their bounds."""
        for masks in children(node, self.strict):
            if decided(masks):
                compiled_offer(self.problem, *only_alignment(masks), self.incumbent)
                continue
            multipliers = Multipliers(*(part.copy() for part in node.multipliers))
            record = new_record(0, self.least)
            self.nodes += 1
            yield (
                min(bound, self.tighten(masks, multipliers, record, NODE_ROUNDS)),
                SearchNode(masks, multipliers),
            )


def search(
    problem: JointProblem, tolerance: float, clock: Clock, most_nodes: int | None = None
) -> JointOutcome:
    """Maximise; the bound equals the score up to the tolerance unless a limit cuts the search.

    Unlike a time limit, a limit on the nodes, and with it on the steps, cuts it at the same place every time.
    """
    state = _Search(problem, tolerance, clock)
    I, J = len(problem.theta), len(problem.omega)
    masks, multipliers = all_allowed(I, J), new_multipliers(I, J)
    bound = float(prune_by_chains(problem, masks, state.incumbent, tolerance))
    state.pace.each = clock.seconds  # of chains that have been run, about as long as a round
    if bound > IMPOSSIBLE and compiled_propagate(masks, state.strict):
        bound = min(bound, state.tighten(masks, multipliers, state.root, ROOT_ROUNDS))
    else:
        bound = NEVER
    limit = most_nodes or sys.maxsize
    most_rounds = MOST_STEPS // (I * J * (I + J)) if most_nodes else sys.maxsize
    bound, _ = best_first(
        [(bound, SearchNode(masks, multipliers))],
        state.split,
        state.enough,
        lambda: state.nodes >= limit or state.rounds >= most_rounds or state.clock.is_over,
    )
    return JointOutcome(
        state.incumbent, max(bound, state.least), state.rounds, trace_of(state.root), state.nodes
    )


def children(node: SearchNode, strict: bool) -> Iterator[Masks]:
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
        if compiled_propagate(masks, strict):
            yield masks


def branching_choice(node: SearchNode) -> tuple[int, int, int]:
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


def only_alignment(masks: Masks) -> tuple[Array, Array]:
    """The only alignment that decided masks allow."""
    a, b = masks.x.argmax(axis=1).astype(np.int64), masks.y.argmax(axis=0).astype(np.int64)
    a[0] = b[0] = 0
    return a, b
