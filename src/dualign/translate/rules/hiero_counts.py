"""Hiero rules of linked sentence pairs, counted (Chiang 2007, §3.2).

An *initial phrase* is a pair of spans, at most `longest` words each, with links inside and none that leave
it, whose first and last source words are linked. A rule is an initial phrase in which at most two smaller
ones, not side by side in the source, have become non-terminals, with at most `symbols` symbols on the
source side, and at least one link between its words.

A sentence pair counts a rule once, however many of its phrases have it. Rules are counted twice: first by a
small table of counters at hashed places, then those whose counter says that they may occur `least` times,
exactly. Most rules occur once, and are not worth their memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel

WIDEST = 16  # symbols of a target side


class Links(NamedTuple):
    """Pairs n have source words `source[source_begin[n] : source_begin[n + 1]]`, target words alike.

    Links of pair n are `begin[n] .. begin[n + 1]` of `left` and `right`, positions in the sentences;
    `source_weight` and `target_weight` are log lexical weights of each word, given the words it is linked to.
    """

    source: Array
    source_begin: Array
    target: Array
    target_begin: Array
    begin: Array
    left: Array
    right: Array
    source_weight: Array
    target_weight: Array


class Limits(NamedTuple):
    """Of the rules. `gap`: the fewest source words that a non-terminal stands for; `always`: rules of at
    most so many words, and nothing else, on the source side are kept however rare they are."""

    longest: int
    symbols: int
    gap: int
    least: int
    always: int


class RuleTable(NamedTuple):
    """Rules by their number: symbols `pool[begin[r] : middle[r]]` (source) and `pool[middle[r] : begin[r +
    1]]` (target).

    Words are numbers, non-terminals −1 and −2. `counts`; `forward` and `backward`, the best log lexical
    weights of target given source and the reverse.
    """

    begin: Array
    middle: Array
    pool: Array
    counts: Array
    forward: Array
    backward: Array


@kernel()
def mixed(code: np.uint64, symbol: int) -> np.uint64:
    """The code of a rule with one more symbol."""
    code = (code ^ np.uint64(symbol + 4)) * np.uint64(0xBF58476D1CE4E5B9)
    return code ^ (code >> np.uint64(29))


@kernel()
def doubled(array: Array) -> Array:
    """Twice as long."""
    result = np.empty(2 * len(array), array.dtype)
    result[: len(array)] = array
    return result


@kernel()
def choose_holes(start: Array, i: int, length: int, symbols: int, gap: int, holes: Array) -> int:
    """All ways to make no, one or two non-terminals in the phrase at source i; returns their number.

    Row c of `holes` int64 (·, 4): source position and length of the first, then of the second; length 0:
    none.
    """
    count = 0
    if length <= symbols:
        holes[0] = 0
        count = 1
    for first in range(length):
        for one in range(gap, length - first + 1):
            if one == length or start[i + first, one] < 0:
                continue
            if length - one + 1 <= symbols:
                holes[count, 0], holes[count, 1], holes[count, 2], holes[count, 3] = i + first, one, 0, 0
                count += 1
            for second in range(first + one + 1, length):
                for other in range(gap, length - second + 1):
                    if length - one - other + 2 <= symbols and start[i + second, other] >= 0:
                        holes[count, 0], holes[count, 1] = i + first, one
                        holes[count, 2], holes[count, 3] = i + second, other
                        count += 1
    return count


@kernel()
def write_rule(
    links: Links, s0: int, t0: int, i: int, length: int, holes: Array, start: Array, stop: Array, high: Array,
    rule: Array, size: Array,
) -> bool:  # fmt: skip
    """Write the symbols of a rule to `rule`, the lengths of its source side and of all to `size`.

    False if no word of it is linked, or the target side is too wide. `high[i] < 0`: source word i has no
    link.
    """
    at, p = 0, i
    linked = False
    while p < i + length:
        if holes[1] > 0 and p == holes[0]:
            rule[at] = -1
            p += holes[1]
        elif holes[3] > 0 and p == holes[2]:
            rule[at] = -2
            p += holes[3]
        else:
            rule[at] = links.source[s0 + p]
            linked = linked or high[p] >= 0
            p += 1
        at += 1
    if not linked:
        return False
    size[0] = at
    t = start[i, length]
    while t < stop[i, length]:
        if at - size[0] >= WIDEST:
            return False
        if holes[1] > 0 and t == start[holes[0], holes[1]]:
            rule[at] = -1
            t = stop[holes[0], holes[1]]
        elif holes[3] > 0 and t == start[holes[2], holes[3]]:
            rule[at] = -2
            t = stop[holes[2], holes[3]]
        else:
            rule[at] = links.target[t0 + t]
            t += 1
        at += 1
    size[1] = at
    return True


@kernel()
def outside_sum(sums: Array, begin: int, end: int, p: int, one: int, q: int, other: int) -> float:
    """Sum over begin..end less the spans of two holes; `sums` are running sums."""
    return sums[end] - sums[begin] - (sums[p + one] - sums[p]) - (sums[q + other] - sums[q])


@kernel()
def count_rules(links: Links, limits: Limits, counters: Array, tags: Array) -> RuleTable:
    """Extract and count; `counters` uint8 and `tags` int32 of a power of two, zeros on entry."""
    I_most, J_most = 1, 1
    for n in range(len(links.begin) - 1):
        I_most = max(I_most, links.source_begin[n + 1] - links.source_begin[n])
        J_most = max(J_most, links.target_begin[n + 1] - links.target_begin[n])
    low, high = np.empty(I_most, np.int64), np.empty(I_most, np.int64)
    near, far = np.empty(J_most, np.int64), np.empty(J_most, np.int64)
    longest, symbols, gap = limits.longest, limits.symbols, limits.gap
    # Target span of the initial phrase at source i with length l: [start, stop), start −1 if it is none.
    start = np.empty((I_most + 1, longest + 1), np.int64)
    stop = np.empty((I_most + 1, longest + 1), np.int64)
    source_sum, target_sum = np.zeros(I_most + 1), np.zeros(J_most + 1)
    rule = np.empty(symbols + WIDEST, np.int64)
    begin, middle = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    count, forward, backward = np.zeros(1024), np.zeros(1024), np.zeros(1024)
    seen = np.zeros(1024, np.int32)
    pool = np.empty(8192, np.int32)
    keys = np.empty(1024, np.uint64)
    slots = np.full(4096, -1, np.int64)
    rules = 0
    size = np.zeros(2, np.int64)
    holes = np.zeros((1 + longest**2 + longest**4 // 4, 4), np.int64)
    mask = np.uint64(len(counters) - 1)
    for phase in range(2):
        for n in range(len(links.begin) - 1):
            s0, t0 = links.source_begin[n], links.target_begin[n]
            I, J = links.source_begin[n + 1] - s0, links.target_begin[n + 1] - t0
            if links.begin[n] == links.begin[n + 1]:
                continue
            low[:I], high[:I], near[:J], far[:J] = J, -1, I, -1
            for k in range(links.begin[n], links.begin[n + 1]):
                i, j = links.left[k], links.right[k]
                low[i], high[i] = min(low[i], j), max(high[i], j)
                near[j], far[j] = min(near[j], i), max(far[j], i)
            for i in range(I):
                source_sum[i + 1] = source_sum[i] + links.source_weight[s0 + i]
            for j in range(J):
                target_sum[j + 1] = target_sum[j] + links.target_weight[t0 + j]
            for i in range(I):
                first, last = J, -1
                for length in range(1, longest + 1):
                    start[i, length] = -1
                    end = i + length - 1
                    if end >= I:
                        continue
                    first, last = min(first, low[end]), max(last, high[end])
                    if high[i] < 0 or high[end] < 0 or last - first >= longest:
                        continue
                    fits = True
                    for j in range(first, last + 1):
                        if far[j] >= 0 and (near[j] < i or far[j] > end):
                            fits = False
                            break
                    if fits:
                        start[i, length], stop[i, length] = first, last + 1
            for i in range(I):
                for length in range(1, min(longest, I - i) + 1):
                    if start[i, length] < 0:
                        continue
                    choices = choose_holes(start, i, length, symbols, gap, holes)
                    for c in range(choices):
                        if not write_rule(links, s0, t0, i, length, holes[c], start, stop, high, rule, size):
                            continue
                        half, at = size[0], size[1]
                        code = np.uint64(half)
                        for q in range(at):
                            code = mixed(code, rule[q])
                        spot = np.int64((code >> np.uint64(7)) & mask)
                        if phase == 0:
                            if tags[spot] != n + 1 and counters[spot] < 255:
                                counters[spot] += 1
                                tags[spot] = n + 1
                            continue
                        if (holes[c, 1] > 0 or length > limits.always) and counters[spot] < limits.least:
                            continue
                        back = outside_sum(
                            source_sum, i, i + length, holes[c, 0], holes[c, 1], holes[c, 2], holes[c, 3]
                        )
                        ahead = target_sum[stop[i, length]] - target_sum[start[i, length]]
                        for g in range(0, 4, 2):
                            if holes[c, g + 1] > 0:
                                p, l = holes[c, g], holes[c, g + 1]
                                ahead -= target_sum[stop[p, l]] - target_sum[start[p, l]]
                        h = np.int64(code & np.uint64(len(slots) - 1))
                        while slots[h] >= 0 and keys[slots[h]] != code:
                            h = (h + 1) & (len(slots) - 1)
                        r = slots[h]
                        if r < 0:
                            r = rules
                            slots[h] = r
                            if r + 2 > len(begin):
                                begin, middle, keys = doubled(begin), doubled(middle), doubled(keys)
                                count, forward = doubled(count), doubled(forward)
                                backward, seen = doubled(backward), doubled(seen)
                            if begin[r] + at > len(pool):
                                pool = doubled(pool)
                            for q in range(at):
                                pool[begin[r] + q] = rule[q]
                            keys[r] = code
                            middle[r], begin[r + 1] = begin[r] + half, begin[r] + at
                            count[r], forward[r], backward[r], seen[r] = 0.0, ahead, back, 0
                            rules += 1
                            if 2 * rules > len(slots):
                                slots = np.full(2 * len(slots), -1, np.int64)
                                for q in range(rules):
                                    h = np.int64(keys[q] & np.uint64(len(slots) - 1))
                                    while slots[h] >= 0:
                                        h = (h + 1) & (len(slots) - 1)
                                    slots[h] = q
                        if seen[r] != n + 1:
                            seen[r] = n + 1
                            count[r] += 1.0
                        forward[r] = max(forward[r], ahead)
                        backward[r] = max(backward[r], back)
    return RuleTable(
        begin[: rules + 1],
        middle[:rules],
        pool[: begin[rules]],
        count[:rules],
        forward[:rules],
        backward[:rules],
    )
