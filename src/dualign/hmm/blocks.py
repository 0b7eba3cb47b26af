"""Blocks of sentence pairs as kernels see them: their cells, and the parameters that score them.

A *cell* is a (source token, target token) of a pair. Which lexicon entry belongs to each is found word by
word: a word's row of the lexicon is spread over an array indexed by target word, and all occurrences of the
word in the block read from it. That costs one pass over the rows of the words that occur, and a few
nanoseconds per cell, with no search and no hash table. The cells that have an entry are packed one after the
other, word by word of the source side, with their scores: who asks for a sentence finds those of a token next
to each other, and who adds up counts goes through all of them from end to end.

Apart from that, each cell (i, j) of each pair has a *slot*, `first[n] + i · J + j`, which numbers posteriors.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dualign._core.arrays import Array
from dualign._core.errors import DataError
from dualign._core.jit import kernel, part
from dualign._core.lanes import prefetch
from dualign.hmm.jumps import Jumps
from dualign.hmm.lexicon import Lexicon
from dualign.text.corpus import Bitext, Pins, Similarities

BLOCK_CELLS = 1 << 23
"""Slots of one block: large enough that visiting a word's row pays, small enough to stay near 100 MB."""

MOST_SLOTS = 2**31 - 1
"""Cells are numbered in 32 bits; only a single pair of enormous sentences can have more."""


class PairOffsets(NamedTuple):
    """Sentence pairs as kernels see them."""

    source: Array
    source_offsets: Array
    target: Array
    target_offsets: Array


class Cells(NamedTuple):
    """Slots of a block, and its cells that have an entry.

    `first` int64 (pairs + 1): first slot of each pair. The cells of source token k are `begin[k]` …
    `begin[k] + filled[k]` (int32) of `position` and `entry` int32, their target positions and lexicon
    entries, and of `score` float32 (…, 2), p(w | v) and p(v | w).
    """

    first: Array
    begin: Array
    filled: Array
    position: Array
    entry: Array
    score: Array


class WordOccurrences(NamedTuple):
    """Token positions grouped by word: those of word v are `where[starts[v] : starts[v + 1]]`.

    `sentence` int32, likewise: the sentence of each occurrence. `reach` int64 (words + 1): how many cells the
    words before v have at most. Words that the lexicon does not number are left out.
    """

    starts: Array
    where: Array
    sentence: Array
    reach: Array


def pairs_of(bitext: Bitext) -> PairOffsets:
    """The arrays of a bitext, whose offsets must begin at 0."""
    source, target = bitext.source, bitext.target
    return PairOffsets(source.tokens, source.offsets, target.tokens, target.offsets)


@part(allocates=False)
def lengths_of(n: int, pairs: PairOffsets) -> tuple[int, int]:
    """The number of source words and of target words of pair n."""
    return (
        pairs.source_offsets[n + 1] - pairs.source_offsets[n],
        pairs.target_offsets[n + 1] - pairs.target_offsets[n],
    )


def block_bounds(bitext: Bitext, limit: int = BLOCK_CELLS) -> list[tuple[int, int]]:
    """Cut a bitext into consecutive blocks of at most `limit` cells (or of a single larger pair)."""
    return cut_at(first_slots(bitext), limit)


def cut_at(first: Array, limit: int) -> list[tuple[int, int]]:
    """Cut things that begin at `first`, up to its last number, into pieces of at most `limit`, or of one."""
    bounds, begin = [], 0
    while begin < len(first) - 1:
        end = max(begin + 1, int(np.searchsorted(first, first[begin] + limit, side="right")) - 1)
        bounds.append((begin, end))
        begin = end
    return bounds


def first_slots(bitext: Bitext) -> Array:
    """Where the slots of each pair begin, and where the last one's end: int64 (pairs + 1)."""
    source, target = bitext.source.offsets, bitext.target.offsets
    first = np.zeros(len(source), np.int64)
    np.cumsum(np.diff(source) * np.diff(target), out=first[1:])
    return first


class ThreadBuffers:
    """Arrays for one block at a time, with room for that many slots, which keep nothing for the next.

    Blocks with more slots than given at first find more, which is kept for the next. Fresh arrays for each
    block would come from the system, page by page, and go back to it, and threads would wait for each other
    there.
    """

    def __init__(self, slots: int = 0) -> None:
        self._slots = slots
        self._arrays: dict[str, Array] = {}

    def array(self, name: str, slots: int, dtype: npt.DTypeLike, *axes: int) -> Array:
        """The array of that name, with no particular content: `slots` rows."""
        if slots > self._slots:
            if slots > BLOCK_CELLS:  # one enormous pair: not to be kept for ever
                return np.empty((slots, *axes), dtype)
            self._arrays.clear()  # first give back what is too small
            self._slots = slots + slots // 4
        if name not in self._arrays:
            self._arrays[name] = np.empty((self._slots, *axes), dtype)
        return self._arrays[name][:slots]

    def posterior(self, slots: int) -> Array:
        """Room for the posteriors of a block, float32 (slots, 2)."""
        return self.array("posterior", slots, np.float32, 2)


class Lookup(NamedTuple):
    """A block whose cells are to be found in a lexicon."""

    pairs: PairOffsets
    words: WordOccurrences
    lexicon: Lexicon
    cells: Cells

    def ranges(self, parts: int) -> list[tuple[int, int]]:
        """Ranges of source words, for `visit_rows`, with about the same number of cells."""
        return word_ranges(self.words.reach, parts)


def look_up(bitext: Bitext, lexicon: Lexicon, buffers: ThreadBuffers) -> Lookup:
    """Prepare to find the cells of a block."""
    pairs, first = pairs_of(bitext), first_slots(bitext)
    slots, tokens = int(first[-1]), len(bitext.source.tokens)
    if slots > MOST_SLOTS:
        raise DataError(f"a sentence pair with {slots:,} pairs of words is too long to compute with")
    begin, filled = np.empty(tokens, np.int32), np.zeros(tokens, np.int32)
    words = occurrences(pairs, len(lexicon.rows) - 1, begin)
    position, entry = (buffers.array(name, slots, np.int32) for name in ("position", "entry"))
    cells = Cells(first, begin, filled, position, entry, buffers.array("score", slots, np.float32, 2))
    return Lookup(pairs, words, lexicon, cells)


def find_cells(bitext: Bitext, lexicon: Lexicon, buffers: ThreadBuffers) -> Cells:
    """The cells of a block. Words numbered beyond the lexicon's have none yet, but room for them."""
    lookup = look_up(bitext, lexicon, buffers)
    visit_rows(0, len(lexicon.rows) - 1, lookup)
    return lookup.cells


def word_ranges(starts: Array, parts: int) -> list[tuple[int, int]]:
    """Cut the words into ranges with about the same share of what `starts` (words + 1) adds up."""
    cuts = np.searchsorted(starts, np.linspace(0, starts[-1], parts + 1)[1:-1]) if parts > 1 else np.empty(0)
    edges = [0, *cuts.tolist(), len(starts) - 1]
    return [(a, b) for a, b in pairwise(edges) if a < b]


@kernel
def occurrences(pairs: PairOffsets, words: int, begin: Array) -> WordOccurrences:
    """Where each source word occurs; tokens numbered `words` or more are left out.

    For these, `begin` is set, after all others: they have room for a whole row of cells.
    """
    source, source_offsets, target_offsets = pairs.source, pairs.source_offsets, pairs.target_offsets
    starts, reach = np.zeros(words + 1, np.int64), np.zeros(words + 1, np.int64)
    for n in range(len(source_offsets) - 1):
        J = target_offsets[n + 1] - target_offsets[n]
        for k in range(source_offsets[n], source_offsets[n + 1]):
            if source[k] < words:
                starts[source[k] + 1] += 1
                reach[source[k] + 1] += J
    for v in range(words):
        starts[v + 1] += starts[v]
        reach[v + 1] += reach[v]
    fill = starts[:-1].copy()
    where, sentence = np.empty(starts[words], np.int32), np.empty(starts[words], np.int32)
    end = reach[words]
    for n in range(len(source_offsets) - 1):
        for k in range(source_offsets[n], source_offsets[n + 1]):
            if source[k] < words:
                p = fill[source[k]]
                where[p], sentence[p] = k, n
                fill[source[k]] += 1
            else:
                begin[k] = end
                end += target_offsets[n + 1] - target_offsets[n]
    return WordOccurrences(starts, where, sentence, reach)


@kernel
def visit_rows(v0: int, v1: int, lookup: Lookup) -> int:
    """Find the cells of all occurrences of the source words v0..v1; returns where the last of them ends.

    Behind a token's cells there is room for those with words that the lexicon does not know.
    """
    pairs, index, lexicon, cells = lookup
    rows, columns, table = lexicon.rows, lexicon.columns, lexicon.table
    position, entry, score = cells.position, cells.entry, cells.score
    target, target_offsets, target_words = pairs.target, pairs.target_offsets, len(lexicon.null_target)
    row = np.full(target_words + 1, -1, np.int32)
    first, last = index.starts[v0], index.starts[v1]
    begins, ends = np.empty(last - first, np.int32), np.empty(last - first, np.int32)
    end = index.reach[v0]
    for v in range(v0, v1):
        if index.starts[v] == index.starts[v + 1]:
            continue
        for m in range(rows[v], rows[v + 1]):
            row[columns[m]] = m
        for p in range(index.starts[v], index.starts[v + 1]):
            n = index.sentence[p]
            prefetch(target, target_offsets[index.sentence[min(p + 2, last - 1)]])
            begin, unknown = end, 0
            for t in range(target_offsets[n], target_offsets[n + 1]):
                # Written whether or not there is an entry, and kept only if so: most cells have one, in no
                # pattern that a branch could predict. Words without a number here read the last, −1.
                w = min(target[t], target_words)
                m = row[w]
                position[end] = t - target_offsets[n]
                entry[end] = m
                end += m >= rows[v]
                unknown += w == target_words
            begins[p - first], ends[p - first] = begin, end
            for c in range(begin, end):
                score[c, 0], score[c, 1] = table[entry[c], 0], table[entry[c], 1]
            end += unknown
    # Apart from the rest, so that the processor can do several of these at the same time.
    for p in range(first, last):
        k = index.where[p]
        cells.begin[k], cells.filled[k] = begins[p - first], ends[p - first] - begins[p - first]
    return end


class Given(NamedTuple):
    """Constraints on the posteriors of a block's pairs (see `dualign.hmm.constraints`); empty for none.

    Pair n has the constraints `pair_begin[n]` … `pair_begin[n + 1]`, constraint k the nodes `node_begin[k]` …
    `node_begin[k + 1]`; `bound` float32, `signed` uint8 (1: at most the bound; 0: equal to it). A `node`
    int32 (3) is direction, source position, target position, with a `coefficient` float32.
    """

    pair_begin: Array
    bound: Array
    signed: Array
    node_begin: Array
    node: Array
    coefficient: Array


class Warm(NamedTuple):
    """Multipliers that the projection of each pair ended with, where the next one begins; empty for none.

    Pair n has room from `begin[n]` to `begin[n + 1]`, of which `used[n]` are filled. `key` int32: the number
    of the constraint, the pair's own cells or words first, then those that are given for it.
    """

    begin: Array
    used: Array
    key: Array
    value: Array

    def of_pairs(self, begin: int, end: int) -> Warm:
        """Those of some consecutive pairs."""
        if not len(self.used):
            return self
        room = self.begin[begin : end + 1]
        part = slice(room[0], room[-1])
        return Warm(room - room[0], self.used[begin:end], self.key[part], self.value[part])


NOTHING_GIVEN = Given(
    np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.uint8),
    np.zeros(0, np.int64), np.zeros((0, 3), np.int32), np.zeros(0, np.float32),
)  # fmt: skip
COLD = Warm(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))
"""No constraints; no multipliers, and no room to keep any."""


class Block(NamedTuple):
    """Sentence pairs with their cells (see `Cells`) and the parameters of their chains.

    `prior`, `prior_begin`: tables of position probabilities (see `dualign.hmm.positions`) where words choose
    without looking at their neighbours; empty for the HMM. `likelihood` float64 (pairs, 2) is filled with
    each pair's log-likelihoods, p(target | source) first, before any projection. `pins` are links that are
    known (see `dualign.hmm.batched_chains`), `similar` what emissions are multiplied by; `warm` is read and
    written by the projection.
    """

    pairs: PairOffsets
    first: Array
    begin: Array
    filled: Array
    position: Array
    score: Array
    null_target: Array
    null_source: Array
    weights: Array
    jumps: Jumps
    prior: Array
    prior_begin: Array
    likelihood: Array
    given: Given
    pins: Pins
    similar: Similarities
    warm: Warm = COLD


class Batch(NamedTuple):
    """Sentence pairs of a block that are handled in step, one in each lane (see `dualign._core.lanes`).

    `pair` int64 (lanes): their numbers; only the first `used` are meant, the others repeat one of them.
    `I`, `J`: the longest source and target sentence among them.
    """

    pair: Array
    used: int
    I: int
    J: int


@part
def batch_of(W: int, order: Array, pairs: PairOffsets) -> Batch:
    """The pairs of `order`, at most W; the lanes that are left repeat the first."""
    chosen = np.full(W, order[0])
    I = J = 1
    for lane, n in enumerate(order):
        chosen[lane] = n
        length, breadth = lengths_of(n, pairs)
        I, J = max(I, length), max(J, breadth)
    return Batch(chosen, len(order), I, J)
