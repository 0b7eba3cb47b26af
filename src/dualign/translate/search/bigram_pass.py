"""The pass with one word of context on either side, complete, as products of matrices.

For a node of the forest let M[w, x] be the best score of its derivations with first word w and last word x,
where P(x, w) bounds the score of w after x (`state_potentials`), and the first word is not counted yet. A
step from a and b has, in the max-plus algebra,

    M = M_a ⊗ P ⊗ M_b,        O_a = O ⊗ (P ⊗ M_b)ᵀ,        O_b = (M_a ⊗ P)ᵀ ⊗ O

with O the outside scores. Multiplying from one side first costs |F_a| |L_a| |F_b| + |F_a| |F_b| |L_b| for F
first and L last words, not the product of all four (the hook trick of Huang, Zhang & Gildea 2005).

Cells that are provably below a threshold are dropped, and with them the words that no cell of a node has any
more, so that the next pass, with other potentials, is cheaper.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign.translate.search.problem import Forest, boundary_sets, is_member


class Boundaries(NamedTuple):
    """First and last words of nodes: node n has first words `first[first_begin[n] : first_begin[n + 1]]`,
    ascending, last words likewise, and matrix cells `cells[n] .. cells[n + 1]`, a row for each first word."""

    first_begin: Array
    first: Array
    last_begin: Array
    last: Array
    cells: Array


class Scratch(NamedTuple):
    """`join`, `hook` and `rest` float64 (W, W); `line` float64 (W); `row` and `column` int64 (W): the rows
    and columns of a node's matrix for those of a part, −1 where there is none."""

    join: Array
    hook: Array
    rest: Array
    line: Array
    row: Array
    column: Array


class BigramChart(NamedTuple):
    """Matrices `inside` and `outside`, float64 (cells), of `words`; `pairs` float64 (x, w) is P. A pass ends
    early, without a result, when `stop[0]`, uint8, is not 0."""

    forest: Forest
    words: Boundaries
    pairs: Array
    inside: Array
    outside: Array
    scratch: Scratch
    stop: Array


@kernel
def boundary_words(forest: Forest, W: int) -> Boundaries:
    """Return boundaries of the nodes."""
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
    cells = np.zeros(N + 1, np.int64)
    cells[1:] = np.cumsum(np.diff(begins[0]) * np.diff(begins[1]))
    return Boundaries(
        begins[0], members[0, : begins[0, N]].copy(), begins[1], members[1, : begins[1, N]].copy(), cells
    )


def new_chart(forest: Forest, words: Boundaries, pairs: Array, stop: Array) -> BigramChart:
    """Return a chart with room for all cells."""
    W, cells = len(pairs), int(words.cells[-1])
    scratch = Scratch(
        np.empty((W, W)), np.empty((W, W)), np.empty((W, W)), np.empty(W),
        np.empty(W, np.int64), np.empty(W, np.int64),
    )  # fmt: skip
    return BigramChart(forest, words, pairs, np.empty(cells), np.empty(cells), scratch, stop)


@part(allocates=False)
def places(begin: Array, word: Array, n: int, part: int, place: Array) -> None:
    """Where the boundary words of a part stand among those of node n; −1: nowhere."""
    k, end = begin[n], begin[n + 1]
    for i in range(begin[part], begin[part + 1]):
        while k < end and word[k] < word[i]:
            k += 1
        place[i - begin[part]] = k - begin[n] if k < end and word[k] == word[i] else -1


@part(allocates=False)
def raise_row(value: float, row: Array, result: Array, size: int) -> None:
    """`result = max(result, value + row)`, element by element, which processors do several at a time."""
    for j in range(size):
        total = value + row[j]
        result[j] = total if total > result[j] else result[j]


@part(allocates=False)
def best_sum(a: Array, b: Array, size: int) -> float:
    """Return `max_j a[j] + b[j]`: four maxima at a time, which do not wait for each other."""
    p = q = r = s = -np.inf
    j = 0
    while j + 4 <= size:
        p = max(p, a[j] + b[j])
        q = max(q, a[j + 1] + b[j + 1])
        r = max(r, a[j + 2] + b[j + 2])
        s = max(s, a[j + 3] + b[j + 3])
        j += 4
    while j < size:
        p = max(p, a[j] + b[j])
        j += 1
    return max(max(p, q), max(r, s))


@part(allocates=False)
def attach(chart: BigramChart, a: int, b: int) -> None:
    """`join[x, l] = P(x, l)` and `hook[i, l] = max_x M_a[i, x] + P(x, l)`, over first words i of a, last
    words x of a, first words l of b."""
    first_begin, first, last_begin, last, cells = chart.words
    join, hook = chart.scratch.join, chart.scratch.hook
    La, Fb = last_begin[a + 1] - last_begin[a], first_begin[b + 1] - first_begin[b]
    for j in range(La):
        x = last[last_begin[a] + j]
        for l in range(Fb):
            join[j, l] = chart.pairs[x, first[first_begin[b] + l]]
    for i in range(first_begin[a + 1] - first_begin[a]):
        hook[i, :Fb] = -np.inf
        for j in range(La):
            value = chart.inside[cells[a] + i * La + j]
            if value > -np.inf:
                raise_row(value, join[j], hook[i], Fb)


@part
def inside_pass(chart: BigramChart, score: Array, reach: Array, threshold: float) -> float:
    """Fill `inside`; returns the bound, the goal's score; +inf if stopped.

    Cells that stay below the threshold with `score`, the most for each first word, float64 (W), and `reach`,
    the most that the rest can add to each node, float64 (N), become −inf.
    """
    forest, words, inside = chart.forest, chart.words, chart.inside
    cells, N = words.cells, len(forest.word)
    inside[: cells[N]] = -np.inf
    for n in range(N):
        if cells[n] == cells[n + 1]:
            continue
        if forest.word[n] >= 0:
            inside[cells[n]] = forest.weight[n]
        for s in range(forest.begin[n], forest.begin[n + 1]):
            if chart.stop[0] != 0:
                return np.inf
            join_inside(chart, n, s)
        L = words.last_begin[n + 1] - words.last_begin[n]
        for i in range(words.first_begin[n + 1] - words.first_begin[n]):
            need = threshold - reach[n] - score[words.first[words.first_begin[n] + i]]
            for cell in range(cells[n] + i * L, cells[n] + (i + 1) * L):
                if not inside[cell] >= need:
                    inside[cell] = -np.inf
    return inside[cells[N - 1]] if cells[N] > cells[N - 1] else -np.inf


compiled_inside_pass = kernel(inside_pass)


@part(allocates=False)
def join_inside(chart: BigramChart, n: int, s: int) -> None:
    """What a step adds to the matrix of node n."""
    first_begin, _, last_begin, _, cells = chart.words
    forest, inside, scratch = chart.forest, chart.inside, chart.scratch
    a, b, weight = forest.left[s], forest.right[s], forest.step_weight[s]
    end = a if b < 0 else b
    if cells[a] == cells[a + 1] or cells[end] == cells[end + 1]:
        return
    places(first_begin, chart.words.first, n, a, scratch.row)
    places(last_begin, chart.words.last, n, end, scratch.column)
    L, Le = last_begin[n + 1] - last_begin[n], last_begin[end + 1] - last_begin[end]
    if b >= 0:
        attach(chart, a, b)
    for i in range(first_begin[a + 1] - first_begin[a]):
        if scratch.row[i] < 0:
            continue
        line = scratch.line
        line[:Le] = -np.inf
        if b < 0:
            raise_row(weight, inside[cells[a] + i * Le :], line, Le)
        else:
            for l in range(first_begin[b + 1] - first_begin[b]):
                if scratch.hook[i, l] > -np.inf:
                    raise_row(weight + scratch.hook[i, l], inside[cells[b] + l * Le :], line, Le)
        row = inside[cells[n] + scratch.row[i] * L :]
        for j in range(Le):
            if scratch.column[j] >= 0:
                row[scratch.column[j]] = max(row[scratch.column[j]], line[j])


@part
def outside_pass(chart: BigramChart, threshold: float, adjacent: Array) -> bool:
    """Fill `outside`, after `inside_pass`; mark in `adjacent`, bool (x, w), the words that stand side by side
    in something that reaches the threshold. Returns whether it came to its end."""
    forest, cells, outside = chart.forest, chart.words.cells, chart.outside
    N = len(forest.word)
    adjacent[:] = False
    outside[: cells[N]] = -np.inf
    outside[cells[N - 1] : cells[N]] = 0.0
    for n in range(N - 1, -1, -1):
        if cells[n] == cells[n + 1] or outside[cells[n] : cells[n + 1]].max() == -np.inf:
            continue
        for s in range(forest.begin[n], forest.begin[n + 1]):
            if chart.stop[0] != 0:
                return False
            a, b = forest.left[s], forest.right[s]
            end = a if b < 0 else b
            if cells[a] < cells[a + 1] and cells[end] < cells[end + 1]:
                outside_right(chart, n, s)
                if b >= 0:
                    outside_left(chart, a, b, threshold, adjacent)
    return True


compiled_outside_pass = kernel(outside_pass)


@part(allocates=False)
def outside_right(chart: BigramChart, n: int, s: int) -> None:
    """`O_b[l, j] = max_i weight + hook[i, l] + O[i, j]`, and for the left part
    `rest[i, l] = max_j O[i, j] + M_b[l, j] + weight`; for a step with one part, its O."""
    first_begin, _, last_begin, _, cells = chart.words
    forest, inside, outside, scratch = chart.forest, chart.inside, chart.outside, chart.scratch
    a, b, weight = forest.left[s], forest.right[s], forest.step_weight[s]
    end = a if b < 0 else b
    places(first_begin, chart.words.first, n, a, scratch.row)
    places(last_begin, chart.words.last, n, end, scratch.column)
    L, Le = last_begin[n + 1] - last_begin[n], last_begin[end + 1] - last_begin[end]
    Fb = 0 if b < 0 else first_begin[b + 1] - first_begin[b]
    line = scratch.line
    if b >= 0:
        attach(chart, a, b)
    for i in range(first_begin[a + 1] - first_begin[a]):
        scratch.rest[i, :Fb] = -np.inf
        if scratch.row[i] < 0:
            continue
        around = outside[cells[n] + scratch.row[i] * L :]
        for j in range(Le):
            line[j] = weight + around[scratch.column[j]] if scratch.column[j] >= 0 else -np.inf
        if b < 0:
            raise_row(0.0, line, outside[cells[a] + i * Le :], Le)
            continue
        for l in range(Fb):
            if scratch.hook[i, l] > -np.inf:
                at = cells[b] + l * Le
                raise_row(scratch.hook[i, l], line, outside[at:], Le)
                scratch.rest[i, l] = best_sum(line, inside[at:], Le)


@part(allocates=False)
def outside_left(chart: BigramChart, a: int, b: int, threshold: float, adjacent: Array) -> None:
    """`O_a[i, x] = max_l rest[i, l] + P(x, l)`, and the pairs of words that reach the threshold."""
    first_begin, first, last_begin, last, cells = chart.words
    rest, join = chart.scratch.rest, chart.scratch.join
    La, Fb = last_begin[a + 1] - last_begin[a], first_begin[b + 1] - first_begin[b]
    for i in range(first_begin[a + 1] - first_begin[a]):
        for j in range(La):
            cell = cells[a] + i * La + j
            if chart.inside[cell] == -np.inf:
                continue
            top = best_sum(rest[i], join[j], Fb)
            chart.outside[cell] = max(chart.outside[cell], top)
            need = threshold - chart.inside[cell]
            if top >= need:
                x = last[last_begin[a] + j]
                for l in range(Fb):
                    if rest[i, l] + join[j, l] >= need:
                        adjacent[x, first[first_begin[b] + l]] = True


@part
def compress(chart: BigramChart, threshold: float) -> None:
    """Drop the boundary words of nodes without a cell that can reach the threshold. Scores are lost."""
    first_begin, first, last_begin, last, cells = chart.words
    N = len(cells) - 1
    rows = columns = size = 0
    first_from, last_from, cell_from = first_begin[0], last_begin[0], cells[0]
    for n in range(N):
        first_to, last_to, cell_to = first_begin[n + 1], last_begin[n + 1], cells[n + 1]
        L = last_to - last_from
        alive = (chart.inside[cell_from:cell_to] + chart.outside[cell_from:cell_to]) >= threshold
        rows_before, columns_before = rows, columns
        for i in range(first_to - first_from):
            if alive[i * L : (i + 1) * L].any():
                first[rows] = first[first_from + i]
                rows += 1
        for j in range(L):
            if alive[j::L].any():
                last[columns] = last[last_from + j]
                columns += 1
        size += (rows - rows_before) * (columns - columns_before)
        first_begin[n + 1], last_begin[n + 1], cells[n + 1] = rows, columns, size
        first_from, last_from, cell_from = first_to, last_to, cell_to


compiled_compress = kernel(compress)


@part
def best_pairs(chart: BigramChart, pairs: Array, edges: Array) -> tuple[int, int]:
    """Return words side by side and edges of the best derivation, int64 (room, 2) and (room), and how many
    there are; −1 if there is no room."""
    forest = chart.forest
    first_begin, first, last_begin, last, cells = chart.words
    stack = np.empty((len(pairs) + 2, 2), np.int64)
    stack[0, 0], stack[0, 1] = len(forest.word) - 1, cells[len(forest.word) - 1]
    waiting, size, count = 1, 0, 0
    while waiting > 0:
        waiting -= 1
        n, cell = stack[waiting, 0], stack[waiting, 1]
        if forest.word[n] >= 0:
            continue
        s, i, j = best_step(chart, n, cell)
        a, b = forest.left[s], forest.right[s]
        if size + 2 >= len(pairs) or count == len(edges):
            return -1, -1
        if forest.edge[s] >= 0:
            edges[count] = forest.edge[s]
            count += 1
        if b >= 0:
            La, Lb = last_begin[a + 1] - last_begin[a], last_begin[b + 1] - last_begin[b]
            pairs[size, 0] = last[last_begin[a] + (i - cells[a]) % La]
            pairs[size, 1] = first[first_begin[b] + (j - cells[b]) // Lb]
            size += 1
            stack[waiting, 0], stack[waiting, 1] = b, j
            waiting += 1
        stack[waiting, 0], stack[waiting, 1] = a, i
        waiting += 1
    return size, count


@part(allocates=False)
def best_step(chart: BigramChart, n: int, cell: int) -> tuple[Any, Any, Any]:
    """Return the step that makes the best of a cell, and the cells of its parts."""
    first_begin, first, last_begin, last, cells = chart.words
    forest, inside = chart.forest, chart.inside
    L = last_begin[n + 1] - last_begin[n]
    row, column = (cell - cells[n]) // L, (cell - cells[n]) % L
    top, best, left, right = -np.inf, np.int64(forest.begin[n]), np.int64(0), np.int64(0)
    for s in range(forest.begin[n], forest.begin[n + 1]):
        a, b = forest.left[s], forest.right[s]
        end = a if b < 0 else b
        i = place_of(first_begin, first, n, a, row)
        j = place_of(last_begin, last, n, end, column)
        if i < 0 or j < 0:
            continue
        La, Le = last_begin[a + 1] - last_begin[a], last_begin[end + 1] - last_begin[end]
        at = cells[a] + i * La
        if b < 0:
            if inside[at + j] + forest.step_weight[s] > top:
                top, best, left = inside[at + j] + forest.step_weight[s], np.int64(s), at + j
            continue
        for x in range(La):
            before = chart.pairs[last[last_begin[a] + x]]
            value = inside[at + x] + forest.step_weight[s]
            for l in range(first_begin[b + 1] - first_begin[b] if value > -np.inf else 0):
                to = cells[b] + l * Le + j
                total = value + before[first[first_begin[b] + l]] + inside[to]
                if total > top:
                    top, best, left, right = total, np.int64(s), at + x, to
    return best, left, right


@part(allocates=False)
def place_of(begin: Array, word: Array, n: int, part: int, at: int) -> int:
    """Return where word number `at` of node n stands among the words of a part; −1: nowhere."""
    w = word[begin[n] + at]
    for k in range(begin[part], begin[part + 1]):
        if word[k] == w:
            return k - begin[part]
    return -1


@kernel
def bigram_table(chart: BigramChart, state: Array, score: Array, threshold: float) -> tuple[Array, Array]:
    """Return the cells that can reach the threshold: keys and outside scores for `intersection.Table`.

    `state` and `score`: those of each word by itself when one word of context is kept. Items have the score
    of their first word in them, and outside scores here as well, so it is taken off.
    """
    first_begin, first, last_begin, last, cells = chart.words
    inside, outside = chart.inside, chart.outside
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
                    value[at] = outside[cell] - score[first[i]]
                    at += 1
                cell += 1
    return key, value
