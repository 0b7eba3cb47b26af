"""Bitexts with links of every shape, for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from dualign.text.links import Alignment

WORDS = st.sampled_from(
    ["a", "b", "B", "c", "<i>", "&amp;", "é", "本", "بيت", "</script>", "$x$", '"', "'", "\\n"]
)


@st.composite
def aligned_pairs(draw, scored=True):
    """A sentence pair and an alignment of it."""
    source, target = draw(st.lists(WORDS, max_size=6)), draw(st.lists(WORDS, max_size=6))
    if not source or not target:
        return (source, target), Alignment()
    cells = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
    links = draw(st.lists(cells, unique=True, max_size=8))
    alignment = Alignment.of(links, draw(st.lists(cells, max_size=3)))
    if scored and draw(st.booleans()):
        probabilities = tuple(draw(st.floats(0, 1)) for _ in alignment.links)
        alignment = Alignment(alignment.links, alignment.possible, probabilities)
    return (source, target), alignment
