"""IBM Model 1 in both directions: the start of every other model.

    p(t | s) = Π_j 1/(I+1) Σ_{i=0..I} p_t(t_j | s_i),    s_0 = null,

and the same with the sides exchanged. Uniform start, so the first round only counts co-occurrences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from operator import add
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel
from dualign._core.memory import COPIERS, Workspace, boundless
from dualign._core.progress import advance
from dualign._core.threads import ordered_map, pieces, spans
from dualign.hmm import cooccurrence as kernels
from dualign.hmm.blocks import PairOffsets, first_slots, pairs_of, word_ranges
from dualign.hmm.lexicon import Lexicon
from dualign.hmm.statistics import above_counts
from dualign.text.corpus import Bitext

RANGES = 128
"""Most ranges of source words, handled by one task each; sums by target word are added in their order."""

PARTS = 32
"""Most ranges of sentences, likewise."""

BYTES_BEFORE_PRUNING = 12
"""Of an entry of the lexicon: its target word and two probabilities."""

SHARE_OF_RANGES = 2 / 3
"""Of the memory that is left: what ranges that are worked on at the same time may take. The rest is for what
remains of all ranges, 16 bytes per entry. A third is enough for that if training, which takes over 48 per
entry, is to fit later. What remains is there twice while it is joined, but then no range is worked on."""


def uniform_likelihood(bitext: Bitext, source_words: int, target_words: int) -> float:
    """The log-likelihood before the first round: every word is as probable as any other."""
    tokens = len(bitext.source.tokens), len(bitext.target.tokens)
    return -float(tokens[0] * np.log(source_words) + tokens[1] * np.log(target_words))


class Kept(NamedTuple):
    """A lexicon after one round, pruned, and how often the words of each entry occur together, int32."""

    lexicon: Lexicon
    together: Array


def kept_entries(
    corpus: kernels.Corpus, words: tuple[int, int], column_sums: Array, above: float, least: float
) -> Kept:
    """The rows of a range of words after one round, pruned (see `prune`); null has no probabilities.

    `column_sums`: see `first_round`.
    """
    v0, v1 = words
    rows, none = np.zeros(v1 - v0 + 1, np.int64), np.zeros(0, np.float32)
    index = kernels.Appearances(corpus.words.starts[v0 : v1 + 1], corpus.words.sentence)
    corpus = corpus._replace(words=index)
    kernels.count_entries(0, v1 - v0, corpus, rows[1:])
    np.cumsum(rows, out=rows)
    columns, table = np.empty(rows[-1], np.int32), np.empty((rows[-1], 2), np.float32)
    lexicon = Lexicon(rows, columns, table, none, none)
    kernels.first_round(0, v1 - v0, corpus, lexicon, column_sums, above)
    lexicon = prune(lexicon, least, 1)
    together = np.empty(len(lexicon.columns), np.int32)
    kernels.count_together(0, v1 - v0, corpus, lexicon, together)
    return Kept(lexicon, together)


class Whole:
    """A corpus, seen by ranges of words or by parts of its sentences."""

    def __init__(self, bitext: Bitext, words: tuple[int, int], threads: int, workspace: Workspace) -> None:
        self.bitext, self.pairs, self.above = bitext, pairs_of(bitext), above_counts(bitext)
        self.words, self.threads, self.workspace = words, threads, workspace
        cells = first_slots(bitext)
        parts = pieces(len(self.pairs.source), 1 << 15, PARTS)
        self.parts = spans(len(cells) - 1, max(1, -(-(len(cells) - 1) // parts)))
        self.cells = int(cells[-1])
        index = appearances(self.pairs, words[0], self.parts, threads, workspace)
        self.corpus = kernels.Corpus(index, self.pairs, words[1])
        self.ranges = word_ranges(index.starts, pieces(self.cells, 1 << 17, RANGES))
        # Ranges of sentences that share nothing but the rows they read: few, as each reads all of them.
        shares = np.linspace(0, self.cells, (threads if threads <= 4 else 2 * threads) + 1)
        self.equal = [(a, b) for a, b in pairwise(np.searchsorted(cells, shares).tolist()) if a < b]

    def run(self, rounds: int, report: Callable[[int, float], None]) -> Lexicon:
        """Run that many rounds; `report` gets the number of each, and the likelihood before its update."""
        lexicon = self._first()
        report(1, uniform_likelihood(self.bitext, *self.words))
        if rounds == 1:
            return lexicon
        total = self.workspace.empty(len(self.pairs.target), np.float32, hot=True)
        for number in range(2, rounds + 1):
            lexicon, likelihood = self._again(lexicon, total)
            report(number, likelihood)
        return lexicon

    def _first(self) -> Lexicon:
        """The entries, after the first round, which only counts co-occurrences."""
        rows = np.zeros(self.words[0] + 1, np.int64)
        self._each(
            "entries", self.ranges, lambda bounds: kernels.count_entries(*bounds, self.corpus, rows[1:])
        )
        np.cumsum(rows, out=rows)

        nulls, column_sums = self.even_shares()
        size = int(rows[-1])
        columns, table = self.workspace.empty(size, np.int32), self.workspace.empty((size, 2), np.float32)
        lexicon = Lexicon(rows, columns, table, *nulls)
        self._each(
            "first round",
            self.ranges,
            lambda bounds: kernels.first_round(*bounds, self.corpus, lexicon, column_sums, self.above),
        )
        return lexicon

    def even_shares(self) -> tuple[tuple[Array, Array], Array]:
        """After the first round: null's probabilities of target words and of source words; the counts of all
        source words together by target word."""
        source_words, target_words = self.words

        def share(a: int, b: int, *sums: Array) -> None:
            kernels.add_even_shares(a, b, self.pairs, self.above, *sums)

        shapes = (target_words, 2), (source_words,)
        (target, source), _ = added_up(share, self.parts, shapes, self.threads, "IBM 1: null")
        return (normal(target[:, 0]), normal(source)), np.ascontiguousarray(target[:, 1])

    def kept(self, least: float) -> Kept:
        """The lexicon after one round, pruned; what is dropped is never in memory all at once."""
        nulls, column_sums = self.even_shares()

        def keep(bounds: tuple[int, int]) -> Kept:
            return kept_entries(self.corpus, bounds, column_sums, self.above, least)

        # All at once: what they return is kept anyway, and the first, of frequent words, take longest.
        # A range of rare words has almost as many entries as cells.
        most = len(self.ranges)
        each = BYTES_BEFORE_PRUNING * self.cells // most
        threads = self.workspace.at_once(self.threads, each, SHARE_OF_RANGES)
        works = ordered_map(keep, self.ranges, threads, ahead=most, phase="IBM 1: first round")
        parts = []
        for number, part in enumerate(works, 1):
            parts.append(part)
            advance(number / most)
        return joined_rows(parts, *nulls, self.workspace, self.threads)

    def _again(self, lexicon: Lexicon, total: Array) -> tuple[Lexicon, float]:
        """A further round, in the same table, and the log-likelihood before it; `total` is scratch."""
        source_words, target_words = self.words
        self._each("totals", self.equal, lambda bounds: kernels.totals(*bounds, self.corpus, lexicon, total))
        null_source, by_target = np.empty(source_words), [(target_words,)]

        def share(a: int, b: int, sums: Array) -> float:
            return kernels.add_null_shares(a, b, self.pairs, lexicon.null_target, total, sums)

        def count(a: int, b: int, sums: Array) -> float:
            return kernels.second_half(a, b, self.corpus, lexicon, total, sums, null_source)

        (null_target,), likelihoods = added_up(share, self.parts, by_target, self.threads, "IBM 1: null")
        (column_sums,), more = added_up(
            count, self.ranges, by_target, self.threads, "IBM 1: counts", watched=True
        )
        divide_columns(lexicon.table, lexicon.columns, column_sums, self.threads)
        lexicon = lexicon._replace(null_target=normal(null_target), null_source=normal(null_source))
        return lexicon, reduce(add, likelihoods + more)

    def _each(
        self, name: str, ranges: list[tuple[int, int]], function: Callable[[tuple[int, int]], None]
    ) -> None:
        list(ordered_map(function, ranges, self.threads, phase=f"IBM 1: {name}"))


def added_up(
    function: Callable[..., float | None],
    ranges: Sequence[tuple[int, int]],
    shapes: Sequence[tuple[int, ...]],
    threads: int,
    phase: str,
    watched: bool = False,
) -> tuple[list[Array], list[float]]:
    """The sums that a kernel adds to arrays of these shapes, range by range, and what it returns for each.

    Every range has arrays of its own, which are added in order.
    """

    def work(bounds: tuple[int, int]) -> tuple[list[Array], float]:
        sums = [np.zeros(shape) for shape in shapes]
        return sums, function(*bounds, *sums) or 0.0

    totals, values = [np.zeros(shape) for shape in shapes], []
    for number, (sums, value) in enumerate(ordered_map(work, ranges, threads, phase=phase), 1):
        for total, part in zip(totals, sums, strict=True):
            total += part
        values.append(value)
        if watched:
            advance(number / len(ranges))
    return totals, values


def joined_rows(
    parts: list[Kept], null_target: Array, null_source: Array, workspace: Workspace, threads: int = 1
) -> Kept:
    """The rows of consecutive ranges of words as one lexicon; the list is emptied."""
    sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.lexicon.rows) for part in parts)])
    rows = np.cumsum(sizes)
    columns = workspace.empty(int(rows[-1]), np.int32, hot=True)
    table = workspace.empty((int(rows[-1]), 2), np.float32, hot=True)
    together = workspace.empty(int(rows[-1]), np.int32, hot=True)

    def places() -> Iterator[tuple[slice, Kept]]:
        end = len(columns)
        while parts:
            part = parts.pop()
            yield slice(end - len(part.together), end), part
            end -= len(part.together)

    def copy(job: tuple[slice, Kept]) -> None:
        place, part = job
        columns[place], table[place] = part.lexicon.columns, part.lexicon.table
        together[place] = part.together

    for _ in ordered_map(copy, places(), min(threads, COPIERS)):
        pass
    return Kept(Lexicon(rows, columns, table, null_target, null_source), together)


def appearances(
    pairs: PairOffsets, words: int, parts: list[tuple[int, int]], threads: int, workspace: Workspace
) -> kernels.Appearances:
    """Where each source word occurs; counted, then listed, part by part of the sentences."""

    def count(bounds: tuple[int, int]) -> Array:
        begin, end = pairs.source_offsets[bounds[0]], pairs.source_offsets[bounds[1]]
        found = np.zeros(words, np.int32)
        kernels.count_words(pairs.source[begin:end], found)
        return found

    counts = list(ordered_map(count, parts, threads, phase="IBM 1: index"))
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

    list(ordered_map(fill, range(len(parts)), threads, phase="IBM 1: index"))
    return kernels.Appearances(starts, sentence)


def normal(counts: Array) -> Array:
    """Counts to probabilities."""
    return (counts / max(counts.sum(), 1e-300)).astype(np.float32)


def lift(lexicon: Lexicon, frequencies: tuple[Array, Array], threads: int) -> None:
    """Make words that occur together more often than by chance more probable, in place.

    Co-occurrence alone favours frequent words; a start that does not takes EM to a better lexicon (compare
    Moore 2004). `frequencies`: how often the words of each side occur.
    """
    shares = frequencies[0] / max(frequencies[0].sum(), 1), frequencies[1] / max(frequencies[1].sum(), 1)

    def lift_range(a: int, b: int, sums: Array) -> None:
        kernels.lift_rows(a, b, lexicon, shares, sums)

    ranges = word_ranges(lexicon.rows, pieces(len(lexicon.columns), 1 << 16, PARTS))
    (total,), _ = added_up(lift_range, ranges, [shares[1].shape], threads, "IBM 1: first round")
    divide_columns(lexicon.table, lexicon.columns, total, threads)


def prune(lexicon: Lexicon, least: float, threads: int, workspace: Workspace | None = None) -> Lexicon:
    """Drop the entries whose two probabilities have a geometric mean of at most `least`.

    What is improbable in both directions takes no part in any alignment, yet makes up most of the table.
    """
    ranges = word_ranges(lexicon.rows, pieces(len(lexicon.columns), 1 << 16, RANGES))
    rows = np.zeros_like(lexicon.rows)

    def count(bounds: tuple[int, int]) -> None:
        kernels.count_kept(*bounds, lexicon, least, rows[1:])

    list(ordered_map(count, ranges, threads, phase="pruning"))
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

    list(ordered_map(copy, ranges, threads, phase="pruning"))
    return kept


def divide_columns(table: Array, columns: Array, sums: Array, threads: int) -> None:
    """Turn the counts of a lexicon's second direction into p(v | w); `sums` float64 (words): over v."""

    def divide(bounds: tuple[int, int]) -> None:
        divide_entries(*bounds, table, columns, sums)

    list(ordered_map(divide, spans(len(columns), 1 << 18), threads, phase="dividing"))


@kernel
def divide_entries(m0: int, m1: int, table: Array, columns: Array, sums: Array) -> None:
    """Divide the second direction of the entries m0..m1 by the sums of their columns."""
    for m in range(m0, m1):
        z = sums[columns[m]]
        table[m, 1] = table[m, 1] / z if z > 0 else 0.0


def frequencies(tokens: Array, words: int) -> Array:
    """How often each word occurs, int64."""
    counts = np.zeros(words, np.int64)
    for begin, end in spans(len(tokens), max(words, 1 << 20)):
        counts += np.bincount(tokens[begin:end], minlength=words)
    return counts
