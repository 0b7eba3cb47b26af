"""Interpolated modified Kneser-Ney estimates (Chen & Goodman 1998; Heafield et al. 2013).

Counts `a(g)`: of the longest n-grams, and of those that begin with `<s>`, how often they occur; of all
others, how many different words stand before them. With discounts `D(1), D(2), D(3+)` of each length from
its counts of counts,

    p(w | c) = ( a(cw) − D(a(cw)) ) / Σ_v a(cv)  +  γ(c) p(w | c'),      γ(c) = Σ_v D(a(cv)) / Σ_v a(cv)

where c' is c without its first word; single words are interpolated with the uniform distribution over the
vocabulary, which has `<unk>` and `</s>` but not `<s>`. In ARPA form p is that of each n-gram seen, γ its
back-off weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError
from dualign._core.fields import check_value
from dualign.text.arpa import Arpa, Grams
from dualign.text.corpus import GrowingVocabulary

_SPECIAL = ("<unk>", "<s>", "</s>")


@dataclass(frozen=True, slots=True)
class _Types:
    """n-grams of one length: a place in the text where each occurs, occurrences, number at each place (−1:
    none)."""

    place: Array
    count: Array
    number: Array


def estimate(sentences: Iterable[Sequence[str]], order: int = 3, *, place: str | None = None) -> Arpa:
    """Return a model of tokenised sentences; empty ones are left out. Errors name the `place` of the text."""
    check_value("order", order, "int", least=1, most=9)
    text, ends, words = _text(sentences, place)
    types = _types(text, ends, order, len(words), place)
    begin = words.index("<s>")
    logs: list[tuple[Array, Array]] = []
    below = np.full(1, 1.0 / (len(words) - 1))  # uniform, for the empty n-gram
    for n, now in enumerate(types, 1):
        counts = _counts(types, n, text == begin)
        if n == 1:
            counts[now.number[np.flatnonzero(text == begin)[0]]] = 0
        prefix = types[n - 2].number[now.place] if n > 1 else np.zeros(len(now.place), np.int64)
        suffix = types[n - 2].number[now.place + 1] if n > 1 else np.zeros(len(now.place), np.int64)
        taken = np.concatenate(([0.0], discounts(counts)))[np.minimum(counts, 3)]
        contexts = len(types[n - 2].place) if n > 1 else 1
        total = np.bincount(prefix, counts, contexts)
        gamma = np.divide(np.bincount(prefix, taken, contexts), total, out=np.ones(contexts), where=total > 0)
        if n > 1:
            logs[-1] = logs[-1][0], gamma
        p = (counts - taken) / np.maximum(total[prefix], 1) + gamma[prefix] * below[suffix]
        if n == 1:
            unknown = float(gamma[0] * below[0])
        logs.append((p, np.ones(len(p))))
        below = p
    return _arpa(text, words, types, logs, unknown, begin)


def discounts(counts: Array) -> Array:
    """Return D(1), D(2), D(3+) from the counts of one length; 0.5, 1, 1.5 where there are too few to tell."""
    n1, n2, n3, n4 = (int((counts == c).sum()) for c in (1, 2, 3, 4))
    if min(n1, n2, n3) == 0:
        return np.array([0.5, 1.0, 1.5])
    y = n1 / (n1 + 2 * n2)
    result = np.array([1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3])
    if (result < 0).any() or (result > [1, 2, 3]).any():
        return np.array([0.5, 1.0, 1.5])
    return result


def _text(sentences: Iterable[Sequence[str]], place: str | None) -> tuple[Array, Array, list[str]]:
    """Return all sentences with `<s>` and `</s>` end to end, where each place's sentence ends, and the
    words."""
    number = GrowingVocabulary()
    unknown, begin, end = (number[word] for word in _SPECIAL)
    del unknown
    tokens: list[int] = []
    ends: list[int] = []
    for at, sentence in enumerate(sentences, 1):
        if not sentence:
            continue
        coded = [number[word] for word in sentence]
        if begin in coded or end in coded:
            raise DataError(
                f"sentence {at} has the word <s> or </s>, which a language model adds itself; remove it",
                place=place,
            )
        tokens += [begin, *coded, end]
        ends.append(len(tokens))
    if not ends:
        raise DataError(
            "no sentence to learn a language model from, all are empty; give some with words", place=place
        )
    bounds = np.array(ends)
    text = np.array(tokens, np.int64)
    return text, np.repeat(bounds, np.diff(bounds, prepend=0)), list(number)


def _types(text: Array, ends: Array, order: int, words: int, place: str | None) -> list[_Types]:
    result: list[_Types] = []
    number = np.zeros(len(text), np.int64)
    for n in range(1, order + 1):
        places = np.flatnonzero(np.arange(len(text)) + n <= ends)
        if not len(places):
            raise DataError(f"no sentence is long enough for {n}-grams; use a lower order", place=place)
        keys = number[places] * words + text[places + n - 1]
        _, first, inverse, count = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        number = np.full(len(text) + 1, -1, np.int64)
        number[places] = inverse
        result.append(_Types(places[first], count, number))
        number = number[:-1]
    return result


def _counts(types: list[_Types], n: int, begins: Array) -> Array:
    now = types[n - 1]
    if n == len(types):
        return now.count.copy()
    different = np.bincount(now.number[types[n].place + 1], minlength=len(now.place))
    return np.where(begins[now.place], now.count, different)


def _arpa(
    text: Array,
    words: list[str],
    types: list[_Types],
    logs: list[tuple[Array, Array]],
    unknown: float,
    begin: int,
) -> Arpa:
    grams = []
    for n, (now, (p, gamma)) in enumerate(zip(types, logs, strict=True), 1):
        rows = text[now.place[:, None] + np.arange(n)]
        if n == 1:
            rows = np.append(rows, [[words.index("<unk>")]], axis=0)
            p, gamma = np.append(p, unknown), np.append(gamma, 1.0)
            if (rows[:-1, 0] == rows[-1, 0]).any():
                # The text has the word <unk> itself: one entry for both.
                same = int(np.flatnonzero(rows[:, 0] == rows[-1, 0])[0])
                rows, p, gamma = rows[:-1], p[:-1], gamma[:-1]
                p[same] = max(p[same], unknown)
            p = np.where(rows[:, 0] == begin, 1.0, p)  # never asked for; by custom
        grams.append(Grams(rows.astype(np.int32), np.log10(p), np.log10(gamma)))
    return Arpa(words, grams)
