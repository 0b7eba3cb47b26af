"""The most probable path of a chain (see `dualign.hmm.chain` for the model).

Words that choose without looking at their neighbours do so by position tables, as in IBM Models 1 and 2.
"""

from __future__ import annotations

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import part
from dualign.hmm.blocks import Block
from dualign.hmm.chain import edges_alone
from dualign.hmm.jumps import BESIDE, NULL, REACH
from dualign.hmm.positions import tables_at


@part
def viterbi(
    E: Array, null: Array, weights: Array, jumps: Array, gain: Array, back: Array, path: Array
) -> float:
    """Best path into `path` int32 (≥R): the state of each row, or −1 for null; returns its log-probability.

    `E` float32 (R, S); `null` float32 (R); `jumps` float32 (R, NEAR); `gain` float32 (CLOSE, S): see
    `dualign.hmm.chain.Edges`; `back` int32 (2, R, S), scratch.
    Each position keeps its best way to end in a word and in a null. The best far predecessor is the best of
    those left of the window and right of it, found by running maxima: O(R · S) in all.
    """
    R, S = E.shape
    edges = edges_alone(R, S, weights, jumps, gain)
    start = edges.start
    going = np.log(1 - edges.stop) if R > 1 else np.log(edges.stop)
    word_step, null_step = np.log(1 - weights[NULL]), np.log(weights[NULL])
    word, rest = np.empty(S), np.empty(S)  # log-probability of the best path that ends in a word, in a null
    departure = np.empty(S)
    log_gain = np.log(1 + gain)
    left, right = np.empty(S, np.int32), np.empty(S, np.int32)
    for i in range(S):
        word[i] = np.log(start[i]) + word_step + np.log(E[0, i]) + going[i]
        rest[i] = np.log(start[i]) + null_step + np.log(null[0]) + going[i]
    for j in range(1, R):
        if j == R - 1:
            going = np.log(edges.stop)
        for i in range(S):
            # Non-negative: the predecessor is a word at this position; negative: a null at −1 − position.
            back[1, j, i] = i if word[i] >= rest[i] else -1 - i
            rest[i] = max(word[i], rest[i])
            departure[i] = rest[i] + np.log(edges.leave[(j - 1) * S + i])
            rest[i] += null_step + np.log(null[j]) + going[i]
        jump = np.log(jumps[j - 1])
        left[0], right[S - 1] = 0, S - 1
        for i in range(1, S):
            left[i] = i if departure[i] > departure[left[i - 1]] else left[i - 1]
            k = S - 1 - i
            right[k] = k if departure[k] >= departure[right[k + 1]] else right[k + 1]
        for i in range(S):
            origin = i
            top = departure[i] + jump[REACH] + log_gain[BESIDE, i]
            for k in range(max(0, i - REACH), min(S, i + REACH + 1)):
                x = departure[k] + jump[i - k + REACH]
                if abs(i - k) <= BESIDE:
                    x += log_gain[i - k + BESIDE, k]
                if x > top:
                    top = x
                    origin = k
            if i > REACH and departure[left[i - REACH - 1]] > top:
                origin = left[i - REACH - 1]
                top = departure[origin]
            if i + REACH + 1 < S and departure[right[i + REACH + 1]] > top:
                origin = right[i + REACH + 1]
                top = departure[origin]
            back[0, j, i] = back[1, j, origin]
            word[i] = top + np.log(E[j, i]) + going[i]
    best = 0
    for i in range(S):
        if max(word[i], rest[i]) > max(word[best], rest[best]):
            best = i
    score = max(word[best], rest[best])
    state = best if word[best] >= rest[best] else -1 - best
    for j in range(R - 1, -1, -1):
        path[j] = max(state, -1)
        if j > 0:
            state = back[0, j, state] if state >= 0 else back[1, j, -1 - state]
    return score


@part
def priors_of(n: int, I: int, J: int, block: Block) -> tuple[Array, Array]:
    """The position tables of pair n: (J, I + 1) where target words choose, (I, J + 1) for the others."""
    return tables_at(block.prior, block.prior_begin[n], I, J)


@part
def independent(R: int, S: int, E: Array, null: Array, prior: Array, A: Array) -> float:
    """Posteriors `A[j, i]` of rows that choose by `prior` (R, S + 1), null first; log-likelihood."""
    likelihood = 0.0
    for j in range(R):
        z = prior[j, 0] * null[j]
        for i in range(S):
            A[j, i] = prior[j, i + 1] * E[j, i]
            z += A[j, i]
        likelihood += np.log(z)
        for i in range(S):
            A[j, i] /= z
    return likelihood


@part
def best_choices(R: int, S: int, E: Array, null: Array, prior: Array, path: Array) -> None:
    """The most probable choice of each row into `path` (≥R): a state, or −1 for null."""
    for j in range(R):
        best = prior[j, 0] * null[j]
        path[j] = -1
        for i in range(S):
            if prior[j, i + 1] * E[j, i] > best:
                best = prior[j, i + 1] * E[j, i]
                path[j] = i
