"""`exact`: the dual with pruning, then branch and bound if a gap remains. Always ends in a proof.

The two-sided bound (`dualign.decode.joint.bound`) closes most pairs at the root. Otherwise the search
branches on the choice that the halves disagree about most, best bound first; children start from their
parent's multipliers and from what its pruning left.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from dualign._core.arrays import Array
from dualign._core.certified import Certified
from dualign._core.errors import Infeasible
from dualign._core.progress import Clock, Pace
from dualign._search.certificate import PRECISION, certify
from dualign._search.dual import (
    BOUND,
    IMPOSSIBLE,
    NEVER,
    OPEN,
    ROUNDS,
    OpenParts,
    Record,
    new_record,
    trace_of,
)
from dualign.decode.joint.bound import (
    ChainPair,
    Multipliers,
    descend,
    new_pair,
    prune_by_chains,
    rounds_at_once,
)
from dualign.decode.joint.feasible import JointOutcome, compiled_offer
from dualign.decode.joint.model import (
    JointProblem,
    Masks,
    compiled_propagate,
    compiled_score,
    copied,
    decided,
    potentials,
)
from dualign.hmm.blocks import Block
from dualign.options import Options

MOST_SCORES = 20_000_000
"""Pairs with more entries in θ and ω (about 215 words per side) are not decoded jointly."""

ROOT_ROUNDS, NODE_ROUNDS = 300, 60

MOST_STEPS = 300_000_000
"""Where the nodes are limited, so are the steps from cell to cell of all rounds: some ten seconds."""


def agree_block(options: Options, block: Block, marks: Array) -> dict[str, Array]:
    """Mark the links of the best joint alignment in `marks`, uint8 (slots, 2): b, then a.

    The marks of pairs that are too large stay as they are. A pair with an empty side has no links, certified.
    Returns, for each pair, `score` and proved `bound` of the joint objective (NaN where it was not decoded),
    whether they have met (`certified`), `rounds` and `seconds`, and bound and score by round (`trace`).
    """
    pairs = block.pairs
    lengths, widths = np.diff(pairs.source_offsets), np.diff(pairs.target_offsets)
    scores = lengths * (widths + 1) ** 2 + widths * (lengths + 1) ** 2
    empty = (lengths == 0) | (widths == 0)
    alpha = NEVER if options.agreement == "full" else options.penalty
    gamma = options.unsupported if options.agreement == "soft" else NEVER
    nothing: Array = np.where(empty, 0.0, np.nan)
    proofs = {
        "score": nothing, "bound": nothing.copy(), "certified": empty, "trace": np.empty(len(empty), object),
        "rounds": np.zeros(len(empty), np.int64), "seconds": np.zeros(len(empty)),
    }  # fmt: skip
    for n in np.flatnonzero(~empty & (scores <= MOST_SCORES)).tolist():
        problem = JointProblem(*potentials(n, block), float(alpha), float(gamma))
        clock = Clock(options.time_limit or None)
        result = certified(problem, search(problem, PRECISION, clock, options.nodes or None), "exact", clock)
        for name, values in proofs.items():
            values[n] = result.iterations if name == "rounds" else getattr(result, name)
        a, b = result.solution
        cells = marks[block.first[n] : block.first[n + 1]].reshape(lengths[n], widths[n], 2)
        cells[:] = 0
        rows, columns = np.flatnonzero(a), np.flatnonzero(b)
        cells[rows, a[rows] - 1, 1] = 1
        cells[b[columns] - 1, columns, 0] = 1
    return proofs


def certified(
    problem: JointProblem, outcome: JointOutcome, method: str, clock: Clock, tolerance: float = PRECISION
) -> Certified[tuple[Array, Array]]:
    """What a method found, its score recomputed, and what that proves.

    A method that found nothing returns the alignment without links, which may be possible after all.
    """
    a, b = outcome.incumbent.a, outcome.incumbent.b
    value = float(compiled_score(problem, a, b))
    if value < IMPOSSIBLE:
        if outcome.bound < IMPOSSIBLE:
            raise Infeasible("no alignment is possible: every one has a score of minus infinity")
        value = -np.inf
    trace = tuple((bound, found if found > IMPOSSIBLE else -np.inf) for bound, found in outcome.trace)
    tolerance = max(tolerance, PRECISION * abs(value))
    return certify((a[1:], b[1:]), value, outcome.bound, tolerance, method, clock, outcome.rounds, trace)


def search(
    problem: JointProblem, tolerance: float, clock: Clock, most_nodes: int | None = None
) -> JointOutcome:
    """Maximise; the bound equals the score up to the tolerance unless a limit cuts the search.

    Unlike a time limit, a limit on the nodes, and with it on the steps, cuts it at the same place every time.
    """
    state = _Search(problem, tolerance, clock)
    root, record = state.root, new_record(ROOT_ROUNDS)
    I, J = len(problem.theta), len(problem.omega)
    bound = float(prune_by_chains(problem, root.masks, root.incumbent, tolerance))
    state.pace.each = clock.seconds  # of chains that have been run, about as long as a round
    if bound > IMPOSSIBLE and compiled_propagate(root.masks, state.strict):
        bound = min(bound, state.tighten(root, record, ROOT_ROUNDS))
    else:
        bound = NEVER
    limit = most_nodes or sys.maxsize
    most_rounds = MOST_STEPS // (I * J * (I + J)) if most_nodes else sys.maxsize
    parts: OpenParts[ChainPair] = OpenParts()
    parts.add([(bound, root)], state.enough)
    while parts.are_left(state.enough):
        if state.nodes >= limit or state.rounds >= most_rounds or clock.is_over:
            break
        parts.add(list(state.split(*parts.take())), state.enough)
    bound = max(parts.bound, state.least)
    return JointOutcome(root.incumbent, bound, state.rounds, trace_of(record), state.nodes)


class _Search:
    """What all parts of a search share. A part is a `ChainPair` with masks and multipliers of its own."""

    def __init__(self, problem: JointProblem, tolerance: float, clock: Clock) -> None:
        self.root = new_pair(problem)
        self.tolerance = tolerance
        self.pace = Pace(clock, min(25, rounds_at_once(len(problem.theta), len(problem.omega))))
        self.strict = problem.gamma < IMPOSSIBLE
        self.rounds = 0
        self.nodes = 1

    @property
    def least(self) -> float:
        """The best score so far."""
        return float(self.root.incumbent.value[0])

    @property
    def enough(self) -> float:
        """Parts of the search space whose bound is not above this need not be searched."""
        return self.least + self.tolerance

    def tighten(self, pair: ChainPair, record: Record, most: int) -> float:
        """Descend until the gap is closed, progress is slow, or time is up; the bound that it proves."""
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

    def split(self, bound: float, pair: ChainPair) -> Iterator[tuple[float, ChainPair]]:
        """The two halves of a part, with their bounds."""
        for masks in children(pair, self.strict):
            if decided(masks):
                compiled_offer(pair.problem, *only_alignment(masks), pair.incumbent)
                continue
            multipliers = Multipliers(*(each.copy() for each in pair.multipliers))
            child = pair._replace(masks=masks, multipliers=multipliers)
            self.nodes += 1
            yield min(bound, self.tighten(child, new_record(0, self.least), NODE_ROUNDS)), child


def children(pair: ChainPair, strict: bool) -> Iterator[Masks]:
    """The two halves of a part: a choice made, and the same choice excluded."""
    kind, i, j = branching_choice(pair)
    for chosen in (True, False):
        masks = copied(pair.masks)
        choices, place = (masks.x[i], j) if kind == 0 else (masks.y[:, j], i)
        if chosen:
            choices[:] = 0
        choices[place] = chosen
        if compiled_propagate(masks, strict):
            yield masks


def branching_choice(pair: ChainPair) -> tuple[int, int, int]:
    """Kind (0: a_i = j, 1: b_j = i) and place of the undecided choice that is most in doubt."""
    means = pair.multipliers.mean_x, pair.multipliers.mean_y
    doubts = []
    # A row of x has choices in its columns, a column of y in its rows.
    for mask, mean, axis in zip(pair.masks, means, (1, 0), strict=True):
        undecided = (mask > 0) & (mask.sum(axis=axis, keepdims=True) > 1)
        doubts.append(np.where(undecided, 1.0 - np.abs(2 * mean - 1), -1.0))
    doubts[0][0] = doubts[1][:, 0] = -1.0
    kind = int(doubts[1].max() >= doubts[0].max())
    i, j = np.unravel_index(int(doubts[kind].argmax()), doubts[kind].shape)
    return kind, int(i), int(j)


def only_alignment(masks: Masks) -> tuple[Array, Array]:
    """The only alignment that decided masks allow."""
    a, b = masks.x.argmax(axis=1).astype(np.int64), masks.y.argmax(axis=0).astype(np.int64)
    a[0] = b[0] = 0
    return a, b
