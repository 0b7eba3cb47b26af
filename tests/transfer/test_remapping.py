"""Links on other tokens: round trips, bounds, and what several links become."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transfer.strategies import EIGHTHS, tokenisations

from dualign._core.errors import DataError, UsageError
from dualign.text.links import Alignment
from dualign.transfer.remapping import (
    UNITS,
    OffsetAlignment,
    format_offsets,
    in_characters,
    in_units,
    parse_offsets,
    remap,
    remap_from_offsets,
    remap_to_offsets,
)
from dualign.transfer.tokens import covering, locate, overlaps

NAMES = ("first", "second")


@st.composite
def alignments(draw: st.DrawFn, source: int, target: int) -> Alignment:
    if not source or not target:
        return Alignment()
    pairs = st.sets(st.tuples(st.integers(0, source - 1), st.integers(0, target - 1)), max_size=6)
    links, possible = draw(pairs), draw(pairs)
    plain = Alignment.of(links, possible)
    if not links or draw(st.booleans()):
        return plain
    return Alignment(plain.links, plain.possible, tuple(draw(st.sampled_from(EIGHTHS)) for _ in plain.links))


def whole(alignment: Alignment) -> tuple[object, ...]:
    return alignment.links, alignment.possible, alignment.probabilities


@given(st.data())
def test_links_are_carried_to_all_tokens_that_share_a_letter(data: st.DataObject) -> None:
    (_, old, new), (_, old_target, new_target) = data.draw(tokenisations()), data.draw(tokenisations())
    alignment = data.draw(alignments(len(old), len(old_target)))
    source = overlaps(*covering(old, new, NAMES))
    target = overlaps(*covering(old_target, new_target, NAMES))
    carried = remap(alignment, source, target)
    assert set(carried.links) == {(a, b) for i, j in alignment.links for a in source[i] for b in target[j]}
    possible = {(a, b) for i, j in alignment.possible for a in source[i] for b in target[j]}
    assert set(carried.possible) == possible - set(carried.links)
    if alignment.probabilities is not None:
        assert carried.probabilities is not None
        for (a, b), p in zip(carried.links, carried.probabilities, strict=True):
            from_here = [
                q
                for (i, j), q in zip(alignment.links, alignment.probabilities, strict=True)
                if a in source[i] and b in target[j]
            ]
            assert p == max(from_here)


@given(st.data())
def test_words_to_subwords_and_back_is_the_identity(data: st.DataObject) -> None:
    sides = []
    for _ in range(2):
        pieces = data.draw(
            st.lists(st.lists(st.text("ab", min_size=1, max_size=2), min_size=1, max_size=3), max_size=4)
        )
        sides.append((["".join(word) for word in pieces], [piece for word in pieces for piece in word]))
    alignment = data.draw(alignments(len(sides[0][0]), len(sides[1][0])))
    there = [overlaps(*covering(words, subwords, NAMES)) for words, subwords in sides]
    back = [overlaps(*covering(subwords, words, NAMES)) for words, subwords in sides]
    assert whole(remap(remap(alignment, *there), *back)) == whole(alignment)


@given(st.data(), st.sampled_from(UNITS))
def test_words_to_offsets_and_back_is_the_identity(data: st.DataObject, unit: str) -> None:
    texts = [data.draw(st.text("aé😀 ", max_size=10)) for _ in range(2)]
    places = [locate(text.split(), text, NAMES) for text in texts]
    alignment = data.draw(alignments(len(places[0]), len(places[1])))
    offsets = remap_to_offsets(alignment, *places)
    in_unit = OffsetAlignment(
        *(
            tuple(
                (in_units([s], texts[0], unit)[s], in_units([t], texts[1], unit)[t])
                for s, t in links
            )
            for links in (offsets.links, offsets.possible)
        ),
        offsets.probabilities,
    )  # fmt: skip
    read = parse_offsets(format_offsets(in_unit))
    assert read == in_unit
    both = (*read.links, *read.possible)
    left = in_characters([s for s, _ in both], texts[0], unit)
    right = in_characters([t for _, t in both], texts[1], unit)
    again = OffsetAlignment(
        tuple((left[s], right[t]) for s, t in read.links),
        tuple((left[s], right[t]) for s, t in read.possible),
        read.probabilities,
    )
    assert again == offsets
    assert whole(remap_from_offsets(again, *places)) == whole(alignment)


@given(st.text("aé😀", max_size=6))
def test_offsets_count_what_they_say(text: str) -> None:
    whole_text = [(0, len(text))]
    assert in_units(whole_text, text, "bytes") == {whole_text[0]: (0, len(text.encode("utf-8")))}
    assert in_units(whole_text, text, "utf16") == {whole_text[0]: (0, len(text.encode("utf-16-le")) // 2)}


def test_a_side_that_is_not_given_stays_as_it_is() -> None:
    assert str(remap(Alignment.of([(0, 7)]), [[0, 1]], None)) == "0-7 1-7"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("0-1", "`0-1` is not a link; expected links of offsets"),
        ("0:1-2:3:1.5", "1.5 is not a probability"),
        ("0:1?2:3:0.5", "only a sure link"),
        ("0:1-2:3:0.5 1:2-3:4", "but 1 of 2 sure links have none, the first `1:2-3:4`"),
    ],
)
def test_lines_that_are_no_offsets_are_refused(line: str, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        parse_offsets(line)


@pytest.mark.parametrize(
    ("interval", "unit", "reason"),
    [
        ((0, 3), "characters", "there is no place 3, the line has 2 characters"),
        ((0, 1), "bytes", "there is no place 1, it is inside a character"),
        ((1, 0), "characters", "1:0 ends before it begins"),
    ],
)
def test_offsets_outside_the_text_are_refused(interval: tuple[int, int], unit: str, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        in_characters([interval], "éa", unit)


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(UsageError, match='unit="lines" is not one of characters, bytes, utf16'):
        in_units([(0, 1)], "é", "lines")
