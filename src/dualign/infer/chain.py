"""The hidden Markov chain: forward-backward in time linear in the number of cells, several chains in step.

A chain has `R` rows (the words that choose) and `S` states (the positions they choose from). With emission
`E[j, i]`, null emission `null[j]` and null probability `p0`, the model of MATH §1 is

    p(words, b) = Π_j p_d(b_j | b_{j−1}) p_t(word_j | b_j),    p_d(i | i') = (1 − p0) w(i − i') / Z(i'),

where `w(d)` is explicit for |d| ≤ 5, and 1 for every farther jump; Z sums over the jumps that stay inside. A
null keeps the position: it is entered with probability `p0` and the next jump starts from where the chain
stood. Because the future of a null at position i equals the future of i itself, only the position mass
`M[j, i]` (word or null) is carried. The weights may differ from row to row: how far a chain jumps from row
j − 1 to j depends on the word of row j − 1 (`dualign.model.jumps`).

Beyond the window all jumps weigh 1, so a transition costs 11 multiplications for each state, not S:
`Σ_{i'} u(i') w(i − i') = Σ u + Σ_{|d| ≤ 5} (w(d) − 1) · u(i − d)`.

The steps of one chain wait for each other, so eight of them are run at once, each in a lane of its own
(`dualign.core.lanes`). They may differ in length: what a lane lacks of R rows and S states has emission 0,
and adds exact zeros to its sums. A chain's answer does not depend on its company, to the last bit.

Layout of one direction's `weights` (float32[14]): 10 start positions, all later ones, p0, then the emission
floor of a link and of a null.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.core.lanes import Vector, fused, load, spread, store, where_positive, width

REACH = 5
NEAR = 2 * REACH + 1
START = 0
STARTS = 10
NULL = START + STARTS + 1
FLOOR = NULL + 1
NULL_FLOOR = FLOOR + 1
WEIGHTS = NULL_FLOOR + 1

STATISTICS = 2 * (NEAR + 1)
"""Numbers that are known of the jumps from one row."""


class Edges(NamedTuple):
    """How the chains of several lanes move, float32, flat, W lanes next to each other.

    `jumps` (R, NEAR, W): w(−REACH) … w(REACH) of each row; `states` (W): how many states a chain has;
    `inside` (S + REACH, W): 1 at these, 0 beyond; `far` (S, W): how many are far from a state; `leave`
    (R, S, W): (1 − p0) / Z(i') of a chain that leaves state i' after that row, 0 beyond its states; `start`
    (S, W): p(first position is i).
    """

    jumps: Array
    states: Array
    inside: Array
    far: Array
    leave: Array
    start: Array


@kernel(allocates=False)
def fill_edges(like: Vector, R: int, S: int, weights: Array, edges: Edges) -> None:
    """All that follows from the jumps, the weights and the number of states."""
    W = width(like)
    one, zero = np.float32(1), np.float32(0)
    for lane in range(W):
        own = int(edges.states[lane])
        z = zero
        for i in range(own):
            z += weights[START + min(i, STARTS)]
        z = one / z
        for i in range(S):
            edges.start[i * W + lane] = weights[START + min(i, STARTS)] * z if i < own else zero
            around = min(i, REACH) + 1 + min(own - 1 - i, REACH)
            edges.far[i * W + lane] = np.float32(own - around) if i < own else one
        for i in range(S + REACH):
            edges.inside[i * W + lane] = np.float32(i < own)
    border = shortest(W, edges) - REACH
    word, none = spread(like, one - weights[NULL]), spread(like, zero)
    for j in range(R):
        stay = (j * NEAR + REACH) * W
        c1, c2 = load(like, edges.jumps, stay + W), load(like, edges.jumps, stay + 2 * W)
        c3, c4 = load(like, edges.jumps, stay + 3 * W), load(like, edges.jumps, stay + 4 * W)
        c5 = load(like, edges.jumps, stay + 5 * W)
        back = x = none
        for i in range(S):
            if i <= REACH:
                back = back + load(like, edges.jumps, stay - i * W)
            # Away from both ends all are alike.
            if i <= REACH or i >= border:
                z = back + load(like, edges.far, i * W)
                z = fused(load(like, edges.inside, (i + 1) * W), c1, z)
                z = fused(load(like, edges.inside, (i + 2) * W), c2, z)
                z = fused(load(like, edges.inside, (i + 3) * W), c3, z)
                z = fused(load(like, edges.inside, (i + 4) * W), c4, z)
                z = fused(load(like, edges.inside, (i + 5) * W), c5, z)
                x = load(like, edges.inside, i * W) * (word / z)
            store(edges.leave, (j * S + i) * W, x)


@kernel(allocates=False)
def shortest(W: int, edges: Edges) -> int:
    """States of the chain that has the fewest."""
    least = edges.states[0]
    for lane in range(1, W):
        least = min(least, edges.states[lane])
    return int(least)


@kernel()
def edges_alone(R: int, S: int, weights: Array, jumps: Array) -> Edges:
    """The edges of one chain by itself, `jumps` float32 (R, NEAR)."""
    edges = Edges(
        jumps.ravel(),
        np.full(1, np.float32(S)),
        np.empty(S + REACH, np.float32),
        np.empty(S, np.float32),
        np.empty(R * S, np.float32),
        np.empty(S, np.float32),
    )
    fill_edges(np.float32(0), R, S, weights, edges)
    return edges


@kernel(allocates=False)
def taps_of(like: Vector, jumps: Array, j: int) -> tuple[Vector, ...]:
    """What the near jumps from row j weigh more than far ones, from −REACH to REACH."""
    W = width(like)
    k, one = j * NEAR * W, np.float32(1)
    return (
        load(like, jumps, k) - one, load(like, jumps, k + W) - one, load(like, jumps, k + 2 * W) - one,
        load(like, jumps, k + 3 * W) - one, load(like, jumps, k + 4 * W) - one,
        load(like, jumps, k + 5 * W) - one, load(like, jumps, k + 6 * W) - one,
        load(like, jumps, k + 7 * W) - one, load(like, jumps, k + 8 * W) - one,
        load(like, jumps, k + 9 * W) - one, load(like, jumps, k + 10 * W) - one,
    )  # fmt: skip


@kernel(allocates=False)
def near(u: Array, k: int, W: int, taps: tuple[Vector, ...], base: Vector) -> Vector:
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
def forward_backward(
    like: Vector,
    R: int,
    S: int,
    E: Array,
    null: Array,
    live: Array,
    p0: float,
    edges: Edges,
    A: Array,
    M: Array,
    lines: Array,
    product: Array,
    likelihood: Array,
    expected: Array,
    begun: Array,
) -> None:
    """Posteriors of the chains in the lanes of `like`; their log p(words) into `likelihood`, float64 (lanes).

    All arrays are flat float32, W lanes next to each other: `E` (R, S, W), 0 where a chain has no such row or
    state; `null`, `live` (R, W): 0 beyond a chain's rows, `live` 1 elsewhere. `A` (R, S, W): afterwards
    `p(b_j = i | words)`. `M` alike, scratch. `lines` float32 (5, (max(R, S) + 2·REACH) · W) and `product`
    float64 (W), scratch.
    `expected` float32 (R, STATISTICS, W), unless it is empty: what is known of the jumps from each row but a
    chain's last. First the expected jumps of −REACH … REACH, and farther ones; then, for the same, Σ 1 / Z
    over all jumps, times the number of places where this one would have stayed inside. `begun` float32 (S, W)
    then has the first positions.
    """
    row = S * width(like)
    zero = spread(like, np.float32(0))
    for k in range(0, REACH * width(like), width(like)):
        store(lines[0], k, zero)
        store(lines[0], REACH * width(like) + row + k, zero)
    go_forward(like, R, row, E, null, live, p0, edges, A, M, lines, product, likelihood)
    go_backward(like, R, row, E, null, live, p0, edges, A, M, lines, expected, begun)


@kernel(allocates=False)
def weigh(like: Vector, row: int, a: Array, a0: int, b: Array, b0: int, scale: Vector, u: Array) -> Vector:
    """`u = a · b · scale` of the rows that begin at `a[a0]` and `b[b0]`, within u's margins; their sum."""
    W = width(like)
    total = spread(like, np.float32(0))
    for k in range(0, row, W):
        x = load(like, a, a0 + k) * load(like, b, b0 + k) * scale
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
    p0: float,
    edges: Edges,
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
    one = np.float32(1)
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
                s = load(like, edges.start, k)
                x = s * load(like, E, k) * (one - p0)
                store(A, k, x)
                m = fused(s, q, x)
                store(M, k, m)
                z = z + m
        else:
            base = weigh(like, row, M, before, edges.leave, before, r, u)
            t = taps_of(like, edges.jumps, j - 1)
            taps = (t[10], t[9], t[8], t[7], t[6], t[5], t[4], t[3], t[2], t[1], t[0])
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
    p0: float,
    edges: Edges,
    A: Array,
    M: Array,
    lines: Array,
    expected: Array,
    begun: Array,
) -> None:
    """Posteriors and statistics, from the masses of the words after each row, of which one row is kept."""
    W = width(like)
    u, scale, b, out = lines[0], lines[1], lines[2], lines[3]
    ones = spread(like, np.float32(1))
    collect = len(expected) > 0
    border = max(0, shortest(W, edges) - REACH) * W
    last = (R - 1) * row
    r = load(like, scale, (R - 1) * W)
    for k in range(0, row, W):
        store(b, k, ones)
        store(A, last + k, load(like, A, last + k) * r)
    for j in range(R - 1, 0, -1):
        before = (j - 1) * row
        r = load(like, scale, j * W)
        base = weigh(like, row, E, j * row, b, 0, r, u)
        taps = taps_of(like, edges.jumps, j - 1)
        # Beyond the last row of a chain b stays 1.
        q = where_positive(load(like, live, j * W), load(like, null, j * W) * p0 * r, ones)
        r = load(like, scale, (j - 1) * W)
        for k in range(0, row, W):
            y = near(u, k, W, taps, base)
            if collect:
                store(out, k, y)
            y = fused(q, load(like, b, k), y * load(like, edges.leave, before + k))
            store(b, k, y)
            store(A, before + k, load(like, A, before + k) * y * r)
        if collect:
            end = before + row
            known = expected[(j - 1) * STATISTICS * W : j * STATISTICS * W]
            count_jumps(like, row, M[before:end], edges.leave[before:end], r, lines, known)
            for k in range(0, NEAR * W, W):
                x = load(like, known, k) * load(like, edges.jumps, (j - 1) * NEAR * W + k)
                store(known, k, x)
                store(known, NEAR * W, load(like, known, NEAR * W) - x)
            count_places(like, row, border, p0, edges, lines[3], known[(NEAR + 1) * W :])
    if collect:
        r = load(like, scale, 0)
        for k in range(0, row, W):
            store(begun, k, load(like, M, k) * load(like, b, k) * r)


@kernel(allocates=False)
def count_jumps(
    like: Vector, row: int, M: Array, leave: Array, scale: Vector, lines: Array, known: Array
) -> None:
    """The jumps from one row: near ones, divided by their weight, then all; `lines[3]`: rates by state."""
    W = width(like)
    u, out, departing = lines[0], lines[3], lines[4]
    total = spread(like, np.float32(0))
    for k in range(0, row, W):
        x = load(like, M, k) * load(like, leave, k) * scale
        store(departing, k, x)
        x = x * load(like, out, k)
        total = total + x
        store(out, k, x * load(like, leave, k))
    correlate(like, row, departing, u, known)
    store(known, NEAR * W, total)


@kernel(allocates=False)
def count_places(
    like: Vector, row: int, border: int, p0: float, edges: Edges, rates: Array, known: Array
) -> None:
    """Σ rates / (1 − p0) over the places of each near jump, and over those of far ones.

    `rates`: jumps (1 − p0) / Z by state. From `border` on a jump forward may lead outside.
    """
    W = width(like)
    unscaled = spread(like, np.float32(1) / (np.float32(1) - p0))
    none = spread(like, np.float32(0))
    core = none
    for k in range(0, border, W):
        core = core + load(like, rates, k)
    c1, c2, c3, c4, c5 = core, core, core, core, core
    total = core
    for k in range(border, row, W):
        x = load(like, rates, k)
        total = total + x
        c1 = fused(x, load(like, edges.inside, k + W), c1)
        c2 = fused(x, load(like, edges.inside, k + 2 * W), c2)
        c3 = fused(x, load(like, edges.inside, k + 3 * W), c3)
        c4 = fused(x, load(like, edges.inside, k + 4 * W), c4)
        c5 = fused(x, load(like, edges.inside, k + 5 * W), c5)
    near = (total + c1 + c2 + c3 + c4 + c5) * unscaled
    store(known, 5 * W, total * unscaled)
    store(known, 6 * W, c1 * unscaled)
    store(known, 7 * W, c2 * unscaled)
    store(known, 8 * W, c3 * unscaled)
    store(known, 9 * W, c4 * unscaled)
    store(known, 10 * W, c5 * unscaled)
    left = total
    for d in range(1, REACH + 1):
        if d * W <= row:
            left = left - load(like, rates, (d - 1) * W)
        store(known, (REACH - d) * W, left * unscaled)
        near = fused(left, unscaled, near)
    store(known, NEAR * W, total * load(like, edges.states, 0) * unscaled - near)


@kernel(allocates=False)
def correlate(like: Vector, row: int, x: Array, u: Array, into: Array) -> None:
    """`into[d] = Σ_i x[i] · u[i + d]` for the distances d of near jumps; u has margins."""
    W = width(like)
    c0 = c1 = c2 = c3 = c4 = c5 = c6 = c7 = c8 = c9 = c10 = spread(like, np.float32(0))
    for k in range(0, row, W):
        y = load(like, x, k)
        c0 = fused(y, load(like, u, k), c0)
        c1 = fused(y, load(like, u, k + W), c1)
        c2 = fused(y, load(like, u, k + 2 * W), c2)
        c3 = fused(y, load(like, u, k + 3 * W), c3)
        c4 = fused(y, load(like, u, k + 4 * W), c4)
        c5 = fused(y, load(like, u, k + 5 * W), c5)
        c6 = fused(y, load(like, u, k + 6 * W), c6)
        c7 = fused(y, load(like, u, k + 7 * W), c7)
        c8 = fused(y, load(like, u, k + 8 * W), c8)
        c9 = fused(y, load(like, u, k + 9 * W), c9)
        c10 = fused(y, load(like, u, k + 10 * W), c10)
    store(into, 0, c0)
    store(into, W, c1)
    store(into, 2 * W, c2)
    store(into, 3 * W, c3)
    store(into, 4 * W, c4)
    store(into, 5 * W, c5)
    store(into, 6 * W, c6)
    store(into, 7 * W, c7)
    store(into, 8 * W, c8)
    store(into, 9 * W, c9)
    store(into, 10 * W, c10)
