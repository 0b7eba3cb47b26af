"""Matching decoders over many matrices, a few dozen per call of a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dualign.core.arrays import Array
from dualign.core.errors import UsageError
from dualign.core.threads import ordered_map, spans
from dualign.decode.matchings.arguments import as_limits, pack, rule_of
from dualign.decode.matchings.assignment import match_batch
from dualign.decode.matchings.bounds import bound_batch
from dualign.decode.matchings.greedy import Matrices, Rule, greedy_batch
from dualign.search.certificate import ROUNDING, have_met
from dualign.text.alignment import Alignment

DECODERS = ("submodular", "matching")
SHARD = 64


@dataclass(frozen=True, slots=True)
class Settings:
    """How to decode: the parameters of `dualign.decode.submodular`, the same for all matrices."""

    decoder: str = "submodular"
    alpha: float = 0.5
    concave: str = "rows"
    row_limit: int | None = None
    column_limit: int | None = None
    threshold: float = 0.0

    def __post_init__(self) -> None:
        if self.decoder not in DECODERS:
            raise UsageError(
                "{decoder=} is not one of {choices}", decoder=self.decoder, choices=", ".join(DECODERS)
            )
        rule_of(self.alpha, self.concave)
        if not 0 <= self.threshold < np.inf:
            raise UsageError("{threshold=} must be at least 0 and finite", threshold=self.threshold)
        for name in ("row_limit", "column_limit"):
            limit = getattr(self, name)
            if limit is not None and limit < 0:
                raise UsageError(f"{name}={limit} must not be negative; leave it out for no limit")


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
    rule: Rule,
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


def decode_matrices(matrices: Sequence[Array], settings: Settings, threads: int) -> Iterator[Decoded]:
    """Links of each matrix, float64 and checked (see `dualign.decode.matchings.arguments.as_scores`)."""
    scores = [np.where(matrix > settings.threshold, matrix, 0.0) for matrix in matrices]
    packed = pack(
        scores,
        [as_limits(settings.row_limit, S.shape[0], S.shape[1], "row_limit") for S in scores],
        [as_limits(settings.column_limit, S.shape[1], S.shape[0], "column_limit") for S in scores],
    )
    rule = rule_of(settings.alpha, settings.concave)
    chosen = np.zeros(len(packed.scores), np.uint8)
    score, bound = np.zeros(len(scores)), np.zeros(len(scores))

    def decode(shard: tuple[int, int]) -> None:
        decode_shard(settings.decoder, shard, packed, rule, chosen, score, bound)

    list(ordered_map(decode, spans(len(scores), SHARD), threads))
    for n, S in enumerate(scores):
        links = np.argwhere(chosen[packed.first[n] : packed.first[n + 1]].reshape(S.shape))
        alignment = Alignment(tuple((int(i), int(j)) for i, j in links))
        yield Decoded(alignment, float(score[n]), float(bound[n]))
