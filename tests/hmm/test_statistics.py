"""Tallies: whole numbers, so that neither order nor grouping changes a bit."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign._core.jit import kernel
from dualign.hmm.statistics import (
    TOTAL_UNIT,
    UNIT,
    ChainStatistics,
    Tallies,
    added,
    in_numbers,
    new_tally,
    units,
)

compiled_units = kernel(units)

pytestmark = pytest.mark.kernel

NUMBERS = st.lists(st.floats(-1e6, 1e6), max_size=30)


@given(NUMBERS, st.randoms(use_true_random=False), st.integers(0, 30))
def test_any_grouping_gives_the_same_sums_close_to_the_real_ones(numbers, draw, cut):
    tallies = new_tally(0), new_tally(0)
    for n, x in enumerate(draw.sample(numbers, len(numbers))):
        tallies[n < cut].totals[0] += compiled_units(x, TOTAL_UNIT)
    whole = new_tally(0)
    for x in numbers:
        whole.totals[0] += compiled_units(x, TOTAL_UNIT)
    both = added(tallies)
    assert both.totals[0] == whole.totals[0]
    assert in_numbers(both).totals[0] == pytest.approx(sum(numbers), abs=(1 + len(numbers)) / TOTAL_UNIT)


def test_units_are_the_nearest():
    assert [compiled_units(x / UNIT, UNIT) for x in (0.0, 0.4, 0.6, 1.0, -0.4, -0.6)] == [0, 0, 1, 1, 0, -1]


def test_adding_changes_none_of_the_parts():
    one, two = new_tally(1), new_tally(1)
    one.jumps[:], two.jumps[:] = 1, 2
    assert (added([one, two]).jumps == 3).all()
    assert (one.jumps == 1).all()
    assert isinstance(added([one]), ChainStatistics)


def test_threads_have_tallies_of_their_own():
    tallies = Tallies(2)

    def work() -> None:
        for _ in range(1000):
            tallies.own().starts[0, 0] += 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tallies.together().starts[0, 0] == 4000
    assert in_numbers(tallies.together()).starts[0, 0] == 4000 / UNIT
    assert in_numbers(Tallies(0).together()).totals.tolist() == [0.0] * 4
    assert np.shape(in_numbers(Tallies(2).together()).jumps) == (2, 2, 2, 12)
