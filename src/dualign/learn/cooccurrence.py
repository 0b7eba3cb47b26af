"""Kernels of IBM Model 1 over all co-occurring word pairs, one source word at a time.

An *entry* is a pair (source word v, target word w) that occurs together in some sentence pair; the entries
of one v are a row. Going through the corpus word by word instead of sentence by sentence has three merits:
a row stays in cache while all occurrences of v are read, no index of cells is stored, and whatever a pass
writes belongs to one row or to one range of sentences, so the number of threads cannot change a bit.

The table `t` is float32 (entries, 2): column 0 is p(w | v), column 1 is p(v | w).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.infer.cells import Pairs


class Index(NamedTuple):
    """Where each source word occurs: see `dualign.infer.cells.occurrences`."""

    starts: Array
    where: Array
    sentence: Array


class Table(NamedTuple):
    """Row v is `columns[rows[v] : rows[v + 1]]` with the probabilities `t`, in order of first occurrence."""

    rows: Array
    columns: Array
    t: Array


@kernel()
def count_entries(v0: int, v1: int, index: Index, pairs: Pairs, target_words: int, sizes: Array) -> None:
    """`sizes[v]` = number of different target words that occur with v."""
    mark = np.full(target_words, -1, np.int32)
    for v in range(v0, v1):
        size = 0
        for p in range(index.starts[v], index.starts[v + 1]):
            n = index.sentence[index.where[p]]
            for k in range(pairs.target_offsets[n], pairs.target_offsets[n + 1]):
                w = pairs.target[k]
                if mark[w] != v:
                    mark[w] = v
                    size += 1
        sizes[v] = size


@kernel()
def first_round(
    v0: int, v1: int, index: Index, pairs: Pairs, target_words: int, table: Table, column_sums: Array
) -> None:
    """List the entries and count them under uniform posteriors, which is the first round of Model 1."""
    sums = np.zeros((target_words, 2))
    t = table.t
    for v in range(v0, v1):
        begin = table.rows[v]
        end = begin
        for p in range(index.starts[v], index.starts[v + 1]):
            n = index.sentence[index.where[p]]
            c0 = 1.0 / (pairs.source_offsets[n + 1] - pairs.source_offsets[n] + 1)
            c1 = 1.0 / (pairs.target_offsets[n + 1] - pairs.target_offsets[n] + 1)
            for k in range(pairs.target_offsets[n], pairs.target_offsets[n + 1]):
                w = pairs.target[k]
                if sums[w, 0] == 0:
                    table.columns[end] = w
                    end += 1
                sums[w, 0] += c0
                sums[w, 1] += c1
        for m in range(begin, end):
            w = table.columns[m]
            t[m, 0], t[m, 1] = sums[w, 0], sums[w, 1]
            sums[w, 0] = sums[w, 1] = 0
        divide_row(v, table, column_sums)


@kernel()
def divide_row(v: int, table: Table, column_sums: Array) -> None:
    """Turn the counts of row v into p(w | v), and add those of the other direction to the sums by w."""
    t = table.t
    z = 0.0
    for m in range(table.rows[v], table.rows[v + 1]):
        z += t[m, 0]
        column_sums[table.columns[m]] += t[m, 1]
    r = np.float32(1 / z) if z > 0 else np.float32(0)
    for m in range(table.rows[v], table.rows[v + 1]):
        t[m, 0] *= r


@kernel()
def divide_columns(m0: int, m1: int, table: Table, column_sums: Array) -> None:
    """Turn the counts of entries m0..m1 into p(v | w)."""
    for m in range(m0, m1):
        z = column_sums[table.columns[m]]
        table.t[m, 1] = table.t[m, 1] / z if z > 0 else 0.0


@kernel()
def totals(
    n0: int, n1: int, index: Index, pairs: Pairs, target_words: int, table: Table, null: Array, total: Array
) -> None:
    """`total[k] = 1 / (p(w_k | null) + Σ_i p(w_k | s_i))` for the target tokens k of sentences n0..n1."""
    for k in range(pairs.target_offsets[n0], pairs.target_offsets[n1]):
        total[k] = null[pairs.target[k]]
    row = np.zeros(target_words, np.float32)
    first = pairs.source_offsets[n0]
    last = pairs.source_offsets[n1]
    for v in range(len(index.starts) - 1):
        lo = index.starts[v]
        hi = index.starts[v + 1]
        end = hi
        while lo < end:  # the first occurrence in these sentences
            middle = (lo + end) // 2
            if index.where[middle] < first:
                lo = middle + 1
            else:
                end = middle
        if lo == hi or index.where[lo] >= last:
            continue
        for m in range(table.rows[v], table.rows[v + 1]):
            row[table.columns[m]] = table.t[m, 0]
        for p in range(lo, hi):
            if index.where[p] >= last:
                break
            n = index.sentence[index.where[p]]
            for k in range(pairs.target_offsets[n], pairs.target_offsets[n + 1]):
                total[k] += row[pairs.target[k]]
    for k in range(pairs.target_offsets[n0], pairs.target_offsets[n1]):
        total[k] = np.float32(1) / total[k]


@kernel()
def second_half(
    v0: int,
    v1: int,
    index: Index,
    pairs: Pairs,
    target_words: int,
    table: Table,
    null: Array,
    total: Array,
    column_sums: Array,
    null_counts: Array,
) -> float:
    """New counts of rows v0..v1, written over the old probabilities; `total` is that of `totals`.

    In the other direction a source token's own total needs its row only. All occurrences of w share the
    probabilities of its entry, so that what they are divided by is summed, and multiplied once. Returns that
    direction's log-likelihood of the tokens of words v0..v1.
    """
    t1 = np.zeros(target_words, np.float32)
    sums = np.zeros((target_words, 2))
    t = table.t
    likelihood = 0.0
    for v in range(v0, v1):
        for m in range(table.rows[v], table.rows[v + 1]):
            t1[table.columns[m]] = t[m, 1]
        null_count = 0.0
        for p in range(index.starts[v], index.starts[v + 1]):
            n = index.sentence[index.where[p]]
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
        for m in range(table.rows[v], table.rows[v + 1]):
            w = table.columns[m]
            t[m, 0] *= sums[w, 0]
            t[m, 1] *= sums[w, 1]
            sums[w, 0] = sums[w, 1] = 0
        divide_row(v, table, column_sums)
    return likelihood


@kernel()
def keep_entries(rows: Array, columns: Array, t: Array, least: float, new_rows: Array) -> int:
    """Move the entries with √(t0 · t1) > least to the front, in place; returns how many there are."""
    size = 0
    new_rows[0] = 0
    for v in range(len(rows) - 1):
        for m in range(rows[v], rows[v + 1]):
            if np.sqrt(t[m, 0]) * np.sqrt(t[m, 1]) > least:
                columns[size] = columns[m]
                t[size, 0] = t[m, 0]
                t[size, 1] = t[m, 1]
                size += 1
        new_rows[v + 1] = size
    return size
