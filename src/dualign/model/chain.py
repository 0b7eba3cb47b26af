"""The hidden Markov chain: forward-backward in time linear in the number of cells, several chains in step.

A chain has `R` rows (the words that choose) and `S` states (the positions they choose from). With emission
`E[j, i]`, null emission `null[j]` and null probability `p0`, the model of MATH §1 is

    p(words, b) = Π_j p_d(b_j | b_{j−1}) p_t(word_j | b_j),      p_d(i | i') = (1 − p0) w(i − i') / Z(i'),

where `w(d)` is explicit for |d| ≤ 5 and one constant `far` beyond. A null keeps the position: it is entered
with probability `p0` and the next jump starts from where the chain stood. Because the future of a null at
position i equals the future of i itself, only the position mass `M[j, i]` (word or null) is carried.

Beyond the window all jumps weigh the same, so a transition costs 11 multiplications for each state,
not S: `Σ_{i'} u(i') w(i − i') = far · Σ u + Σ_{|d| ≤ 5} (w(d) − far) · u(i − d)`.

The steps of one chain wait for each other, so eight of them are run at once, each in a lane of its own
(`dualign.core.lanes`). They may differ in length: what a lane lacks of R rows and S states has emission 0,
and adds exact zeros to its sums. A chain's answer does not depend on its company, to the last bit.

Layout of one direction's `weights` (float32[26]): 11 jumps, far, 10 start positions, far start, p0, then
the emission floor of a link and of a null.
"""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.core.lanes import Vector, fused, load, spread, store, where_positive, width

__all__ = [
    "FAR",
    "FLOOR",
    "NULL",
    "NULL_FLOOR",
    "REACH",
    "START",
    "STARTS",
    "STATISTICS",
    "WEIGHTS",
    "forward_backward",
    "transition",
]

REACH = 5
FAR = 2 * REACH + 1
START = FAR + 1
STARTS = 10
NULL = START + STARTS + 1
FLOOR = NULL + 1
NULL_FLOOR = FLOOR + 1
WEIGHTS = NULL_FLOOR + 1

# Rows of the statistics of one chain: departures, one for each near jump, the start.
STATISTICS = 1 + FAR + 1


@kernel(allocates=False)
def transition(S: int, weights: Array, stride: int, leave: Array, start: Array) -> None:
    """`leave[i'] = (1 − p0) / Z(i')`, and `start[i]` = p(first position is i), at every `stride`-th place."""
    word = np.float32(1) - weights[NULL]
    far = weights[FAR]
    z = np.float32(0)
    for i in range(S):
        z += weights[START + min(i, STARTS)]
    z = np.float32(1) / z
    inside = np.float32(0)
    for i in range(S):
        start[i * stride] = weights[START + min(i, STARTS)] * z
        # Away from both ends all are alike.
        if i <= REACH or i >= S - REACH:
            first = max(-i, -REACH)
            last = min(S - 1 - i, REACH)
            inside = far * np.float32(S - 1 - last + first)
            for d in range(first + REACH, last + REACH + 1):
                inside += weights[d]
        leave[i * stride] = word / inside


@kernel(allocates=False)
def near(u: Array, k: int, W: int, taps: tuple[float, ...], base: Vector) -> Vector:
    """`base + Σ_d taps[d] · u[i + d − REACH]` for the state whose window begins at `u[k]`."""
    c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10 = taps
    x = fused(load(base, u, k), c0, base)
    y = load(base, u, k + W) * c1
    x = fused(load(base, u, k + 2 * W), c2, x)
    y = fused(load(base, u, k + 3 * W), c3, y)
    x = fused(load(base, u, k + 4 * W), c4, x)
    y = fused(load(base, u, k + 5 * W), c5, y)
    x = fused(load(base, u, k + 6 * W), c6, x)
    y = fused(load(base, u, k + 7 * W), c7, y)
    x = fused(load(base, u, k + 8 * W), c8, x)
    y = fused(load(base, u, k + 9 * W), c9, y)
    return fused(load(base, u, k + 10 * W), c10, x) + y


@kernel(allocates=False)
def taps_of(weights: Array) -> tuple[float, ...]:
    """What near jumps weigh more than far ones, from −REACH to REACH."""
    far = weights[FAR]
    return (
        weights[0] - far, weights[1] - far, weights[2] - far, weights[3] - far, weights[4] - far,
        weights[5] - far, weights[6] - far, weights[7] - far, weights[8] - far, weights[9] - far,
        weights[10] - far,
    )  # fmt: skip


@kernel(allocates=False)
def forward_backward(
    like: Vector,
    R: int,
    S: int,
    E: Array,
    null: Array,
    live: Array,
    weights: Array,
    leave: Array,
    start: Array,
    A: Array,
    M: Array,
    lines: Array,
    product: Array,
    likelihood: Array,
    expected: Array,
) -> None:
    """Posteriors of the chains in the lanes of `like`; their log p(words) into `likelihood`, float64 (lanes).

    All arrays are flat float32, W lanes next to each other: `E` (R, S, W), 0 where a chain has no such row or
    state; `null`, `live` (R, W): 0 beyond a chain's rows, `live` 1 elsewhere; `leave`, `start` (S, W): see
    `transition`, 0 beyond its states. `A` (R, S, W): afterwards `p(b_j = i | words)`. `M` alike, scratch.
    `lines` float32 (4, (max(R, S) + 2·REACH) · W) and `product` float64 (W), scratch.
    `expected` float32 (STATISTICS, S · W): if it has rows, row 0 gains the expected number of real departures
    from each position; row 1 + d, in its first W numbers, the jumps of d − REACH from all positions divided
    by their weight; the last row the start.
    """
    row = S * width(like)
    zero = spread(like, np.float32(0))
    for k in range(0, REACH * width(like), width(like)):
        store(lines[0], k, zero)
        store(lines[0], REACH * width(like) + row + k, zero)
    go_forward(like, R, row, E, null, live, weights, leave, start, A, M, lines, product, likelihood)
    go_backward(like, R, row, E, null, live, weights, leave, A, M, lines, expected)


@kernel(allocates=False)
def weigh(like: Vector, row: int, a: Array, first: int, b: Array, scale: Vector, u: Array) -> Vector:
    """`u = a · b · scale` of the row of `a` from `first` on, between the margins of u; returns its sum."""
    W = width(like)
    total = spread(like, np.float32(0))
    for k in range(0, row, W):
        x = load(like, a, first + k) * load(like, b, k) * scale
        store(u, REACH * W + k, x)
        total = total + x
    return total


@kernel(allocates=False)
def go_forward(
    like: Vector,
    R: int,
    row: int,
    E: Array,
    null: Array,
    live: Array,
    weights: Array,
    leave: Array,
    start: Array,
    A: Array,
    M: Array,
    lines: Array,
    product: Array,
    likelihood: Array,
) -> None:
    """Masses of the words up to each row: at a state (`A`), and there or in a null behind it (`M`).

    Stored without their scale 1/z, which goes to `lines[1]`; the next row and the posteriors apply it.
    """
    W = width(like)
    u, scale, sums = lines[0], lines[1], lines[3]
    t = taps_of(weights)
    taps = (t[10], t[9], t[8], t[7], t[6], t[5], t[4], t[3], t[2], t[1], t[0])
    p0, far, one = weights[NULL], weights[FAR], np.float32(1)
    ones, zero = spread(like, one), spread(like, np.float32(0))
    for lane in range(W):
        product[lane] = 1
        likelihood[lane] = 0
    r = ones
    for j in range(R):
        here, before = j * row, (j - 1) * row
        q = load(like, null, j * W) * p0 * r
        z = zero
        if j == 0:
            for k in range(0, row, W):
                s = load(like, start, k)
                x = s * load(like, E, k) * (one - p0)
                store(A, k, x)
                m = fused(s, q, x)
                store(M, k, m)
                z = z + m
        else:
            base = weigh(like, row, M, before, leave, r, u) * far
            for k in range(0, row, W):
                x = near(u, k, W, taps, base) * load(like, E, here + k)
                store(A, here + k, x)
                m = fused(q, load(like, M, before + k), x)
                store(M, here + k, m)
                z = z + m
        z = where_positive(load(like, live, j * W), z, ones)
        r = ones / z
        store(scale, j * W, r)
        store(sums, 0, z)
        for lane in range(W):
            # The product of the scales: a logarithm for each row would cost as much as the row.
            product[lane] *= sums[lane]
            if product[lane] < 1e-250 or product[lane] > 1e250:
                likelihood[lane] += np.log(product[lane])
                product[lane] = 1.0
    for lane in range(W):
        likelihood[lane] += np.log(product[lane])


@kernel(allocates=False)
def go_backward(
    like: Vector,
    R: int,
    row: int,
    E: Array,
    null: Array,
    live: Array,
    weights: Array,
    leave: Array,
    A: Array,
    M: Array,
    lines: Array,
    expected: Array,
) -> None:
    """Posteriors and statistics, from the masses of the words after each row, of which one row is kept."""
    W = width(like)
    u, scale, b, out = lines[0], lines[1], lines[2], lines[3]
    taps = taps_of(weights)
    p0, far = weights[NULL], weights[FAR]
    ones = spread(like, np.float32(1))
    collect = len(expected) > 0
    last = (R - 1) * row
    r = load(like, scale, (R - 1) * W)
    for k in range(0, row, W):
        store(b, k, ones)
        store(A, last + k, load(like, A, last + k) * r)
    for j in range(R - 1, 0, -1):
        before = (j - 1) * row
        r = load(like, scale, j * W)
        base = weigh(like, row, E, j * row, b, r, u) * far
        # Beyond the last row of a chain b stays 1.
        q = where_positive(load(like, live, j * W), load(like, null, j * W) * p0 * r, ones)
        r = load(like, scale, (j - 1) * W)
        for k in range(0, row, W):
            y = near(u, k, W, taps, base)
            if collect:
                store(out, k, y)
            y = fused(q, load(like, b, k), y * load(like, leave, k))
            store(b, k, y)
            store(A, before + k, load(like, A, before + k) * y * r)
        if collect:
            count_jumps(like, row, M[before : before + row], leave, r, u, out, expected)
    if collect:
        begun = expected[STATISTICS - 1]
        r = load(like, scale, 0)
        for k in range(0, row, W):
            store(begun, k, fused(load(like, M, k) * load(like, b, k), r, load(like, begun, k)))


@kernel(allocates=False)
def count_jumps(
    like: Vector, row: int, M: Array, leave: Array, scale: Vector, u: Array, out: Array, expected: Array
) -> None:
    """Add one row's expected departures and jumps to the statistics: see `forward_backward`."""
    W = width(like)
    departed = expected[0]
    j0, j1, j2 = load(like, expected[1], 0), load(like, expected[2], 0), load(like, expected[3], 0)
    j3, j4, j5 = load(like, expected[4], 0), load(like, expected[5], 0), load(like, expected[6], 0)
    j6, j7, j8 = load(like, expected[7], 0), load(like, expected[8], 0), load(like, expected[9], 0)
    j9, j10 = load(like, expected[10], 0), load(like, expected[11], 0)
    for k in range(0, row, W):
        x = load(like, M, k) * load(like, leave, k) * scale
        store(departed, k, fused(x, load(like, out, k), load(like, departed, k)))
        j0 = fused(x, load(like, u, k), j0)
        j1 = fused(x, load(like, u, k + W), j1)
        j2 = fused(x, load(like, u, k + 2 * W), j2)
        j3 = fused(x, load(like, u, k + 3 * W), j3)
        j4 = fused(x, load(like, u, k + 4 * W), j4)
        j5 = fused(x, load(like, u, k + 5 * W), j5)
        j6 = fused(x, load(like, u, k + 6 * W), j6)
        j7 = fused(x, load(like, u, k + 7 * W), j7)
        j8 = fused(x, load(like, u, k + 8 * W), j8)
        j9 = fused(x, load(like, u, k + 9 * W), j9)
        j10 = fused(x, load(like, u, k + 10 * W), j10)
    store(expected[1], 0, j0)
    store(expected[2], 0, j1)
    store(expected[3], 0, j2)
    store(expected[4], 0, j3)
    store(expected[5], 0, j4)
    store(expected[6], 0, j5)
    store(expected[7], 0, j6)
    store(expected[8], 0, j7)
    store(expected[9], 0, j8)
    store(expected[10], 0, j9)
    store(expected[11], 0, j10)
