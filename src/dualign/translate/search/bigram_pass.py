"""The pass with one word of context on either side, complete, as products of matrices.

For a node of the forest let M[w, x] be the best score of its derivations with first word w and last word x,
under the bigram part of the model, bounded over all that is longer (`upper`), and for the first word over
whatever is before it. With `J[x, w] = log p(w|x) − upper(w) ≤ 0`, a step from a and b has, in the max-plus
algebra,

    M = M_a ⊗ J ⊗ M_b,        O_a = O ⊗ (J ⊗ M_b)ᵀ,        O_b = (M_a ⊗ J)ᵀ ⊗ O

with O the outside scores. Multiplying from one side first costs |F_a| |L_a| |F_b| + |F_a| |F_b| |L_b| for F
first and L last words, not the product of all four (the hook trick of Huang, Zhang & Gildea 2005).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.translate.search.intersection import Table, hashed
from dualign.translate.search.translation_problem import Forest


class Boundaries(NamedTuple):
    """First and last words of nodes: node n has first words `first[first_begin[n] : first_begin[n + 1]]`,
    ascending, last words alike, and matrix cells `cells[n] .. cells[n + 1]`, a row for each first word."""

    first_begin: Array
    first: Array
    last_begin: Array
    last: Array
    cells: Array


@kernel()
def boundary_words(forest: Forest, W: int) -> tuple[Boundaries, float]:
    """Boundaries of the nodes, and the number of operations of a pass over them."""
    N = len(forest.word)
    blocks = (W + 63) // 64
    one = np.uint64(1)
    sets = np.zeros((2, N, blocks), np.uint64)
    begins = np.zeros((2, N + 1), np.int64)
    for n in range(N):
        w = forest.word[n]
        if w >= 0:
            sets[0, n, w >> 6] = sets[1, n, w >> 6] = one << np.uint64(w & 63)
        for s in range(forest.begin[n], forest.begin[n + 1]):
            a, b = forest.left[s], forest.right[s]
            for k in range(blocks):
                sets[0, n, k] |= sets[0, a, k]
                sets[1, n, k] |= sets[1, a if b < 0 else b, k]
        for side in range(2):
            count = 0
            for w in range(W):
                if sets[side, n, w >> 6] >> np.uint64(w & 63) & one:
                    count += 1
            begins[side, n + 1] = begins[side, n] + count
    members = np.empty((2, max(begins[0, N], begins[1, N])), np.int32)
    cells = np.zeros(N + 1, np.int64)
    for n in range(N):
        for side in range(2):
            at = begins[side, n]
            for w in range(W):
                if sets[side, n, w >> 6] >> np.uint64(w & 63) & one:
                    members[side, at] = w
                    at += 1
        cells[n + 1] = cells[n] + (begins[0, n + 1] - begins[0, n]) * (begins[1, n + 1] - begins[1, n])
    work = 0.0
    for n in range(N):
        for s in range(forest.begin[n], forest.begin[n + 1]):
            a, b = forest.left[s], forest.right[s]
            if b < 0:
                continue
            fa, la = float(begins[0, a + 1] - begins[0, a]), begins[1, a + 1] - begins[1, a]
            fb, lb = begins[0, b + 1] - begins[0, b], begins[1, b + 1] - begins[1, b]
            work += fa * la * fb + fa * fb * lb
    words = Boundaries(begins[0], members[0, : begins[0, N]], begins[1], members[1, : begins[1, N]], cells)
    return words, work


@kernel()
def bigram_pass(
    forest: Forest,
    J: Array,
    score: Array,
    words: Boundaries,
    reach: Array,
    threshold: float,
    inside: Array,
    outside: Array,
) -> float:
    """Fill `inside` and `outside`, float64 (cells); returns the bound, the goal's score.

    `J` float64 (W, W), −inf where w cannot follow x; `score` float64 (W): that of each word by itself. Cells
    that with the most that the rest can add, `reach` float64 (N), stay below the threshold become −inf.
    """
    first_begin, first, last_begin, last, cells = words
    N, W = len(forest.word), len(J)
    inside[:] = -np.inf
    outside[:] = -np.inf
    hook = np.empty((W, W))
    spot = np.empty(W, np.int64)
    for n in range(N):
        if forest.word[n] >= 0:
            inside[cells[n]] = forest.weight[n] + score[forest.word[n]]
            continue
        L = last_begin[n + 1] - last_begin[n]
        for s in range(forest.begin[n], forest.begin[n + 1]):
            a, b = forest.left[s], forest.right[s]
            weight = forest.step_weight[s]
            for i in range(first_begin[n], first_begin[n + 1]):
                spot[first[i]] = (i - first_begin[n]) * L
            La = last_begin[a + 1] - last_begin[a]
            if b < 0:
                for i in range(first_begin[a], first_begin[a + 1]):
                    row = cells[n] + spot[first[i]]
                    at = cells[a] + (i - first_begin[a]) * La
                    k = last_begin[n]
                    for j in range(last_begin[a], last_begin[a + 1]):
                        while last[k] < last[j]:
                            k += 1
                        cell = row + k - last_begin[n]
                        inside[cell] = max(inside[cell], weight + inside[at + j - last_begin[a]])
                continue
            attach(J, words, inside, a, b, hook)
            Fb = first_begin[b + 1] - first_begin[b]
            Lb = last_begin[b + 1] - last_begin[b]
            for i in range(first_begin[a], first_begin[a + 1]):
                row = cells[n] + spot[first[i]]
                for l in range(Fb):
                    value = weight + hook[i - first_begin[a], l]
                    if value == -np.inf:
                        continue
                    at = cells[b] + l * Lb
                    k = last_begin[n]
                    for j in range(Lb):
                        x = last[last_begin[b] + j]
                        while last[k] < x:
                            k += 1
                        cell = row + k - last_begin[n]
                        inside[cell] = max(inside[cell], value + inside[at + j])
        for cell in range(cells[n], cells[n + 1]):
            if not inside[cell] + reach[n] >= threshold:
                inside[cell] = -np.inf
    outside[cells[N - 1] : cells[N]] = 0.0
    rest = np.empty((W, W))
    for n in range(N - 1, -1, -1):
        L = last_begin[n + 1] - last_begin[n]
        if outside[cells[n] : cells[n + 1]].max() == -np.inf:
            continue
        for s in range(forest.begin[n], forest.begin[n + 1]):
            a, b = forest.left[s], forest.right[s]
            weight = forest.step_weight[s]
            for i in range(first_begin[n], first_begin[n + 1]):
                spot[first[i]] = (i - first_begin[n]) * L
            La = last_begin[a + 1] - last_begin[a]
            Fa = first_begin[a + 1] - first_begin[a]
            if b < 0:
                for i in range(Fa):
                    row = cells[n] + spot[first[first_begin[a] + i]]
                    k = last_begin[n]
                    for j in range(La):
                        while last[k] < last[last_begin[a] + j]:
                            k += 1
                        cell = cells[a] + i * La + j
                        outside[cell] = max(outside[cell], weight + outside[row + k - last_begin[n]])
                continue
            attach(J, words, inside, a, b, hook)
            Fb = first_begin[b + 1] - first_begin[b]
            Lb = last_begin[b + 1] - last_begin[b]
            for i in range(Fa):
                row = cells[n] + spot[first[first_begin[a] + i]]
                for l in range(Fb):
                    top = -np.inf
                    value = weight + hook[i, l]
                    at = cells[b] + l * Lb
                    k = last_begin[n]
                    if value == -np.inf:
                        rest[i, l] = -np.inf
                        continue
                    for j in range(Lb):
                        if inside[at + j] == -np.inf:
                            continue
                        x = last[last_begin[b] + j]
                        while last[k] < x:
                            k += 1
                        around = outside[row + k - last_begin[n]]
                        top = max(top, around + inside[at + j])
                        outside[at + j] = max(outside[at + j], value + around)
                    rest[i, l] = top + weight
                for j in range(La):
                    if inside[cells[a] + i * La + j] == -np.inf:
                        continue
                    x = last[last_begin[a] + j]
                    top = -np.inf
                    for l in range(Fb):
                        top = max(top, rest[i, l] + J[x, first[first_begin[b] + l]])
                    cell = cells[a] + i * La + j
                    outside[cell] = max(outside[cell], top)
    return inside[cells[N - 1] : cells[N]].max()


@kernel()
def attach(J: Array, words: Boundaries, inside: Array, a: int, b: int, hook: Array) -> None:
    """`hook[i, l] = max_x M_a[i, x] + J[x, l]`, over first words i of a, last words x of a, first words l
    of b."""
    first_begin, first, last_begin, last, cells = words
    La = last_begin[a + 1] - last_begin[a]
    Fb = first_begin[b + 1] - first_begin[b]
    for i in range(first_begin[a + 1] - first_begin[a]):
        hook[i, :Fb] = -np.inf
        for j in range(La):
            value = inside[cells[a] + i * La + j]
            if value == -np.inf:
                continue
            x = last[last_begin[a] + j]
            for l in range(Fb):
                hook[i, l] = max(hook[i, l], value + J[x, first[first_begin[b] + l]])


@kernel()
def bigram_table(
    words: Boundaries,
    inside: Array,
    outside: Array,
    left: Array,
    right: Array,
    left_shift: Array,
    right_shift: Array,
    threshold: float,
) -> Table:
    """The cells that can reach the threshold, as a table for the next pass.

    `left`, `right`: the states of each word by itself when one word of context is kept. `left_shift` and
    `right_shift` are added to outside scores, for each first and last word.
    """
    first_begin, first, last_begin, last, cells = words
    N = len(cells) - 1
    kept = 0
    for cell in range(cells[N]):
        kept += inside[cell] + outside[cell] >= threshold
    size = 16
    while size < 2 * kept:
        size *= 2
    slot = np.full(size, -1, np.int32)
    node, lefts, rights = np.empty(kept, np.int32), np.empty(kept, np.int32), np.empty(kept, np.int32)
    closed, value = np.ones(kept, np.bool_), np.empty(kept)
    reach = np.full(N, -np.inf)
    at = 0
    for n in range(N):
        cell = cells[n]
        for i in range(first_begin[n], first_begin[n + 1]):
            for j in range(last_begin[n], last_begin[n + 1]):
                if inside[cell] + outside[cell] >= threshold:
                    node[at], lefts[at], rights[at] = n, left[first[i]], right[last[j]]
                    value[at] = outside[cell] + left_shift[first[i]] + right_shift[last[j]]
                    reach[n] = max(reach[n], value[at])
                    h = hashed(n, lefts[at], True, rights[at], size - 1)
                    while slot[h] >= 0:
                        h = (h + 1) & (size - 1)
                    slot[h] = at
                    at += 1
                cell += 1
    return Table(slot, node, lefts, closed, rights, value, reach)
