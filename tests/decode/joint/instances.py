"""Random pairs of chains, small enough to enumerate or like those of a trained HMM."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np
from tests.oracles.agreement import Best, enumerate_alignments, joint_score

from dualign.decode.joint.api import problem_of
from dualign.decode.joint.model import JointProblem

AGREEMENTS = [
    ("full", -inf, -inf),
    ("adjacent", -1.0, -inf),
    ("adjacent", 0.0, -inf),
    ("soft", -0.5, -2.0),
    ("soft", -1.0, -1.0),
    ("soft", 0.0, -1.5),
    ("soft", 0.0, 0.0),
]
"""Name, α, γ."""

NAMES = [f"{name}({alpha},{gamma})" for name, alpha, gamma in AGREEMENTS]


class Instance(NamedTuple):
    """Scores (I, J + 1, J + 1) and (J, I + 1, I + 1), and the kind of agreement."""

    theta: np.ndarray
    omega: np.ndarray
    agreement: str
    alpha: float
    gamma: float

    @property
    def problem(self) -> JointProblem:
        """What the kernels take."""
        return problem_of(self.theta, self.omega, **self.options)

    @property
    def options(self) -> dict[str, object]:
        """Keywords of `bidirectional`."""
        return {
            "agreement": self.agreement,
            "penalty": -1.0 if self.agreement == "full" else self.alpha,
            "unsupported": self.gamma if self.agreement == "soft" else None,
        }

    def best(self) -> Best:
        """By enumeration."""
        return enumerate_alignments(self.theta.tolist(), self.omega.tolist(), self.alpha, self.gamma)

    def score(self, a: np.ndarray, b: np.ndarray) -> float:
        """From scratch."""
        return joint_score(
            self.theta.tolist(), self.omega.tolist(), self.alpha, self.gamma, a.tolist(), b.tolist()
        )


def random_instance(
    seed: int, kind: tuple[str, float, float], most: int = 4, forbidden: float | None = None
) -> Instance:
    """Up to `most` words per side: normal scores, or logarithms of sparse distributions; some are −inf, a
    `forbidden` share, or 20 % in every third instance."""
    random = np.random.default_rng(seed)
    I, J = (int(n) for n in random.integers(1, most + 1, 2))
    if seed % 2:
        theta, omega = (2 * random.normal(size=shape) for shape in ((I, J + 1, J + 1), (J, I + 1, I + 1)))
    else:
        peaked = random.choice([0.2, 0.5, 1.0])
        theta = np.log(random.dirichlet(np.full(J + 1, peaked), size=(I, J + 1)) + 1e-12)
        omega = np.log(random.dirichlet(np.full(I + 1, peaked), size=(J, I + 1)) + 1e-12)
    share = forbidden if forbidden is not None else 0.2 * (seed % 3 == 0)
    theta[random.random(theta.shape) < share] = -inf
    omega[random.random(omega.shape) < share] = -inf
    return Instance(theta, omega, *kind)


def hmm_like(seed: int, I: int, J: int, kind: tuple[str, float, float], noise: float = 2.0) -> Instance:
    """Words mostly in order, with noise; jumps prefer to go on by one; nulls possible."""
    random = np.random.default_rng(seed)
    order = np.linspace(0, 1, I)[:, None] - np.linspace(0, 1, J)[None, :]
    match = -6 * np.abs(order) + noise * random.normal(size=(I, J))

    def chain(emission: np.ndarray) -> np.ndarray:
        n, m = emission.shape
        jump = np.arange(m)[None, :] - np.arange(m)[:, None] - 1
        scores = np.zeros((n, m + 1, m + 1))
        scores[:, 1:, 1:] = -0.7 * np.abs(jump) + emission[:, None, :]
        scores[:, 0, 1:] = -np.log(m) + emission
        scores[:, :, 0] = -3 + 0.5 * random.normal(size=(n, 1))
        return scores

    return Instance(
        chain(match + random.normal(size=match.shape)),
        chain(match.T + random.normal(size=match.T.shape)),
        *kind,
    )


def travelling_salesman(seed: int, cities: int) -> tuple[Instance, list[float], list[list[float]]]:
    """Appendix A of Chang et al. 2014: alignments are tours; with distances from the start and between."""
    random = np.random.default_rng(seed)
    points = random.random((cities, 2))
    start = random.random(cities)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    theta = np.zeros((cities, cities + 1, cities + 1))
    omega = np.zeros_like(theta)
    omega[:, 0, 1:] = -start
    omega[:, 1:, 1:] = -distances
    theta[:, :, 0] = omega[:, :, 0] = -inf
    return Instance(theta, omega, "full", -inf, -inf), start.tolist(), distances.tolist()
