"""Aligning a text of any size chunk by chunk, each from its bytes to the printed links on one thread.

The main thread reads blocks of lines and writes finished bytes, in the order of the text. Threads share
nothing but the model, which they only read; so they need not wait for each other, and neither their number
nor the cut into chunks changes a byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from threading import Lock
from typing import NamedTuple

from dualign._core.arrays import Array
from dualign._core.threads import available
from dualign.aligner import Aligner
from dualign.engines import Decoded
from dualign.hmm.encoding import EncodedText, Lines, chunk_size, encode_lines, parts_of
from dualign.hmm.model import Model
from dualign.hmm.posteriors import LONGEST_IN_STEP
from dualign.jobs.link_output import Ids, Outputs, Piece, printed
from dualign.jobs.link_places import on_lines
from dualign.jobs.running import Run
from dualign.jobs.warming import compile_kernels
from dualign.text.blocks import BEGINNING, Pair, PairedLines, Position, TextFiles, both_sides
from dualign.text.corpus import Numbered
from dualign.text.tokenizing import ENDING, SAMPLE, Cutting, sign_of_raw_text

MOSTLY = 0.5
"""With a larger share of unknown words at the beginning of a text, the model is hardly meant for it."""

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
    for lines in text.blocks(size or chunk_size(model), begin):
        yield Chunk(lines.begin, partial(encode_chunk, lines=lines, text=text, keep=keep), lines.end)


def encode_chunk(model: Model, lines: PairedLines, text: TextFiles, keep: bool) -> EncodedText:
    """Some lines of a text in a model's numbers; `keep` the lines, too."""
    sides = both_sides(lines, text.source, text.target, text.errors)
    tokens = text.cutting.both(sides)
    encoded = encode_lines(model, *tokens)
    if not keep:
        return encoded
    written = sides if lines.target is None else (lines.source, lines.target)
    return encoded._replace(lines=Lines(written, tokens))


def chunks_of_text(model: Model, text: Numbered | Iterable[Pair], size: int | None = None) -> Iterator[Chunk]:
    """A text in memory, or a stream of pairs, which is then read no further than is needed."""
    size = size or chunk_size(model)
    for number, part in enumerate(parts_of(model, text, size)):
        yield Chunk(Position(number * size), part.encode)


def align_chunks(
    aligner: Aligner, chunks: Iterable[Chunk], outputs: Outputs, run: Run, ids: Ids | None = None
) -> Iterator[Piece]:
    """What is written about each chunk, in their order."""
    compile_long, cutting = _LongPairs(run), aligner.cutting

    def looked_at(chunk: Chunk) -> Chunk:
        return chunk._replace(encode=partial(look_at, chunk))

    def look_at(chunk: Chunk, model: Model) -> EncodedText:
        text = chunk.encode(model)
        compile_long.if_needed(text)
        if chunk.begin.line == 0:
            _note_unknown(model, text, run)
            if not aligner.history:  # else it was looked at before training
                note_raw(partial(_words_of, model, text), cutting, outputs.positions, run)
        return text

    def print_piece(chunk: Chunk, decoded: Decoded) -> Piece:
        text, links, matrices, clock = decoded
        end = chunk.end or Position(chunk.begin.line + len(links))
        lines = None if text.lines is None else on_lines(links, text.lines, outputs, cutting, chunk.begin)
        names = None if ids is None else ids.of(chunk.begin.line, end.line)
        piece = printed(links, outputs, chunk.begin, end, clock.seconds, lines, names)
        return piece if matrices is None else piece._replace(matrices=matrices)

    keep, threads = outputs.posteriors is not None, available(run.threads)
    return aligner.decode(map(looked_at, chunks), print_piece, matrices=keep, threads=threads)


class _LongPairs:
    """Compiles the kernels for very long sentences when the first of them comes, and says so."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._lock = Lock()
        self._done = False

    def if_needed(self, text: EncodedText) -> None:
        sides = text.bitext.source, text.bitext.target
        if self._done or max(int(side.lengths.max(initial=0)) for side in sides) <= LONGEST_IN_STEP:
            return
        with self._lock:
            if not self._done:
                compile_kernels(self._run.note, "long")
            self._done = True


def note_raw(
    words: Callable[[int], tuple[Array, Sequence[str]]], cutting: Cutting, positions: str | None, run: Run
) -> None:
    """Tell where the text looks raw, and is not tokenised.

    `words` gives the first tokens of a side, in numbers, and the words of these. `positions`: what the links
    are on, None if there are none.
    """
    signs = []
    for side, (name, cut) in enumerate((("source", cutting.source), ("target", cutting.target))):
        if cut is None:
            tokens, known = words(side)
            sign = sign_of_raw_text([known[token] for token in tokens[:SAMPLE].tolist()], name)
            if sign is not None:
                signs.append(sign)
    if signs:
        if len(signs) == 2 and all(sign.endswith(ENDING) for sign in signs):
            signs[0] = signs[0].removesuffix(ENDING)
        more = ", and align with positions=words for links on the words of your files"
        run.note(
            f"note: {' and '.join(signs)}; if this text is not tokenised, train with tokenize=simple"
            f"{more if positions == 'tokens' else ''}"
        )


def _words_of(model: Model, text: EncodedText, side: int) -> tuple[Array, list[str]]:
    """What `note_raw` asks for."""
    sentences = (text.bitext.source, text.bitext.target)[side]
    return sentences.tokens, [*(model.source, model.target)[side].words, *text.unknown[side]]


def _note_unknown(model: Model, text: EncodedText, run: Run) -> None:
    """Warn where the first pairs of a text are in other languages than the model's."""
    bitext = text.bitext
    for side, vocabulary, name in (
        (bitext.source, model.source, "source"),
        (bitext.target, model.target, "target"),
    ):
        note_unknown(name, int((side.tokens >= len(vocabulary)).sum()), len(side.tokens), run)


def note_unknown(name: str, unknown: int, tokens: int, run: Run) -> None:
    """Warn where most of the first tokens of a side are words that the model does not know."""
    if unknown > MOSTLY * tokens:
        run.warn(
            f"the model does not know {100 * unknown / tokens:.0f} % of the first {name} words; "
            "was it trained on these languages, in this order?"
        )
