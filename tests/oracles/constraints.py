"""Projection of tiny sentence pairs on any rules, over enumerated alignments: the twin of `train.projection`.

A chain's distribution is the list of all its alignments with their probabilities p, and a rule is a vector of
numbers, one for each alignment. The closest q in KL(q || p) with `E_q[f_k] − b_k ≤ ξ_k` (both ways for an
equality), ‖ξ‖ ≤ slack, is found in float64 by a projected Newton method on the dual

    min_λ  b·λ + Σ log Z(λ) + slack ‖λ‖,     Z(λ) = Σ_z p(z) exp(−λ·f(z)),     λ_k ≥ 0 but for equalities,

with the exact Hessian, the covariance of the features. The two directions are independent, each with a Z of
its own; or, with `mixture`, alternatives of one distribution with weight ½ each, which have one Z together:
½ Z0(λ)/Z0(0) + ½ Z1(λ)/Z1(0), Eq. 15. `Projected.gap` is the primal value less the dual value: where it
vanishes and the rules hold, the answer is proved, whatever found it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from tests.oracles.chain import Parameters
from tests.oracles.projection import alignments, covariance, tilt

Chain = tuple[Parameters, np.ndarray, np.ndarray]


class OracleRule(NamedTuple):
    """`Σ coefficient · p(node) ≤ bound`, or `= bound`; a node is (direction, source, target position)."""

    nodes: tuple[tuple[int, int, int], ...]
    coefficients: tuple[float, ...]
    bound: float
    equality: bool


def symmetric(I: int, J: int) -> list[OracleRule]:
    """Both directions' posteriors are the same: a rule for each cell."""
    return [OracleRule(((0, i, j), (1, i, j)), (1, -1), 0, True) for i in range(I) for j in range(J)]


def bijective(I: int, J: int) -> list[OracleRule]:
    """No word is chosen more than once: rules for the source words, then for the target words."""
    sources = [[(0, i, j) for j in range(J)] for i in range(I)]
    targets = [[(1, i, j) for i in range(I)] for j in range(J)]
    return [OracleRule(tuple(nodes), (1,) * len(nodes), 1, False) for nodes in sources + targets]


@dataclass(frozen=True)
class Projected:
    """The answer.

    `posteriors` (2, I, J) of each direction given that it is the one (`weights`: how probable that is, 1 and
    1 without `mixture`); the multipliers; `divergence` KL(q || p); norm of the violations; duality gap.
    """

    posteriors: np.ndarray
    weights: tuple[float, float]
    multipliers: np.ndarray
    divergence: float
    violation: float
    gap: float


class Dual:
    """The dual of a pair and its rules, with all alignments laid out."""

    def __init__(
        self, chains: tuple[Chain, Chain], rules: Sequence[OracleRule], mixture: bool = False
    ) -> None:
        J, I = chains[0][1].shape
        self.mixture = mixture
        self.bound = np.array([rule.bound for rule in rules], float)
        self.signed = np.array([not rule.equality for rule in rules], bool)
        self.links, self.p, self.features = [], [], []
        for d, chain in enumerate(chains):
            links, p = alignments(*chain)
            links = links.reshape(-1, J, I).transpose(0, 2, 1) if d == 0 else links.reshape(-1, I, J)
            f = np.zeros((len(p), len(rules)))
            for k, rule in enumerate(rules):
                for (direction, i, j), coefficient in zip(rule.nodes, rule.coefficients, strict=True):
                    if direction == d:
                        f[:, k] += coefficient * links[:, i, j]
            self.links.append(links)
            self.p.append(p)
            self.features.append(f)

    def tilted(self, multipliers: np.ndarray) -> tuple[list[np.ndarray], float]:
        """q of each direction (with `mixture` they sum to 1 together), and Σ log Z."""
        if self.mixture:
            q, log_z = tilt(0.5 * np.concatenate(self.p), -np.concatenate(self.features) @ multipliers)
            return np.split(q, [len(self.p[0])]), log_z
        tilts = [tilt(p, -f @ multipliers) for p, f in zip(self.p, self.features, strict=True)]
        return [q for q, _ in tilts], sum(log_z for _, log_z in tilts)

    def value(self, multipliers: np.ndarray, slack: float = 0.0) -> float:
        """What is minimised."""
        return (
            self.bound @ multipliers
            + self.tilted(multipliers)[1]
            + slack * float(np.linalg.norm(multipliers))
        )

    def gradient(self, q: list[np.ndarray]) -> np.ndarray:
        """`b − E_q[f]`, without the slack term."""
        return self.bound - sum(part @ f for part, f in zip(q, self.features, strict=True))

    def hessian(self, q: list[np.ndarray]) -> np.ndarray:
        """Covariance of the features, of each distribution."""
        if self.mixture:
            return covariance(np.concatenate(q), np.concatenate(self.features))
        return sum(covariance(part, f) for part, f in zip(q, self.features, strict=True))

    def violation(self, q: list[np.ndarray]) -> float:
        """Norm of what the rules are broken by."""
        g = self.gradient(q)
        return float(np.linalg.norm(np.where(self.signed, np.minimum(g, 0), g)))

    def divergence(self, q: list[np.ndarray]) -> float:
        """KL(q || p) of both directions."""
        share = 0.5 if self.mixture else 1.0
        return float(sum(part @ np.log(part / (share * p)) for part, p in zip(q, self.p, strict=True)))

    def weights(self, q: list[np.ndarray]) -> tuple[float, float]:
        """Probability of each direction: Eq. 15 with `mixture`, else 1 and 1."""
        return float(q[0].sum()), float(q[1].sum())

    def posteriors(self, q: list[np.ndarray]) -> np.ndarray:
        """Of the links, in each direction by itself: (2, I, J)."""
        parts = zip(q, self.links, strict=True)
        return np.stack([np.tensordot(part / part.sum(), links, axes=1) for part, links in parts])


def project(
    chains: tuple[Chain, Chain], rules: Sequence[OracleRule], slack: float = 0.0, mixture: bool = False
) -> Projected:
    """`chains`: that of target words over source states, emission (J, I); then the other, (I, J)."""
    dual = Dual(chains, rules, mixture)
    multipliers = np.zeros(len(rules))
    q, _ = dual.tilted(multipliers)
    if dual.violation(q) > slack:
        multipliers = minimise(dual, slack)
        q, _ = dual.tilted(multipliers)
    return Projected(
        dual.posteriors(q),
        dual.weights(q),
        multipliers,
        dual.divergence(q),
        dual.violation(q),
        dual.divergence(q) + dual.value(multipliers, slack),  # the dual's optimum is the negative of that
    )


def minimise(dual: Dual, slack: float) -> np.ndarray:
    """Projected Newton (Bertsekas 1982): multipliers at 0 that would go below stay, the others move."""
    lam = np.zeros(len(dual.bound))
    if slack > 0:  # where the norm has no gradient: leave 0 by a small step
        g = dual.gradient(dual.tilted(lam)[0])
        lam = -1e-3 * np.where(dual.signed, np.minimum(g, 0), g)
    for _ in range(500):
        q, _ = dual.tilted(lam)
        gradient = dual.gradient(q)
        hessian = dual.hessian(q) + 1e-13 * np.eye(len(lam))
        if slack > 0:
            length = np.linalg.norm(lam)
            unit = lam / length
            gradient = gradient + slack * unit
            hessian = hessian + slack / length * (np.eye(len(lam)) - np.outer(unit, unit))
        free = ~dual.signed | (lam > 0) | (gradient < 0)
        if np.linalg.norm(gradient[free]) < 1e-12:
            break
        step = np.zeros(len(lam))
        step[free] = np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
        # Where the border cuts Newton's step off, it may not descend; the gradient's always does.
        trial = descend(dual, slack, lam, gradient, step)
        if trial is None:
            trial = descend(dual, slack, lam, gradient, np.where(free, gradient, 0))
        if trial is None:
            break  # as exact as rounding lets it be; the gap tells
        lam = trial
    return lam


def descend(
    dual: Dual, slack: float, lam: np.ndarray, gradient: np.ndarray, step: np.ndarray
) -> np.ndarray | None:
    """Go along a step, shortened until the value falls far enough; None if it never does."""
    before, size = dual.value(lam, slack), 1.0
    while size > 1e-10:
        trial = lam - size * step
        trial = np.where(dual.signed, np.maximum(trial, 0), trial)
        hoped = gradient @ (lam - trial)
        if hoped > 0 and dual.value(trial, slack) <= before - 1e-4 * hoped:
            return trial
        size /= 2
    return None
