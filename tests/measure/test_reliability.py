from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.measure.strategies import SIZE, link_sets

from dualign._core.errors import DataError, UsageError
from dualign.measure.curves import calibration
from dualign.text.links import Alignment

# Eighths, so that the ends of steps are hit; all of them and their sums are exact.
probabilities = st.integers(0, 8).map(lambda k: k / 8)
cells = st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1))
pairs = st.lists(
    st.tuples(st.dictionaries(cells, probabilities, max_size=9), link_sets, link_sets), max_size=4
)


@given(pairs, st.sampled_from([1, 2, 4, 8]))
def test_every_step_is_counted_as_by_hand(text, steps):
    rows = [[] for _ in range(steps)]
    for scores, sure, possible in text:
        for link, p in scores.items():
            step = next(k for k in range(steps) if p < (k + 1) / steps or k == steps - 1)
            rows[step].append((p, link in set(sure) | set(possible)))
    rows = [row for row in rows if row]
    gold = [Alignment.of(sure, possible) for _, sure, possible in text]
    found = calibration(
        [[(i, j, p) for (i, j), p in scores.items()] for scores, _, _ in text], gold, steps=steps
    )
    assert found.count.tolist() == [len(row) for row in rows]
    means = [np.mean(row, axis=0) for row in rows]
    np.testing.assert_allclose(found.probability, [p for p, _ in means], rtol=1e-14, atol=0)
    np.testing.assert_allclose(found.right, [right for _, right in means], rtol=1e-14, atol=0)
    total = sum(map(len, rows))
    error = sum(len(row) * abs(p - right) for row, (p, right) in zip(rows, means, strict=True)) / max(
        total, 1
    )
    assert found.error() == pytest.approx(error, rel=1e-12, abs=1e-15)


def test_what_is_no_probability_is_refused_but_rounding_is_not():
    assert calibration([np.array([[1.0000001]])], ["0-0"]).right.tolist() == [1.0]
    with pytest.raises(DataError, match=r"sentence 1: 1\.5 is not a probability"):
        calibration([[(0, 0, 1.5)]], ["0-0"])
    with pytest.raises(DataError, match="but"):
        calibration([], ["0-0"])
    with pytest.raises(UsageError, match="steps=0"):
        calibration([], [], steps=0)
