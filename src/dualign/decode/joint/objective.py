"""What is maximised: two chains, and what their links cost each other (docs/agreement.md).

    Σ_i θ(a_{i−1}, i, a_i) + Σ_j ω(b_{j−1}, b_j, j) + Σ_{a_i>0} cost(i, b_{a_i}) + Σ_{b_j>0} cost(j, a_{b_j})

A link's cost is 0 if its counterpart in the other direction is the same link, α if that is one position off,
γ if it is further off or null. Adjacent agreement is γ = −∞, full agreement α = γ = −∞, and α = γ = 0 are two
independent chains.
"""

from __future__ import annotations

from typing import NamedTuple

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.search.dual import IMPOSSIBLE, NEVER


class Problem(NamedTuple):
    """`theta` float64 (I, J + 1, J + 1): [i − 1, j before, j]; `omega` float64 (J, I + 1, I + 1) likewise.

    0 is null; −∞ is written `NEVER`. `alpha` and `gamma` are floats: kernels would be compiled anew for ints.
    """

    theta: Array
    omega: Array
    alpha: float
    gamma: float


@kernel(allocates=False)
def link_cost(place: int, other: int, alpha: float, gamma: float) -> float:
    """Cost of a link at `place` whose counterpart is at `other` (0 = null)."""
    if other == place:
        return 0.0
    return alpha if other > 0 and abs(other - place) == 1 else gamma


@kernel()
def score(problem: Problem, a: Array, b: Array) -> float:
    """The objective of a, int64 (I + 1), and b, int64 (J + 1), whose entries 0 are 0; NEVER if forbidden."""
    total = 0.0
    for i in range(1, len(a)):
        total += problem.theta[i - 1, a[i - 1], a[i]]
        if a[i] > 0:
            total += link_cost(i, b[a[i]], problem.alpha, problem.gamma)
    for j in range(1, len(b)):
        total += problem.omega[j - 1, b[j - 1], b[j]]
        if b[j] > 0:
            total += link_cost(j, a[b[j]], problem.alpha, problem.gamma)
    return total if total > IMPOSSIBLE else NEVER
