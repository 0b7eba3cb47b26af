"""Arithmetic in lanes is that of its numbers, one by one, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dualign._core.jit import kernel, part
from dualign._core.lanes import (
    LANES,
    add_window,
    dot_window,
    eight,
    exponential,
    fused,
    greater,
    lesser,
    load,
    repeated,
    spread,
    store,
    store_window,
    where_positive,
    width,
)

pytestmark = pytest.mark.kernel

OPERATIONS = 9


@part
def compute(like, x, y, z, out):
    """All operations on the numbers of three arrays, into the rows of `out`."""
    W = width(like)
    two = spread(like, np.float32(2))
    for k in range(0, len(x), W):
        a, b, c = load(like, x, k), load(like, y, k), load(like, z, k)
        store(out[0], k, a + b)
        store(out[1], k, a - np.float32(3) * b)
        store(out[2], k, a * b)
        store(out[3], k, a / b)
        store(out[4], k, fused(a, b, c))
        store(out[5], k, where_positive(a, b, c))
        store(out[6], k, lesser(a, b))
        store(out[7], k, greater(a, b))
        store(out[8], k, exponential(a) * two)


@kernel
def compute_eight(x, y, z, out):
    compute(eight(), x, y, z, out)


@kernel
def compute_one(x, y, z, out):
    compute(np.float32(0), x, y, z, out)


TAPS = 5


@part
def slide(like, x, taps, base, dots, sums):
    """Windows of TAPS vectors over x: one written tap by tap, one by the window operations."""
    W = width(like)
    zero = spread(like, np.float32(0))
    window = add_window(spread(like, np.float32(1)), taps, 0, repeated(zero, TAPS))
    added = repeated(zero, TAPS)
    for k in range(0, len(x) - (TAPS - 1) * W, W):
        even, odd = load(like, base, k), zero
        for d in range(TAPS):
            y = load(like, x, k + d * W)
            tap = load(like, taps, d * W)
            if d % 2 == 0:
                even = fused(y, tap, even)
            else:
                odd = fused(y, tap, odd)
            store(sums[1], d * W, fused(load(like, base, k), y, load(like, sums[1], d * W)))
        store(dots[1], k, even + odd)
        store(dots[0], k, dot_window(x, k, window, load(like, base, k)))
        store(dots[2], k, dot_window(x, k, window[::-1], zero))
        added = add_window(load(like, base, k), x, k, added)
    store_window(sums[0], 0, added)


@kernel
def slide_eight(x, taps, base, dots, sums):
    slide(eight(), x, taps, base, dots, sums)


@kernel
def slide_one(x, taps, base, dots, sums):
    slide(np.float32(0), x, taps, base, dots, sums)


@pytest.mark.parametrize(("run", "W"), [(slide_eight, LANES), (slide_one, 1)])
def test_windows_are_sums_over_neighbours(run, W):
    random = np.random.default_rng(3)
    x, taps, base = (random.standard_normal((size, W)).astype(np.float32) for size in (12, TAPS, 12))
    dots, sums = np.zeros((3, 8, W), np.float32), np.zeros((2, TAPS, W), np.float32)
    run(x.ravel(), taps.ravel(), base.ravel(), dots.reshape(3, -1), sums.reshape(2, -1))
    np.testing.assert_array_equal(dots[0], dots[1])
    np.testing.assert_array_equal(sums[0], sums[1])
    for k in range(8):
        near = x[k : k + TAPS].astype(float)
        np.testing.assert_allclose(dots[0, k], base[k] + (near * taps).sum(axis=0), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(dots[2, k], (near * taps[::-1]).sum(axis=0), rtol=1e-5, atol=1e-5)
    expected = [(base[:8].astype(float) * x[d : d + 8]).sum(axis=0) for d in range(TAPS)]
    np.testing.assert_allclose(sums[0], expected, rtol=1e-5, atol=1e-5)


@kernel
def reach_window(array, k):
    """Read five vectors from k on."""
    zero = spread(eight(), np.float32(0))
    window = repeated(zero, TAPS)
    store(array, 0, dot_window(array, k, window, zero))
    store_window(array, 0, add_window(zero, array, k, window))


@kernel
def reach(array, k):
    """Read beyond the array, if k is close to its end."""
    store(array, k, load(eight(), array, k))


numbers = st.floats(-80, 80, width=32)


@given(*(arrays(np.float32, 2 * LANES, elements=numbers) for _ in range(3)))
def test_lanes_compute_what_numbers_do(x, y, z):
    there, alone = np.zeros((2, OPERATIONS, len(x)), np.float32)
    compute_eight(x, y, z, there)
    compute_one(x, y, z, alone)
    np.testing.assert_array_equal(there, alone)
    with np.errstate(all="ignore"):
        # A product of two float32 is exact in float64, and the sum is then rounded once more.
        once = (x.astype(np.float64) * y + z).astype(np.float32)
        expected = np.stack([x + y, x - np.float32(3) * y, x * y, x / y])
    np.testing.assert_array_equal(there[:4], expected)
    np.testing.assert_allclose(there[4], once, rtol=2e-7, atol=1e-30)
    np.testing.assert_array_equal(there[5], np.where(x > 0, y, z))
    np.testing.assert_array_equal(there[6], np.minimum(x, y))
    np.testing.assert_array_equal(there[7], np.maximum(x, y))
    np.testing.assert_allclose(there[8] / 2, np.exp(x.astype(np.float64)), rtol=5e-7)


def test_what_is_not_a_number_loses_every_comparison():
    x = np.full(LANES, np.nan, np.float32)
    y, out = np.ones(LANES, np.float32), np.zeros((OPERATIONS, LANES), np.float32)
    compute_eight(x, y, y, out)
    for row in (5, 6, 7):
        np.testing.assert_array_equal(out[row], y)


def test_reading_beyond_an_array_is_noticed_where_bounds_are_checked():
    from numba import config

    array = np.zeros(LANES + 1, np.float32)
    reach(array, 1)
    if config.BOUNDSCHECK:
        for k in (-1, 2):
            with pytest.raises(IndexError, match="lanes"):
                reach(array, k)
    array = np.zeros(TAPS * LANES + 1, np.float32)
    reach_window(array, 1)
    if config.BOUNDSCHECK:
        for k in (-1, 2):
            with pytest.raises(IndexError, match="lanes"):
                reach_window(array, k)
