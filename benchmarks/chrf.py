"""chrF of translations, as counts per sentence that can be added up.

chrF (Popović 2015) is an F-score of character n-grams,

    100 · (1 + β²) P R / (β² P + R),   β = 2

where P and R are means over n = 1 … 6 of the shares of the n-grams of the translations, and of the
references, that match. White space is left out. This equals `sacrebleu` with its defaults for chrF.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from dualign._core.arrays import Array
from dualign.text.checks import in_step

_LETTER_ORDER, _BETA = 6, 2.0


def chrf(translations: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    """chrF, 0 to 100, of translations with a reference each; all are token lists."""
    streams = ("translations", translations), ("references", references)
    total = np.zeros(3 * _LETTER_ORDER)
    for words, reference in in_step(*streams, unit="sentences"):
        total += chrf_counts(words, reference)
    return float(chrf_of_counts(total))


def chrf_counts(words: Sequence[str], reference: Sequence[str]) -> Array:
    """float64 (18): of each n, the n-grams of the translation, of the reference, and those that match.

    As in sacrebleu, those of the translation do not count where the reference is too short to have any.
    """
    mine, gold = "".join(words), "".join(reference)
    counts = np.zeros(3 * _LETTER_ORDER)
    for n in range(1, _LETTER_ORDER + 1):
        a, b = (Counter(text[i : i + n] for i in range(len(text) - n + 1)) for text in (mine, gold))
        counts[3 * n - 3 : 3 * n] = a.total() if b else 0, b.total(), (a & b).total()
    return counts


def chrf_of_counts(counts: Array) -> Array:
    """chrF, 0 to 100, of sums of counts (…, 18); an n that no text is long enough for does not count."""
    mine, gold, same = (np.asarray(counts)[..., part::3] for part in range(3))
    used = (mine > 0) & (gold > 0)
    number = np.maximum(used.sum(axis=-1), 1)
    precision = (same * used / np.maximum(mine, 1)).sum(axis=-1) / number
    recall = (same * used / np.maximum(gold, 1)).sum(axis=-1) / number
    weighted = np.maximum(_BETA**2 * precision + recall, 1e-300)
    return 100.0 * (1 + _BETA**2) * precision * recall / weighted
