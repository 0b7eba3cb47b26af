"""Random sentence pairs with links for the tests of this folder."""

from __future__ import annotations

from hypothesis import strategies as st

SIZE = 4
"""Words a side; small, so that random answers often meet random gold."""

link_sets = st.sets(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=8)


@st.composite
def evaluations(draw: st.DrawFn, min_pairs: int = 0) -> tuple[list, list, list]:
    """Answers, sure links and possible links (with or without the sure ones) of a few sentence pairs."""
    pairs = draw(st.integers(min_pairs, 5))
    return tuple([draw(link_sets) for _ in range(pairs)] for _ in range(3))
