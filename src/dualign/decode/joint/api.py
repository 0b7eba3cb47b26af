"""`dualign.decode.bidirectional`: joint decoding of two chains, arguments checked, answers certified.

Joint decoding of a block of sentence pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dualign._core.arrays import Array
from dualign._core.certified import Certified
from dualign._core.errors import DataError, Infeasible, UsageError
from dualign._core.fields import check_value
from dualign._core.progress import Clock, check_time_limit
from dualign._search.certificate import PRECISION, certify, scale_of
from dualign._search.dual import IMPOSSIBLE, NEVER
from dualign.decode.joint import exact
from dualign.decode.joint.baselines import constrain, decomposition, relax
from dualign.decode.joint.baselines import program as ilp
from dualign.decode.joint.exact import search
from dualign.decode.joint.feasible import JointOutcome, new_incumbent
from dualign.decode.joint.model import JointProblem, compiled_score, potentials
from dualign.hmm.blocks import Block
from dualign.options import AGREEMENTS, Options

MOST_SCORES = 20_000_000
"""Pairs with more entries in θ and ω (about 215 words per side) are not decoded jointly."""


class Proofs(NamedTuple):
    """For each pair of a block: score and proved bound of the joint objective (NaN where a pair was not
    decoded), whether they have met, rounds and seconds, and bound and score by round."""

    score: Array
    bound: Array
    certified: Array
    rounds: Array
    seconds: Array
    trace: Array


def agree_block(options: Options, block: Block, marks: Array) -> Proofs:
    """Mark the links of the best joint alignment in `marks`, uint8 (slots, 2): b, then a.

    The marks of pairs that are too large stay as they are. A pair with an empty side has no links, certified.
    """
    pairs = block.pairs
    lengths, widths = np.diff(pairs.source_offsets), np.diff(pairs.target_offsets)
    scores = lengths * (widths + 1) ** 2 + widths * (lengths + 1) ** 2
    alpha = NEVER if options.agreement == "full" else options.penalty
    gamma = options.unsupported if options.agreement == "soft" else NEVER
    proofs = Proofs(
        np.full(len(lengths), np.nan), np.full(len(lengths), np.nan), np.zeros(len(lengths), bool),
        np.zeros(len(lengths), np.int64), np.zeros(len(lengths)), np.empty(len(lengths), object),
    )  # fmt: skip

    def decode(n: int) -> None:
        I, J = int(lengths[n]), int(widths[n])
        problem = JointProblem(*potentials(n, block), float(alpha), float(gamma))
        clock = Clock(options.time_limit or None)
        outcome = search(problem, PRECISION, clock, options.nodes or None)
        result = certified(problem, outcome, "exact", clock)
        proofs.score[n], proofs.bound[n], proofs.certified[n] = result.score, result.bound, result.certified
        proofs.rounds[n], proofs.seconds[n] = result.iterations, result.seconds
        proofs.trace[n] = result.trace
        a, b = result.solution
        cells = marks[block.first[n] : block.first[n + 1]].reshape(I, J, 2)
        cells[:] = 0
        rows, columns = np.flatnonzero(a), np.flatnonzero(b)
        cells[rows, a[rows] - 1, 1] = 1
        cells[b[columns] - 1, columns, 0] = 1

    empty = (lengths == 0) | (widths == 0)
    proofs.score[empty] = proofs.bound[empty] = 0.0
    proofs.certified[empty] = True
    for n in np.flatnonzero(~empty & (scores <= MOST_SCORES)).tolist():
        decode(n)
    return proofs


METHODS: dict[str, Callable[[JointProblem, float, Clock], JointOutcome]] = {
    "exact": exact.search,
    "relax": relax.search,
    "constrain": constrain.search,
    "ilp": ilp.search,
    "dual-decomposition": decomposition.search,
}

MOST = 1e12
"""Larger scores would leave no digits for the rest of the sum."""


def bidirectional(
    theta: npt.ArrayLike,
    omega: npt.ArrayLike,
    *,
    agreement: str = "adjacent",
    penalty: float = -1.0,
    unsupported: float | None = None,
    method: str = "exact",
    time_limit: float | None = None,
) -> Certified[tuple[Array, Array]]:
    """The best alignment of two directional chains that agree (Chang et al. 2014, §4; docs/agreement.md).

    `theta[i − 1, j_before, j]`, shape (I, J + 1, J + 1), scores a_i = j after a_{i−1} = j_before;
    `omega[j − 1, i_before, i]`, shape (J, I + 1, I + 1), likewise; 0 is null, −inf forbids. Links cost
    nothing where the directions agree; with `agreement` "adjacent", `penalty` ≤ 0 where they are one position
    off; with "soft" also `unsupported` ≤ penalty where a link has no counterpart. The solution is (a, b),
    integer arrays of lengths I and J, 0 = null; where a side has no words, the other is all null. With a time
    limit in seconds, it is the best one found by then, with a valid bound.
    """
    problem = problem_of(theta, omega, agreement, penalty, unsupported)
    check_value("method", method, choices=METHODS)
    check_time_limit(time_limit)
    return solve(problem, method, time_limit)


def solve(
    problem: JointProblem, method: str, time_limit: float | None = None
) -> Certified[tuple[Array, Array]]:
    """Run a method on a problem that is known to be sound."""
    clock = Clock(time_limit)
    scale = scale_of(max(_heaviest(problem), *(-cost for cost in problem[2:] if cost > IMPOSSIBLE), 0.0))
    scaled = problem if scale == 1 else _times(problem, scale)
    tolerance = tolerance_of(scaled)
    search = METHODS[method] if len(problem.theta) and len(problem.omega) else only_nulls
    outcome = search(scaled, tolerance, clock)
    if scale != 1:
        outcome = replace(
            outcome,
            bound=_over(outcome.bound, scale),
            trace=tuple((_over(bound, scale), _over(found, scale)) for bound, found in outcome.trace),
        )
    return certified(problem, outcome, method, clock, tolerance / scale)


def _times(problem: JointProblem, scale: float) -> JointProblem:
    """The problem with larger scores; what is impossible stays as it is."""
    theta, omega = (np.where(part > IMPOSSIBLE, part * scale, part) for part in problem[:2])
    alpha, gamma = (cost * scale if cost > IMPOSSIBLE else cost for cost in problem[2:])
    return JointProblem(theta, omega, alpha, gamma)


def _over(value: float, scale: float) -> float:
    return value / scale if value > IMPOSSIBLE else value


def only_nulls(problem: JointProblem, tolerance: float, clock: Clock) -> JointOutcome:
    """The only alignment there is where a side has no words."""
    incumbent = new_incumbent(len(problem.theta), len(problem.omega))
    value = float(compiled_score(problem, incumbent.a, incumbent.b))
    return JointOutcome(incumbent, value, trace=((value, value),))


def tolerance_of(problem: JointProblem) -> float:
    """`PRECISION`, or the rounding error of sums of that many scores of that size, if that is more."""
    return max(PRECISION, 1e-14 * _heaviest(problem) * (len(problem.theta) + len(problem.omega)))


def _heaviest(problem: JointProblem) -> float:
    """The largest score, up to its sign, of what is possible."""
    return max(
        float(np.abs(part, where=part > IMPOSSIBLE, out=np.zeros_like(part)).max(initial=0.0))
        for part in (problem.theta, problem.omega)
    )


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


def problem_of(
    theta: npt.ArrayLike, omega: npt.ArrayLike, agreement: str, penalty: float, unsupported: float | None
) -> JointProblem:
    """Check the arguments of `bidirectional`."""
    check_value("agreement", agreement, choices=AGREEMENTS)
    if not (isinstance(penalty, Real) and penalty <= 0):
        raise UsageError("{penalty=} must be a number at most 0", penalty=penalty)
    if agreement == "soft":
        if not (isinstance(unsupported, Real) and unsupported <= penalty):
            raise UsageError(
                "{unsupported=} must be a number at most {penalty=} for soft agreement",
                unsupported=unsupported,
                penalty=penalty,
            )
    elif unsupported is not None:
        raise UsageError('{unsupported=} is for agreement="soft" only', unsupported=unsupported)
    there, back = scores(theta, "theta"), scores(omega, "omega")
    I, J = len(there), len(back)
    for array, name, shape in ((there, "theta", (I, J + 1, J + 1)), (back, "omega", (J, I + 1, I + 1))):
        if array.shape != shape:
            raise DataError(
                f"{name} has shape {array.shape}; with {I} rows in theta and {J} in omega it must be {shape}"
            )
    alpha = NEVER if agreement == "full" else max(float(penalty), NEVER)
    gamma = max(float(unsupported), NEVER) if unsupported is not None else NEVER
    return JointProblem(there, back, alpha, gamma)


def scores(array: npt.ArrayLike, name: str) -> Array:
    """An argument as float64, with −inf as the kernels write it."""
    try:
        if np.iscomplexobj(array):
            raise TypeError("they are complex")
        values = np.array(array, np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is not an array of numbers: {error}") from None
    if values.ndim != 3 or 0 in values.shape[1:]:
        raise DataError(
            f"{name} has shape {values.shape}; it must have three dimensions, only the first may be empty"
        )
    if np.isnan(values).any() or (values == np.inf).any():
        place = tuple(int(k) for k in np.argwhere(np.isnan(values) | (values == np.inf))[0])
        raise DataError(f"{name}{list(place)} is {values[place]}; scores are numbers or -inf")
    large = np.abs(values[values > -np.inf])
    if len(large) and large.max() > MOST:
        raise DataError(
            f"{name} has a score of size {large.max():.3g}; scores are at most {MOST:.0e} in size"
        )
    return np.maximum(values, NEVER)
