"""Chains with random parameters, for the kernels and for their twins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from tests.oracles.chain import Parameters

from dualign._core.jit import kernel
from dualign._core.lanes import LANES, eight
from dualign.hmm import chain as kernels
from dualign.hmm.chain import STATISTICS, Edges, Passes, fill_edges, forward_backward
from dualign.hmm.jumps import BESIDE, CLOSE, LEAST, NEAR, NULL, REACH, START, STARTS, STOP, WEIGHTS, Jumps
from dualign.hmm.viterbi import viterbi

compiled_viterbi = kernel(viterbi)


class Chain(NamedTuple):
    """Emissions (R, S), null emissions (R), weights (WEIGHTS), jumps (R, NEAR), gains (CLOSE, S), float32."""

    emission: np.ndarray
    null: np.ndarray
    weights: np.ndarray
    jumps: np.ndarray
    gain: np.ndarray

    @property
    def twin(self) -> tuple[Parameters, np.ndarray, np.ndarray]:
        """What the oracles take."""
        parameters = parameters_of(self.weights, self.jumps, self.gain)
        return parameters, self.emission.astype(float), self.null.astype(float)


def random_weights(random: np.random.Generator, spread: float = 1.0) -> np.ndarray:
    """One direction's weights; the floors are 0."""
    weights = np.exp(spread * random.standard_normal(WEIGHTS)).astype(np.float32)
    weights[NULL] = random.uniform(0.02, 0.6)
    weights[NULL + 1 : STOP] = 0
    weights[STOP:] = random.uniform(0.01, 0.9, WEIGHTS - STOP)
    return weights


def random_jumps(random: np.random.Generator, rows: int, spread: float = 1.0) -> np.ndarray:
    """Weights of the jumps from each row."""
    return np.exp(spread * random.standard_normal((rows, NEAR))).astype(np.float32)


def parameters_of(weights: np.ndarray, jumps: np.ndarray, gain: np.ndarray) -> Parameters:
    """The same numbers for the oracles; `jumps` (R, NEAR), `gain` (CLOSE, S)."""
    w = [float(x) for x in weights]
    starts = START + STARTS
    rows, gains = (tuple(map(tuple, array.astype(float).tolist())) for array in (jumps, gain))
    return Parameters(rows, tuple(w[START:starts]), w[starts], w[NULL], tuple(w[STOP:]), gains)


def jump_rows(jumps: Jumps, d: int, classes: Sequence[int]) -> np.ndarray:
    """Weights (R, NEAR) of the jumps of a chain whose words are of these classes; after the last is none."""
    rows = np.empty((len(classes), NEAR))
    for j, c in enumerate(classes):
        after = jumps.factor[d, classes[j + 1]] if j + 1 < len(classes) else 1
        rows[j] = np.maximum(jumps.weight[d, c] * after, LEAST)
    return rows


def random_gains(random: np.random.Generator, states: int, spread: float = 1.0) -> np.ndarray:
    """What the words at each position add to the weights of close jumps that do not lead outside."""
    gain = np.exp(0.5 * spread * random.standard_normal((CLOSE, states))).astype(np.float32) - 1
    there = np.arange(states) + np.arange(-BESIDE, BESIDE + 1)[:, None]
    return np.where((there >= 0) & (there < states), gain, np.float32(0))


def gains_by_class(jumps: Jumps, d: int, classes: Sequence[int]) -> np.ndarray:
    """Pulls (CLOSE, S) of a chain whose chosen words are of these classes."""
    gain = np.zeros((CLOSE, len(classes)), np.float32)
    for i, c in enumerate(classes):
        for there, e in enumerate(classes):
            k = there - i + BESIDE
            if 0 <= k < CLOSE:
                gain[k, i] = jumps.chosen[d, 0, c, k] * jumps.chosen[d, 1, e, k] - 1
    return gain


def both_parameters(
    weights: np.ndarray, jumps: Jumps, target: Sequence[int], source: Sequence[int]
) -> tuple[Parameters, Parameters]:
    """What the oracles take: the chain in which target words, of these classes, choose, then the other."""
    there = jump_rows(jumps, 0, target), gains_by_class(jumps, 0, source)
    back = jump_rows(jumps, 1, source), gains_by_class(jumps, 1, target)
    return parameters_of(weights[0], *there), parameters_of(weights[1], *back)


def random_chain(seed: int, rows: int, states: int, *, spread: float = 1.0, scale: float = 1.0) -> Chain:
    """`spread`: how much the weights differ (of their logarithms); `scale`: typical emission."""
    random = np.random.default_rng(seed)
    emission = (scale * np.exp(1.5 * random.standard_normal((rows, states)))).astype(np.float32)
    null = (scale * np.exp(1.5 * random.standard_normal(rows))).astype(np.float32)
    weights = random_weights(random, spread)
    jumps = random_jumps(random, rows, spread)
    return Chain(emission, null, weights, jumps, random_gains(random, states, spread))


class Answer(NamedTuple):
    """Log-likelihood, posteriors (R, S), statistics of the jumps from each row (R - 1, 24), visits (3, S),
    close jumps, expected and foreseen (2, CLOSE, S)."""

    likelihood: float
    posterior: np.ndarray
    expected: np.ndarray
    visits: np.ndarray
    close: np.ndarray


def run_forward_backward(chain: Chain, collect: bool = True, company: Sequence[Chain] = ()) -> Answer:
    """The chain alone, or in the last of eight lanes with up to seven others before it."""
    chains = [*company, *[chain] * (LANES - len(company))] if company else [chain]
    W = len(chains)
    R, S = (max(c.emission.shape[side] for c in chains) for side in (0, 1))
    emission, null, live = (np.zeros(shape, np.float32) for shape in ((R, S, W), (R, W), (R, W)))
    jumps = np.ones((R, NEAR, W), np.float32)
    gain, gain_to = np.zeros((2, CLOSE, S, W), np.float32)
    for lane, c in enumerate(chains):
        rows, states = c.emission.shape
        emission[:rows, :states, lane] = c.emission
        null[:rows, lane] = c.null
        live[:rows, lane] = 1
        jumps[:rows, :, lane] = c.jumps
        gain[:, :states, lane] = c.gain
        for k in range(CLOSE):
            for i in np.flatnonzero(c.gain[k]):
                gain_to[k, i + k - BESIDE, lane] = c.gain[k, i]
    edges = Edges(
        jumps.ravel(),
        np.array([c.emission.shape[1] for c in chains], np.float32),
        np.full((S + REACH) * W, np.nan, np.float32),
        np.full(S * W, np.nan, np.float32),
        np.full(R * S * W, np.nan, np.float32),
        np.full(S * W, np.nan, np.float32),
        np.full(S * W, np.nan, np.float32),
        gain.ravel(),
        gain_to.ravel(),
    )
    A, M = np.full((2, R * S * W), np.nan, np.float32)
    lines = np.full((4, (max(R, S) + 2 * REACH) * W), np.nan, np.float32)
    product, likelihood = np.full((2, W), np.nan)
    expected = np.full(R * STATISTICS * W if collect else 0, np.nan, np.float32)
    visits = np.full((3, S * W), np.nan, np.float32)
    close = np.full((2, CLOSE * S * W), np.nan, np.float32)
    run = run_in_step if company else run_alone
    both = kernels.Chain(emission.ravel(), null.ravel(), live.ravel(), chain.weights[NULL], edges)
    run(R, S, chain.weights, both, Passes(A, likelihood, expected, visits, close, M, lines, product))
    rows, states = chain.emission.shape
    posterior = A.reshape(R, S, W)[:, :, -1]
    assert not posterior[rows:].any()
    assert not posterior[:, states:].any()
    known = expected.reshape(-1, STATISTICS, W)[: rows - 1, :, -1]
    visits, close = visits.reshape(3, S, W)[:, :states, -1], close.reshape(2, CLOSE, S, W)[:, :, :states, -1]
    return Answer(float(likelihood[-1]), posterior[:rows, :states], known, visits, close)


@kernel
def run_in_step(R, S, weights, chain, passes):
    """Eight chains."""
    fill_edges(eight(), R, S, weights, chain.edges)
    forward_backward(eight(), R, S, chain, passes)


@kernel
def run_alone(R, S, weights, chain, passes):
    """One chain."""
    fill_edges(np.float32(0), R, S, weights, chain.edges)
    forward_backward(np.float32(0), R, S, chain, passes)


def run_viterbi(chain: Chain) -> tuple[float, tuple[int, ...]]:
    """Score and path."""
    R, S = chain.emission.shape
    path = np.full(R, -7, np.int32)
    back = np.full((2, R, S), -9, np.int32)
    score = compiled_viterbi(chain.emission, chain.null, chain.weights, chain.jumps, chain.gain, back, path)
    return score, tuple(path.tolist())
