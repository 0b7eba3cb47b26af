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
from dualign.translate.forest.binary_forest import Forest
from dualign.translate.search.adjacency import boundary_sets, is_member


class Boundaries(NamedTuple):
    """First and last words of nodes: node n has first words `first[first_begin[n] : first_begin[n + 1]]`,
    ascending, last words likewise, and matrix cells `cells[n] .. cells[n + 1]`, a row for each first word."""

    first_begin: Array
    first: Array
    last_begin: Array
    last: Array
    cells: Array


class Scratch(NamedTuple):
    """`hook` and `rest` float64 (W, W); `row` int64 (W): where the cells with a first word begin, in the
    node at hand."""

    hook: Array
    rest: Array
    row: Array


@kernel()
def boundary_words(forest: Forest, W: int) -> tuple[Boundaries, float]:
    """Boundaries of the nodes, and the number of operations of a pass over them."""
    N = len(forest.word)
    sets = boundary_sets(forest, W)
    begins = np.zeros((2, N + 1), np.int64)
    for side in range(2):
        for n in range(N):
            begins[side, n + 1] = begins[side, n]
            for w in range(W):
                begins[side, n + 1] += is_member(sets[side, n], w)
    members = np.empty((2, max(begins[0, N], begins[1, N])), np.int32)
    for side in range(2):
        at = 0
        for n in range(N):
            for w in range(W):
                if is_member(sets[side, n], w):
                    members[side, at] = w
                    at += 1
    F, L = np.diff(begins[0]), np.diff(begins[1])
    cells = np.zeros(N + 1, np.int64)
    cells[1:] = np.cumsum(F * L)
    work = 0.0
    for s in range(len(forest.left)):
        a, b = forest.left[s], forest.right[s]
        if b >= 0:
            work += float(F[a]) * L[a] * F[b] + float(F[a]) * F[b] * L[b]
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

    `J` float64 (W, W), −inf where w cannot follow x; `score` float64 (W): that of each word by itself.
    Cells that with the most that the rest can add, `reach` float64 (N), stay below the threshold become −inf.
    """
    cells = words.cells
    N, W = len(forest.word), len(J)
    inside[:] = -np.inf
    outside[:] = -np.inf
    scratch = Scratch(np.empty((W, W)), np.empty((W, W)), np.empty(W, np.int64))
    for n in range(N):
        if forest.word[n] >= 0:
            inside[cells[n]] = forest.weight[n] + score[forest.word[n]]
            continue
        set_rows(words, n, scratch.row)
        for s in range(forest.begin[n], forest.begin[n + 1]):
            if forest.right[s] < 0:
                pass_on(words, n, forest.left[s], forest.step_weight[s], inside, scratch.row, True)
            else:
                attach(J, words, inside, forest.left[s], forest.right[s], scratch.hook)
                join_inside(forest, words, n, s, inside, scratch)
        for cell in range(cells[n], cells[n + 1]):
            if not inside[cell] + reach[n] >= threshold:
                inside[cell] = -np.inf
    outside[cells[N - 1] : cells[N]] = 0.0
    for n in range(N - 1, -1, -1):
        if outside[cells[n] : cells[n + 1]].max() == -np.inf:
            continue
        set_rows(words, n, scratch.row)
        for s in range(forest.begin[n], forest.begin[n + 1]):
            a, b = forest.left[s], forest.right[s]
            if b < 0:
                pass_on(words, n, a, forest.step_weight[s], outside, scratch.row, False)
            else:
                attach(J, words, inside, a, b, scratch.hook)
                outside_right(forest, words, n, s, inside, outside, scratch)
                outside_left(J, words, a, b, inside, outside, scratch.rest)
    return inside[cells[N - 1] : cells[N]].max()


@kernel(allocates=False)
def set_rows(words: Boundaries, n: int, row: Array) -> None:
    """`row[w]`: the first cell of node n with first word w."""
    width = words.last_begin[n + 1] - words.last_begin[n]
    for i in range(words.first_begin[n], words.first_begin[n + 1]):
        row[words.first[i]] = words.cells[n] + (i - words.first_begin[n]) * width


@kernel(allocates=False)
def pass_on(words: Boundaries, n: int, a: int, weight: float, value: Array, row: Array, up: bool) -> None:
    """A step from a alone: scores go up from its cells to those of n, or down."""
    first, last = words.first, words.last
    cell = words.cells[a]
    for i in range(words.first_begin[a], words.first_begin[a + 1]):
        k = words.last_begin[n]
        for j in range(words.last_begin[a], words.last_begin[a + 1]):
            while last[k] < last[j]:
                k += 1
            above = row[first[i]] + k - words.last_begin[n]
            if up:
                value[above] = max(value[above], weight + value[cell])
            else:
                value[cell] = max(value[cell], weight + value[above])
            cell += 1


@kernel(allocates=False)
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


@kernel(allocates=False)
def join_inside(forest: Forest, words: Boundaries, n: int, s: int, inside: Array, scratch: Scratch) -> None:
    """`M[i, j] = max_l weight + hook[i, l] + M_b[l, j]` for a step with two parts."""
    first_begin, first, last_begin, last, cells = words
    a, b = forest.left[s], forest.right[s]
    Lb = last_begin[b + 1] - last_begin[b]
    for i in range(first_begin[a], first_begin[a + 1]):
        row = scratch.row[first[i]]
        for l in range(first_begin[b + 1] - first_begin[b]):
            value = forest.step_weight[s] + scratch.hook[i - first_begin[a], l]
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


@kernel(allocates=False)
def outside_right(
    forest: Forest, words: Boundaries, n: int, s: int, inside: Array, outside: Array, scratch: Scratch
) -> None:
    """`O_b[l, j] = max_i weight + hook[i, l] + O[i, j]`, and for the left part
    `rest[i, l] = max_j O[i, j] + M_b[l, j] + weight`."""
    first_begin, first, last_begin, last, cells = words
    a, b, weight = forest.left[s], forest.right[s], forest.step_weight[s]
    Lb = last_begin[b + 1] - last_begin[b]
    for i in range(first_begin[a + 1] - first_begin[a]):
        row = scratch.row[first[first_begin[a] + i]]
        for l in range(first_begin[b + 1] - first_begin[b]):
            value = weight + scratch.hook[i, l]
            scratch.rest[i, l] = -np.inf
            if value == -np.inf:
                continue
            top = -np.inf
            k = last_begin[n]
            for j in range(Lb):
                at = cells[b] + l * Lb + j
                if inside[at] == -np.inf:
                    continue
                x = last[last_begin[b] + j]
                while last[k] < x:
                    k += 1
                around = outside[row + k - last_begin[n]]
                top = max(top, around + inside[at])
                outside[at] = max(outside[at], value + around)
            scratch.rest[i, l] = top + weight


@kernel(allocates=False)
def outside_left(
    J: Array, words: Boundaries, a: int, b: int, inside: Array, outside: Array, rest: Array
) -> None:
    """`O_a[i, x] = max_l rest[i, l] + J[x, l]`."""
    first_begin, first, last_begin, last, cells = words
    La = last_begin[a + 1] - last_begin[a]
    for i in range(first_begin[a + 1] - first_begin[a]):
        for j in range(La):
            cell = cells[a] + i * La + j
            if inside[cell] == -np.inf:
                continue
            x = last[last_begin[a] + j]
            top = -np.inf
            for l in range(first_begin[b + 1] - first_begin[b]):
                top = max(top, rest[i, l] + J[x, first[first_begin[b] + l]])
            outside[cell] = max(outside[cell], top)


@kernel()
def bigram_table(
    words: Boundaries,
    inside: Array,
    outside: Array,
    state: Array,
    left_shift: Array,
    right_shift: Array,
    threshold: float,
) -> tuple[Array, Array]:
    """The cells that can reach the threshold: keys and outside scores for `intersection.Table`.

    `state`: those of each word by itself when one word of context is kept. `left_shift` and `right_shift` are
    added to outside scores, for each first and last word.
    """
    first_begin, first, last_begin, last, cells = words
    N = len(cells) - 1
    kept = 0
    for cell in range(cells[N]):
        kept += inside[cell] + outside[cell] >= threshold
    key, value = np.ones((kept, 4), np.int32), np.empty(kept)
    at = 0
    for n in range(N):
        cell = cells[n]
        for i in range(first_begin[n], first_begin[n + 1]):
            for j in range(last_begin[n], last_begin[n + 1]):
                if inside[cell] + outside[cell] >= threshold:
                    key[at, 0], key[at, 1], key[at, 3] = n, state[first[i], 0], state[last[j], 2]
                    value[at] = outside[cell] + left_shift[first[i]] + right_shift[last[j]]
                    at += 1
                cell += 1
    return key, value
