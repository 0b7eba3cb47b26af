"""IBM Model 1 in both directions: the start of every other model.

    p(t | s) = Π_j 1/(I+1) Σ_{i=0..I} p_t(t_j | s_i),    s_0 = null,

and the same with the sides exchanged. Uniform start, so the first round only counts co-occurrences.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from dualign.core.advancing import advancing
from dualign.core.arrays import Array
from dualign.core.phases import timed
from dualign.core.threads import ordered_map, pieces, spans
from dualign.core.workspace import Workspace, boundless
from dualign.infer.cells import Pairs, pairs_of, word_ranges
from dualign.learn import cooccurrence as kernels
from dualign.model.lexicon import Lexicon, divide_columns
from dualign.text.bitext import Bitext

RANGES = 128
"""Most ranges of source words, handled by one task each; sums by target word are added in their order."""

PARTS = 32
"""Most ranges of sentences, likewise."""


def train_ibm1(
    bitext: Bitext,
    source_words: int,
    target_words: int,
    rounds: int,
    threads: int,
    report: Callable[[int, float], None] = lambda number, likelihood: None,
    workspace: Workspace | None = None,
) -> Lexicon:
    """Run `rounds` of EM; `report` gets each round's number and log-likelihood before its update."""
    return _Training(bitext, (source_words, target_words), threads, workspace or boundless()).run(
        rounds, report
    )


class _Training:
    """A corpus, seen by ranges of words or by parts of its sentences."""

    def __init__(self, bitext: Bitext, words: tuple[int, int], threads: int, workspace: Workspace) -> None:
        self.pairs = pairs_of(bitext)
        self.words, self.threads, self.workspace = words, threads, workspace
        cells = np.concatenate(([0], np.cumsum(bitext.source.lengths * bitext.target.lengths)))
        parts = pieces(len(self.pairs.source), 1 << 15, PARTS)
        self.parts = spans(len(bitext), max(1, -(-len(bitext) // parts)))
        index = appearances(self.pairs, words[0], self.parts, threads, workspace)
        self.corpus = kernels.Corpus(index, self.pairs, words[1])
        self.ranges = word_ranges(index.starts, pieces(int(cells[-1]), 1 << 17, RANGES))
        # Ranges of sentences that share nothing but the rows they read: few, as each reads all of them.
        shares = np.linspace(0, cells[-1], (threads if threads <= 4 else 2 * threads) + 1)
        self.equal = [(a, b) for a, b in pairwise(np.searchsorted(cells, shares).tolist()) if a < b]

    def run(self, rounds: int, report: Callable[[int, float], None]) -> Lexicon:
        """All rounds."""
        source_words, target_words = self.words
        lexicon = self._first()
        # Before it every word was as probable as any other.
        tokens = len(self.pairs.source), len(self.pairs.target)
        report(1, -float(tokens[0] * np.log(source_words) + tokens[1] * np.log(target_words)))
        if rounds == 1:
            return lexicon
        total = self.workspace.empty(tokens[1], np.float32, hot=True)
        for number in range(2, rounds + 1):
            lexicon, likelihood = self._again(lexicon, total)
            report(number, likelihood)
        return lexicon

    def _first(self) -> Lexicon:
        """The entries, after the first round, which only counts co-occurrences."""
        source_words, target_words = self.words
        rows = np.zeros(source_words + 1, np.int64)
        self._each(
            "entries", self.ranges, lambda bounds: kernels.count_entries(*bounds, self.corpus, rows[1:])
        )
        np.cumsum(rows, out=rows)

        def even(bounds: tuple[int, int]) -> tuple[Array, Array]:
            shares = np.zeros(target_words), np.zeros(source_words)
            kernels.add_even_shares(*bounds, self.pairs, *shares)
            return shares

        nulls = np.zeros(target_words), np.zeros(source_words)
        for shares in ordered_map(timed("IBM 1: null", even), self.parts, self.threads):
            for into, more in zip(nulls, shares, strict=True):
                into += more
        size = int(rows[-1])
        columns, table = self.workspace.empty(size, np.int32), self.workspace.empty((size, 2), np.float32)
        lexicon = Lexicon(rows, columns, table, *map(normal, nulls))

        def begin(bounds: tuple[int, int]) -> Array:
            sums = np.zeros(target_words)
            kernels.first_round(*bounds, self.corpus, lexicon, sums)
            return sums

        column_sums = np.zeros(target_words)
        works = ordered_map(timed("IBM 1: first round", begin), self.ranges, self.threads)
        for sums in advancing(works, len(self.ranges)):
            column_sums += sums
        divide_columns(lexicon.table, lexicon.columns, column_sums, self.threads)
        return lexicon

    def _again(self, lexicon: Lexicon, total: Array) -> tuple[Lexicon, float]:
        """A further round, in the same table, and the log-likelihood before it; `total` is scratch."""
        source_words, target_words = self.words
        self._each("totals", self.equal, lambda bounds: kernels.totals(*bounds, self.corpus, lexicon, total))
        null_target, likelihood = self._null_shares(lexicon, total)
        null_source = np.empty(source_words)

        def count(bounds: tuple[int, int]) -> tuple[Array, float]:
            sums = np.zeros(target_words)
            return sums, kernels.second_half(*bounds, self.corpus, lexicon, total, sums, null_source)

        column_sums = np.zeros(target_words)
        works = ordered_map(timed("IBM 1: counts", count), self.ranges, self.threads)
        for sums, part in advancing(works, len(self.ranges)):
            column_sums += sums
            likelihood += part
        divide_columns(lexicon.table, lexicon.columns, column_sums, self.threads)
        return lexicon._replace(null_target=normal(null_target), null_source=normal(null_source)), likelihood

    def _null_shares(self, lexicon: Lexicon, total: Array) -> tuple[Array, float]:
        """What null takes of the target tokens, by word, and the log-likelihood of these."""
        target_words = self.words[1]

        def share(bounds: tuple[int, int]) -> tuple[Array, float]:
            sums = np.zeros(target_words)
            return sums, kernels.add_null_shares(*bounds, self.pairs, lexicon.null_target, total, sums)

        null, likelihood = np.zeros(target_words), 0.0
        for sums, part in ordered_map(timed("IBM 1: null", share), self.parts, self.threads):
            null += sums
            likelihood += part
        return null, likelihood

    def _each(
        self, name: str, ranges: list[tuple[int, int]], function: Callable[[tuple[int, int]], None]
    ) -> None:
        list(ordered_map(timed(f"IBM 1: {name}", function), ranges, self.threads))


def appearances(
    pairs: Pairs, words: int, parts: list[tuple[int, int]], threads: int, workspace: Workspace
) -> kernels.Appearances:
    """Where each source word occurs; counted, then listed, part by part of the sentences."""

    def count(bounds: tuple[int, int]) -> Array:
        begin, end = pairs.source_offsets[bounds[0]], pairs.source_offsets[bounds[1]]
        return np.bincount(pairs.source[begin:end], minlength=words).astype(np.int32)

    counts = list(ordered_map(timed("IBM 1: index", count), parts, threads))
    starts = np.zeros(words + 1, np.int64)
    for each in counts:
        starts[1:] += each
    np.cumsum(starts, out=starts)
    sentence = workspace.empty(len(pairs.source), np.int32)
    place = starts[:-1].copy()
    places = []
    for each in counts:
        places.append(place.copy())
        place += each

    def fill(number: int) -> None:
        kernels.list_sentences(*parts[number], pairs, places[number], sentence)

    list(ordered_map(timed("IBM 1: index", fill), range(len(parts)), threads))
    return kernels.Appearances(starts, sentence)


def normal(counts: Array) -> Array:
    """Counts to probabilities."""
    return (counts / max(counts.sum(), 1e-300)).astype(np.float32)


def prune(lexicon: Lexicon, least: float, threads: int, workspace: Workspace | None = None) -> Lexicon:
    """Drop the entries whose two probabilities have a geometric mean of at most `least`.

    What is improbable in both directions takes no part in any alignment, yet makes up most of the table.
    """
    ranges = word_ranges(lexicon.rows, pieces(len(lexicon.columns), 1 << 16, RANGES))
    rows = np.zeros_like(lexicon.rows)

    def count(bounds: tuple[int, int]) -> None:
        kernels.count_kept(*bounds, lexicon, least, rows[1:])

    list(ordered_map(timed("pruning", count), ranges, threads))
    np.cumsum(rows, out=rows)
    size = int(rows[-1])
    room = workspace or boundless()
    kept = lexicon._replace(
        rows=rows,
        columns=room.empty(size, np.int32, hot=True),
        table=room.empty((size, 2), np.float32, hot=True),
    )

    def copy(bounds: tuple[int, int]) -> None:
        kernels.copy_kept(*bounds, lexicon, least, kept)

    list(ordered_map(timed("pruning", copy), ranges, threads))
    return kept
