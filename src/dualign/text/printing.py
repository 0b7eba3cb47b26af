"""Links as lines of text, `i-j i-j:0.500000`, written by a kernel: what `pharaoh` does for one alignment."""

from __future__ import annotations

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part

_LONGEST = 32
"""Bytes of `2147483647-2147483647:1.000000` and a blank."""


def print_links(
    source: Array, target: Array, probability: Array, begin: Array, count: Array, scored: bool
) -> bytes:
    """A line for each pair n, of the links `begin[n] : begin[n] + count[n]`; `scored` with probabilities.

    `source` and `target` are int32, `probability` is float32.
    """
    text = np.empty(_LONGEST * int(count.sum()) + len(count), np.uint8)
    return text[: print_lines(source, target, probability, begin, count, scored, text)].tobytes()


@kernel
def print_lines(
    source: Array, target: Array, probability: Array, begin: Array, count: Array, scored: bool, text: Array
) -> int:
    """Write the lines, and return how many bytes they are."""
    at = 0
    for n in range(len(count)):
        for k in range(begin[n], begin[n] + count[n]):
            if k > begin[n]:
                text[at] = 32
                at += 1
            at = print_number(source[k], 1, text, at)
            text[at] = 45
            at = print_number(target[k], 1, text, at + 1)
            if scored:
                # 24 bits times a million is exact in float64, and halves go to the even side as in Python.
                millionths = int(np.rint(np.float64(probability[k]) * 1e6))
                text[at] = 58
                at = print_number(millionths // 1_000_000, 1, text, at + 1)
                text[at] = 46
                at = print_number(millionths % 1_000_000, 6, text, at + 1)
        text[at] = 10
        at += 1
    return at


@part
def print_number(number: int, digits: int, text: Array, at: int) -> int:
    """Write a number with at least `digits` digits, and return where it ends."""
    size, rest = 1, number // 10
    while rest > 0:
        size += 1
        rest //= 10
    end = at + max(size, digits)
    rest = number
    for place in range(end - 1, at - 1, -1):
        text[place] = 48 + rest % 10
        rest //= 10
    return end
