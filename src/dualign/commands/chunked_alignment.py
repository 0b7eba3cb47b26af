"""Aligning a text of any size chunk by chunk, each from its bytes to the printed links on one thread.

The main thread reads blocks of lines and writes finished bytes, in the order of the text. Threads share
nothing but the model, which they only read; so they need not wait for each other, and neither their number
nor the cut into chunks changes a byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from threading import Lock
from typing import NamedTuple

from dualign._core.arrays import Array
from dualign._core.threads import available
from dualign.aligner import Aligner
from dualign.commands.bundles import Outputs
from dualign.commands.console import Reporter
from dualign.commands.link_places import on_lines
from dualign.commands.notes import note_raw, note_unknown
from dualign.commands.outputs import Ids, Piece, printed
from dualign.commands.warming import compile_kernels
from dualign.engines import DecodedPart
from dualign.hmm.encoding import EncodedText, Lines, chunk_size, encode_lines, parts_of
from dualign.hmm.model import Model
from dualign.hmm.posteriors import LONGEST_IN_STEP
from dualign.text.blocks import BEGINNING, Pair, Position, TextBlock, TextFiles, read_blocks
from dualign.text.corpus import Numbered

CHUNK_MEMORY = 40 << 20
"""What a thread takes while it aligns a chunk, from the bytes of the text to those of the links."""


class Chunk(NamedTuple):
    """Some consecutive pairs of a text, between two places, to be encoded on any thread."""

    begin: Position
    encode: Callable[[Model], EncodedText]
    end: Position | None = None
    """None if only the line is known, from the number of pairs."""


def chunks_of_files(
    model: Model, text: TextFiles, begin: Position = BEGINNING, *, keep: bool = False, size: int | None = None
) -> Iterator[Chunk]:
    """The text of one or two files from a place on, for a model that is there; `keep` the lines, too.

    `size`: pairs of a chunk, if another than the usual one.
    """
    for side in (model.source, model.target):
        # Now, because otherwise all threads would begin with it.
        side.table  # noqa: B018
        if model.options.lowercase:
            side.is_lower  # noqa: B018
        if model.options.skipped:
            side.numbers  # noqa: B018
    for block in read_blocks(text, size or chunk_size(model), begin):
        yield Chunk(block.begin, partial(encode_chunk, block=block, keep=keep), block.end)


def encode_chunk(model: Model, block: TextBlock, keep: bool) -> EncodedText:
    """Some lines of a text in a model's numbers; `keep` the lines, too."""
    sides = block.normalised()
    tokens = block.tokens(sides)
    encoded = encode_lines(model, *tokens)
    if not keep:
        return encoded
    written = sides if block.target is None else (block.source, block.target)
    return encoded._replace(lines=Lines(written, tokens))


def chunks_of_text(model: Model, text: Numbered | Iterable[Pair], size: int | None = None) -> Iterator[Chunk]:
    """A text in memory, or a stream of pairs, which is then read no further than is needed."""
    size = size or chunk_size(model)
    for number, part in enumerate(parts_of(model, text, size)):
        yield Chunk(Position(number * size), part.encode)


def align_chunks(
    aligner: Aligner,
    chunks: Iterable[Chunk],
    outputs: Outputs,
    tell: Reporter,
    ids: Ids | None = None,
    threads: int | None = None,
) -> Iterator[Piece]:
    """What is written about each chunk, in their order."""
    compile_long, cutting = _LongPairs(tell), aligner.cutting

    def looked_at(chunk: Chunk) -> Chunk:
        return chunk._replace(encode=partial(look_at, chunk))

    def look_at(chunk: Chunk, model: Model) -> EncodedText:
        text = chunk.encode(model)
        compile_long.if_needed(text)
        if chunk.begin.line == 0:
            _note_unknown(model, text, tell)
            if not aligner.history:  # else it was looked at before training
                note_raw(partial(_words_of, model, text), cutting, outputs.positions, tell)
        return text

    def print_piece(chunk: Chunk, decoded: DecodedPart) -> Piece:
        text, links, matrices, clock = decoded
        end = chunk.end or Position(chunk.begin.line + len(links))
        lines = None if text.lines is None else on_lines(links, text.lines, outputs, cutting, chunk.begin)
        names = None if ids is None else ids.of(chunk.begin.line, end.line)
        piece = printed(links, outputs, chunk.begin, end, clock.seconds, lines, names)
        return piece if matrices is None else piece._replace(matrices=matrices)

    keep, threads = outputs.posteriors is not None, available(aligner.threads if threads is None else threads)
    return aligner.decode(map(looked_at, chunks), print_piece, matrices=keep, threads=threads)


class _LongPairs:
    """Compiles the kernels for very long sentences when the first of them comes, and says so."""

    def __init__(self, tell: Reporter) -> None:
        self._tell = tell
        self._lock = Lock()
        self._done = False

    def if_needed(self, text: EncodedText) -> None:
        sides = text.bitext.source, text.bitext.target
        if self._done or max(int(side.lengths.max(initial=0)) for side in sides) <= LONGEST_IN_STEP:
            return
        with self._lock:
            if not self._done:
                compile_kernels(self._tell.about_kernels, "long")
            self._done = True


def _words_of(model: Model, text: EncodedText, side: int) -> tuple[Array, list[str]]:
    """What `note_raw` asks for."""
    sentences = (text.bitext.source, text.bitext.target)[side]
    return sentences.tokens, [*(model.source, model.target)[side].words, *text.unknown[side]]


def _note_unknown(model: Model, text: EncodedText, tell: Reporter) -> None:
    """Warn where the first pairs of a text are in other languages than the model's."""
    bitext = text.bitext
    for side, vocabulary, name in (
        (bitext.source, model.source, "source"),
        (bitext.target, model.target, "target"),
    ):
        note_unknown(name, int((side.tokens >= len(vocabulary)).sum()), len(side.tokens), tell)
