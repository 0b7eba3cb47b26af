"""IBM Model 1 in both directions: the start of every other model.

    p(t | s) = Π_j 1/(I+1) Σ_{i=0..I} p_t(t_j | s_i),    s_0 = null,

and the same with the sides exchanged. Uniform start, so the first round only counts co-occurrences.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dualign.core.arrays import Array
from dualign.core.threads import ordered_map, spans
from dualign.infer.cells import occurrences, pairs_of, word_ranges
from dualign.learn import cooccurrence as kernels
from dualign.model.lexicon import Lexicon
from dualign.text.bitext import Bitext

PARTS = 16
"""Word ranges for which sums by target word are kept apart and then added in order, for any thread count."""


def train_ibm1(
    bitext: Bitext,
    source_words: int,
    target_words: int,
    rounds: int,
    threads: int,
    report: Callable[[int, float], None] = lambda number, likelihood: None,
) -> Lexicon:
    """Run `rounds` of EM; `report` gets each round's number and log-likelihood before its update."""
    pairs = pairs_of(bitext)
    index = occurrences(pairs.source, pairs.source_offsets, source_words)
    corpus = kernels.Corpus(index, pairs, target_words)
    ranges = word_ranges(index.starts, PARTS)
    sizes = np.zeros(source_words + 1, np.int64)

    def count(bounds: tuple[int, int]) -> None:
        kernels.count_entries(*bounds, corpus, sizes[1:])

    list(ordered_map(count, ranges, threads))
    rows = np.cumsum(sizes)
    lengths, widths = bitext.source.lengths, bitext.target.lengths
    lexicon = Lexicon(
        rows,
        np.empty(rows[-1], np.int32),
        np.empty((rows[-1], 2), np.float32),
        shares(pairs.target, np.repeat(1.0 / (lengths + 1), widths), target_words),
        shares(pairs.source, np.repeat(1.0 / (widths + 1), lengths), source_words),
    )

    def begin(bounds: tuple[int, int]) -> Array:
        sums = np.zeros(target_words)
        kernels.first_round(*bounds, corpus, lexicon, sums)
        return sums

    divide(lexicon, list(ordered_map(begin, ranges, threads)), threads)
    # Before it every word was as probable as any other.
    tokens = len(pairs.source), len(pairs.target)
    report(1, -float(np.dot(tokens, np.log((source_words, target_words)))))
    total = np.empty(len(pairs.target), np.float32)
    null_counts = np.empty(source_words)

    def weigh(bounds: tuple[int, int]) -> None:
        kernels.totals(*bounds, corpus, lexicon, total)

    def count_again(bounds: tuple[int, int]) -> tuple[Array, float]:
        sums = np.zeros(target_words)
        return sums, kernels.second_half(*bounds, corpus, lexicon, total, sums, null_counts)

    for number in range(2, rounds + 1):
        # Ranges of sentences share nothing but the rows they read: as few as there are threads.
        list(ordered_map(weigh, spans(len(bitext), -(-len(bitext) // threads)), threads))
        likelihood = -np.log(total).sum(dtype=np.float64) - np.dot(widths, np.log(lengths + 1.0))
        parts = list(ordered_map(count_again, ranges, threads))
        report(number, float(likelihood) + sum(part[1] for part in parts))
        divide(lexicon, [part[0] for part in parts], threads)
        null_target = shares(pairs.target, lexicon.null_target[pairs.target] * total, target_words)
        lexicon = lexicon._replace(null_target=null_target, null_source=normal(null_counts))
    return lexicon


def divide(lexicon: Lexicon, parts_of_sums: list[Array], threads: int) -> None:
    """Normalise p(v | w) by its sums over v, given in parts."""
    sums = np.sum(parts_of_sums, axis=0)
    parts = spans(len(lexicon.columns), 1 << 20)
    list(ordered_map(lambda bounds: kernels.divide_columns(*bounds, lexicon, sums), parts, threads))


def shares(words: Array, weights: Array, vocabulary: int) -> Array:
    """Distribution of the words, each token with its weight."""
    return normal(np.bincount(words, weights, vocabulary))


def normal(counts: Array) -> Array:
    """Counts to probabilities."""
    return (counts / max(counts.sum(), 1e-300)).astype(np.float32)


def prune(lexicon: Lexicon, least: float) -> Lexicon:
    """Drop the entries whose two probabilities have a geometric mean of at most `least`.

    What is improbable in both directions takes no part in any alignment, yet makes up most of the table.
    The given lexicon's arrays are overwritten.
    """
    rows = np.empty_like(lexicon.rows)
    size = kernels.keep_entries(lexicon, least, rows)
    return lexicon._replace(
        rows=rows, columns=lexicon.columns[:size].copy(), table=lexicon.table[:size].copy()
    )
