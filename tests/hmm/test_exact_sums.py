"""Sums that are the same in any order: however a text is cut among threads or machines, no bit changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign._core.jit import kernel
from dualign.hmm.statistics import above, even_share, rounded

compiled_even_share = kernel(even_share)
compiled_rounded = kernel(rounded)

pytestmark = pytest.mark.kernel

shares = st.lists(st.floats(0, 1, width=32), min_size=1, max_size=40)


@given(shares, st.integers(0, 1 << 40), st.randoms(use_true_random=False), st.integers(0, 40))
def test_neither_order_nor_grouping_changes_a_sum(values, more, random, cut):
    limit = above(len(values) + more)
    addends = [compiled_rounded(value, limit) for value in values]
    expected = 0.0
    for addend in addends:
        expected += addend
    random.shuffle(addends)
    assert sum(addends[:cut], 0.0) + sum(addends[cut:], 0.0) == expected


@given(st.floats(0, 1, width=32), st.integers(1, 1 << 40))
def test_an_addend_is_off_by_half_a_last_bit_at_most(value, most):
    limit = above(most)
    assert most < limit <= 2 * most
    assert abs(compiled_rounded(value, limit) - value) <= limit * 2.0**-53


def test_without_rounding_the_order_would_matter():
    values = np.random.default_rng(1).random(1000, np.float32) ** 9
    sums = {
        float(np.add.accumulate(part.astype(float))[-1]) for part in (values, values[::-1], np.sort(values))
    }
    assert len(sums) > 1
    rounds = [compiled_rounded(float(value), above(1000)) for value in values]
    assert sum(rounds, 0.0) == sum(reversed(rounds), 0.0)


def test_an_even_share_is_never_nothing():
    assert compiled_even_share(10**9, above(1 << 50)) > 0
    assert compiled_even_share(4, above(100)) == 0.25
