"""Links as lines of text, `i-j i-j:0.500000`, written by a kernel: what `pharaoh` does for one alignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part

if TYPE_CHECKING:
    from dualign.text.links import Links

_LONGEST = 32
"""Bytes of `2147483647-2147483647:1.000000` and a blank."""


def print_links(links: Links, scored: bool) -> bytes:
    """A line for each pair; `scored` with probabilities, float32."""
    text = np.empty(_LONGEST * len(links.source) + len(links), np.uint8)
    assert links.probability is not None
    arrays = links.source, links.target, links.probability, links.offsets
    return text[: print_lines(*arrays, scored, text)].tobytes()


@kernel
def print_lines(
    source: Array, target: Array, probability: Array, offsets: Array, scored: bool, text: Array
) -> int:
    """Write the lines, and return how many bytes they are."""
    at = 0
    for n in range(len(offsets) - 1):
        for k in range(offsets[n], offsets[n + 1]):
            if k > offsets[n]:
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
