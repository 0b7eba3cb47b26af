"""How similar the words of a text's pairs are, as another program knows it: checked, and ready for kernels.

An emission p becomes p · exp(w · s) for the similarity s of its two words: a factor that neither direction
normalises, so that a word with no similar word is left to null and to the lexicon.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dualign.core.errors import DataError, UsageError
from dualign.text.bitext import Bitext, Similarities

MOST = 20.0
"""The largest |w · s|: kernels reckon with single precision."""


def similarities(bitext: Bitext, matrices: Iterable[tuple[str, Any]], weight: float) -> Similarities:
    """Those of a text's first pairs, from their matrices, each with its place for messages."""
    if not abs(weight) <= MOST:
        raise UsageError(f"similarity_weight={weight} must be at least {-MOST:g} and at most {MOST:g}")
    return Similarities.of(len(bitext), _factors(bitext, matrices, weight))


def _factors(
    bitext: Bitext, matrices: Iterable[tuple[str, Any]], weight: float
) -> Iterator[npt.NDArray[np.float32]]:
    lengths = list(zip(bitext.source.lengths.tolist(), bitext.target.lengths.tolist(), strict=True))
    for number, (place, content) in enumerate(matrices):
        if number == len(lengths):
            raise DataError(f"{place}: a matrix too many; the text has {len(lengths):,} pairs")
        try:
            matrix = np.asarray(content)
        except ValueError:  # rows of different lengths
            matrix = np.empty(0, object)
        if matrix.dtype.kind not in "biuf":
            raise DataError(f"{place}: not a matrix of numbers")
        I, J = lengths[number]
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
        if not (np.abs(exponent) <= MOST).all():
            raise DataError(f"{place}: a similarity times the weight {weight:g} is not within {MOST:g} of 0")
        yield np.exp(exponent).astype(np.float32)
