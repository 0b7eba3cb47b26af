"""Random weighted sentence pairs."""

from __future__ import annotations

import random

from hypothesis import strategies as st

Weights = dict[tuple[int, int, int, int], float]


def random_pair(seed: int, longest: int = 6) -> tuple[Weights, int, int]:
    """A pair of up to `longest` words a side; about half of them have an alignment."""
    draw = random.Random(seed)
    I, J = draw.randint(1, longest), draw.randint(1, longest)
    density = draw.choice([0.15, 0.3, 0.5])
    return filled(draw, I, J, density, draw.choice([2, 3])), I, J


def filled(draw: random.Random, I: int, J: int, density: float, longest: int) -> Weights:
    return {
        (i, j, k, l): -draw.expovariate(0.5) if draw.random() < 0.9 else draw.choice([0.0, 1.5, -40.0])
        for i in range(I)
        for j in range(i + 1, min(I, i + longest) + 1)
        for k in range(J)
        for l in range(k + 1, min(J, k + longest) + 1)
        if draw.random() < density
    }


@st.composite
def weighted_pairs(draw: st.DrawFn) -> tuple[Weights, int, int]:
    """Pairs up to 5 words a side, also with empty sides, ties and impossible links."""
    I, J = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    if not I or not J:
        return {}, I, J

    def span(length: int) -> st.SearchStrategy[tuple[int, int]]:
        bounds = st.tuples(st.integers(0, length), st.integers(0, length))
        return bounds.filter(lambda ends: ends[0] != ends[1]).map(lambda ends: (min(ends), max(ends)))

    links = st.tuples(span(I), span(J)).map(lambda both: (*both[0], *both[1]))
    values = st.one_of(st.sampled_from([0.0, -1.0, float("-inf")]), st.floats(-30, 5))
    return draw(st.dictionaries(links, values, max_size=40)), I, J
