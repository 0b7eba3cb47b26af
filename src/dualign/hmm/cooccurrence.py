"""Kernels of IBM Model 1 over all co-occurring word pairs, one source word at a time.

An *entry* is a pair (source word v, target word w) that occurs together in some sentence pair; the entries
of one v are a row. Going through the corpus word by word instead of sentence by sentence has three merits:
a row stays in cache while all occurrences of v are read, no index of cells is stored, and whatever a pass
writes belongs to one row or to one range of sentences, so the number of threads cannot change a bit.

The kernels work in place on the table `t` of a `Lexicon`, float32 (entries, 2): column 0 is p(w | v), column
1 is p(v | w). Its rows list the target words in order of first occurrence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign.hmm.blocks import PairOffsets, lengths_of
from dualign.hmm.lexicon import Lexicon
from dualign.hmm.statistics import even_share

MOST_TOGETHER = 1 << 30
"""Words that occur together more often are counted as if they did not."""

LIFT = 0.5
"""How strongly the rounds after the first prefer words that occur together more often than by chance."""


class Appearances(NamedTuple):
    """The sentences in which source word v occurs are `sentence[starts[v] : starts[v + 1]]`, in order.

    One that it occurs in twice is there twice. `starts` int64 (words + 1), `sentence` int32 (tokens).
    """

    starts: Array
    sentence: Array


class Corpus(NamedTuple):
    """Sentence pairs, where each source word occurs in them, and the number of target words."""

    words: Appearances
    pairs: PairOffsets
    target_words: int


@kernel
def count_words(tokens: Array, counts: Array) -> None:
    """Add how often each word occurs among the tokens to `counts`, int32 (words)."""
    for k in range(len(tokens)):
        counts[tokens[k]] += 1


@kernel
def list_sentences(n0: int, n1: int, pairs: PairOffsets, place: Array, sentence: Array) -> None:
    """List the occurrences in sentences n0..n1, those of word v from `place[v]` on."""
    for n in range(n0, n1):
        for k in range(pairs.source_offsets[n], pairs.source_offsets[n + 1]):
            v = pairs.source[k]
            sentence[place[v]] = n
            place[v] += 1


@kernel
def add_even_shares(
    n0: int, n1: int, pairs: PairOffsets, above: float, shares: Array, null_source: Array
) -> None:
    """What null takes of the tokens of sentences n0..n1 under uniform posteriors, by word (float64).

    Of a target word, `shares[w, 0]`; `shares[w, 1]` is what its tokens take of all source tokens.
    """
    for n in range(n0, n1):
        s0, s1 = pairs.source_offsets[n], pairs.source_offsets[n + 1]
        t0, t1 = pairs.target_offsets[n], pairs.target_offsets[n + 1]
        c0, c1 = even_share(s1 - s0 + 1, above), even_share(t1 - t0 + 1, above)
        for k in range(t0, t1):
            shares[pairs.target[k], 0] += c0
            shares[pairs.target[k], 1] += (s1 - s0) * c1
        for k in range(s0, s1):
            null_source[pairs.source[k]] += c1


@kernel
def add_null_shares(
    n0: int, n1: int, pairs: PairOffsets, null: Array, total: Array, null_target: Array
) -> float:
    """What null takes of the target tokens of sentences n0..n1, by word; returns their log-likelihood.

    `null` float32 (words): p(w | null); `total` as `totals` has filled it.
    """
    likelihood = 0.0
    product = 1.0
    for n in range(n0, n1):
        I = pairs.source_offsets[n + 1] - pairs.source_offsets[n]
        for k in range(pairs.target_offsets[n], pairs.target_offsets[n + 1]):
            w = pairs.target[k]
            null_target[w] += null[w] * total[k]
            # A logarithm for each token would cost more than all the rest.
            product *= total[k] * (I + 1.0)
            if product < 1e-200 or product > 1e200:
                likelihood -= np.log(product)
                product = 1.0
    return likelihood - np.log(product)


@kernel
def count_entries(v0: int, v1: int, corpus: Corpus, sizes: Array) -> None:
    """`sizes[v]` = number of different target words that occur with v."""
    index, pairs, target_words = corpus
    mark = np.full(target_words, -1, np.int32)
    for v in range(v0, v1):
        size = 0
        for p in range(index.starts[v], index.starts[v + 1]):
            n = index.sentence[p]
            for k in range(pairs.target_offsets[n], pairs.target_offsets[n + 1]):
                w = pairs.target[k]
                if mark[w] != v:
                    mark[w] = v
                    size += 1
        sizes[v] = size


@kernel
def first_round(v0: int, v1: int, corpus: Corpus, lexicon: Lexicon, column_sums: Array, above: float) -> None:
    """List the entries and count them under uniform posteriors, which is the first round of Model 1.

    `column_sums` float64 (target words): the counts of the other direction, by w.
    """
    index, pairs, target_words = corpus
    columns, t = lexicon.columns, lexicon.table
    sums = np.zeros((target_words, 2))
    for v in range(v0, v1):
        begin = lexicon.rows[v]
        end = begin
        for p in range(index.starts[v], index.starts[v + 1]):
            n = index.sentence[p]
            I, J = lengths_of(n, pairs)
            c0, c1 = even_share(I + 1, above), even_share(J + 1, above)
            for k in range(pairs.target_offsets[n], pairs.target_offsets[n + 1]):
                w = pairs.target[k]
                if sums[w, 0] == 0:
                    columns[end] = w
                    end += 1
                sums[w, 0] += c0
                sums[w, 1] += c1
        for m in range(begin, end):
            w = columns[m]
            t[m, 0], t[m, 1] = sums[w, 0], sums[w, 1]
            sums[w, 0] = sums[w, 1] = 0
        normalise(t, begin, end)
        for m in range(begin, end):
            t[m, 1] = t[m, 1] / column_sums[columns[m]]


@part(allocates=False)
def normalise(t: Array, begin: int, end: int) -> None:
    """Turn the counts of a row into p(w | v)."""
    z = 0.0
    for m in range(begin, end):
        z += t[m, 0]
    r = np.float32(1 / z) if z > 0 else np.float32(0)
    for m in range(begin, end):
        t[m, 0] *= r


@kernel
def totals(n0: int, n1: int, corpus: Corpus, lexicon: Lexicon, total: Array) -> None:
    """`total[k] = 1 / (p(w_k | null) + Σ_i p(w_k | s_i))` for the target tokens k of sentences n0..n1."""
    index, pairs, target_words = corpus
    for k in range(pairs.target_offsets[n0], pairs.target_offsets[n1]):
        total[k] = lexicon.null_target[pairs.target[k]]
    row = np.zeros(target_words, np.float32)
    for v in range(len(index.starts) - 1):
        lo = index.starts[v]
        hi = index.starts[v + 1]
        end = hi
        while lo < end:  # the first occurrence in these sentences
            middle = (lo + end) // 2
            if index.sentence[middle] < n0:
                lo = middle + 1
            else:
                end = middle
        if lo == hi or index.sentence[lo] >= n1:
            continue
        for m in range(lexicon.rows[v], lexicon.rows[v + 1]):
            row[lexicon.columns[m]] = lexicon.table[m, 0]
        for p in range(lo, hi):
            n = index.sentence[p]
            if n >= n1:
                break
            for k in range(pairs.target_offsets[n], pairs.target_offsets[n + 1]):
                total[k] += row[pairs.target[k]]
    for k in range(pairs.target_offsets[n0], pairs.target_offsets[n1]):
        total[k] = np.float32(1) / total[k]


@kernel
def second_half(
    v0: int, v1: int, corpus: Corpus, lexicon: Lexicon, total: Array, column_sums: Array, null_counts: Array
) -> float:
    """New counts of rows v0..v1, written over the old probabilities; `total` is that of `totals`.

    In the other direction a source token's own total needs its row only. All occurrences of w share the
    probabilities of its entry, so that what they are divided by is summed, and multiplied once. Returns that
    direction's log-likelihood of the tokens of words v0..v1.
    """
    index, pairs, target_words = corpus
    rows, columns, t, null = lexicon.rows, lexicon.columns, lexicon.table, lexicon.null_source
    t1 = np.zeros(target_words, np.float32)
    sums = np.zeros((target_words, 2))
    likelihood = 0.0
    for v in range(v0, v1):
        for m in range(rows[v], rows[v + 1]):
            t1[columns[m]] = t[m, 1]
        null_count = 0.0
        for p in range(index.starts[v], index.starts[v + 1]):
            n = index.sentence[p]
            begin = pairs.target_offsets[n]
            end = pairs.target_offsets[n + 1]
            z = null[v]
            for k in range(begin, end):
                z += t1[pairs.target[k]]
            likelihood += np.log(z / (end - begin + 1))
            z = np.float32(1) / z
            null_count += null[v] * z
            for k in range(begin, end):
                w = pairs.target[k]
                sums[w, 0] += total[k]
                sums[w, 1] += z
        null_counts[v] = null_count
        for m in range(rows[v], rows[v + 1]):
            w = columns[m]
            t[m, 0] *= sums[w, 0]
            t[m, 1] *= sums[w, 1]
            sums[w, 0] = sums[w, 1] = 0
            column_sums[w] += t[m, 1]
        normalise(t, rows[v], rows[v + 1])
    return likelihood


@kernel
def count_kept(v0: int, v1: int, lexicon: Lexicon, least: float, sizes: Array) -> None:
    """`sizes[v]` = number of entries of row v with √(t0 · t1) > least."""
    rows, t = lexicon.rows, lexicon.table
    for v in range(v0, v1):
        size = 0
        for m in range(rows[v], rows[v + 1]):
            size += np.sqrt(t[m, 0]) * np.sqrt(t[m, 1]) > least
        sizes[v] = size


@kernel
def copy_kept(v0: int, v1: int, lexicon: Lexicon, least: float, kept: Lexicon) -> None:
    """Copy those entries to the rows of `kept`."""
    rows, columns, t = lexicon.rows, lexicon.columns, lexicon.table
    for v in range(v0, v1):
        to = kept.rows[v]
        for m in range(rows[v], rows[v + 1]):
            if np.sqrt(t[m, 0]) * np.sqrt(t[m, 1]) > least:
                kept.columns[to] = columns[m]
                kept.table[to, 0] = t[m, 0]
                kept.table[to, 1] = t[m, 1]
                to += 1


@kernel
def count_together(v0: int, v1: int, corpus: Corpus, lexicon: Lexicon, together: Array) -> None:
    """`together[m]`, int32: how often the two words of entry m occur together, for rows v0..v1.

    Each token of one with each of the other counts, up to MOST_TOGETHER.
    """
    index, pairs, target_words = corpus
    rows, columns = lexicon.rows, lexicon.columns
    number = np.zeros(target_words, np.int32)
    for v in range(v0, v1):
        for p in range(index.starts[v], index.starts[v + 1]):
            n = index.sentence[p]
            for k in range(pairs.target_offsets[n], pairs.target_offsets[n + 1]):
                w = pairs.target[k]
                number[w] = min(number[w] + 1, MOST_TOGETHER)
        for m in range(rows[v], rows[v + 1]):
            together[m] = number[columns[m]]
        for p in range(index.starts[v], index.starts[v + 1]):
            n = index.sentence[p]
            for k in range(pairs.target_offsets[n], pairs.target_offsets[n + 1]):
                number[pairs.target[k]] = 0


@kernel
def lift_rows(v0: int, v1: int, lexicon: Lexicon, shares: tuple[Array, Array], sums: Array) -> None:
    """Multiply the entries of rows v0..v1 by lift^LIFT, with the first direction normalised again.

    The lift of two words is √(p(w | v) / p(w) · p(v | w) / p(v)), how much more often they occur together
    than by chance; `shares` float64: p(v), p(w). What the second direction has to be divided by is added to
    `sums`, by w.
    """
    rows, columns, t = lexicon.rows, lexicon.columns, lexicon.table
    for v in range(v0, v1):
        z = 0.0
        for m in range(rows[v], rows[v + 1]):
            w = columns[m]
            lift = np.sqrt(t[m, 0] / shares[1][w]) * np.sqrt(t[m, 1] / shares[0][v])
            t[m, 0] *= lift**LIFT
            t[m, 1] *= lift**LIFT
            z += t[m, 0]
            sums[w] += t[m, 1]
        for m in range(rows[v], rows[v + 1]):
            t[m, 0] = t[m, 0] / z if z > 0 else 0.0
