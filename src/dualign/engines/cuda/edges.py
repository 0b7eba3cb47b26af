"""What the chains of a pair are made of: a warp finds its lexicon entries, emissions, and how chains move."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualign.engines.cuda.device import card_function
from dualign.engines.cuda.layout import (  # fmt: skip
    CHOSEN,
    EMISSION,
    EMPTY,
    JUMPS,
    LEAVE,
    NULL,
    START,
    Index,
    LaunchArguments,
    WarpState,
    line_at,
    sides,
)
from dualign.engines.cuda.warps import LANES, at, meet, wrapped
from dualign.hmm import jumps as weighed
from dualign.hmm.emission import class_of
from dualign.hmm.jumps import BESIDE, CLOSE, FLOOR, LEAST, NEAR, NULL_FLOOR, REACH, STARTS

card_class_of = card_function(class_of)

NO_WORD, FIRST = weighed.NULL, weighed.START
"""Places of the null probability and of the first start weight among a direction's weights."""


@card_function
def place_of_key(key: Any, shift: int) -> Any:
    """Where to look for a key first: Knuth's multiplicative hashing."""
    return np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift))


@card_function
def entry_of(v: int, w: int, index: Index) -> Any:
    """The lexicon entry of two words, or EMPTY."""
    slot = index.slot
    key = np.int64(v) * index.words + w
    k = place_of_key(key, index.shift)
    while slot[k, 0] != EMPTY and slot[k, 0] != key:
        k = k + 1 if k + 1 < slot.shape[0] else 0
    return slot[k, 1] if slot[k, 0] == key else np.int64(EMPTY)


@card_function
def word_at(d: int, j: int, own: WarpState, work: LaunchArguments) -> int:
    """The word of row j of direction d."""
    pairs = work.block.pairs
    return pairs.target[own.t + j] if d == 0 else pairs.source[own.s + j]


@card_function
def class_at(d: int, j: int, own: WarpState, work: LaunchArguments) -> int:
    """The class of that word's jumps."""
    jumps = work.block.jumps
    return card_class_of(word_at(d, j, own, work), jumps.by_target if d == 0 else jumps.by_source)


@card_function
def jump_weight(d: int, j: int, k: int, own: WarpState, work: LaunchArguments) -> np.float32:
    """The weight of jump k from row j to the next, if there is one; see `dualign.hmm.jumps`."""
    jumps, R = work.block.jumps, sides(d, own)[0]
    e = class_at(d, j + 1, own, work) if j + 1 < R else 0
    w = jumps.weight[d, class_at(d, j, own, work), k] * jumps.factor[d, e, k]
    return max(w, np.float32(LEAST))


@card_function
def fill_emissions(lane: int, own: WarpState, work: LaunchArguments) -> None:
    """The emissions and lexicon entries of all cells; see `dualign.hmm.emission.emit`."""
    pool, index, pairs, weights = own.pool, work.lookup, work.block.pairs, work.block.weights
    there, back = EMISSION * own.c, (EMISSION + 1) * own.c
    i, j = wrapped(0, lane, own.J)
    for k in range(lane, own.c, LANES):
        x, y = weights[0, FLOOR], weights[1, FLOOR]
        m = entry_of(pairs.source[own.s + i], pairs.target[own.t + j], index)
        if m != EMPTY:
            x += index.table[m, 0]
            y += index.table[m, 1]
        pool[at(there + j * own.I + i)] = x
        pool[at(back + k)] = y
        own.entry[at(k)] = m
        i, j = wrapped(i, j + LANES, own.J)
    for d in range(2):
        R, _ = sides(d, own)
        null = line_at(NULL, d, own)
        nulls = work.block.null_target if d == 0 else work.block.null_source
        for j in range(lane, R, LANES):
            pool[at(null + j)] = weights[d, NULL_FLOOR] + nulls[word_at(d, j, own, work)]


@card_function
def fill_chosen(lane: int, d: int, own: WarpState, work: LaunchArguments) -> None:
    """The factors of close jumps, of the words that they leave and reach; see `dualign.hmm.jumps`."""
    chosen, factor = work.block.jumps.chosen, line_at(CHOSEN, d * CLOSE, own)
    _, S = sides(d, own)
    c, i = wrapped(0, lane, S)
    for k in range(lane, CLOSE * S, LANES):
        there, x = i + c - BESIDE, np.float32(1)
        if there >= 0 and there < S:
            left, reached = class_at(1 - d, i, own, work), class_at(1 - d, there, own, work)
            x = chosen[d, 0, left, c] * chosen[d, 1, reached, c]
        own.pool[at(factor + k)] = x
        c, i = wrapped(c, i + LANES, S)


@card_function
def fill_edges(lane: int, own: WarpState, work: LaunchArguments) -> None:
    """How the chains move: where they start, how much more near jumps weigh than far ones, which weigh 1,
    the factors of close ones, and the share of the jumps that leave a state for each other."""
    pool, one = own.pool, np.float32(1)
    for d in range(2):
        R, S = sides(d, own)
        weights = work.block.weights[d]
        jumps, factor = line_at(JUMPS, d * NEAR, own), line_at(CHOSEN, d * CLOSE, own)
        for j in range(lane, R, LANES):
            for k in range(NEAR):
                w = jump_weight(d, j, k, own, work)
                pool[at(jumps + j * NEAR + k)] = w if abs(k - REACH) <= BESIDE else w - one
        fill_chosen(lane, d, own, work)
        z = np.float32(0)
        for i in range(S):
            z += weights[FIRST + min(i, STARTS)]
        for i in range(lane, S, LANES):
            pool[at(line_at(START, d, own) + i)] = weights[FIRST + min(i, STARTS)] / z
        meet()
        leave, word = (LEAVE + d) * own.c, one - weights[NO_WORD]
        j, i = wrapped(0, lane, S)
        for k in range(lane, own.c, LANES):
            z = np.float32(S)
            for e in range(max(0, REACH - i), min(NEAR, S + REACH - i)):
                w, c = pool[at(jumps + j * NEAR + e)], e - REACH + BESIDE
                z += w * pool[at(factor + c * S + i)] - one if c >= 0 and c < CLOSE else w
            pool[at(leave + k)] = word / z
            j, i = wrapped(j, i + LANES, S)
