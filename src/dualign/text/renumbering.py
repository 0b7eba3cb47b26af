"""Flat arrays of numbered words, copied in part and renumbered: spans of sentences in parallel.

A side of a text is `tokens` int32 and `offsets` int64, as in `dualign.text.bitext.Sentences`. How the work is
cut does not depend on the number of threads, and each thread writes to a part of the result of its own.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.core.threads import ordered_map, spans
from dualign.core.workspace import Workspace

SPAN = 1 << 16
"""Sentences of a piece of work; sixteen times as many tokens."""


def replaced(tokens: Array, number: Array, result: Array, threads: int) -> None:
    """Write `number[token]` for each token; the result may be the tokens themselves."""

    def replace(span: tuple[int, int]) -> None:
        replace_tokens(tokens[span[0] : span[1]], number, result[span[0] : span[1]])

    for _ in ordered_map(replace, spans(len(tokens), 16 * SPAN), threads):
        pass


def occurring(tokens: Array, offsets: Array, chosen: Array, words: int, threads: int) -> Array:
    """Which words of a vocabulary of this size occur in the chosen sentences."""

    def look(span: tuple[int, int]) -> Array:
        seen = np.zeros(words, np.bool_)
        mark_words(tokens, offsets, chosen, span[0], span[1], seen)
        return seen

    found: Array = np.zeros(words, np.bool_)
    for seen in ordered_map(look, spans(len(chosen), SPAN), threads):
        found |= seen
    return found


def taken(
    tokens: Array, offsets: Array, chosen: Array, number: Array, threads: int, workspace: Workspace
) -> tuple[Array, Array]:
    """Tokens, as `number[token]`, and offsets of the chosen sentences."""
    cut = spans(len(chosen), SPAN)
    counts = list(ordered_map(partial(_count, offsets, chosen), cut, threads))
    firsts = list(accumulate((each[0] for each in counts), initial=0))
    begins = list(accumulate((each[1] for each in counts), initial=0))
    new_tokens = workspace.empty(begins[-1], np.int32)
    new_offsets = workspace.empty(firsts[-1] + 1, np.int64)
    new_offsets[0] = 0

    def take(k: int) -> None:
        (begin, end), (first, last), (start, stop) = cut[k], firsts[k : k + 2], begins[k : k + 2]
        inside = new_offsets[first + 1 : last + 1]
        take_sentences((tokens, offsets), chosen, begin, end, number, start, (new_tokens[start:stop], inside))

    for _ in ordered_map(take, range(len(cut)), threads):
        pass
    return new_tokens, new_offsets


def fitting(left: Array, right: Array, longest: int, cells: int, threads: int) -> npt.NDArray[np.bool_]:
    """Which pairs, given by the offsets of their sides, have words on both and no more than these limits."""
    result: npt.NDArray[np.bool_] = np.empty(len(left) - 1, np.bool_)

    def judge(span: tuple[int, int]) -> None:
        mark_fitting(left, right, span[0], span[1], longest, cells, result)

    for _ in ordered_map(judge, spans(len(result), SPAN), threads):
        pass
    return result


def _count(offsets: Array, chosen: Array, span: tuple[int, int]) -> tuple[int, int]:
    return count_chosen(offsets, chosen, span[0], span[1])


@kernel()
def replace_tokens(tokens: Array, number: Array, result: Array) -> None:
    """Write `number[token]` for each token."""
    for k in range(len(tokens)):
        result[k] = number[tokens[k]]


@kernel()
def mark_words(tokens: Array, offsets: Array, chosen: Array, begin: int, end: int, seen: Array) -> None:
    """Mark the words of the chosen ones of sentences begin..end."""
    for n in range(begin, end):
        if chosen[n]:
            for k in range(offsets[n], offsets[n + 1]):
                seen[tokens[k]] = True


@kernel()
def count_chosen(offsets: Array, chosen: Array, begin: int, end: int) -> tuple[int, int]:
    """How many of the sentences begin..end are chosen, and how many tokens they have."""
    sentences = tokens = 0
    for n in range(begin, end):
        if chosen[n]:
            sentences += 1
            tokens += offsets[n + 1] - offsets[n]
    return sentences, tokens


@kernel()
def take_sentences(
    text: tuple[Array, Array],
    chosen: Array,
    begin: int,
    end: int,
    number: Array,
    start: int,
    result: tuple[Array, Array],
) -> None:
    """Tokens and ends of the chosen ones of sentences begin..end, which have `start` tokens before them."""
    tokens, offsets = text
    new_tokens, new_ends = result
    filled = sentence = 0
    for n in range(begin, end):
        if chosen[n]:
            for k in range(offsets[n], offsets[n + 1]):
                new_tokens[filled] = number[tokens[k]]
                filled += 1
            new_ends[sentence] = start + filled
            sentence += 1


@kernel()
def mark_fitting(
    left: Array, right: Array, begin: int, end: int, longest: int, cells: int, result: Array
) -> None:
    """Of pairs begin..end, mark those with words on both sides, within the limits on words and cells."""
    for n in range(begin, end):
        length, width = left[n + 1] - left[n], right[n + 1] - right[n]
        most = max(length, width)
        result[n] = length > 0 and width > 0 and most <= longest and length * width <= cells
