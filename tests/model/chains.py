"""Chains with random parameters, for the kernels and for their twins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tests.oracles.chain import Parameters

from dualign.model.chain import FAR, NULL, REACH, START, STARTS, STATISTICS, WEIGHTS, forward_backward, padded
from dualign.model.viterbi import viterbi


class Chain(NamedTuple):
    """Emissions (R, S) and null emissions (R), float32 values, and the parameters of both forms."""

    emission: np.ndarray
    null: np.ndarray
    weights: np.ndarray
    parameters: Parameters

    @property
    def twin(self) -> tuple[Parameters, np.ndarray, np.ndarray]:
        """What the oracles take."""
        return self.parameters, self.emission.astype(float), self.null.astype(float)


def random_weights(random: np.random.Generator, spread: float = 1.0) -> np.ndarray:
    """One direction's weights; the floors are 0."""
    weights = np.exp(spread * random.standard_normal(WEIGHTS)).astype(np.float32)
    weights[NULL] = random.uniform(0.02, 0.6)
    weights[NULL + 1 :] = 0
    return weights


def parameters_of(weights: np.ndarray) -> Parameters:
    """The same numbers for the oracles."""
    w = [float(x) for x in weights]
    starts = START + STARTS
    return Parameters(tuple(w[:FAR]), w[FAR], tuple(w[START:starts]), w[starts], w[NULL])


def random_chain(seed: int, rows: int, states: int, *, spread: float = 1.0, scale: float = 1.0) -> Chain:
    """`spread`: how much the weights differ (of their logarithms); `scale`: typical emission."""
    random = np.random.default_rng(seed)
    emission = (scale * np.exp(1.5 * random.standard_normal((rows, states)))).astype(np.float32)
    null = (scale * np.exp(1.5 * random.standard_normal(rows))).astype(np.float32)
    weights = random_weights(random, spread)
    return Chain(emission, null, weights, parameters_of(weights))


def run_forward_backward(chain: Chain, collect: bool = True) -> tuple[float, np.ndarray, np.ndarray]:
    """Log-likelihood, posteriors with their padding (R, P), and the statistics."""
    R, S = chain.emission.shape
    P = padded(S)
    E = np.zeros((R, P), np.float32)
    E[:, :S] = chain.emission
    A, M, B = (np.full((R, P), np.nan, np.float32) for _ in range(3))
    lines = np.full((7, max(P, R) + 2 * REACH), np.nan, np.float32)
    expected = np.zeros((STATISTICS if collect else 0, P), np.float32)
    likelihood = forward_backward(R, S, E, chain.null, chain.weights, A, M, B, lines, expected)
    return likelihood, A, expected


def run_viterbi(chain: Chain) -> tuple[float, tuple[int, ...]]:
    """Score and path."""
    R, S = chain.emission.shape
    path = np.full(R, -7, np.int32)
    lines = np.full((7, max(padded(S), R) + 2 * REACH), np.nan, np.float32)
    back = np.full((2, R, S), -9, np.int32)
    score = viterbi(R, S, chain.emission, chain.null, chain.weights, lines, back, path)
    return score, tuple(path.tolist())
