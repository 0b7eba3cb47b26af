"""The hidden Markov chain: forward-backward and Viterbi in time linear in the number of cells.

A chain has `R` rows (the words that choose) and `S` states (the positions they choose from). With emission
`E[j, i]`, null emission `null[j]` and null probability `p0`, the model of MATH §1 is

    p(words, b) = Π_j p_d(b_j | b_{j−1}) p_t(word_j | b_j),      p_d(i | i') = (1 − p0) w(i − i') / Z(i'),

where `w(d)` is explicit for |d| ≤ 5 and one constant `far` beyond. A null keeps the position: it is entered
with probability `p0` and the next jump starts from where the chain stood. Because the future of a null at
position i equals the future of i itself, only the position mass `M[j, i]` (word or null) is carried.

Beyond the window all jumps weigh the same, so a transition costs 11 multiplications for each state,
not S: `Σ_{i'} u(i') w(i − i') = far · Σ u + Σ_{|d| ≤ 5} (w(d) − far) · u(i − d)`. Rows are padded to a
multiple of 8 floats with emission 0, which keeps LLVM in its vector loops.

Layout of one direction's `weights` (float32[26]): 11 jumps, far, 10 start positions, far start, p0, then
the emission floor of a link and of a null.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel

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
    "padded",
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


@kernel()
def padded(length: int) -> int:
    """Row length that keeps vector loops free of remainders."""
    return max(16, (length + 7) & ~7)


@kernel()
def band(S: int, window: tuple[Array, ...], out: Array, taps: Array, constant: float) -> None:
    """`out[i] = constant + Σ_k taps[k] · u[i + k]`, where `window[k]` is u from k on.

    The windows are cut once a chain: with the loop variable itself as index nothing stops vectorisation.
    """
    u0, u1, u2, u3, u4, u5, u6, u7, u8, u9, u10 = window
    c0, c1, c2, c3, c4, c5 = taps[0], taps[1], taps[2], taps[3], taps[4], taps[5]
    c6, c7, c8, c9, c10 = taps[6], taps[7], taps[8], taps[9], taps[10]
    for i in range(S):
        left = c0 * u0[i] + c1 * u1[i] + c2 * u2[i] + c3 * u3[i] + c4 * u4[i]
        right = c6 * u6[i] + c7 * u7[i] + c8 * u8[i] + c9 * u9[i] + c10 * u10[i]
        out[i] = constant + left + c5 * u5[i] + right


@kernel()
def total(P: int, x: Array) -> Any:
    """Σ x[:P] in a fixed order: eight partial sums, as wide as a vector register, then their sum.

    A compiler may not reorder a sum; the plain loop would wait for each addition before the next.
    """
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = np.float32(0)
    for begin in range(0, P, 8):
        y = x[begin : begin + 8]
        a0 += y[0]
        a1 += y[1]
        a2 += y[2]
        a3 += y[3]
        a4 += y[4]
        a5 += y[5]
        a6 += y[6]
        a7 += y[7]
    return ((a0 + a4) + (a2 + a6)) + ((a1 + a5) + (a3 + a7))


@kernel()
def transition(S: int, P: int, weights: Array, leave: Array, start: Array) -> None:
    """`leave[i'] = (1 − p0) / Z(i')`, and `start[i]` = p(first position is i); 0 in the padding."""
    word = np.float32(1) - weights[NULL]
    far = weights[FAR]
    z = np.float32(0)
    for i in range(S):
        z += weights[START + min(i, STARTS)]
    z = np.float32(1) / z
    for i in range(S):
        start[i] = weights[START + min(i, STARTS)] * z
        first = max(-i, -REACH)
        last = min(S - 1 - i, REACH)
        inside = far * np.float32(S - 1 - last + first)
        for d in range(first + REACH, last + REACH + 1):
            inside += weights[d]
        leave[i] = word / inside
    for i in range(S, P):
        start[i] = 0
        leave[i] = 0


@kernel()
def forward_backward(
    R: int,
    S: int,
    E: Array,
    null: Array,
    weights: Array,
    A: Array,
    M: Array,
    B: Array,
    lines: Array,
    expected: Array,
) -> float:
    """Posteriors of one chain; returns log p(words).

    `E` float32 (R, P) with `P = padded(S)` and zeros in the padding; `null` float32 (≥R).
    `A` float32 (R, P): afterwards the posteriors `A[j, i] = p(b_j = i | words)`. `M`, `B` alike, scratch.
    `lines` float32 (7, ≥max(P, R) + 2·REACH), scratch.
    `expected` float32 (STATISTICS, ≥P): if it has rows, row 0 gains the expected number of real departures
    from each position, row 1 + d the jumps of d − REACH from it divided by their weight, the last the start.
    """
    P = padded(S)
    u, leave, start, scale, out = lines[0], lines[1], lines[2], lines[3], lines[4]
    taps, reversed_taps = lines[5], lines[6]
    transition(S, P, weights, leave, start)
    p0 = weights[NULL]
    far = weights[FAR]
    for k in range(FAR):
        taps[k] = weights[k] - far
        reversed_taps[FAR - 1 - k] = taps[k]
    word = np.float32(1) - p0
    likelihood = 0.0
    for i in range(REACH):
        u[i] = 0
        u[P + REACH + i] = 0
    inner = u[REACH : REACH + P]
    window = (
        u[0:P], u[1 : P + 1], u[2 : P + 2], u[3 : P + 3], u[4 : P + 4], u[5 : P + 5],
        u[6 : P + 6], u[7 : P + 7], u[8 : P + 8], u[9 : P + 9], u[10 : P + 10],
    )  # fmt: skip

    # Rows of A and M are stored without their scale 1/z, which the next row and the posteriors apply.
    q = p0 * null[0]
    a, m, e = A[0], M[0], E[0]
    for i in range(P):
        x = start[i] * word * e[i]
        a[i] = x
        m[i] = x + start[i] * q
    z = total(P, m)
    product = float(z)  # of the scales: a logarithm for each row would cost as much as the row
    r = np.float32(1) / z
    scale[0] = r
    for j in range(1, R):
        before = m
        a, m, e = A[j], M[j], E[j]
        for i in range(P):
            inner[i] = before[i] * leave[i] * r
        band(P, window, out, reversed_taps, far * total(P, inner))
        q = p0 * null[j] * r
        for i in range(P):
            x = out[i] * e[i]
            a[i] = x
            m[i] = x + q * before[i]
        z = total(P, m)
        product *= z
        if product < 1e-250 or product > 1e250:
            likelihood += np.log(product)
            product = 1.0
        r = np.float32(1) / z
        scale[j] = r
    likelihood += np.log(product)

    collect = expected.shape[0] > 0
    b = B[R - 1]
    for i in range(P):
        b[i] = 1
    for j in range(R - 1, 0, -1):
        after, e, before = b, E[j], M[j - 1]
        b = B[j - 1]
        r = scale[j]
        for i in range(P):
            inner[i] = e[i] * after[i] * r
        band(P, window, out, taps, far * total(P, inner))
        q = p0 * null[j] * r
        for i in range(P):
            b[i] = q * after[i] + out[i] * leave[i]
        if collect:
            r = scale[j - 1]
            gained = expected[0]
            for i in range(P):
                x = before[i] * leave[i] * r
                gained[i] += x * out[i]
                out[i] = x
            for d in range(2 * REACH + 1):
                gained = expected[1 + d]
                shifted = u[d : d + P]
                for i in range(P):
                    gained[i] += out[i] * shifted[i]
    if collect:
        gained = expected[STATISTICS - 1]
        for i in range(P):
            gained[i] += M[0, i] * B[0, i] * scale[0]
    for j in range(R):
        a, b = A[j], B[j]
        r = scale[j]
        for i in range(P):
            a[i] *= b[i] * r
    return likelihood
