"""The M-step of the lexicon: counts to probabilities, with priors that help rare words.

    p(w | v) = (c(v, w) + κ_s · p(w | stem v) + κ_f · similarity(v, w)^4) / (sum over w)

`p(w | stem v) = C(stem v, stem w) / C(stem v) · c(w) / C(stem w)` pools the counts C of all words with the
same first letters, so that a form seen twice borrows from its siblings; the last term makes names, numbers
and cognates find each other. Both are pseudo-counts: what is seen often outweighs them. The other direction
is the same. (This maximises the expected log-posterior under a Dirichlet prior whose base is recomputed each
round; with κ = 0 it is plain maximum likelihood.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.core.threads import ordered_map, spans
from dualign.model.forms import ALIKE, POWER, Forms, forms_of, similarity, stems_of
from dualign.model.lexicon import Lexicon
from dualign.text.bitext import GrowingVocabulary

UNSEEN = 200.0
"""Pseudo-counts of null for words beyond the text: in a small text null must not be sure of anything."""


class Priors(NamedTuple):
    """What smoothing needs to know about the entries.

    `stem_entry` int32 (entries): number of the pair of stems; `source_stem`, `target_stem` int32 (words);
    `alike` float32 (entries): κ_f · similarity^4; `stem_weight`: κ_s.
    """

    stem_entry: Array
    stem_entries: int
    source_stem: Array
    target_stem: Array
    alike: Array
    stem_weight: float


def make_priors(
    lexicon: Lexicon,
    source_words: list[str],
    target_words: list[str],
    stem_letters: int,
    stem_weight: float,
    form_weight: float,
    threads: int,
) -> Priors:
    """Prepare the priors of a lexicon's entries."""
    source_stem = stems_of(source_words, stem_letters, GrowingVocabulary())
    target_stem = stems_of(target_words, stem_letters, GrowingVocabulary())
    order = np.argsort(source_stem, kind="stable").astype(np.int32)
    stem_entry = np.empty(len(lexicon.columns), np.int32)
    entries = number_stems(lexicon, source_stem, target_stem, order, stem_entry)
    alike = np.zeros(len(lexicon.columns), np.float32)
    if form_weight > 0:
        sources, targets = forms_of(source_words), forms_of(target_words)

        def compare(bounds: tuple[int, int]) -> None:
            compare_forms(*bounds, lexicon, sources, targets, form_weight, alike)

        list(ordered_map(compare, spans(len(source_words), 1 << 10), threads))
    return Priors(stem_entry, entries, source_stem, target_stem, alike, stem_weight)


def reestimate_lexicon(
    lexicon: Lexicon, counts: Array, null_target: Array, null_source: Array, priors: Priors, threads: int
) -> Lexicon:
    """New probabilities from expected counts: `counts` float64 (entries, 2), the nulls' float64 by word."""
    table = np.empty_like(lexicon.table)
    list(ordered_map(lambda d: smooth(d, lexicon, priors, counts, table), (0, 1), min(threads, 2)))
    nulls = [(count / (count.sum() + UNSEEN)).astype(np.float32) for count in (null_target, null_source)]
    return lexicon._replace(table=table, null_target=nulls[0], null_source=nulls[1])


@kernel()
def number_stems(
    lexicon: Lexicon, source_stem: Array, target_stem: Array, order: Array, stem_entry: Array
) -> int:
    """Number the pairs of stems that the entries belong to; `order` groups the source words by stem."""
    rows, columns = lexicon.rows, lexicon.columns
    place = np.full(len(target_stem), -1, np.int64)
    begin = 0
    end = 0
    stem = -1
    for v in order:
        if source_stem[v] != stem:
            stem = source_stem[v]
            begin = end
        for m in range(rows[v], rows[v + 1]):
            s = target_stem[columns[m]]
            if place[s] < begin:
                place[s] = end
                end += 1
            stem_entry[m] = place[s]
    return end


@kernel()
def compare_forms(
    v0: int, v1: int, lexicon: Lexicon, sources: Forms, targets: Forms, weight: float, alike: Array
) -> None:
    """`alike[m] = weight · similarity^4` for the entries of source words v0..v1."""
    rows, columns = lexicon.rows, lexicon.columns
    places = np.zeros(1 << 10, np.int64)
    for v in range(v0, v1):
        a = sources.letters[sources.offsets[v] : sources.offsets[v + 1]]
        for m in range(rows[v], rows[v + 1]):
            w = columns[m]
            b = targets.letters[targets.offsets[w] : targets.offsets[w + 1]]
            if 2 * min(len(a), len(b)) >= max(len(a), len(b)):
                s = similarity(a, b, places)
                if s >= ALIKE:
                    alike[m] = weight * s**POWER


@kernel()
def smooth(d: int, lexicon: Lexicon, priors: Priors, counts: Array, table: Array) -> None:
    """Column d of `table` from column d of `counts`: normalised over rows (d = 0) or columns (d = 1)."""
    rows, columns, target_words = lexicon.rows, lexicon.columns, len(lexicon.null_target)
    stem_entry, source_stem, target_stem = priors.stem_entry, priors.source_stem, priors.target_stem
    stem_counts = np.zeros(priors.stem_entries)
    source_words = len(rows) - 1
    by_source = np.zeros(source_words)
    by_target = np.zeros(target_words)
    for v in range(source_words):
        for m in range(rows[v], rows[v + 1]):
            c = counts[m, d]
            stem_counts[stem_entry[m]] += c
            by_source[v] += c
            by_target[columns[m]] += c
    # The word's share in its stem, and the stem's total, on each side.
    source_total = np.zeros(source_words + 1)
    target_total = np.zeros(target_words + 1)
    for v in range(source_words):
        source_total[source_stem[v]] += by_source[v]
    for w in range(target_words):
        target_total[target_stem[w]] += by_target[w]
    norm = np.zeros(source_words if d == 0 else target_words)
    for v in range(source_words):
        source_stem_total = max(source_total[source_stem[v]], 1e-300)
        for m in range(rows[v], rows[v + 1]):
            w = columns[m]
            pooled = priors.stem_weight * stem_counts[stem_entry[m]] / source_stem_total
            pooled /= max(target_total[target_stem[w]], 1e-300)
            c = counts[m, d] + priors.alike[m] + pooled * (by_target[w] if d == 0 else by_source[v])
            table[m, d] = c
            norm[v if d == 0 else w] += c
    for v in range(source_words):
        for m in range(rows[v], rows[v + 1]):
            z = norm[v if d == 0 else columns[m]]
            table[m, d] = table[m, d] / z if z > 0 else 0.0
