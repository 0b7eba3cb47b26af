"""Links of a block of sentence pairs by a matching decoder: from posteriors to scores, to links.

The score of a link is its probability, the mean of the two directions' posteriors, or one direction's alone:
`forward-posterior` p(b_j = i) or `backward-posterior` p(a_i = j). For IBM Models 1 and 2 also, as Lin and
Bilmes 2011 print it in Eq. 5,

    forward:   s_ij = p(t_j | s_i) p(i | j, I, J) / Σ_j' p(t_j' | s_i) p(i | j', I, J)
    backward:  s_ij = p(s_i | t_j) p(j | i, I, J) / Σ_i' p(s_i' | t_j) p(j | i', I, J)

which, unlike a direction's posterior, add up to 1 over the words that choose, not over the words to choose
from.

Scores that are not over the threshold count as 0, so their links are never taken.
"""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.errors import UsageError
from dualign.core.jit import kernel
from dualign.core.threads import ordered_map, spans
from dualign.decode.choosing import SHARD, Found
from dualign.decode.matchings.arguments import rule_of
from dualign.decode.matchings.batch import decode_shard
from dualign.decode.matchings.greedy import Matrices
from dualign.infer.blocks import Block
from dualign.infer.cells import Pairs
from dualign.infer.choices import priors_of
from dualign.infer.emission import emissions
from dualign.model.fertility import Fertilities
from dualign.model.options import Options

DIRECTIONS = ("forward-posterior", "backward-posterior")
ORIENTATION = {"source": "rows", "target": "columns", "both": "both"}
"""Source words are rows, target words columns."""


def match_block(
    options: Options,
    fertilities: Fertilities | None,
    block: Block,
    posterior: Array,
    threads: int,
    found: Found,
) -> None:
    """Choose links by the decoder `submodular` or `matching` into `found`."""
    matrices = matrices_of_block(options, fertilities, block, posterior, threads)
    chosen = np.zeros(len(matrices.scores), np.uint8)
    rule = rule_of(options.alpha, ORIENTATION[options.concave])

    def choose(shard: tuple[int, int]) -> None:
        decode_shard(options.decoder, shard, matrices, rule, chosen, found.score, found.bound)
        list_links(*shard, block.pairs, block.first, posterior, chosen, found)

    list(ordered_map(choose, spans(len(block.first) - 1, SHARD), threads))


def matrices_of_block(
    options: Options, fertilities: Fertilities | None, block: Block, posterior: Array, threads: int
) -> Matrices:
    """Scores and limits of the block's pairs."""
    pairs = block.pairs
    scores = scores_of_block(options, block, posterior, threads)
    scores[scores <= options.fixed_threshold] = 0
    lengths = np.diff(pairs.source_offsets), np.diff(pairs.target_offsets)
    limits = []
    for side, (tokens, limit) in enumerate(
        ((pairs.source, options.source_limit), (pairs.target, options.target_limit))
    ):
        most = np.repeat(lengths[1 - side], lengths[side]).astype(np.int32)
        if limit > 0:
            most = np.minimum(most, np.int32(min(limit, 2**31 - 1)))
            if options.quantile > 0 and options.decoder == "submodular":
                if fertilities is None:
                    raise UsageError(
                        "{quantile=} needs a model that knows how many links words have; train it with "
                        "decoder=submodular",
                        quantile=options.quantile,
                    )
                most = np.minimum(most, fertilities.limits(side, tokens, options.quantile))
        limits.append(most)
    return Matrices(scores, block.first, pairs.source_offsets, pairs.target_offsets, *limits)


def scores_of_block(options: Options, block: Block, posterior: Array, threads: int) -> Array:
    """The scores of all cells of a block, float64 (slots)."""
    if options.scores == "posterior":
        return (np.float32(0.5) * (posterior[:, 0] + posterior[:, 1])).astype(np.float64)
    if options.scores in DIRECTIONS:
        return posterior[:, DIRECTIONS.index(options.scores)].astype(np.float64)
    scores = np.empty(len(posterior))
    backward = options.scores == "backward"
    shards = spans(len(block.first) - 1, SHARD)
    list(ordered_map(lambda shard: score_positions(*shard, block, backward, scores), shards, threads))
    return scores


@kernel()
def score_positions(n0: int, n1: int, block: Block, backward: bool, scores: Array) -> None:
    """Eq. 5 of pairs n0..n1 in one direction into `scores` float64 (slots)."""
    pairs = block.pairs
    for n in range(n0, n1):
        I = pairs.source_offsets[n + 1] - pairs.source_offsets[n]
        J = pairs.target_offsets[n + 1] - pairs.target_offsets[n]
        if I == 0 or J == 0:
            continue
        E0, E1, _, _ = emissions(n, block)
        by_target, by_source = priors_of(n, I, J, block)
        S = scores[block.first[n] : block.first[n + 1]].reshape(I, J)
        if backward:
            score_rows(E1.T, by_source[:, 1:].T, S.T)
        else:
            score_rows(E0.T, by_target[:, 1:].T, S)


@kernel()
def score_rows(E: Array, prior: Array, S: Array) -> None:
    """Products of emissions and position probabilities, each row divided by its sum."""
    for i in range(S.shape[0]):
        total = 0.0
        for j in range(S.shape[1]):
            S[i, j] = np.float64(E[i, j]) * prior[i, j]
            total += S[i, j]
        for j in range(S.shape[1]):
            S[i, j] /= total


@kernel()
def list_links(
    n0: int, n1: int, pairs: Pairs, first: Array, posterior: Array, chosen: Array, found: Found
) -> None:
    """List the `chosen` links (uint8, slots) of pairs n0..n1 with their probabilities."""
    for n in range(n0, n1):
        I = pairs.source_offsets[n + 1] - pairs.source_offsets[n]
        J = pairs.target_offsets[n + 1] - pairs.target_offsets[n]
        c = found.room[n]
        for i in range(I):
            for j in range(J):
                slot = first[n] + i * J + j
                if chosen[slot]:
                    found.source[c] = i
                    found.target[c] = j
                    mean = np.float32(0.5) * (posterior[slot, 0] + posterior[slot, 1])
                    found.probability[c] = min(mean, np.float32(1))  # rounding may exceed it
                    c += 1
        found.number[n] = c - found.room[n]
