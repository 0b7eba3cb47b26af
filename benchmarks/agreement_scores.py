"""Sentence pairs for the benchmarks of joint decoding: their scores θ and ω, and a sample by length."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.corpora import Pair
from dualign._core.errors import UsageError
from dualign.aligner import Aligner
from dualign.decode.joint.model import potentials
from dualign.hmm.encoding import encode_for
from dualign.hmm.posteriors import make_block

GROUPS = ((1, 20, 0.28), (21, 40, 0.45), (41, 60, 0.27))
"""Words of the longer side, from and to, and the share of such pairs (Chang et al. 2014, Table 1)."""


class Scores(NamedTuple):
    """θ and ω of a pair, as `dualign.decode.bidirectional` takes them."""

    theta: np.ndarray
    omega: np.ndarray

    @property
    def group(self) -> int:
        """Number of its group."""
        longer = max(len(self.theta), len(self.omega))
        return next(n for n, (least, most, _) in enumerate(GROUPS) if least <= longer <= most)


def scores_of(aligner: Aligner, pairs: Sequence[Pair]) -> list[Scores]:
    """The logarithms of the model's probabilities."""
    block = make_block(aligner.model, encode_for(aligner.model, pairs))
    return [Scores(*potentials(n, block)) for n in range(len(pairs))]


def sample(pairs: Sequence[Pair], number: int, seed: int) -> list[int]:
    """The places of `number` pairs, each group with its share, shortest group first."""
    chosen: list[int] = []
    for (least, most, _), count in zip(GROUPS, shares(number), strict=True):
        fitting = [n for n, pair in enumerate(pairs) if least <= max(map(len, pair)) <= most]
        if len(fitting) < count:
            raise UsageError(
                f"the text has {len(fitting)} pairs of {least} to {most} words, {count} are asked for; "
                "take a larger --size or fewer --pairs"
            )
        chosen += sorted(random.Random(seed).sample(fitting, count))
    return chosen


def shares(number: int) -> list[int]:
    """Whole numbers that add up to `number`, as close to the groups' shares as possible."""
    wanted = [number * share for _, _, share in GROUPS]
    counts = [int(each) for each in wanted]
    for n in sorted(range(len(counts)), key=lambda n: counts[n] - wanted[n])[: number - sum(counts)]:
        counts[n] += 1
    return counts


def name_of(group: int) -> str:
    """Such as 21-40; one past the last group is all of them."""
    return "{}-{}".format(*GROUPS[group][:2]) if group < len(GROUPS) else "all"
