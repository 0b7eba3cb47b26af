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

import numpy as np

from dualign.core.jit import kernel

__all__ = ["FAR", "FLOOR", "NULL", "NULL_FLOOR", "REACH", "START", "STARTS", "WEIGHTS", "forward_backward", "padded"]

REACH = 5
FAR = 2 * REACH + 1
START = FAR + 1
STARTS = 10
NULL = START + STARTS + 1
FLOOR = NULL + 1
NULL_FLOOR = FLOOR + 1
WEIGHTS = NULL_FLOOR + 1


@kernel()
def padded(length):
    """Row length that keeps vector loops free of remainders."""
    return max(16, (length + 7) & ~7)


@kernel()
def band(S, u, out, weights, constant):
    """`out[i] = constant + Σ_d (w(d) − far) · u[i − d]`; `u` is stored from index REACH on, zero around."""
    far = weights[FAR]
    c0 = weights[0] - far
    c1 = weights[1] - far
    c2 = weights[2] - far
    c3 = weights[3] - far
    c4 = weights[4] - far
    c5 = weights[5] - far
    c6 = weights[6] - far
    c7 = weights[7] - far
    c8 = weights[8] - far
    c9 = weights[9] - far
    c10 = weights[10] - far
    # Slices, not u[i + d]: their index is the loop variable itself, so no sign check stops vectorisation.
    v0 = u[0:S]
    v1 = u[1 : S + 1]
    v2 = u[2 : S + 2]
    v3 = u[3 : S + 3]
    v4 = u[4 : S + 4]
    v5 = u[5 : S + 5]
    v6 = u[6 : S + 6]
    v7 = u[7 : S + 7]
    v8 = u[8 : S + 8]
    v9 = u[9 : S + 9]
    v10 = u[10 : S + 10]
    for i in range(S):
        out[i] = (
            constant
            + c0 * v10[i]
            + c1 * v9[i]
            + c2 * v8[i]
            + c3 * v7[i]
            + c4 * v6[i]
            + c5 * v5[i]
            + c6 * v4[i]
            + c7 * v3[i]
            + c8 * v2[i]
            + c9 * v1[i]
            + c10 * v0[i]
        )


@kernel()
def band_back(S, u, out, weights, constant):
    """`out[i'] = constant + Σ_d (w(d) − far) · u[i' + d]`: the transpose of `band`."""
    far = weights[FAR]
    c0 = weights[0] - far
    c1 = weights[1] - far
    c2 = weights[2] - far
    c3 = weights[3] - far
    c4 = weights[4] - far
    c5 = weights[5] - far
    c6 = weights[6] - far
    c7 = weights[7] - far
    c8 = weights[8] - far
    c9 = weights[9] - far
    c10 = weights[10] - far
    v0 = u[0:S]
    v1 = u[1 : S + 1]
    v2 = u[2 : S + 2]
    v3 = u[3 : S + 3]
    v4 = u[4 : S + 4]
    v5 = u[5 : S + 5]
    v6 = u[6 : S + 6]
    v7 = u[7 : S + 7]
    v8 = u[8 : S + 8]
    v9 = u[9 : S + 9]
    v10 = u[10 : S + 10]
    for i in range(S):
        out[i] = (
            constant
            + c0 * v0[i]
            + c1 * v1[i]
            + c2 * v2[i]
            + c3 * v3[i]
            + c4 * v4[i]
            + c5 * v5[i]
            + c6 * v6[i]
            + c7 * v7[i]
            + c8 * v8[i]
            + c9 * v9[i]
            + c10 * v10[i]
        )


@kernel()
def transition(S, P, weights, leave, start):
    """`leave[i'] = (1 − p0) / Z(i')` and `start[i]`, the distribution of the first position; 0 in the padding."""
    word = np.float32(1) - weights[NULL]
    far = weights[FAR]
    z = np.float32(0)
    for i in range(S):
        z += weights[START + min(i, STARTS)]
    z = np.float32(1) / z
    inside = np.float32(0)
    for d in range(REACH, min(2 * REACH + 1, REACH + S)):
        inside += weights[d] - far
    everywhere = far * np.float32(S)
    for i in range(S):
        start[i] = weights[START + min(i, STARTS)] * z
        leave[i] = word / (everywhere + inside)
        # The window slides one to the right: jump −(i+1) comes within it, jump S−1−i leaves the sentence.
        if i < REACH:
            inside += weights[REACH - 1 - i] - far
        if S - 1 - i <= REACH:
            inside -= weights[REACH + S - 1 - i] - far
    for i in range(S, P):
        start[i] = 0
        leave[i] = 0


@kernel()
def forward_backward(R, S, E, null, weights, work, lines, expected):
    """Posteriors of one chain; returns log p(words).

    `E` float32 (≥R, ≥P) with `P = padded(S)` and zeros in the padding; `null` float32 (R).
    `work` float32 (3, ≥R, ≥P): afterwards `work[0, j, i] = p(b_j = i | words)`.
    `lines` float32 (≥7, ≥max(P, R) + 2·REACH), scratch.
    `expected` float64 (1 + FAR + 1, ≥P): if it has rows, row 0 gains the expected number of departures
    from each position, rows 1..11 those of jump d (summed over their row by the caller), row 12 the start.
    """
    P = padded(S)
    A, M, B = work[0], work[1], work[2]
    u, leave, start, scale, out = lines[0], lines[1], lines[2], lines[3], lines[4]
    transition(S, P, weights, leave, start)
    p0 = weights[NULL]
    far = weights[FAR]
    word = np.float32(1) - p0
    likelihood = 0.0
    for i in range(REACH):
        u[i] = 0
        u[P + REACH + i] = 0
    inner = u[REACH : REACH + P]

    q = p0 * null[0]
    z = np.float32(0)
    a, m, e = A[0], M[0], E[0]
    for i in range(P):
        x = start[i] * word * e[i]
        a[i] = x
        x += start[i] * q
        m[i] = x
        z += x
    likelihood += np.log(z)
    z = np.float32(1) / z
    for i in range(P):
        a[i] *= z
        m[i] *= z
    for j in range(1, R):
        before = m
        a, m, e = A[j], M[j], E[j]
        z = np.float32(0)
        for i in range(P):
            x = before[i] * leave[i]
            inner[i] = x
            z += x
        band(P, u, out, weights, far * z)
        q = p0 * null[j]
        z = np.float32(0)
        for i in range(P):
            x = out[i] * e[i]
            a[i] = x
            x += q * before[i]
            m[i] = x
            z += x
        likelihood += np.log(z)
        z = np.float32(1) / z
        scale[j] = z
        for i in range(P):
            a[i] *= z
            m[i] *= z

    collect = expected.shape[0] > 0
    b = B[R - 1]
    for i in range(P):
        b[i] = 1
    for j in range(R - 1, 0, -1):
        after, e, before = b, E[j], M[j - 1]
        b = B[j - 1]
        r = scale[j]
        z = np.float32(0)
        for i in range(P):
            x = e[i] * after[i] * r
            inner[i] = x
            z += x
        band_back(P, u, out, weights, far * z)
        q = p0 * null[j] * r
        for i in range(P):
            out[i] *= leave[i]
        for i in range(P):
            b[i] = q * after[i] + out[i]
        if collect:
            total = expected[0]
            for i in range(P):
                total[i] += before[i] * out[i]
            for i in range(P):
                out[i] = before[i] * leave[i]
            for d in range(2 * REACH + 1):
                total = expected[1 + d]
                shifted = u[d : d + P]
                for i in range(P):
                    total[i] += out[i] * shifted[i]
    if collect:
        total = expected[FAR + 1]
        for i in range(P):
            total[i] += M[0, i] * B[0, i]
    for j in range(R):
        a, b = A[j], B[j]
        for i in range(P):
            a[i] *= b[i]
    return likelihood
