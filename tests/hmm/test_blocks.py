"""Cells are found as a dictionary would find them; blocks cover every pair once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hmm.corpora import encoded, random_pairs

from dualign.hmm.blocks import (
    Cells,
    ThreadBuffers,
    block_bounds,
    find_cells,
    look_up,
    visit_rows,
    word_ranges,
)
from dualign.hmm.lexicon import Lexicon
from dualign.text.corpus import Bitext

pytestmark = pytest.mark.kernel

SOURCE_WORDS, TARGET_WORDS = 6, 5

# Words beyond the lexicon's own occur too, and so do empty sides.
sentences = st.lists(st.integers(0, 7), max_size=6)
lexicons = st.lists(
    st.lists(st.integers(0, TARGET_WORDS - 1), unique=True), min_size=SOURCE_WORDS, max_size=SOURCE_WORDS
)


def lexicon_of(rows: list[list[int]], target_words: int) -> Lexicon:
    offsets = np.cumsum([0, *(len(row) for row in rows)])
    columns = np.array([w for row in rows for w in row], np.int32)
    table = np.random.default_rng(0).random((len(columns), 2), np.float32)
    return Lexicon(offsets, columns, table, *(np.ones(n, np.float32) for n in (target_words, len(rows))))


def twin(pairs, rows: list[list[int]]) -> list[list[tuple[int, int]]]:
    """For each source token the (position, entry) of its cells."""
    entry = {}
    for v, row in enumerate(rows):
        for w in row:
            entry[v, w] = len(entry)
    return [
        [(j, entry[v, w]) for j, w in enumerate(target) if (v, w) in entry]
        for source, target in pairs
        for v in source
    ]


def found_by(threads: int, bitext: Bitext, lexicon: Lexicon) -> Cells:
    """The cells of a block, found in as many ranges of words as there are threads."""
    lookup = look_up(bitext, lexicon, ThreadBuffers())
    for words in lookup.ranges(threads):
        visit_rows(*words, lookup)
    return lookup.cells


@given(
    pairs=st.lists(st.tuples(sentences, sentences), max_size=6),
    rows=lexicons,
    threads=st.sampled_from([1, 2, 7]),
)
def test_cells_are_those_of_the_dictionary_for_any_thread_count(pairs, rows, threads):
    lexicon = lexicon_of(rows, TARGET_WORDS)
    cells = found_by(threads, encoded(pairs), lexicon)
    sizes = [len(source) * len(target) for source, target in pairs]
    np.testing.assert_array_equal(cells.first, np.cumsum([0, *sizes]))
    expected = twin(pairs, rows)
    for token, own in enumerate(expected):
        used = slice(cells.begin[token], cells.begin[token] + cells.filled[token])
        assert list(zip(cells.position[used].tolist(), cells.entry[used].tolist(), strict=True)) == own
        np.testing.assert_array_equal(cells.score[used], lexicon.table[cells.entry[used]])
    assert len(expected) == len(cells.filled)
    # Rows do not overlap.
    places = [c for b, f in zip(cells.begin, cells.filled, strict=True) for c in range(b, b + f)]
    assert len(places) == len(set(places))


@given(pairs=st.lists(st.tuples(sentences, sentences), max_size=12), limit=st.integers(1, 60))
def test_blocks_cover_every_pair_once_within_the_limit(pairs, limit):
    bounds = block_bounds(encoded(pairs), limit)
    assert [n for begin, end in bounds for n in range(begin, end)] == list(range(len(pairs)))
    for begin, end in bounds:
        assert end > begin
        cells = sum(len(source) * len(target) for source, target in pairs[begin:end])
        assert cells <= limit or end == begin + 1


@pytest.mark.parametrize("parts", [1, 2, 7, 16, 100])
@pytest.mark.parametrize("words", [1, 3, 50])
def test_word_ranges_cover_every_word_once(parts, words):
    random = np.random.default_rng(words)
    starts = np.concatenate(([0], np.cumsum(random.integers(0, 5, size=words))))
    ranges = word_ranges(starts, parts)
    assert [v for begin, end in ranges for v in range(begin, end)] == list(range(words))
    assert len(ranges) <= parts


def test_a_block_of_ordinary_size_has_the_same_cells_for_any_thread_count():
    bitext = encoded(random_pairs(0, 400, 80, 70, 20))
    random = np.random.default_rng(1)
    lexicon = lexicon_of([sorted(random.choice(70, 30, replace=False).tolist()) for _ in range(80)], 70)
    one = find_cells(bitext, lexicon, ThreadBuffers())
    for other in (found_by(threads, bitext, lexicon) for threads in (1, 2, 7)):
        np.testing.assert_array_equal(one.filled, other.filled)
        for k in range(len(one.filled)):
            mine = slice(one.begin[k], one.begin[k] + one.filled[k])
            theirs = slice(other.begin[k], other.begin[k] + other.filled[k])
            for name in ("position", "entry", "score"):
                np.testing.assert_array_equal(getattr(one, name)[mine], getattr(other, name)[theirs])
