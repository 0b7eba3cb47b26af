"""How similar the words of a text's pairs are, as another program knows it: checked, and ready for kernels.

An emission p becomes p · exp(w · s) for the similarity s of its two words: a factor that neither direction
normalises, so that a word with no similar word is left to null and to the lexicon.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualign._core.errors import DataError, UsageError

MOST = 20.0
"""The largest |w · s|: kernels compute in single precision."""

SIMILARITY_WEIGHT = 4.0
"""What similarities are multiplied by, by default."""

Ints = npt.NDArray[Any]


class Similarities(NamedTuple):
    """What the emissions of some pairs are multiplied by, because their words are known to be similar.

    Pair n has the `factor`s `begin[n]` … `begin[n + 1]`, float32, one for each cell, row by row, or none. A
    text of which nothing is known has empty arrays.
    """

    begin: Ints
    factor: npt.NDArray[Any]

    @classmethod
    def of(cls, pairs: int, factors: Iterable[npt.NDArray[np.float32]]) -> Similarities:
        """Return those of a text of that many pairs, by matrices (source words, target words) of its first
        pairs."""
        flat = [np.ravel(matrix) for matrix in factors]
        begin = np.zeros(pairs + 1, np.int64)
        begin[1 : len(flat) + 1] = [len(each) for each in flat]
        return cls(np.cumsum(begin), np.concatenate([np.zeros(0, np.float32), *flat]))

    def slice(self, begin: int, end: int) -> Similarities:
        """Return those of the pairs begin..end."""
        if len(self.begin) == 0:
            return self
        a, b = self.begin[begin], self.begin[end]
        return Similarities(self.begin[begin : end + 1] - a, self.factor[a:b])

    def chosen(self, pairs: npt.NDArray[np.bool_]) -> Similarities:
        """Return those of the chosen pairs only."""
        if len(self.begin) == 0:
            return self
        sizes = np.diff(self.begin)
        begin = np.concatenate(([0], np.cumsum(sizes[pairs])))
        return Similarities(begin, self.factor[np.repeat(pairs, sizes)])

    def repeated(self, times: int, more: int) -> Similarities:
        """Return those of a text repeated `times` times, then of `more` pairs of which nothing is known."""
        if len(self.begin) == 0:
            return self
        sizes = np.concatenate((np.tile(np.diff(self.begin), times), np.zeros(more, np.int64)))
        return Similarities(np.concatenate(([0], np.cumsum(sizes))), np.tile(self.factor, times))


NO_SIMILARITIES = Similarities(np.zeros(0, np.int64), np.zeros(0, np.float32))


def similarities(
    lengths: tuple[Ints, Ints], matrices: Iterable[tuple[str, Any]], weight: float
) -> Similarities:
    """Return those of a text whose pairs have these `lengths`, source and target, from the matrices of its
    first pairs, each with its place for messages."""
    if not abs(weight) <= MOST:
        raise UsageError(
            "{similarity_weight=} must be at least {value:g} and at most {most:g}",
            similarity_weight=weight,
            value=-MOST,
            most=MOST,
        )
    return Similarities.of(len(lengths[0]), _factors(lengths, matrices, weight))


def _factors(
    lengths: tuple[Ints, Ints], matrices: Iterable[tuple[str, Any]], weight: float
) -> Iterator[npt.NDArray[np.float32]]:
    sizes = list(zip(lengths[0].tolist(), lengths[1].tolist(), strict=True))
    for number, (place, content) in enumerate(matrices):
        if number == len(sizes):
            raise DataError(f"{place}: a matrix too many; the text has {len(sizes):,} pairs")
        try:
            matrix = np.asarray(content)
        except ValueError:  # rows of different lengths
            matrix = np.empty(0, object)
        if matrix.dtype.kind not in "biuf":
            raise DataError(f"{place}: not a matrix of numbers")
        I, J = sizes[number]
        if matrix.size == I * J == 0:
            yield np.zeros(0, np.float32)
            continue
        if matrix.shape != (I, J):
            shown = " × ".join(map(str, matrix.shape))
            raise DataError(
                f"{place}: {shown or 'one number'}, but pair {number + 1} has {I} source and {J} target words"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            exponent = weight * matrix.astype(np.float64)
        if not np.isfinite(exponent).all():
            raise DataError(f"{place}: a similarity is not a finite number")
        if not (np.abs(exponent) <= MOST).all():
            raise DataError(f"{place}: a similarity times the weight {weight:g} is not within {MOST:g} of 0")
        yield np.exp(exponent).astype(np.float32)
