"""BLEU and chrF of translations, as counts per sentence that can be added up.

BLEU of tokenised text (Papineni et al. 2002) is

    100 · exp( min(0, 1 − r/c) + ¼ Σ_{n=1..4} log( matches_n / n-grams_n ) )

c is the length of all translations, r the sum of the lengths of the closest references (the shorter of two
that are equally close); an n-gram matches at most as often as it occurs in one reference. This equals
`sacrebleu` with `tokenize="none"` and without smoothing; for published numbers use sacrebleu, which tokenises
by itself.

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

_WORD_ORDER = 4
_LETTER_ORDER, _BETA = 6, 2.0


def bleu(translations: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> float:
    """Return BLEU, 0 to 100, of translations, each with one or more references; all are token lists."""
    total = np.zeros(2 * _WORD_ORDER + 2)
    streams = ("translations", translations), ("references", references)
    for words, several in in_step(*streams, unit="sentences"):
        total += bleu_counts(words, several)
    return float(bleu_of_counts(total))


def bleu_counts(words: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
    """float64 (10): matches and n-grams of length 1 to 4, then length of translation and closest
    reference."""
    counts = np.zeros(2 * _WORD_ORDER + 2)
    for n in range(1, _WORD_ORDER + 1):
        mine = _grams(words, n)
        most: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            most |= _grams(reference, n)
        counts[n - 1] = sum((mine & most).values())
        counts[_WORD_ORDER + n - 1] = max(len(words) - n + 1, 0)
    counts[-2] = len(words)
    counts[-1] = min((len(r) for r in references), key=lambda length: (abs(length - len(words)), length))
    return counts


def bleu_of_counts(counts: Array, smooth: float = 0.0) -> Array:
    """Return BLEU, 0 to 100, of sums of counts (…, 10); `smooth` is added to matches and n-grams longer than
    1."""
    matches, grams = counts[..., :_WORD_ORDER].copy(), counts[..., _WORD_ORDER : 2 * _WORD_ORDER].copy()
    matches[..., 1:] += smooth
    grams[..., 1:] += smooth
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.log(np.where(grams > 0, matches / np.maximum(grams, 1e-300), 0.0)).mean(axis=-1)
        brevity = np.minimum(0.0, 1.0 - counts[..., -1] / np.maximum(counts[..., -2], 1e-300))
        return np.where(counts[..., -2] > 0, 100.0 * np.exp(precision + brevity), 0.0)


def _grams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


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
