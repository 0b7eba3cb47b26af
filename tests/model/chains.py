"""Chains with random parameters, for the kernels and for their twins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from tests.oracles.chain import Parameters

from dualign.core.jit import kernel
from dualign.core.lanes import LANES, eight
from dualign.model.chain import (
    FAR,
    NULL,
    REACH,
    START,
    STARTS,
    STATISTICS,
    WEIGHTS,
    forward_backward,
    transition,
)
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


def run_forward_backward(
    chain: Chain, collect: bool = True, company: Sequence[Chain] = ()
) -> tuple[float, np.ndarray, np.ndarray]:
    """Log-likelihood, posteriors (R, S), and the statistics (STATISTICS, S), jumps in the first column.

    The chain is alone, or in the last of eight lanes with up to seven others before it, of its own weights.
    """
    chains = [*company, *[chain] * (LANES - len(company))] if company else [chain]
    W = len(chains)
    R, S = (max(c.emission.shape[side] for c in chains) for side in (0, 1))
    emission, null, live = (np.zeros(shape, np.float32) for shape in ((R, S, W), (R, W), (R, W)))
    leave, start = np.zeros((2, S * W), np.float32)
    for lane, c in enumerate(chains):
        rows, states = c.emission.shape
        emission[:rows, :states, lane] = c.emission
        null[:rows, lane] = c.null
        live[:rows, lane] = 1
        transition(states, chain.weights, W, leave[lane:], start[lane:])
    A, M = np.full((2, R * S * W), np.nan, np.float32)
    lines = np.full((4, (max(R, S) + 2 * REACH) * W), np.nan, np.float32)
    product, likelihood = np.full((2, W), np.nan)
    expected = np.zeros((STATISTICS if collect else 0, S * W), np.float32)
    run = run_in_step if company else run_alone
    run(
        R, S, emission.ravel(), null.ravel(), live.ravel(), chain.weights, leave, start, A, M, lines, product,
        likelihood, expected,
    )  # fmt: skip
    rows, states = chain.emission.shape
    posterior = A.reshape(R, S, W)[:, :, -1]
    assert not posterior[rows:].any()
    assert not posterior[:, states:].any()
    assert not expected.reshape(-1, S, W)[:, states:, -1].any()
    return float(likelihood[-1]), posterior[:rows, :states], expected.reshape(-1, S, W)[:, :states, -1]


@kernel()
def run_in_step(R, S, E, null, live, weights, leave, start, A, M, lines, product, likelihood, expected):
    """Eight chains."""
    forward_backward(
        eight(), R, S, E, null, live, weights, leave, start, A, M, lines, product, likelihood, expected
    )


@kernel()
def run_alone(R, S, E, null, live, weights, leave, start, A, M, lines, product, likelihood, expected):
    """One chain."""
    forward_backward(
        np.float32(0), R, S, E, null, live, weights, leave, start, A, M, lines, product, likelihood, expected
    )


def run_viterbi(chain: Chain) -> tuple[float, tuple[int, ...]]:
    """Score and path."""
    R, S = chain.emission.shape
    path = np.full(R, -7, np.int32)
    back = np.full((2, R, S), -9, np.int32)
    score = viterbi(R, S, chain.emission, chain.null, chain.weights, back, path)
    return score, tuple(path.tolist())
