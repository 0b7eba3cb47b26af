"""`Links`, of many pairs in flat arrays: the same as the alignments of the pairs, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualign._core.errors import DataError
from dualign.text.links import Alignment, Links, PositionMap, in_step

positions = st.tuples(st.integers(0, 6), st.integers(0, 6))


@st.composite
def alignments(draw: st.DrawFn) -> Alignment:
    """An alignment that may have probabilities, possible links, an id and words."""
    bare = Alignment.of(draw(st.lists(positions, max_size=6)), draw(st.lists(positions, max_size=3)))
    known = draw(st.booleans()) and bare.links
    scores = tuple(draw(st.floats(0, 1)) for _ in bare.links) if known else None
    words = (list("abcdefg"), list("uvwxyz.")) if draw(st.booleans()) else None
    return Alignment(bare.links, bare.possible, scores, words, draw(st.sampled_from([None, "x", "y"])))


corpora = st.lists(alignments(), max_size=5)


def all_of(found: Alignment) -> tuple[object, ...]:
    """Also what `==` leaves out."""
    return found.links, found.possible, found.probabilities, found.words, found.id


@settings(deadline=None)
@given(corpora)
def test_alignments_survive(corpus: list[Alignment]) -> None:
    links = Links.of(corpus)
    assert len(links) == len(corpus)
    assert [all_of(each) for each in links] == [all_of(each) for each in corpus]
    assert [all_of(links[n]) for n in range(len(links))] == [all_of(each) for each in corpus]


@settings(deadline=None)
@given(corpora, st.integers(0, 5), st.integers(0, 5))
def test_slices(corpus: list[Alignment], begin: int, length: int) -> None:
    begin = min(begin, len(corpus))
    end = min(begin + length, len(corpus))
    assert [all_of(each) for each in Links.of(corpus).slice(begin, end)] == list(
        map(all_of, corpus[begin:end])
    )


@settings(deadline=None)
@given(corpora)
def test_transposed(corpus: list[Alignment]) -> None:
    assert [all_of(each) for each in Links.of(corpus).transposed()] == [
        all_of(each.transposed()) for each in corpus
    ]


@settings(deadline=None)
@given(corpora, st.sampled_from([0.0, 0.25, 0.5]))
def test_over_a_threshold(corpus: list[Alignment], threshold: float) -> None:
    for found, every in zip(Links.of(corpus).over(threshold), corpus, strict=True):
        known = every.probabilities or (1.0,) * len(every.links)
        assert found.possible == ()
        assert found.links == tuple(link for link, p in zip(every.links, known, strict=True) if p > threshold)


def test_of_links_that_become_one_the_most_probable_stays() -> None:
    links = Links.of([Alignment(), Alignment(((0, 0), (1, 0), (2, 1)), (), (0.25, 0.75, 0.5))])
    there = PositionMap(np.array([9, 0, 0, 3], np.int32), np.array([0, 1, 4]))
    (empty, moved) = links.moved(there, None)
    assert empty == Alignment()
    assert (moved.links, moved.probabilities) == (((0, 0), (3, 1)), (0.75, 0.5))


def test_a_position_beyond_32_bits_is_refused() -> None:
    with pytest.raises(DataError, match="a link has position 2147483648"):
        Links.of([Alignment(((0, 1 << 31),))])


@pytest.mark.parametrize("sizes", [((1, 1, 1, 1, 1), (5,)), ((2, 3), (3, 2)), ((), ())])
def test_pairs_in_step_however_their_files_are_cut(sizes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    corpus = [Alignment(((n, n),)) for n in range(sum(sizes[0]))]
    first, second = (
        [Links.of(corpus[end - size : end]) for size, end in zip(cut, np.cumsum(cut), strict=True)]
        for cut in sizes
    )
    found = list(in_step(("a", "b"), iter(first), iter(second), "stop"))
    assert [each for one, other in found for each in zip(one, other, strict=True)] == [
        (each, each) for each in corpus
    ]


def test_a_file_that_ends_early_is_named_with_both_numbers() -> None:
    blocks = [Links.of([Alignment()] * n) for n in (2, 3)]
    with pytest.raises(DataError, match="a has 5 sentence pairs but b has 2; give both"):
        list(in_step(("a", "b"), iter(blocks), iter(blocks[:1]), "give both"))
