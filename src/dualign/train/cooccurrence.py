"""IBM Model 1 over all co-occurring word pairs, one source word at a time.

An *entry* is a pair (source word v, target word w) that occurs together in some sentence pair; entries of
one v are a row. Going through the corpus word by word instead of sentence by sentence has three merits: a
row stays in cache while all occurrences of v are read, no index of cells is stored, and both threads and
memory are simple: what a pass writes belongs to one row or to one block of sentences, so that the number
of threads cannot change a bit.

Table `t` (float32 [entries, 2]): column 0 is p(w | v), column 1 is p(v | w).
"""

from __future__ import annotations

import numpy as np

from dualign.core.jit import kernel

__all__ = []


@kernel()
def occurrences(source, source_offsets, words):
    """Token positions grouped by source word: `starts` (words + 1), `where`, and each token's sentence."""
    starts = np.zeros(words + 1, np.int64)
    for k in range(len(source)):
        starts[source[k] + 1] += 1
    for v in range(words):
        starts[v + 1] += starts[v]
    fill = starts[:-1].copy()
    where = np.empty(len(source), np.int32)
    sentence = np.empty(len(source), np.int32)
    for n in range(len(source_offsets) - 1):
        for k in range(source_offsets[n], source_offsets[n + 1]):
            where[fill[source[k]]] = k
            sentence[k] = n
            fill[source[k]] += 1
    return starts, where, sentence


@kernel()
def count_entries(v0, v1, starts, where, sentence, target, target_offsets, words, sizes):
    """`sizes[v + 1]` = number of different target words that occur with v."""
    mark = np.full(words, -1, np.int32)
    for v in range(v0, v1):
        size = 0
        for p in range(starts[v], starts[v + 1]):
            n = sentence[where[p]]
            for k in range(target_offsets[n], target_offsets[n + 1]):
                w = target[k]
                if mark[w] != v:
                    mark[w] = v
                    size += 1
        sizes[v + 1] = size


@kernel()
def first_round(v0, v1, starts, where, sentence, source_offsets, target, target_offsets, words, rows, cols, t, column_sums):
    """List the entries and give them their counts under uniform posteriors, the first E-step of Model 1."""
    place = np.full(words, -1, np.int64)
    for v in range(v0, v1):
        begin = rows[v]
        end = begin
        for p in range(starts[v], starts[v + 1]):
            n = sentence[where[p]]
            c0 = np.float32(1.0 / (source_offsets[n + 1] - source_offsets[n] + 1))
            c1 = np.float32(1.0 / (target_offsets[n + 1] - target_offsets[n] + 1))
            for k in range(target_offsets[n], target_offsets[n + 1]):
                w = target[k]
                m = place[w]
                if m < begin:
                    m = end
                    place[w] = m
                    cols[m] = w
                    t[m, 0] = 0
                    t[m, 1] = 0
                    end += 1
                t[m, 0] += c0
                t[m, 1] += c1
        normalise_row(begin, end, cols, t, column_sums)


@kernel()
def normalise_row(begin, end, cols, t, column_sums):
    z = 0.0
    for m in range(begin, end):
        z += t[m, 0]
        column_sums[cols[m]] += t[m, 1]
    r = np.float32(1 / z) if z > 0 else np.float32(0)
    for m in range(begin, end):
        t[m, 0] *= r


@kernel()
def normalise_columns(m0, m1, cols, t, column_sums):
    for m in range(m0, m1):
        z = column_sums[cols[m]]
        t[m, 1] = t[m, 1] / z if z > 0 else 0.0


@kernel()
def denominators(n0, n1, starts, where, sentence, source_offsets, target, target_offsets, words, rows, cols, t, null, total):
    """`total[k] = p(w | null) + Σ_i p(w | s_i)` for the target tokens k of sentences n0..n1."""
    for k in range(target_offsets[n0], target_offsets[n1]):
        total[k] = null[target[k]]
    row = np.zeros(words, np.float32)
    first = source_offsets[n0]
    last = source_offsets[n1]
    for v in range(len(starts) - 1):
        lo = starts[v]
        hi = starts[v + 1]
        if lo == hi:
            continue
        lo += np.searchsorted(where[lo:hi], first)
        if lo == hi or where[lo] >= last:
            continue
        for m in range(rows[v], rows[v + 1]):
            row[cols[m]] = t[m, 0]
        for p in range(lo, hi):
            if where[p] >= last:
                break
            n = sentence[where[p]]
            for k in range(target_offsets[n], target_offsets[n + 1]):
                total[k] += row[target[k]]


@kernel()
def reestimate(v0, v1, starts, where, sentence, target, target_offsets, words, rows, cols, t, null, total, column_sums, likelihood, null_counts, source):
    """Second half of a round: new counts of rows v0..v1, written over the old probabilities."""
    t0 = np.zeros(words, np.float32)
    t1 = np.zeros(words, np.float32)
    c0 = np.zeros(words, np.float32)
    c1 = np.zeros(words, np.float32)
    ll = 0.0
    for v in range(v0, v1):
        for m in range(rows[v], rows[v + 1]):
            w = cols[m]
            t0[w] = t[m, 0]
            t1[w] = t[m, 1]
            c0[w] = 0
            c1[w] = 0
        nullv = 0.0
        for p in range(starts[v], starts[v + 1]):
            n = sentence[where[p]]
            z = null[v]
            for k in range(target_offsets[n], target_offsets[n + 1]):
                z += t1[target[k]]
            ll += np.log(z / (target_offsets[n + 1] - target_offsets[n] + 1))
            z = np.float32(1) / z
            nullv += null[v] * z
            for k in range(target_offsets[n], target_offsets[n + 1]):
                w = target[k]
                c0[w] += t0[w] * total[k]
                c1[w] += t1[w] * z
        null_counts[v] = nullv
        for m in range(rows[v], rows[v + 1]):
            w = cols[m]
            t[m, 0] = c0[w]
            t[m, 1] = c1[w]
        normalise_row(rows[v], rows[v + 1], cols, t, column_sums)
    likelihood[0] += ll
