"""Links on what the user has: tokens, the words between white space, or characters of the raw text."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel
from dualign.decode.decoders import DecodedLinks
from dualign.hmm.encoding import Lines
from dualign.text.links import PositionMap
from dualign.text.tokenizing import Cutting, words_of
from dualign.text.utf8_kernels import BYTE, eight_bytes, octets, print_links, white_space, word_end
from dualign.transfer.tokens import letters, locate, overlaps


class TokenPlaces(NamedTuple):
    """Of each token, line by line: the number of its word in the line, and its characters begin … end.

    The tokens of line n are `offsets[n]` to `offsets[n + 1]`. All arrays but these int64 are int32.
    """

    word: Array
    begin: Array
    end: Array
    offsets: Array


def placed_links(
    links: DecodedLinks, lines: Lines, cutting: Cutting, positions: str, line: int
) -> Callable[[bool], bytes]:
    """Return what prints the links of some lines on tokens, words or characters: a line for each pair, with
    probabilities or without. `line`: how many lines of the text are before these, for messages."""
    if positions == "characters":
        return partial(_on_characters, links, [_places(lines, cutting, side, line) for side in (0, 1)])
    if positions == "words":
        cut = cutting.source is not None, cutting.target is not None
        places = [_places(lines, cutting, side, line) if cut[side] else None for side in (0, 1)]
        moves = [None if each is None else PositionMap(each.word, each.offsets) for each in places]
        links = links.moved(*moves) if any(cut) else links
    return partial(print_links, links)


def _on_characters(links: DecodedLinks, places: list[TokenPlaces], scored: bool) -> bytes:
    columns = []
    for each, position in zip(places, (links.source, links.target), strict=True):
        at = each.offsets[links.pair] + position
        columns += [each.begin[at].tolist(), each.end[at].tolist()]
    written = [f"{a}:{b}-{c}:{d}" for a, b, c, d in zip(*columns, strict=True)]
    if scored:
        written = [f"{link}:{p:.6f}" for link, p in zip(written, links.probability.tolist(), strict=True)]
    rows = [" ".join(written[begin:end]) for begin, end in pairwise(links.offsets.tolist())]
    return "".join(f"{row}\n" for row in rows).encode()


def token_lines(lines: Lines, cutting: Cutting) -> bytes:
    """The tokens of both sides, a tab between them, a line for each pair."""
    split = partial(words_of, ascii=cutting.ascii)
    both = zip(*(side.decode().split("\n")[:-1] for side in lines.tokens), strict=True)
    return "".join([f"{' '.join(split(left))}\t{' '.join(split(right))}\n" for left, right in both]).encode()


def _places(lines: Lines, cutting: Cutting, side: int, line: int) -> TokenPlaces:
    """The places of the tokens of one side."""
    written, tokens = lines.written[side], lines.tokens[side]
    found = None if cutting.marked[side] else places_of_tokens(written, tokens, cutting.ascii)
    if found is not None:
        return found
    name, rows, ends = ("source", "target")[side], [], [0]
    both = zip(written.decode(errors="replace").split("\n"), tokens.decode().split("\n")[:-1], strict=False)
    for number, (text, cut) in enumerate(both, line + 1):
        text, cut_tokens = text.removesuffix("\r").removeprefix("\ufeff"), words_of(cut, cutting.ascii)
        if cutting.marked[side]:
            cut_tokens = letters(cut_tokens, "sentencepiece")
        spans = locate(cut_tokens, text, (f"tokens of {name} line {number}", "its text"))
        words = locate(words_of(text, cutting.ascii), text, (f"words of {name} line {number}", "its text"))
        inside = [(found or [max(len(words) - 1, 0)])[0] for found in overlaps(spans, words)]
        rows += [(word, *span) for word, span in zip(inside, spans, strict=True)]
        ends.append(len(rows))
    word, begin, end = np.array(rows, np.int32).reshape(-1, 3).T.copy()
    return TokenPlaces(word, begin, end, np.array(ends, np.int64))


def places_of_tokens(written: bytes, tokens: bytes, ascii: bool) -> TokenPlaces | None:
    """The places of the tokens of lines in the lines as they were written, both with `\\n`.

    None if these differ in more than white space, as after another normal form or with marks for subwords.
    `ascii`: words are separated by white space of ASCII alone.
    """
    lines, most = written.count(b"\n"), len(tokens) // 2 + 1
    word, begin, end = np.empty((3, most), np.int32)
    places = TokenPlaces(word, begin, end, np.zeros(lines + 1, np.int64))
    texts = octets(written), octets(tokens)
    count = place_tokens(texts[0], texts[1], len(tokens), ascii, places)
    if count < 0:
        return None
    return TokenPlaces(word[:count], begin[:count], end[:count], places.offsets)


@kernel
def place_tokens(text: Array, tokens: Array, size: int, ascii: bool, places: TokenPlaces) -> int:
    """Write the places of tokens, and return how many they are; -1 if the texts differ."""
    word, begin, end, offsets = places
    at = here = line = count = characters = 0
    words, apart = -1, True
    while here < size:
        x = eight_bytes(tokens, here)
        ended = x & BYTE == 10
        gap = white_space(x, ascii)
        if gap > 0 and not ended:
            here += gap
            continue
        # White space of the text, up to the next token or the end of the line.
        while True:
            y = eight_bytes(text, at)
            skipped = white_space(y, False)
            if skipped == 0 or y & BYTE == 10:
                break
            apart |= white_space(y, ascii) > 0
            at += skipped
            characters += 1
        if ended:
            if y & BYTE != 10:
                return -1
            line, words, apart, characters, here, at = line + 1, -1, True, 0, here + 1, at + 1
            offsets[line] = count
            continue
        words, apart = words + (1 if apart else 0), False
        word[count], begin[count] = words, characters
        for k in range(here, word_end(tokens, here, ascii)):
            letter = eight_bytes(tokens, k) & BYTE
            if letter != eight_bytes(text, at) & BYTE:
                return -1
            characters += 0 if letter & np.uint64(0xC0) == 0x80 else 1
            at += 1
            here += 1
        end[count] = characters
        count += 1
    return count
