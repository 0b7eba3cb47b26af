"""The hidden Markov chain: forward-backward in time linear in the number of cells, several chains in step.

A chain has `R` rows (the words that choose) and `S` states (the positions they choose from). With emission
`E[j, i]`, null emission `null[j]` and null probability `p0`, the model (docs/model.md) is

    p(words, b) = Π_j p_d(b_j | b_{j−1}) p_t(word_j | b_j),
    p_d(i | i') = (1 − p0) w(i − i') s(i', i) / Z(i'),

where `w(d)` is explicit for |d| ≤ 5, and 1 for every farther jump; `s(i', i)` belongs to the words at these
positions, and is 1 for |i − i'| > 2; Z sums over the jumps that stay inside. A
null keeps the position: it is entered with probability `p0` and the next jump starts from where the chain
stood. Because the future of a null at position i equals the future of i itself, only the position mass
`M[j, i]` (word or null) is carried. After every row a chain at position i stops with probability σ(i), which
depends on the distance to the last position: a factor 1 − σ(b_j) for each row, and σ(b_R) for the last. The
jump weights may differ from row to row: how far a chain jumps from row
j − 1 to j depends on the words of both (`dualign.hmm.jumps`).

Beyond the window all jumps weigh 1, so a transition costs 21 multiplications for each state, not S:
`Σ_{i'} u(i') w(i − i') s(i', i) = Σ u + Σ_{|d| ≤ 5} (w(d) − 1) u(i − d) + Σ_{|d| ≤ 2} w(d) (s − 1) u(i − d)`.

The steps of one chain wait for each other, so eight of them are run at once, each in a lane of its own
(`dualign._core.lanes`). They may differ in length: what a lane lacks of R rows and S states has emission 0,
and adds exact zeros to its sums. A chain's answer does not depend on its company, to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array, Rows
from dualign._core.jit import part
from dualign._core.lanes import (  # fmt: skip
    Vector,
    add_window,
    dot_window,
    fused,
    load,
    repeated,
    spread,
    store,
    store_window,
    where_positive,
    width,
)
from dualign.hmm.jumps import BESIDE, CLOSE, NEAR, NULL, REACH, START, STARTS, STOP, STOPS

STATISTICS = 2 * (NEAR + 1)
"""Numbers that are known of the jumps from one row."""


class Edges(NamedTuple):
    """How the chains of several lanes move, float32, flat, W lanes next to each other.

    `jumps` (R, NEAR, W): w(−REACH) … w(REACH) of each row; `states` (W): how many states a chain has;
    `inside` (S + REACH, W): 1 at these, 0 beyond; `far` (S, W): how many are far from a state; `leave`
    (R, S, W): (1 − p0) / Z(i') of a chain that leaves state i' after that row, 0 beyond its states; `start`
    (S, W): p(first position is i); `stop` (S, W): σ(i). `gain` (CLOSE, S, W): s(i, i + d) − 1 of the jumps of
    −BESIDE … BESIDE that leave state i, 0 if they lead outside; `gain_to` (CLOSE, S, W): s(i − d, i) − 1 of
    those that reach state i.
    """

    jumps: Rows
    states: Array
    inside: Rows
    far: Rows
    leave: Rows
    start: Rows
    stop: Rows
    gain: Rows
    gain_to: Rows


@part(allocates=False)
def fill_edges(like: Vector, R: int, S: int, weights: Array, edges: Edges) -> None:
    """All that follows from the jumps, the gains, the weights and the number of states."""
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
            edges.stop[i * W + lane] = weights[STOP + min(max(own - 1 - i, 0), STOPS)]
            around = min(i, REACH) + 1 + min(own - 1 - i, REACH)
            edges.far[i * W + lane] = np.float32(own - around) if i < own else one
        for i in range(S + REACH):
            edges.inside[i * W + lane] = np.float32(i < own)
    border = shortest(W, edges) - REACH
    word, none = spread(like, one - weights[NULL]), spread(like, zero)
    for j in range(R):
        stay = (j * NEAR + REACH) * W
        back = z = none
        for i in range(S):
            if i <= REACH:
                back = back + load(like, edges.jumps, stay - i * W)
            # Away from both ends all states have the same sum, but for the gains.
            if i <= REACH or i >= border:
                z = back + load(like, edges.far, i * W)
                for d in range(1, REACH + 1):
                    z = fused(load(like, edges.inside, (i + d) * W), load(like, edges.jumps, stay + d * W), z)
            x = z
            for k in range(CLOSE):
                w = load(like, edges.jumps, stay + (k - BESIDE) * W)
                x = fused(load(like, edges.gain, (k * S + i) * W), w, x)
            store(edges.leave, (j * S + i) * W, load(like, edges.inside, i * W) * (word / x))


@part(allocates=False)
def shortest(W: int, edges: Edges) -> int:
    """States of the chain that has the fewest."""
    least = edges.states[0]
    for lane in range(1, W):
        least = min(least, edges.states[lane])
    return int(least)


@part
def edges_alone(R: int, S: int, weights: Array, jumps: Array, gain: Array) -> Edges:
    """The edges of one chain by itself, `jumps` float32 (R, NEAR), `gain` (CLOSE, S); `gain_to` is empty."""
    edges = Edges(
        jumps.ravel(),
        np.full(1, np.float32(S)),
        np.empty(S + REACH, np.float32),
        np.empty(S, np.float32),
        np.empty(R * S, np.float32),
        np.empty(S, np.float32),
        np.empty(S, np.float32),
        gain.ravel(),
        np.empty(0, np.float32),
    )
    fill_edges(np.float32(0), R, S, weights, edges)
    return edges


@part(allocates=False)
def jump_taps(like: Vector, jumps: Array, j: int) -> tuple[Vector, ...]:
    """How much more the near jumps from row j weigh than far ones, from −REACH to REACH."""
    one = spread(like, np.float32(1))
    return add_window(one, jumps, j * NEAR * width(like), repeated(spread(like, np.float32(-1)), NEAR))


class Chain(NamedTuple):
    """The chains of several lanes in one direction, flat float32 arrays, W lanes next to each other.

    `emission` (R, S, W), 0 where a chain has no such row or state; `null`, `live` (R, W): 0 beyond a chain's
    rows, `live` 1 elsewhere; `p0`: the probability of null.
    """

    emission: Array
    null: Array
    live: Array
    p0: float
    edges: Edges


class Passes(NamedTuple):
    """What forward-backward leaves of the chains of several lanes, flat float32 arrays.

    `posterior` (R, S, W): `p(b_j = i | words)`; `likelihood` float64 (W): log p(words). `expected` (R,
    STATISTICS, W), unless it is empty: statistics of the jumps from each row but a chain's last. First the
    expected jumps of −REACH … REACH, and farther ones; then, for the same, Σ 1 / Z over all jumps, times the
    number of places where this one would have stayed inside. `visits` (3, S · W) then has the probabilities
    of the first position, the expected numbers of rows at each position, and the probabilities of the last;
    `close` (2, CLOSE · S · W), by the state that they leave, the expected jumps of −BESIDE … BESIDE, then
    those that the weights foresee.
    Scratch: `mass` (R, S, W), `lines` (4, (max(R, S) + 2·REACH) · W), `product` float64 (W).
    """

    posterior: Array
    likelihood: Array
    expected: Array
    visits: Rows
    close: Rows
    mass: Array
    lines: Rows
    product: Array


@part(allocates=False)
def forward_backward(like: Vector, R: int, S: int, chain: Chain, passes: Passes) -> None:
    """Fill `passes` for the chains in the lanes of `like`, of at most R rows and S states."""
    row = S * width(like)
    zero = spread(like, np.float32(0))
    for k in range(0, REACH * width(like), width(like)):
        store(passes.lines[0], k, zero)
        store(passes.lines[0], REACH * width(like) + row + k, zero)
    go_forward(like, R, row, chain, passes)
    go_backward(like, R, row, chain, passes)


@part(allocates=False)
def weigh(like: Vector, row: int, a: Array, a0: int, b: Array, b0: int, scale: Vector, u: Array) -> Vector:
    """`u = a · b · scale` of the rows that begin at `a[a0]` and `b[b0]`, within u's margins; their sum."""
    W = width(like)
    total = spread(like, np.float32(0))
    for k in range(0, row, W):
        x = load(like, a, a0 + k) * load(like, b, b0 + k) * scale
        store(u, REACH * W + k, x)
        total = total + x
    return total


@part(allocates=False)
def go_forward(like: Vector, R: int, row: int, chain: Chain, passes: Passes) -> None:
    """Masses of the words up to each row: at a state (`posterior`), there or in a null after it (`mass`).

    The latter have gone on, or have stopped if it is the last row. Stored without their scale 1/z, which goes
    to `lines[1]`; the next row and the posteriors apply it.
    """
    W = width(like)
    E, null, live, p0, edges = chain
    A, M, product, likelihood = passes.posterior, passes.mass, passes.product, passes.likelihood
    u, scale, sums = passes.lines[0], passes.lines[1], passes.lines[3]
    one = np.float32(1)
    ones, zero = spread(like, one), spread(like, np.float32(0))
    for lane in range(W):
        product[lane] = 1
        likelihood[lane] = 0
    r = ones
    for j in range(R):
        here, before = j * row, (j - 1) * row
        fixed, rate = after_row(like, j, R, live)
        q = load(like, null, j * W) * p0 * r
        z = zero
        if j == 0:
            for k in range(0, row, W):
                s = load(like, edges.start, k)
                x = s * load(like, E, k) * (one - p0)
                store(A, k, x)
                m = fused(s, q, x) * fused(rate, load(like, edges.stop, k), fixed)
                store(M, k, m)
                z = z + m
        else:
            base = weigh(like, row, M, before, edges.leave, before, r, u)
            taps = jump_taps(like, edges.jumps, j - 1)[::-1]
            for k in range(0, row, W):
                x = dot_window(u, k, taps, base)
                for c in range(CLOSE):
                    w = load(like, edges.jumps, ((j - 1) * NEAR + REACH - BESIDE + c) * W)
                    gain = w * load(like, edges.gain_to, c * row + k)
                    x = fused(load(like, u, k + (REACH + BESIDE - c) * W), gain, x)
                x = x * load(like, E, here + k)
                store(A, here + k, x)
                m = fused(q, load(like, M, before + k), x)
                m = m * fused(rate, load(like, edges.stop, k), fixed)
                store(M, here + k, m)
                z = z + m
        z = where_positive(load(like, live, j * W), z, ones)
        r = ones / z
        store(scale, j * W, r)
        store(sums, 0, z)
        multiply(W, sums, product, likelihood)
    for lane in range(W):
        likelihood[lane] += np.log(product[lane])


@part(allocates=False)
def multiply(W: int, factors: Array, product: Array, likelihood: Array) -> None:
    """Multiply the lanes' products by one factor each; what becomes too large or small goes to `likelihood`.

    A logarithm for each factor would cost as much as a row.
    """
    for lane in range(W):
        product[lane] *= factors[lane]
        if product[lane] < 1e-250 or product[lane] > 1e250:
            likelihood[lane] += np.log(product[lane])
            product[lane] = 1.0


@part(allocates=False)
def choose_evenly(like: Vector, R: int, S: int, chain: Chain, passes: Passes) -> None:
    """Posteriors and likelihoods of rows that choose all positions with the same probability (IBM Model 1).

    p(word_j) = p0 · null[j] + Σ_i (1 − p0) / S · E[j, i]; of the edges only `states` is used.
    """
    W = width(like)
    E, null, live, p0, edges = chain
    A, sums, product, likelihood = passes.posterior, passes.lines[3], passes.product, passes.likelihood
    one = np.float32(1)
    share = spread(like, one - p0) / load(like, edges.states, 0)
    for lane in range(W):
        product[lane] = 1
        likelihood[lane] = 0
    for j in range(R):
        total = spread(like, np.float32(0))
        for k in range(j * S * W, (j + 1) * S * W, W):
            total = total + load(like, E, k)
        z = fused(total, share, load(like, null, j * W) * p0)
        z = where_positive(load(like, live, j * W), z, spread(like, one))
        store(sums, 0, z)
        multiply(W, sums, product, likelihood)
        r = share / z
        for k in range(j * S * W, (j + 1) * S * W, W):
            store(A, k, load(like, E, k) * r)
    for lane in range(W):
        likelihood[lane] += np.log(product[lane])


@part(allocates=False)
def go_backward(like: Vector, R: int, row: int, chain: Chain, passes: Passes) -> None:
    """Posteriors and statistics, from the masses of the words after each row, of which one row is kept."""
    W = width(like)
    E, null, live, p0, edges = chain
    A, M, lines = passes.posterior, passes.mass, passes.lines
    u, scale, b, out = lines[0], lines[1], lines[2], lines[3]
    ones = spread(like, np.float32(1))
    collect = len(passes.expected) > 0
    first, visited, final = passes.visits[0], passes.visits[1], passes.visits[2]
    border = max(0, shortest(W, edges) - REACH) * W
    last = (R - 1) * row
    r = load(like, scale, (R - 1) * W)
    fixed, rate = after_row(like, R - 1, R, live)
    for k in range(0, row, W):
        y = fused(rate, load(like, edges.stop, k), fixed)
        store(b, k, y)
        store(A, last + k, load(like, A, last + k) * y * r)
    if collect:
        for k in range(0, row, W):
            x = load(like, M, last + k) * r
            store(first, k, x)
            store(visited, k, x)
            store(final, k, x)
        for k in range(0, CLOSE * row, W):
            store(passes.close[0], k, spread(like, np.float32(0)))
            store(passes.close[1], k, spread(like, np.float32(0)))
    for j in range(R - 1, 0, -1):
        before = (j - 1) * row
        r = load(like, scale, j * W)
        base = weigh(like, row, E, j * row, b, 0, r, u)
        taps = jump_taps(like, edges.jumps, j - 1)
        # Beyond the last row of a chain b stays 1.
        q = where_positive(load(like, live, j * W), load(like, null, j * W) * p0 * r, ones)
        r = load(like, scale, (j - 1) * W)
        fixed, rate = after_row(like, j - 1, R, live)
        ends = load(like, live, (j - 1) * W) - load(like, live, j * W)
        for k in range(0, row, W):
            y = dot_window(u, k, taps, base)
            for c in range(CLOSE):
                w = load(like, edges.jumps, ((j - 1) * NEAR + REACH - BESIDE + c) * W)
                gain = w * load(like, edges.gain, c * row + k)
                y = fused(load(like, u, k + (REACH - BESIDE + c) * W), gain, y)
            if collect:
                store(out, k, y)
            y = fused(q, load(like, b, k), y * load(like, edges.leave, before + k))
            if collect:
                x = load(like, M, before + k) * y * r
                store(first, k, x)
                store(visited, k, load(like, visited, k) + x)
                store(final, k, fused(ends, x, load(like, final, k)))
            y = y * fused(rate, load(like, edges.stop, k), fixed)
            store(b, k, y)
            store(A, before + k, load(like, A, before + k) * y * r)
        if collect:
            end = before + row
            known = passes.expected[(j - 1) * STATISTICS * W : j * STATISTICS * W]
            count_jumps(like, row, M[before:end], edges.leave[before:end], r, lines, known)
            count_places(like, row, border, p0, edges, lines[3], known[(NEAR + 1) * W :])
            count_close(like, row, j - 1, r, chain, passes)
            for k in range(0, NEAR * W, W):
                x = load(like, known, k) * load(like, edges.jumps, (j - 1) * NEAR * W + k)
                store(known, k, x)
                store(known, NEAR * W, load(like, known, NEAR * W) - x)


@part(allocates=False)
def after_row(like: Vector, j: int, R: int, live: Array) -> tuple[Vector, Vector]:
    """`a` and `c` such that what happens after row j has probability a + c · σ.

    That is 1 − σ where a chain has a row after it, σ at its last row, and 1 beyond.
    """
    W = width(like)
    here = load(like, live, j * W)
    after = load(like, live, (j + 1) * W) if j + 1 < R else spread(like, np.float32(0))
    return spread(like, np.float32(1)) - here + after, here - after - after


@part(allocates=False)
def count_jumps(
    like: Vector, row: int, M: Array, leave: Array, scale: Vector, lines: Array, known: Array
) -> None:
    """The jumps from one row: near ones, divided by their weight, then all; `lines[3]`: rates by state."""
    W = width(like)
    u, out = lines[0], lines[3]
    total = spread(like, np.float32(0))
    near = repeated(total, NEAR)
    for k in range(0, row, W):
        x = load(like, M, k) * load(like, leave, k) * scale
        near = add_window(x, u, k, near)
        x = x * load(like, out, k)
        total = total + x
        store(out, k, x * load(like, leave, k))
    store_window(known, 0, near)
    store(known, NEAR * W, total)


@part(allocates=False)
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
    total, ahead = core, repeated(core, REACH)
    for k in range(border, row, W):
        x = load(like, rates, k)
        total = total + x
        ahead = add_window(x, edges.inside, k + W, ahead)
    near = total
    store(known, REACH * W, total * unscaled)
    store_window(known, (REACH + 1) * W, ahead)
    for k in range((REACH + 1) * W, NEAR * W, W):
        near = near + load(like, known, k)
        store(known, k, load(like, known, k) * unscaled)
    near = near * unscaled
    left = total
    for d in range(1, REACH + 1):
        if d * W <= row:
            left = left - load(like, rates, (d - 1) * W)
        store(known, (REACH - d) * W, left * unscaled)
        near = fused(left, unscaled, near)
    store(known, NEAR * W, total * load(like, edges.states, 0) * unscaled - near)


@part(allocates=False)
def count_close(like: Vector, row: int, j: int, scale: Vector, chain: Chain, passes: Passes) -> None:
    """The close jumps from row j, by state, and what the gains add to the statistics of the row.

    `lines[3]`: rates by state, as `count_jumps` leaves them.
    """
    W = width(like)
    edges, u, rates = chain.edges, passes.lines[0], passes.lines[3]
    known = passes.expected[j * STATISTICS * W : (j + 1) * STATISTICS * W]
    unscaled = spread(like, np.float32(1) / (np.float32(1) - chain.p0))
    for c in range(CLOSE):
        d = c - BESIDE
        w = load(like, edges.jumps, (j * NEAR + REACH + d) * W)
        taken, places = load(like, known, (REACH + d) * W), spread(like, np.float32(0))
        for k in range(0, row, W):
            here = c * row + k
            gain, rate = load(like, edges.gain, here), load(like, rates, k) * unscaled
            x = load(like, passes.mass, j * row + k) * load(like, edges.leave, j * row + k) * scale
            x = x * load(like, u, k + (REACH + d) * W)
            taken = fused(x, gain, taken)
            places = fused(rate, gain, places)
            store(passes.close[0], here, fused(fused(x, gain, x), w, load(like, passes.close[0], here)))
            if k + d * W >= 0:
                gain = gain + load(like, edges.inside, k + d * W)
            store(passes.close[1], here, fused(rate * gain, w, load(like, passes.close[1], here)))
        store(known, (REACH + d) * W, taken)
        at = (NEAR + 1 + REACH + d) * W
        store(known, at, load(like, known, at) + places)
