"""Heaps, hash tables and growing arrays inside kernels against Python's own."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign._core.jit import kernel
from dualign._core.kernel_arrays import (
    EMPTY,
    doubled,
    new_slots,
    pop,
    push,
    refilled,
    sink,
    slot_of,
    with_room,
)

compiled_doubled = kernel(doubled)
compiled_new_slots = kernel(new_slots)
compiled_pop = kernel(pop)
compiled_push = kernel(push)
compiled_refilled = kernel(refilled)
compiled_sink = kernel(sink)
compiled_slot_of = kernel(slot_of)
compiled_with_room = kernel(with_room)

pytestmark = pytest.mark.kernel

keys = st.one_of(st.integers(0, 3).map(float), st.floats(-100, 100))


@given(st.lists(st.one_of(keys, st.none()), max_size=60))
def test_a_heap_gives_its_greatest_key_first(asked):
    """Numbers are pushed; None pops."""
    items, stored, count = np.zeros(60, np.int64), np.zeros(60), 0
    twin: list[float] = []
    pushed = []
    for key in asked:
        if key is not None:
            compiled_push(items, stored, count, len(pushed), key)
            pushed.append(key)
            heapq.heappush(twin, -key)
            count += 1
        elif count:
            assert stored[0] == -heapq.heappop(twin)
            assert pushed[items[0]] == stored[0]
            compiled_pop(items, stored, count)
            count -= 1
    assert sorted(stored[:count].tolist()) == sorted(-key for key in twin)


@given(st.lists(keys, min_size=1, max_size=30), st.data())
def test_a_key_that_is_lowered_sinks(given_keys, data):
    items, stored = np.zeros(30, np.int64), np.zeros(30)
    for n, key in enumerate(given_keys):
        compiled_push(items, stored, n, n, key)
    place = data.draw(st.integers(0, len(given_keys) - 1))
    stored[place] -= data.draw(st.floats(0, 50))
    left = sorted(stored[: len(given_keys)].tolist(), reverse=True)
    compiled_sink(items, stored, len(given_keys), place)
    for n, key in enumerate(left):
        assert stored[0] == key
        compiled_pop(items, stored, len(given_keys) - n)


part = st.integers(-(2**40), 2**40) | st.integers(0, 2)


@given(st.lists(st.tuples(part, part), max_size=80))
def test_a_table_numbers_keys_as_a_dictionary_does(asked):
    rows, slots, count = np.zeros((1, 2), np.int64), compiled_new_slots(1), 0
    twin: dict[tuple[int, int], int] = {}
    for key in asked:
        if 2 * (count + 1) > len(slots):
            slots = compiled_refilled(rows, count, 2 * count)
        slot = compiled_slot_of(slots, rows, np.array(key))
        assert (slots[slot] == EMPTY) == (key not in twin)
        if slots[slot] == EMPTY:
            if count == len(rows):
                rows = compiled_doubled(rows)
            rows[count] = key
            slots[slot] = count
            twin[key] = count
            count += 1
        assert slots[slot] == twin[key]
    assert [tuple(row) for row in rows[:count].tolist()] == list(twin)


@pytest.mark.parametrize("entries", [0, 1, 8, 9, 1000])
def test_a_table_is_at_most_half_full(entries):
    slots = compiled_new_slots(entries)
    assert len(slots) >= 2 * entries
    assert len(slots) & (len(slots) - 1) == 0
    assert (slots == EMPTY).all()


@given(st.lists(st.integers(0, 255), max_size=100), st.sampled_from([np.uint8, np.int64, np.float64]))
def test_an_array_that_grows_keeps_what_it_holds(values, dtype):
    array = np.zeros((1, 2), dtype)
    for n, value in enumerate(values):
        if n == len(array):
            array = compiled_doubled(array)
        array[n] = value, 1
    assert array[: len(values), 0].tolist() == values
    assert array.dtype == dtype
    assert len(array) < 2 * max(1, len(values))


def test_room_that_is_there_is_not_made_again():
    array = np.arange(5)
    assert compiled_with_room(array, 3).tolist() == [0, 1, 2, 3, 4]
    longer = compiled_with_room(array, 9)
    assert len(longer) == 9
    assert longer[:5].tolist() == [0, 1, 2, 3, 4]
