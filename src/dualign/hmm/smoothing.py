"""The M-step of the lexicon: counts to probabilities, with priors that help rare words.

    p(w | v) = (ρ(v, w) · c(v, w) + κ_s · p(w | stem v) + κ_f · similarity(v, w)^4) / Σ_w (c + …)

A count is partly a pair's own guess of the round before: if two words occur together once, all of it. EM
believes such guesses more in every round. A sampler leaves the pair out that it is at; here the share of one
of the n times that both words occur together is left out for all of them alike, `ρ = 1 − leave_out / n`. What
is left out is nobody's: the sum in the denominator is that of all counts. If known counts come from a model
that was trained so, the sum includes what was left out of them, too.

`p(w | stem v) = C(stem v, stem w) / C(stem v) · c(w) / C(stem w)` pools the counts C of all words with the
same first letters, so that a form seen twice borrows from its siblings; the last term makes names, numbers
and cognates find each other. Both are pseudo-counts: what is seen often outweighs them. The other direction
is the same. (This maximises the expected log-posterior under a Dirichlet prior whose base is recomputed each
round; with κ_s = κ_f = 0 and ρ = 1 it is plain maximum likelihood.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel
from dualign._core.threads import ordered_map, pieces
from dualign.hmm.ibm1 import added_up, divide_columns
from dualign.hmm.lexicon import Lexicon
from dualign.hmm.statistics import ExpectedCounts
from dualign.hmm.word_forms import ALIKE, POWER, Forms, forms_of, similarity, stems_of

UNSEEN = 200.0
"""Pseudo-counts of null for words beyond the text: in a small text null must not be sure of anything."""


PARTS = 32
"""Most ranges of stems for which sums by target word are kept apart, to be added in order."""

TASKS = 256
"""Most ranges of stems that are handled by one task each where nothing has to be added up between them."""


class Stems(NamedTuple):
    """The stems of the words of both sides, and of the entries.

    `source`, `target` int32 (words): number of the stem; `order` int32 (source words): the words of a stem
    next to each other, in their own order. `entry` int32 (entries): number of the pair of stems, among those
    of its range of `order`; `sizes` int64: how many pairs of stems each of PARTS ranges has.
    """

    entry: Array
    sizes: Array
    source: Array
    target: Array
    order: Array

    def ranges(self, rows: Array, most: int) -> list[tuple[int, int]]:
        """Cut `order` into ranges of whole stems with about the same number of entries each."""
        parts = pieces(len(self.entry), 1 << 17, most)
        before = np.concatenate(([0], np.cumsum(np.diff(rows)[self.order])))
        begins = np.concatenate(
            ([0], np.flatnonzero(np.diff(self.source[self.order])) + 1, [len(self.order)])
        )
        cuts = np.searchsorted(before[begins], np.linspace(0, before[-1], parts + 1)[1:-1])
        edges = begins[np.concatenate(([0], cuts, [len(begins) - 1]))]
        return [(a, b) for a, b in pairwise(edges.tolist()) if a < b]


class Pseudo(NamedTuple):
    """What is known before training (see `dualign.hmm.priors`).

    `counts`: to be added to those of the text. `left_out` float64 (words) of either side: what else the sum
    over a word's counts includes. All are empty if nothing is known.
    """

    counts: ExpectedCounts
    left_out: tuple[Array, Array]


NOTHING_KNOWN = Pseudo(ExpectedCounts(np.zeros((0, 2)), np.zeros(0), np.zeros(0)), (np.zeros(0), np.zeros(0)))


class Priors(NamedTuple):
    """What smoothing needs to know about the entries.

    `alike` float32 (entries): κ_f · similarity^4; `stem_weight`: κ_s. `pseudo`: what is known before. `kept`
    float32 (entries): ρ(v, w), or empty if all is kept.
    """

    stems: Stems
    alike: Array
    stem_weight: float
    pseudo: Pseudo = NOTHING_KNOWN
    kept: Array = np.zeros(0, np.float32)


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
    both = source_words, target_words
    by_side = ordered_map(partial(stems_of, letters=stem_letters), both, 1, phase="stems")
    source_stem, target_stem = by_side
    stems = number_stems(lexicon, source_stem, target_stem, threads)
    alike = np.zeros(len(lexicon.columns), np.float32)
    if form_weight > 0:
        sources, targets = ordered_map(forms_of, both, 1, phase="spelling")

        def compare(bounds: tuple[int, int]) -> None:
            compare_forms(*bounds, stems.order, lexicon, sources, targets, form_weight, alike)

        list(ordered_map(compare, stems.ranges(lexicon.rows, TASKS), threads, phase="spelling"))
    return Priors(stems, alike, stem_weight)


def kept_shares(together: Array, leave_out: float) -> Array:
    """ρ of the entries whose words occur together that often, int32; 0 for those of which all is kept."""
    kept = together.astype(np.float32)
    np.maximum(kept, 1, out=kept)
    np.divide(-leave_out, kept, out=kept)
    kept += 1
    kept[together == 0] = 1
    return kept


def number_stems(lexicon: Lexicon, source_stem: Array, target_stem: Array, threads: int) -> Stems:
    """Number the pairs of stems that the entries belong to."""
    order = np.argsort(source_stem, kind="stable").astype(np.int32)
    entry = np.empty(len(lexicon.columns), np.int32)
    stems = Stems(entry, np.zeros(0, np.int64), source_stem, target_stem, order)

    def number(bounds: tuple[int, int]) -> int:
        return number_pairs(*bounds, lexicon, stems)

    sizes = ordered_map(number, stems.ranges(lexicon.rows, PARTS), threads, phase="stems")
    return stems._replace(sizes=np.array(list(sizes), np.int64))


def reestimate_lexicon(
    lexicon: Lexicon, counts: ExpectedCounts, priors: Priors, threads: int, table: Array | None = None
) -> Lexicon:
    """New probabilities, in a `table`, from expected counts, to which those of the priors are added there."""
    table = np.empty_like(lexicon.table) if table is None else table
    pseudo, left_out = priors.pseudo
    if len(pseudo.links) > 0:
        for expected, known in zip(counts, pseudo, strict=True):
            expected += known
    stems = priors.stems
    parts = stems.ranges(lexicon.rows, PARTS)
    source_words, target_words = len(lexicon.null_source), len(lexicon.null_target)
    pooled = Pooled(
        np.zeros((0, 2)), np.zeros((source_words, 2)), np.zeros((target_words, 2)),
        np.zeros((source_words + 1, 2)), np.zeros((target_words + 1, 2)),
    )  # fmt: skip

    # Words of one stem are in one range.
    of_pairs = {a: np.zeros((size, 2)) for (a, _), size in zip(parts, stems.sizes, strict=True)}

    def by_target(kernel: Callable[..., None]) -> Array:
        """Run a kernel on all parts; the sums by target word."""

        def run(a: int, b: int, sums: Array) -> None:
            kernel(a, b, lexicon, priors, counts, pooled._replace(stem_entries=of_pairs[a]), table, sums)

        (sums,), _ = added_up(run, parts, [(target_words, 2)], threads, "smoothing")
        return sums

    pooled.by_target[:] = by_target(pool)
    for d in range(2):
        pooled.source_stems[:, d] = np.bincount(stems.source, pooled.by_source[:, d], source_words + 1)
        pooled.target_stems[:, d] = np.bincount(stems.target, pooled.by_target[:, d], target_words + 1)
    sums = by_target(smooth)[:, 1]
    divide_columns(table, lexicon.columns, sums + left_out[1] if len(left_out[1]) else sums, threads)
    nulls = [
        (count / (count.sum() + UNSEEN)).astype(np.float32)
        for count in (counts.null_target, counts.null_source)
    ]
    return lexicon._replace(table=table, null_target=nulls[0], null_source=nulls[1])


class Pooled(NamedTuple):
    """Counts of both directions, float64 (…, 2): by pair of stems of a range, word, and stem of each side."""

    stem_entries: Array
    by_source: Array
    by_target: Array
    source_stems: Array
    target_stems: Array


@kernel
def number_pairs(k0: int, k1: int, lexicon: Lexicon, stems: Stems) -> int:
    """Number the pairs of stems of the words `order[k0:k1]`; returns how many there are."""
    rows, columns = lexicon.rows, lexicon.columns
    place = np.full(len(stems.target), -1, np.int64)
    begin = 0
    end = 0
    stem = -1
    for k in range(k0, k1):
        v = stems.order[k]
        if stems.source[v] != stem:
            stem = stems.source[v]
            begin = end
        for m in range(rows[v], rows[v + 1]):
            s = stems.target[columns[m]]
            if place[s] < begin:
                place[s] = end
                end += 1
            stems.entry[m] = place[s]
    return end


@kernel
def compare_forms(
    k0: int,
    k1: int,
    order: Array,
    lexicon: Lexicon,
    sources: Forms,
    targets: Forms,
    weight: float,
    alike: Array,
) -> None:
    """`alike[m] = weight · similarity^4` for the entries of the source words `order[k0:k1]`."""
    rows, columns = lexicon.rows, lexicon.columns
    places = np.zeros(1 << 10, np.int64)
    for v in order[k0:k1]:
        a = sources.letters[sources.offsets[v] : sources.offsets[v + 1]]
        for m in range(rows[v], rows[v + 1]):
            w = columns[m]
            b = targets.letters[targets.offsets[w] : targets.offsets[w + 1]]
            if 2 * min(len(a), len(b)) >= max(len(a), len(b)):
                s = similarity(a, b, places)
                if s >= ALIKE:
                    alike[m] = weight * s**POWER


@kernel
def pool(
    k0: int, k1: int, lexicon: Lexicon, priors: Priors, counts: ExpectedCounts, pooled: Pooled, table: Array,
    by_target: Array,
) -> None:  # fmt: skip
    """Counts of the words `order[k0:k1]` by word and by pair of stems, and by target word to `by_target`."""
    rows, columns, stems, links = lexicon.rows, lexicon.columns, priors.stems, counts.links
    for k in range(k0, k1):
        v = stems.order[k]
        first = second = 0.0
        for m in range(rows[v], rows[v + 1]):
            c, d = links[m, 0], links[m, 1]
            s, w = stems.entry[m], columns[m]
            pooled.stem_entries[s, 0] += c
            pooled.stem_entries[s, 1] += d
            by_target[w, 0] += c
            by_target[w, 1] += d
            first += c
            second += d
        pooled.by_source[v, 0], pooled.by_source[v, 1] = first, second


@kernel
def smooth(
    k0: int, k1: int, lexicon: Lexicon, priors: Priors, counts: ExpectedCounts, pooled: Pooled, table: Array,
    norm: Array,
) -> None:  # fmt: skip
    """Counts and pseudo-counts of the words `order[k0:k1]`, the first direction's already normalised.

    What the second has to be divided by is added to `norm[:, 1]`, by target word.
    """
    rows, columns, stems = lexicon.rows, lexicon.columns, priors.stems
    least, weight, kept, known = 1e-300, priors.stem_weight, priors.kept, priors.pseudo.counts.links
    left_out = priors.pseudo.left_out[0]
    for k in range(k0, k1):
        v = stems.order[k]
        stem = stems.source[v]
        there, back = max(pooled.source_stems[stem, 0], least), max(pooled.source_stems[stem, 1], least)
        z = left_out[v] if len(left_out) else 0.0
        for m in range(rows[v], rows[v + 1]):
            w, s = columns[m], stems.entry[m]
            of_target = stems.target[w]
            x = weight * pooled.stem_entries[s, 0] / there
            x /= max(pooled.target_stems[of_target, 0], least)
            c = counts.links[m, 0] + priors.alike[m] + x * pooled.by_target[w, 0]
            # Of what a prior knows nothing is left out.
            left = 1 - kept[m] if len(kept) else np.float32(0)
            table[m, 0] = c - left * (counts.links[m, 0] - (known[m, 0] if len(known) else 0.0))
            z += c
            x = weight * pooled.stem_entries[s, 1] / back
            x /= max(pooled.target_stems[of_target, 1], least)
            c = counts.links[m, 1] + priors.alike[m] + x * pooled.by_source[v, 1]
            table[m, 1] = c - left * (counts.links[m, 1] - (known[m, 1] if len(known) else 0.0))
            norm[w, 1] += c
        for m in range(rows[v], rows[v + 1]):
            table[m, 0] = table[m, 0] / z if z > 0 else 0.0
