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

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.kernel_arrays import EMPTY, new_slots, refilled, slot_of, with_room

WIDEST = 16  # symbols of a target side


class RuleLinks(NamedTuple):
    """Pair n has source words `source[source_begin[n] : source_begin[n + 1]]`, target words likewise, and
    links `link[begin[n] : begin[n + 1]]`, positions in the two sentences.

    `source_weight` and `target_weight` are log lexical weights of each word, given the words it is linked to.
    """

    source: Array
    source_begin: Array
    target: Array
    target_begin: Array
    begin: Array
    link: Array
    source_weight: Array
    target_weight: Array


class RuleLimits(NamedTuple):
    """Of the rules. `gap`: the fewest source words that a non-terminal stands for; `always`: rules
    with at most that many words, and nothing else, on the source side are kept however rare they are."""

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


class PairSpans(NamedTuple):
    """One sentence pair, as scratch for all of them.

    `low`, `high`: first and last target position that a source word is linked to (`high` −1: none); `near`,
    `far` the same for target words. The initial phrase at source i with length l has target words `start[i,
    l] .. stop[i, l]`, start −1 if there is none. Running sums of lexical weights; the `rule` at hand, int64,
    with the lengths of its source side and of all in `size`; rows of `choose_holes`.
    """

    low: Array
    high: Array
    near: Array
    far: Array
    start: Array
    stop: Array
    source_sum: Array
    target_sum: Array
    rule: Array
    size: Array
    holes: Array


class RuleSeen(NamedTuple):
    """A counter for the rules that share a place, uint8, and the number of the pair that it counted last,
    int32; both of a power of two in size."""

    counters: Array
    tags: Array


class Rules(NamedTuple):
    """The rules as they grow: `table` as in `RuleTable`, codes uint64 (room, 1), the pair that has counted
    each last, and a hash table. `numbers` int64 (1): how many there are."""

    table: RuleTable
    code: Array
    last: Array
    slots: Array
    numbers: Array


@part(allocates=False)
def choose_holes(start: Array, i: int, length: int, symbols: int, gap: int, holes: Array) -> int:
    """List all ways to make no, one or two non-terminals in the phrase at source i; return their number.

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


@part(allocates=False)
def write_rule(links: RuleLinks, n: int, pair: PairSpans, i: int, length: int, holes: Array) -> bool:
    """Write the symbols of a rule to `pair.rule`, the lengths of its source side and of all to `pair.size`.

    False if no word of it is linked, or the target side is too wide.
    """
    rule, start, stop = pair.rule, pair.start, pair.stop
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
            rule[at] = links.source[links.source_begin[n] + p]
            linked = linked or pair.high[p] >= 0
            p += 1
        at += 1
    pair.size[0] = at
    t = start[i, length]
    while linked and t < stop[i, length]:
        if at - pair.size[0] >= WIDEST:
            return False
        if holes[1] > 0 and t == start[holes[0], holes[1]]:
            rule[at] = -1
            t = stop[holes[0], holes[1]]
        elif holes[3] > 0 and t == start[holes[2], holes[3]]:
            rule[at] = -2
            t = stop[holes[2], holes[3]]
        else:
            rule[at] = links.target[links.target_begin[n] + t]
            t += 1
        at += 1
    pair.size[1] = at
    return linked


@part(allocates=False)
def code_of(pair: PairSpans) -> np.uint64:
    """Return the code of the rule at hand; rough counts, and with them relative frequencies, depend on it."""
    code = np.uint64(pair.size[0])
    for q in range(pair.size[1]):
        code = (code ^ np.uint64(pair.rule[q] + 4)) * np.uint64(0xBF58476D1CE4E5B9)
        code ^= code >> np.uint64(29)
    return code


@part(allocates=False)
def lexical_weights(pair: PairSpans, i: int, length: int, holes: Array) -> tuple[float, float]:
    """Return those of the target words and of the source words of a rule, from running sums."""
    start, stop, source, target = pair.start, pair.stop, pair.source_sum, pair.target_sum
    p, one, q, other = holes[0], holes[1], holes[2], holes[3]
    back = source[i + length] - source[i] - (source[p + one] - source[p]) - (source[q + other] - source[q])
    ahead = target[stop[i, length]] - target[start[i, length]]
    for g in range(0, 4, 2):
        if holes[g + 1] > 0:
            p, l = holes[g], holes[g + 1]
            ahead -= target[stop[p, l]] - target[start[p, l]]
    return ahead, back


@part(allocates=False)
def read_pair(links: RuleLinks, n: int, longest: int, pair: PairSpans) -> int:
    """Fill `pair` for pair n but for rule and holes; returns the number of source words, 0 if nothing is
    linked."""
    s0, t0 = links.source_begin[n], links.target_begin[n]
    I, J = links.source_begin[n + 1] - s0, links.target_begin[n + 1] - t0
    if links.begin[n] == links.begin[n + 1]:
        return 0
    low, high, near, far = pair.low, pair.high, pair.near, pair.far
    low[:I], high[:I], near[:J], far[:J] = J, -1, I, -1
    for k in range(links.begin[n], links.begin[n + 1]):
        i, j = links.link[k, 0], links.link[k, 1]
        low[i], high[i] = min(low[i], j), max(high[i], j)
        near[j], far[j] = min(near[j], i), max(far[j], i)
    for i in range(I):
        pair.source_sum[i + 1] = pair.source_sum[i] + links.source_weight[s0 + i]
    for j in range(J):
        pair.target_sum[j + 1] = pair.target_sum[j] + links.target_weight[t0 + j]
    for i in range(I):
        first, last = J, -1
        pair.start[i] = -1
        for end in range(i, min(i + longest, I)):
            first, last = min(first, low[end]), max(last, high[end])
            if high[i] < 0 or high[end] < 0 or last - first >= longest:
                continue
            if is_consistent(near, far, first, last, i, end):
                pair.start[i, end - i + 1], pair.stop[i, end - i + 1] = first, last + 1
    return I


@part(allocates=False)
def is_consistent(near: Array, far: Array, first: int, last: int, i: int, end: int) -> bool:
    """Return whether no target word first..last is linked to a source word outside i..end."""
    while first <= last and (far[first] < 0 or (near[first] >= i and far[first] <= end)):
        first += 1
    return first > last


@part
def collect(
    links: RuleLinks, n: int, limits: RuleLimits, pair: PairSpans, seen: RuleSeen, rules: Rules, roughly: bool
) -> Rules:
    """Count the rules of pair n, each once: roughly, at their hashed places, or exactly those that may occur
    often enough. Returns the rules, since their room may grow."""
    mask = np.uint64(len(seen.counters) - 1)
    for i in range(read_pair(links, n, limits.longest, pair)):
        for length in range(1, limits.longest + 1):
            if pair.start[i, length] < 0:
                continue
            for c in range(choose_holes(pair.start, i, length, limits.symbols, limits.gap, pair.holes)):
                holes = pair.holes[c]
                if not write_rule(links, n, pair, i, length, holes):
                    continue
                code = code_of(pair)
                spot = np.int64((code >> np.uint64(7)) & mask)
                if roughly:
                    if seen.tags[spot] != n + 1 and seen.counters[spot] < 255:
                        seen.counters[spot] += 1
                        seen.tags[spot] = n + 1
                elif seen.counters[spot] >= limits.least or (holes[1] == 0 and length <= limits.always):
                    rules = with_rule(rules, pair)
                    ahead, back = lexical_weights(pair, i, length, holes)
                    count_rule(rules, pair, code, n, ahead, back)
    return rules


@part(allocates=False)
def count_rule(rules: Rules, pair: PairSpans, code: np.uint64, n: int, ahead: float, back: float) -> None:
    """Count the rule at hand, for which there is room, unless pair n has counted it."""
    table = rules.table
    slot = slot_of(rules.slots, rules.code, (code,))
    r = rules.slots[slot]
    if r == EMPTY:
        r = np.int32(rules.numbers[0])
        rules.slots[slot], rules.code[r, 0], rules.last[r] = r, code, 0
        first, half, size = table.begin[r], pair.size[0], pair.size[1]
        for q in range(size):
            table.pool[first + q] = pair.rule[q]
        table.middle[r], table.begin[r + 1] = first + half, first + size
        table.counts[r], table.forward[r], table.backward[r] = 0.0, ahead, back
        rules.numbers[0] += 1
    if rules.last[r] != n + 1:
        rules.last[r] = n + 1
        table.counts[r] += 1.0
    table.forward[r] = max(table.forward[r], ahead)
    table.backward[r] = max(table.backward[r], back)


@part
def with_rule(rules: Rules, pair: PairSpans) -> Rules:
    """Return the rules with room for that at hand."""
    t, r, symbols = rules.table, rules.numbers[0], rules.table.begin[rules.numbers[0]] + pair.size[1]
    if r < len(rules.last) and symbols <= len(t.pool):
        return rules
    room = 2 * max(r, 512)
    table = RuleTable(
        with_room(t.begin, room + 1), with_room(t.middle, room), with_room(t.pool, 2 * max(symbols, 4096)),
        with_room(t.counts, room), with_room(t.forward, room), with_room(t.backward, room),
    )  # fmt: skip
    code = with_room(rules.code, room)
    return Rules(table, code, with_room(rules.last, room), refilled(code, r, room), rules.numbers)


@kernel
def count_rules(links: RuleLinks, limits: RuleLimits, seen: RuleSeen) -> RuleTable:
    """Extract and count; `seen` holds zeros on entry."""
    I, J = np.diff(links.source_begin).max() + 1, np.diff(links.target_begin).max() + 1
    longest = limits.longest
    pair = PairSpans(
        np.empty(I, np.int64), np.empty(I, np.int64), np.empty(J, np.int64), np.empty(J, np.int64),
        np.empty((I, longest + 1), np.int64), np.empty((I, longest + 1), np.int64), np.zeros(I), np.zeros(J),
        np.empty(limits.symbols + WIDEST, np.int64), np.zeros(2, np.int64),
        np.zeros((1 + longest**2 + longest**4 // 4, 4), np.int64),
    )  # fmt: skip
    table = RuleTable(
        np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0), np.empty(0),
        np.empty(0),
    )  # fmt: skip
    code, last, numbers = np.empty((0, 1), np.uint64), np.empty(0, np.int32), np.zeros(1, np.int64)
    rules = Rules(table, code, last, new_slots(1), numbers)
    for roughly in (True, False):
        for n in range(len(links.begin) - 1):
            rules = collect(links, n, limits, pair, seen, rules, roughly)
    t, r = rules.table, rules.numbers[0]
    return RuleTable(
        t.begin[: r + 1], t.middle[:r], t.pool[: t.begin[r]], t.counts[:r], t.forward[:r], t.backward[:r]
    )
