"""Symmetric projection of tiny sentence pairs, over enumerated alignments: the twin of `train.projection`.

Both chains' distributions are lists of alignments with their probabilities. The closest pair of distributions
`q0, q1` in Σ KL(q || p), with ‖E_q0[links] − E_q1[links]‖ ≤ slack, is found by Newton's method on the dual
with the exact Hessian (two covariance matrices). `Projected.gap` is the primal value less the dual value:
where it vanishes the answer is proved, whatever found it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tests.oracles.chain import Parameters, probability, sequences


@dataclass(frozen=True)
class Projected:
    """Link posteriors of both directions, `(I, J)`; the optimal multipliers; violation and duality gap."""

    target_chooses: np.ndarray
    source_chooses: np.ndarray
    multipliers: np.ndarray
    violation: float
    gap: float


def alignments(
    parameters: Parameters, emission: np.ndarray, null: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Links of every alignment, 0/1 (alignments, R · S), and their posterior probabilities."""
    rows, states = emission.shape
    found: dict[tuple[int, ...], float] = {}
    for sequence in sequences(rows, states):
        path = tuple(i if word else -1 for i, word in sequence)
        found[path] = found.get(path, 0.0) + probability(sequence, parameters, emission, null)
    links = np.zeros((len(found), rows, states))
    for n, path in enumerate(found):
        for j, i in enumerate(path):
            if i >= 0:
                links[n, j, i] = 1
    p = np.array(list(found.values()))
    return links.reshape(len(found), -1), p / p.sum()


def project(
    forward: tuple[Parameters, np.ndarray, np.ndarray],
    backward: tuple[Parameters, np.ndarray, np.ndarray],
    slack: float,
) -> Projected:
    """`forward`: the chain of target words over source states, emission (J, I); `backward`: (I, J)."""
    J, I = forward[1].shape
    links0, p0 = alignments(*forward)
    links0 = links0.reshape(-1, J, I).transpose(0, 2, 1).reshape(len(p0), -1)
    links1, p1 = alignments(*backward)

    def tilted(multipliers):
        q0, z0 = tilt(p0, -links0 @ multipliers)
        q1, z1 = tilt(p1, links1 @ multipliers)
        return q0, q1, z0 + z1 + slack * np.linalg.norm(multipliers)

    multipliers = np.zeros(I * J)
    q0, q1, value = tilted(multipliers)
    difference = q1 @ links1 - q0 @ links0
    if np.linalg.norm(difference) > slack:
        if slack > 0:
            multipliers = -1e-3 * difference
            q0, q1, value = tilted(multipliers)
        for _ in range(200):
            gradient = q1 @ links1 - q0 @ links0
            hessian = covariance(q0, links0) + covariance(q1, links1) + 1e-12 * np.eye(I * J)
            if slack > 0:
                length = np.linalg.norm(multipliers)
                unit = multipliers / length
                gradient = gradient + slack * unit
                hessian = hessian + slack / length * (np.eye(I * J) - np.outer(unit, unit))
            if np.linalg.norm(gradient) < 1e-11:
                break
            step = np.linalg.solve(hessian, gradient)
            size = 1.0
            while size > 1e-9:
                trial = tilted(multipliers - size * step)
                if trial[2] <= value - 1e-4 * size * (gradient @ step):
                    break
                size /= 2
            else:
                break  # as exact as rounding lets it be; the gap tells
            multipliers = multipliers - size * step
            q0, q1, value = trial
    difference = q1 @ links1 - q0 @ links0
    primal = float(q0 @ np.log(q0 / p0) + q1 @ np.log(q1 / p1))
    return Projected(
        (q0 @ links0).reshape(I, J),
        (q1 @ links1).reshape(I, J),
        multipliers.reshape(I, J),
        float(np.linalg.norm(difference)),
        primal + value,  # the dual is −value: at λ = 0 it is 0, as every log Z is there
    )


def tilt(p: np.ndarray, exponent: np.ndarray) -> tuple[np.ndarray, float]:
    top = exponent.max()
    q = p * np.exp(exponent - top)
    return q / q.sum(), float(np.log(q.sum()) + top)


def covariance(q: np.ndarray, links: np.ndarray) -> np.ndarray:
    centred = links - q @ links
    return centred.T @ (q[:, None] * centred)
