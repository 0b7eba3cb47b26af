"""`dualign.decode.bidirectional`: joint decoding of two chains, arguments checked, answers certified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Real

import numpy as np
import numpy.typing as npt

from dualign._core.arrays import Array
from dualign._core.certified import Certified
from dualign._core.errors import DataError, UsageError, refusing
from dualign._core.fields import check_value
from dualign._core.progress import Clock, check_time_limit
from dualign._search.certificate import PRECISION, scale_of
from dualign._search.dual import IMPOSSIBLE, NEVER
from dualign.decode.joint import constrain, decomposition, exact, program, relax
from dualign.decode.joint.exact import certified
from dualign.decode.joint.feasible import JointOutcome, new_incumbent
from dualign.decode.joint.model import JointProblem, compiled_score
from dualign.options import AGREEMENTS

METHODS: dict[str, Callable[[JointProblem, float, Clock], JointOutcome]] = {
    "exact": exact.search,
    "relax": relax.search,
    "constrain": constrain.search,
    "ilp": program.search,
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
    heaviest = max(
        float(np.abs(part, where=part > IMPOSSIBLE, out=np.zeros_like(part)).max(initial=0.0))
        for part in (problem.theta, problem.omega)
    )
    scale = scale_of(max(heaviest, *(-cost for cost in problem[2:] if cost > IMPOSSIBLE), 0.0))
    I, J = len(problem.theta), len(problem.omega)
    # `PRECISION`, or the rounding error of sums of that many scores of that size, if that is more.
    tolerance = max(PRECISION, 1e-14 * (heaviest * scale) * (I + J))
    search = METHODS[method] if I and J else only_nulls
    if scale == 1:
        outcome = search(problem, tolerance, clock)
    else:
        costs = float(_times(problem.alpha, scale)), float(_times(problem.gamma, scale))
        scaled = JointProblem(_times(problem.theta, scale), _times(problem.omega, scale), *costs)
        outcome = search(scaled, tolerance, clock)
        trace = tuple(
            (float(bound), float(found)) for bound, found in _times(np.array(outcome.trace), 1 / scale)
        )
        outcome = replace(outcome, bound=float(_times(outcome.bound, 1 / scale)), trace=trace)
    return certified(problem, outcome, method, clock, tolerance / scale)


def _times(scores: Array | float, factor: float) -> Array:
    """Scores in another unit; what is impossible stays as it is."""
    return np.where(scores > IMPOSSIBLE, scores * factor, scores)


def only_nulls(problem: JointProblem, tolerance: float, clock: Clock) -> JointOutcome:
    """The only alignment there is where a side has no words."""
    incumbent = new_incumbent(len(problem.theta), len(problem.omega))
    value = float(compiled_score(problem, incumbent.a, incumbent.b))
    return JointOutcome(incumbent, value, trace=((value, value),))


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
    with refusing(TypeError, ValueError, what=f"{name} is not an array of numbers: {{cause}}"):
        if np.iscomplexobj(array):
            raise TypeError("they are complex")
        values = np.array(array, np.float64, order="C")
    bad = np.isnan(values) | (values == np.inf)
    large = float(np.abs(values, where=np.isfinite(values), out=np.zeros_like(values)).max(initial=0.0))
    if values.ndim != 3 or 0 in values.shape[1:]:
        fault = f" has shape {values.shape}; it must have three dimensions, only the first may be empty"
    elif bad.any():
        place = tuple(np.argwhere(bad)[0].tolist())
        fault = f"{list(place)} is {values[place]}; scores are numbers or -inf"
    elif large > MOST:
        fault = f" has a score of size {large:.3g}; scores are at most {MOST:.0e} in size"
    else:
        return np.maximum(values, NEVER)
    raise DataError(name + fault)
