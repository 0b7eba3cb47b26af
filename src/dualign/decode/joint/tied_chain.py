"""One direction's chain together with the other direction's links, free but consistent: one half of the dual.

Rows i = 1..n pick columns a_i ∈ 0..m (0 = null); y(i, j) ∈ {0, 1} are the links of the other direction, not
chained, each with a weight. The kernels maximise

    Σ_i θ(a_{i−1}, i, a_i) + Σ_i wx(i, a_i) + Σ_{y(i,j)=1} wy(i, j) + costs of agreement,

where a link of either kind costs 0 if its counterpart is exact, α if it is adjacent, γ if there is none
(−∞ forbids). That is a Viterbi recursion with 16 states for each (i, j), O(n m²), of which only the
transitions with |j − j'| ≤ 2 look at states one by one. Only the cells that are still allowed are visited, so
the cost falls with pruning.

**States** (docs/agreement.md). A row i that picks column j > 0 is in one of 16 states (u, S):

- S ⊆ {−1, 0, 1}: the offsets k for which the counterpart y(i, j + k) is chosen, links of the other direction
  that this row supports;
- u: where the support of the row's own link is, y(i + u, j) = 1, u ∈ {−1, 0, 1}, or nowhere (`NONE`, soft
  agreement only). A column holds one y, so u = 0 ⇔ 0 ∈ S.

Neighbouring rows must agree. With d = j − j' for row i − 1 in column j': u = −1 ⇔ d ∈ S',
u' = +1 ⇔ −d ∈ S (if |d| ≤ 1: otherwise the link lies outside the other row's window), and no column is in
both sets.

**Links outside the window** of row i (|j − a_i| > 1, or a_i = 0) have no support. They are chosen freely
where that pays, `f = max(y0, y1 + γ)`, and the sum over the row is part of every state; a neighbour that
requires one of them to be there, or not to be, pays the difference. Where both rows i − 1 and i + 1 may pick
j, each pays half of it: they may require the same thing, and it must not be paid twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._search.dual import IMPOSSIBLE, NEVER


class TiedChain(NamedTuple):
    """Weights and charts of one direction; (n + 1, m + 1) unless said otherwise, row and column 0 = null.

    `wx`: weight of a_i = j; `y1`, `y0`: of y(i, j) chosen and not chosen; `free`: of y(i, j) without support,
    the better of both; `present`, `absent`: what a neighbour pays for requiring y(i, j), or its absence,
    outside row i's window. `local`, `best`, `after` float64 (…, 16): a state's own weight, the best way to it
    including that, the best way on from it. `back` int32 (…, 16): the state before, as 16 · j + s.
    `columns` int32, `width` int32 (n + 1): the columns that row i may pick, null apart; `states` uint8
    (…, 16), `number` uint8: the states that are possible there.
    `x`, `y` uint8: the solution.
    """

    wx: Array
    y1: Array
    y0: Array
    free: Array
    present: Array
    absent: Array
    local: Array
    best: Array
    after: Array
    back: Array
    columns: Array
    width: Array
    states: Array
    number: Array
    x: Array
    y: Array


@part
def new_chain(n: int, m: int) -> TiedChain:
    """Room for n rows and m columns."""
    shape, chart = (n + 1, m + 1), (n + 1, m + 1, STATES)
    return TiedChain(
        np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape),
        np.empty(chart), np.empty(chart), np.empty(chart), np.empty(chart, np.int32),
        np.empty(shape, np.int32), np.zeros(n + 1, np.int32), np.empty(chart, np.uint8),
        np.zeros(shape, np.uint8), np.zeros(shape, np.uint8), np.zeros(shape, np.uint8),
    )  # fmt: skip


compiled_new_chain = kernel(new_chain)


@part(allocates=False)
def share_of(allowed: Array, i: int, j: int) -> float:
    """The part of what y(i, j) costs that one neighbour pays: ½ where there may be two."""
    n = allowed.shape[0] - 1
    return 0.5 if 1 < i < n and allowed[i - 1, j] and allowed[i + 1, j] else 1.0


@part
def list_states(chain: TiedChain, allowed: Array, alpha: float, gamma: float) -> None:
    """Weights of all states; lists the possible ones. `allowed` uint8 (n + 1, m + 1): what a_i may be.

    A link that is required although it may have no support counts 0 in `free`: the masks ensure that its row
    can support it.
    """
    n, m = chain.x.shape[0] - 1, chain.x.shape[1] - 1
    for i in range(1, n + 1):
        row = 0.0
        for j in range(1, m + 1):
            z = max(chain.y0[i, j], chain.y1[i, j] + gamma)
            free = z if z > IMPOSSIBLE else 0.0
            share = share_of(allowed, i, j)
            chain.free[i, j] = free
            chain.present[i, j] = share * (chain.y1[i, j] + gamma - free)
            chain.absent[i, j] = share * (chain.y0[i, j] - free)
            row += free
        chain.number[i, 0] = 1 if allowed[i, 0] else 0
        chain.states[i, 0, 0] = 0
        chain.local[i, 0, 0] = row + chain.wx[i, 0]
        width = 0
        for j in range(1, m + 1):
            chain.number[i, j] = 0
            if not allowed[i, j]:
                continue
            list_cell(chain, i, j, row + chain.wx[i, j], alpha, gamma)
            if chain.number[i, j]:
                chain.columns[i, width] = j
                width += 1
        chain.width[i] = width


@part(allocates=False)
def list_cell(chain: TiedChain, i: int, j: int, base: float, alpha: float, gamma: float) -> None:
    """The states of the cell (i, j) and their weights; `base`: those of a_i = j and of the row's free y."""
    n, m = chain.x.shape[0] - 1, chain.x.shape[1] - 1
    for k in range(max(1, j - 1), min(m, j + 1) + 1):
        base -= chain.free[i, k]
    count = 0
    for s in range(STATES):
        u = SUPPORT[s]
        if (u == -1 and i == 1) or (u == 1 and i == n):
            continue
        z = base
        if u != 0:
            z += gamma if u == NONE else alpha
        for k in range(-1, 2):
            if 1 <= j + k <= m:
                z += chain.y1[i, j + k] if OFFSETS[s, k + 1] else chain.y0[i, j + k]
                if OFFSETS[s, k + 1] and k != 0:
                    z += alpha
            elif OFFSETS[s, k + 1]:
                z = NEVER
        if z > IMPOSSIBLE:
            chain.local[i, j, s] = z
            chain.states[i, j, count] = s
            count += 1
    chain.number[i, j] = count


@part
def forward(chain: TiedChain, theta: Array) -> tuple[float, int]:
    """Fill `best` and `back`; returns the maximum and its last state, 16 · j + s (NEVER if there is none)."""
    n, m = chain.x.shape[0] - 1, chain.x.shape[1] - 1
    best = chain.best
    far, which = np.empty(m + 1), np.zeros(m + 1, np.int32)
    for i in range(1, n + 1):
        leave_row(chain, i - 1, far, which)
        enter_from_afar(chain, i, theta[i - 1], far, which)
        enter_from_nearby(chain, i, theta[i - 1])
        for c in range(chain.width[i]):
            j = chain.columns[i, c]
            for e in range(chain.number[i, j]):
                s = chain.states[i, j, e]
                best[i, j, s] = max(NEVER, best[i, j, s] + chain.local[i, j, s])
    value, last = NEVER, 0
    if chain.number[n, 0]:
        value = best[n, 0, 0]
    for c in range(chain.width[n]):
        j = chain.columns[n, c]
        for e in range(chain.number[n, j]):
            s = chain.states[n, j, e]
            if best[n, j, s] > value:
                value, last = best[n, j, s], 16 * j + s
    return value, last


@part(allocates=False)
def leave_row(chain: TiedChain, i: int, far: Array, which: Array) -> None:
    """`far[j]`, `which[j]`: the best way to a_i = j, and its state, for next rows that do not look at it."""
    far[0] = 0.0 if i == 0 else chain.best[i, 0, 0] if chain.number[i, 0] else NEVER
    for p in range(chain.width[i]):
        j = chain.columns[i, p]
        present, absent = chain.present[i + 1, j], chain.absent[i + 1, j]
        far[j] = NEVER
        which[j] = 0
        for e in range(chain.number[i, j]):
            s = chain.states[i, j, e]
            z = chain.best[i, j, s] + (present if SUPPORT[s] == 1 else absent)
            if z > far[j]:
                far[j] = z
                which[j] = 16 * j + s


@part(allocates=False)
def enter_from_afar(chain: TiedChain, i: int, step: Array, far: Array, which: Array) -> None:
    """The best ways to the states of row i, their own weights apart, from columns over two away and from
    null; for null itself, from anywhere."""
    if chain.number[i, 0]:
        z, origin = far[0] + step[0, 0], 0
        for p in range(chain.width[i - 1]):
            before = chain.columns[i - 1, p]
            if far[before] + step[before, 0] > z:
                z, origin = far[before] + step[before, 0], before
        chain.best[i, 0, 0] = max(NEVER, z + chain.local[i, 0, 0])
        chain.back[i, 0, 0] = which[origin]
    for c in range(chain.width[i]):
        j = chain.columns[i, c]
        present, absent = chain.present[i - 1, j], chain.absent[i - 1, j]  # both 0 for i = 1
        z, origin = far[0] + step[0, j], 0
        for p in range(chain.width[i - 1]):
            before = chain.columns[i - 1, p]
            if (before < j - 2 or before > j + 2) and far[before] + step[before, j] > z:
                z, origin = far[before] + step[before, j], before
        for e in range(chain.number[i, j]):
            s = chain.states[i, j, e]
            chain.best[i, j, s] = z + (present if SUPPORT[s] == -1 else absent)
            chain.back[i, j, s] = which[origin]


@part(allocates=False)
def enter_from_nearby(chain: TiedChain, i: int, step: Array) -> None:
    """The same from columns at most two away, whose states must fit."""
    best = chain.best
    for c in range(chain.width[i]):
        j = chain.columns[i, c]
        present, absent = chain.present[i - 1, j], chain.absent[i - 1, j]
        for p in range(chain.width[i - 1]):
            before = chain.columns[i - 1, p]
            d = j - before
            if d < -2 or d > 2:
                continue
            outside = abs(d) == 2
            for e in range(chain.number[i - 1, before]):
                r = chain.states[i - 1, before, e]
                z = best[i - 1, before, r] + step[before, j]
                if outside:
                    z += chain.present[i, before] if SUPPORT[r] == 1 else chain.absent[i, before]
                for q in range(chain.number[i, j]):
                    s = chain.states[i, j, q]
                    if not FITS[d + 2, r, s]:
                        continue
                    w = z + (present if SUPPORT[s] == -1 else absent) if outside else z
                    if w > best[i, j, s]:
                        best[i, j, s] = w
                        chain.back[i, j, s] = 16 * before + r


@part
def trace_back(chain: TiedChain, last: int, gamma: float) -> None:
    """The solution that ends in the state `last`, into `x` and `y`."""
    n, m = chain.x.shape[0] - 1, chain.x.shape[1] - 1
    chain.x[:] = 0
    chain.y[:] = 0
    j, s = last // 16, last % 16
    after = support_after = 0
    for i in range(n, 0, -1):
        for k in range(1, m + 1):
            chain.y[i, k] = chain.y1[i, k] + gamma > chain.y0[i, k]
        if j > 0:
            for k in range(max(1, j - 1), min(m, j + 1) + 1):
                chain.y[i, k] = OFFSETS[s, k - j + 1]
        chain.x[i, j] = 1
        origin = chain.back[i, j, s]
        before, r = origin // 16, origin % 16
        # Outside this row's window, its neighbours' supports decide.
        if i > 1 and before > 0 and not (j > 0 and abs(before - j) <= 1):
            chain.y[i, before] = SUPPORT[r] == 1
        if after > 0 and not (j > 0 and abs(after - j) <= 1):
            chain.y[i, after] = support_after == -1
        after, support_after = j, SUPPORT[s]
        j, s = before, r


@part
def backward(chain: TiedChain, theta: Array) -> None:
    """Fill `after`: the best that can follow each state, the mirror image of `forward`."""
    n, m = chain.x.shape[0] - 1, chain.x.shape[1] - 1
    after = chain.after
    far = np.empty(m + 1)
    after[n] = 0.0
    for i in range(n - 1, 0, -1):
        far[0] = after[i + 1, 0, 0] + chain.local[i + 1, 0, 0] if chain.number[i + 1, 0] else NEVER
        for c in range(chain.width[i + 1]):
            j = chain.columns[i + 1, c]
            present, absent = chain.present[i, j], chain.absent[i, j]
            far[j] = NEVER
            for e in range(chain.number[i + 1, j]):
                s = chain.states[i + 1, j, e]
                z = after[i + 1, j, s] + chain.local[i + 1, j, s]
                far[j] = max(far[j], z + (present if SUPPORT[s] == -1 else absent))
        if chain.number[i, 0]:
            z = far[0] + theta[i, 0, 0]
            for c in range(chain.width[i + 1]):
                j = chain.columns[i + 1, c]
                z = max(z, far[j] + theta[i, 0, j])
            after[i, 0, 0] = max(NEVER, z)
        follow_row(chain, i, theta[i], far)


@part(allocates=False)
def follow_row(chain: TiedChain, i: int, step: Array, far: Array) -> None:
    """`after` of the states of row i, null apart; `far[j]`: the best from a_{i+1} = j on, without a look at
    its state."""
    after = chain.after
    for p in range(chain.width[i]):
        before = chain.columns[i, p]
        z = far[0] + step[before, 0]
        for c in range(chain.width[i + 1]):
            j = chain.columns[i + 1, c]
            if j < before - 2 or j > before + 2:
                z = max(z, far[j] + step[before, j])
        present, absent = chain.present[i + 1, before], chain.absent[i + 1, before]
        for e in range(chain.number[i, before]):
            r = chain.states[i, before, e]
            outer = present if SUPPORT[r] == 1 else absent
            most = z + outer
            for c in range(chain.width[i + 1]):
                j = chain.columns[i + 1, c]
                d = j - before
                if d < -2 or d > 2:
                    continue
                for q in range(chain.number[i + 1, j]):
                    s = chain.states[i + 1, j, q]
                    if not FITS[d + 2, r, s]:
                        continue
                    w = after[i + 1, j, s] + chain.local[i + 1, j, s] + step[before, j]
                    if abs(d) == 2:
                        w += outer + (chain.present[i, j] if SUPPORT[s] == -1 else chain.absent[i, j])
                    most = max(most, w)
            after[i, before, r] = max(NEVER, most)


@part
def cell_values(chain: TiedChain) -> Array:
    """[i, j]: the most that any solution with a_i = j is worth (max-marginals), float64 (n + 1, m + 1)."""
    out = np.full(chain.x.shape, NEVER)
    for i in range(1, chain.x.shape[0]):
        for j in range(chain.x.shape[1]):
            for e in range(chain.number[i, j]):
                s = chain.states[i, j, e]
                out[i, j] = max(out[i, j], chain.best[i, j, s] + chain.after[i, j, s])
    return out


@part
def link_values(chain: TiedChain, value: float, gamma: float) -> Array:
    """[i, j]: at least the most that any solution with y(i, j) = 1 is worth; `value` is the maximum.

    A link without support either is required by a neighbour, and is worth what that neighbour's state is
    worth, or no row requires it: then it costs what choosing it costs.
    """
    n, m = chain.x.shape[0] - 1, chain.x.shape[1] - 1
    out = np.full(chain.x.shape, NEVER)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            z = value + chain.y1[i, j] + gamma - chain.free[i, j]
            out[i, j] = z if z > IMPOSSIBLE else NEVER
    for i in range(1, n + 1):
        for c in range(chain.width[i]):
            j = chain.columns[i, c]
            for e in range(chain.number[i, j]):
                s = chain.states[i, j, e]
                z = chain.best[i, j, s] + chain.after[i, j, s]
                for k in range(max(1, j - 1), min(m, j + 1) + 1):
                    if OFFSETS[s, k - j + 1]:
                        out[i, k] = max(out[i, k], z)
                if abs(SUPPORT[s]) == 1:
                    out[i + SUPPORT[s], j] = max(out[i + SUPPORT[s], j], z)
    return out


NONE = 2
"""Support u of a link that has none."""

_STATES = [(0, S) for S in range(8) if S & 2] + [(u, S) for u in (-1, 1, NONE) for S in range(8) if not S & 2]
STATES = len(_STATES)

SUPPORT = np.array([u for u, _ in _STATES])
"""int64 (16): u of each state."""

OFFSETS = np.array([[S >> (k + 1) & 1 for k in (-1, 0, 1)] for _, S in _STATES])
"""int64 (16, 3): whether −1, 0, 1 are in S."""


def _fits(d: int, before: int, state: int) -> bool:
    support, chosen = int(SUPPORT[state]), {k for k in (-1, 0, 1) if OFFSETS[state][k + 1]}
    support_before, chosen_before = (int(SUPPORT[before]), {k for k in (-1, 0, 1) if OFFSETS[before][k + 1]})
    if abs(d) <= 1 and ((support == -1) != (d in chosen_before) or (support_before == 1) != (-d in chosen)):
        return False
    return not any(k - d in chosen for k in chosen_before)


FITS = np.array([[[_fits(d, p, s) for s in range(STATES)] for p in range(STATES)] for d in (-2, -1, 0, 1, 2)])
"""bool (5, 16, 16): whether the state may follow the state before it, d − 2 columns further on."""
