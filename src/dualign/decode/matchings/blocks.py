"""Links of a block of sentence pairs by a matching decoder: from posteriors to scores, to links.

The score of a link is its probability, the mean of the two directions' posteriors, or one direction's alone:
`forward-posterior` p(b_j = i) or `backward-posterior` p(a_i = j). For IBM Models 1 and 2 also, as Lin and
Bilmes 2011 print it in Eq. 5,

    forward:   s_ij = p(t_j | s_i) p(i | j, I, J) / Σ_j' p(t_j' | s_i) p(i | j', I, J)
    backward:  s_ij = p(s_i | t_j) p(j | i, I, J) / Σ_i' p(s_i' | t_j) p(j | i', I, J)

which, unlike a direction's posterior, add up to 1 over the words that choose, not over the words to choose
from.

Scores that are not over the threshold count as 0, so their links are never taken. Matrices of other programs
are decoded a few dozen per call of a kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import UsageError
from dualign._core.jit import kernel, part
from dualign._core.threads import ordered_map, spans
from dualign._search.certificate import ROUNDING, have_met
from dualign.decode.choosing import LinkBuffer, list_links, prove
from dualign.decode.matchings.api import pack, rule_of
from dualign.decode.matchings.exact import match_batch
from dualign.decode.matchings.greedy import Matrices, WordLimits, bound_batch, greedy_batch
from dualign.hmm.batched_chains import emissions
from dualign.hmm.blocks import Block, lengths_of
from dualign.hmm.positions import Fertilities
from dualign.hmm.viterbi import priors_of
from dualign.options import Options
from dualign.text.links import Alignment

DIRECTIONS = ("forward-posterior", "backward-posterior")
ORIENTATION = {"source": "rows", "target": "columns", "both": "both"}
"""Source words are rows, target words columns."""

MATRICES = 64
"""Matrices per call of a kernel."""


def match_block(
    options: Options, fertilities: Fertilities | None, block: Block, posterior: Array, found: LinkBuffer
) -> None:
    """Choose links by the decoder `submodular` or `matching` into `found`."""
    matrices = matrices_of_block(options, fertilities, block, posterior)
    chosen = np.zeros(len(matrices.scores), np.uint8)
    rule = rule_of(options.alpha, ORIENTATION[options.concave])
    every = 0, len(block.first) - 1
    decode_shard(options.decoder, every, matrices, rule, chosen, found.score, found.bound)
    list_matched(block, posterior, chosen, found)


def matrices_of_block(
    options: Options, fertilities: Fertilities | None, block: Block, posterior: Array
) -> Matrices:
    """Scores and limits of the block's pairs."""
    pairs = block.pairs
    scores = scores_of_block(options, block, posterior)
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


def scores_of_block(options: Options, block: Block, posterior: Array) -> Array:
    """The scores of all cells of a block, float64 (slots)."""
    if options.scores == "posterior":
        return (np.float32(0.5) * (posterior[:, 0] + posterior[:, 1])).astype(np.float64)
    if options.scores in DIRECTIONS:
        return posterior[:, DIRECTIONS.index(options.scores)].astype(np.float64)
    scores = np.empty(len(posterior))
    score_positions(block, options.scores == "backward", scores)
    return scores


@kernel
def score_positions(block: Block, backward: bool, scores: Array) -> None:
    """Eq. 5 of all pairs in one direction into `scores` float64 (slots)."""
    for n in range(len(block.first) - 1):
        I, J = lengths_of(n, block.pairs)
        if I == 0 or J == 0:
            continue
        E0, E1, _, _ = emissions(n, block)
        by_target, by_source = priors_of(n, I, J, block)
        S = scores[block.first[n] : block.first[n + 1]].reshape(I, J)
        if backward:
            score_rows(E1.T, by_source[:, 1:].T, S.T)
        else:
            score_rows(E0.T, by_target[:, 1:].T, S)


@part
def score_rows(E: Array, prior: Array, S: Array) -> None:
    """Products of emissions and position probabilities, each row divided by its sum."""
    for i in range(S.shape[0]):
        total = 0.0
        for j in range(S.shape[1]):
            S[i, j] = np.float64(E[i, j]) * prior[i, j]
            total += S[i, j]
        for j in range(S.shape[1]):
            S[i, j] /= total


@kernel
def list_matched(block: Block, posterior: Array, chosen: Array, found: LinkBuffer) -> None:
    """List the `chosen` links (uint8, slots) of all pairs, whose scores and bounds are there."""
    first = block.first
    for n in range(len(found.number)):
        own = chosen[first[n] : first[n + 1]].reshape(lengths_of(n, block.pairs))
        list_links(n, own, posterior[first[n] : first[n + 1]], found)
        prove(n, found.score[n], found.bound[n], found)


@dataclass(frozen=True, slots=True)
class Decoded:
    """Links of one matrix, what they are worth, and the most that any links are worth."""

    alignment: Alignment
    score: float
    bound: float

    @property
    def certified(self) -> bool:
        """Whether no links are worth more."""
        return have_met(self.score, self.bound, ROUNDING * self.score)


def decode_shard(
    decoder: str,
    shard: tuple[int, int],
    matrices: Matrices,
    rule: WordLimits,
    chosen: Array,
    score: Array,
    bound: Array,
) -> None:
    """Decode the matrices of a shard: links into `chosen` uint8, laid out like the scores, their scores and
    bounds into float64 (matrices)."""
    if decoder == "matching":
        match_batch(*shard, matrices, chosen, score, bound)
    else:
        greedy_batch(*shard, matrices, rule, True, chosen)
        bound_batch(*shard, matrices, rule, chosen, score, bound)


def decode_matrices(
    matrices: Sequence[Array],
    threads: int,
    *,
    decoder: str = "submodular",
    alpha: float = 0.5,
    concave: str = "rows",
    row_limit: int | None = None,
    column_limit: int | None = None,
    threshold: float = 0.0,
) -> Iterator[Decoded]:
    """Links of each matrix, float64 and checked (see `dualign.decode.matchings.api.as_scores`)."""
    scores = [np.where(matrix > threshold, matrix, 0.0) for matrix in matrices]
    together, rule = pack(scores, row_limit, column_limit), rule_of(alpha, concave)
    chosen = np.zeros(len(together.scores), np.uint8)
    score, bound = np.zeros(len(scores)), np.zeros(len(scores))

    def decode(shard: tuple[int, int]) -> None:
        decode_shard(decoder, shard, together, rule, chosen, score, bound)

    list(ordered_map(decode, spans(len(scores), MATRICES), threads))
    for n, S in enumerate(scores):
        links = np.argwhere(chosen[together.first[n] : together.first[n + 1]].reshape(S.shape))
        yield Decoded(Alignment(tuple((i, j) for i, j in links.tolist())), float(score[n]), float(bound[n]))
