"""Links on what the user has: tokens, the words between white space, or characters of the raw text."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from dualign._core.arrays import Array
from dualign.commands.bundles import Outputs
from dualign.decode.decoders import DecodedLinks
from dualign.hmm.encoding import Lines
from dualign.text.blocks import Position
from dualign.text.links import PositionMap
from dualign.text.token_positions import TokenPlaces, places_of_tokens
from dualign.text.tokenizing import Cutting, words_of
from dualign.text.utf8_kernels import print_links
from dualign.transfer.tokens import letters, locate, overlaps


class PlacedLinks:
    """The links of some lines, to be printed on tokens, words or characters.

    `line`: how many lines of the text are before these, for messages.
    """

    def __init__(
        self, links: DecodedLinks, lines: Lines, cutting: Cutting, positions: str, line: int
    ) -> None:
        self.characters = positions == "characters"
        cuts = cutting.source, cutting.target
        places = [
            _places(lines.written[side], lines.tokens[side], cutting, side, line)
            if self.characters or (positions == "words" and cuts[side] is not None)
            else None
            for side in (0, 1)
        ]
        if positions == "words":
            moves = [None if each is None else PositionMap(each.word, each.offsets) for each in places]
            links = links if moves == [None, None] else links.moved(*moves)
        self.links, self.places = links, places

    def printed(self, scored: bool) -> bytes:
        """A line for each pair; `scored` with probabilities."""
        links = self.links
        if not self.characters:
            return print_links(links, scored)
        pair = links.pair
        sides = [
            (each.begin[at].tolist(), each.end[at].tolist())
            for each, position in zip(self.places, (links.source, links.target), strict=True)
            if each is not None
            for at in (each.offsets[pair] + position,)
        ]
        (a, b), (c, d) = sides
        if scored:
            written = [
                f"{a}:{b}-{c}:{d}:{p:.6f}"
                for a, b, c, d, p in zip(a, b, c, d, links.probability.tolist(), strict=True)
            ]
        else:
            written = [f"{a}:{b}-{c}:{d}" for a, b, c, d in zip(a, b, c, d, strict=True)]
        lines = [" ".join(written[begin:end]) for begin, end in pairwise(links.offsets.tolist())]
        return "".join(f"{line}\n" for line in lines).encode()


def on_lines(
    links: DecodedLinks, lines: Lines, outputs: Outputs, cutting: Cutting, begin: Position
) -> tuple[Callable[[bool], bytes], bytes]:
    """How the links of lines, from a place in the text on, are written, with probabilities or without; and
    their tokens."""
    placed = PlacedLinks(links, lines, cutting, outputs.positions, begin.line)
    return placed.printed, b"" if outputs.tokens is None else token_lines(lines, cutting)


def token_lines(lines: Lines, cutting: Cutting) -> bytes:
    """The tokens of both sides, a tab between them, a line for each pair."""
    split = partial(words_of, ascii=cutting.ascii)
    both = zip(*(side.decode().split("\n")[:-1] for side in lines.tokens), strict=True)
    return "".join([f"{' '.join(split(left))}\t{' '.join(split(right))}\n" for left, right in both]).encode()


def _places(written: bytes, tokens: bytes, cutting: Cutting, side: int, line: int) -> TokenPlaces:
    """The places of the tokens of one side; `line`: how many lines of the text are before these."""
    if not cutting.marked[side]:
        found = places_of_tokens(written, tokens, cutting.ascii)
        if found is not None:
            return found
    name = ("source", "target")[side]
    texts = (
        text.removesuffix("\r").removeprefix("\ufeff")
        for text in written.decode(errors="replace").split("\n")
    )
    rows: list[Array] = []
    for number, (text, cut) in enumerate(
        zip(texts, tokens.decode().split("\n")[:-1], strict=False), line + 1
    ):
        cut_tokens = words_of(cut, cutting.ascii)
        if cutting.marked[side]:
            cut_tokens = letters(cut_tokens, "sentencepiece")
        names = f"tokens of {name} line {number}", "its text"
        spans = locate(cut_tokens, text, names)
        words = locate(words_of(text, cutting.ascii), text, (f"words of {name} line {number}", "its text"))
        inside = [(found or [max(len(words) - 1, 0)])[0] for found in overlaps(spans, words)]
        rows.append(
            np.array([(word, *span) for word, span in zip(inside, spans, strict=True)]).reshape(-1, 3)
        )
    flat = np.concatenate([*rows, np.empty((0, 3))]).astype(np.int32)
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
    word, begin, end = np.ascontiguousarray(flat.T)
    return TokenPlaces(word, begin, end, offsets)
