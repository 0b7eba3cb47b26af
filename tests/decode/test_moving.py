"""Links moved to other positions are those that `remap` makes of them, one pair after the other."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dualign.aligner import Aligner, alignments
from dualign.text.links import Alignment, Links, PositionMap
from dualign.transfer.remapping import remap

PAIRS = st.lists(
    st.tuples(
        st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 3)), st.sampled_from([0.25, 0.5, 1.0])),
        st.lists(st.integers(0, 3), min_size=4, max_size=4).map(sorted),
        st.lists(st.integers(0, 3), min_size=4, max_size=4).map(sorted),
    ),
    max_size=4,
)


def links_of(pairs: list[dict[tuple[int, int], float]]) -> Links:
    every = [(sorted(each), tuple(each[link] for link in sorted(each))) for each in pairs]
    return Links.of([Alignment(tuple(links), probabilities=scores) for links, scores in every])


@given(PAIRS, st.booleans())
def test_links_move_as_remap_carries_them(pairs, both):
    sides = [
        PositionMap(np.array([p for pair in pairs for p in pair[k]], np.int32), 4 * np.arange(len(pairs) + 1))
        for k in (1, 2)
    ]
    found = links_of([pair[0] for pair in pairs]).moved(sides[0], sides[1] if both else None)
    for alignment, (links, source, target) in zip(alignments(found), pairs, strict=True):
        given = Alignment(tuple(sorted(links)), probabilities=tuple(links[key] for key in sorted(links)))
        expected = remap(given, [[p] for p in source], [[p] for p in target] if both else None)
        assert alignment.links == expected.links
        assert (alignment.probabilities or None) == expected.probabilities


def test_skipped_tokens_keep_their_place_and_are_never_linked():
    source = ["▁ das ▁ Haus", "das Buch ▁", "ein Haus ▁ ▁", "ein Buch"] * 5
    target = ["the house", "▁ the book", "a ▁ house", "a book"] * 5
    plain = [
        [" ".join(word for word in line.split() if word != "▁") for line in side] for side in (source, target)
    ]
    skipping = Aligner(skip_tokens="▁", threads=1).fit(source, target)
    without = Aligner(threads=1).fit(*plain).align(*plain)
    for s, t, found, other in zip(source, target, skipping.align(source, target), without, strict=True):
        places = [[k for k, word in enumerate(side.split()) if word != "▁"] for side in (s, t)]
        assert found.links == tuple((places[0][i], places[1][j]) for i, j in other.links)
