"""Aligning a text of any size chunk by chunk, each from its bytes to the printed links on one thread.

The main thread reads blocks of lines and writes finished bytes, in the order of the text. Threads share
nothing but the model, which they only read; so they need not wait for each other, and neither their number
nor the cut into chunks changes a byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from threading import Lock, local
from typing import NamedTuple

from dualign.aligner import Aligner
from dualign.core.arrays import Array
from dualign.core.clocks import Clock
from dualign.core.phases import phase
from dualign.core.threads import ordered_map
from dualign.infer.desk import Desk
from dualign.infer.encoding import Encoded, chunk_size, encode_lines, unencoded_parts
from dualign.infer.posteriors import LONGEST_IN_STEP
from dualign.jobs.link_output import Outputs, Piece, printed
from dualign.jobs.running import Run
from dualign.jobs.warming import compile_kernels
from dualign.model.model import Model
from dualign.text.bitext import Numbered
from dualign.text.line_blocks import BEGINNING, PairedLines, Place
from dualign.text.pair_blocks import both_sides, read_pair_blocks
from dualign.text.pairs import Pair

MOSTLY = 0.5
"""With a larger share of unknown words at the beginning of a text, the model is hardly meant for it."""


class Chunk(NamedTuple):
    """Some consecutive pairs of a text, between two places, to be encoded on any thread."""

    begin: Place
    encode: Callable[[], Encoded]
    end: Place | None = None
    """None if only the line is known, from the number of pairs."""


def chunks_of_files(
    model: Model, source: str, target: str | None, errors: str, begin: Place = BEGINNING
) -> Iterator[Chunk]:
    """The text of one or two files from a place on, for a model that is there."""
    for side in (model.source, model.target):
        # Now, because otherwise all threads would begin with it.
        side.stems(model.options.stem_letters)
        side.table, side.forms  # noqa: B018
    blocks = read_pair_blocks(source, target, chunk_size(model), begin=begin, errors=errors)
    for lines in blocks:
        yield Chunk(lines.begin, partial(_encode, model, lines, source, target, errors), lines.end)


def _encode(model: Model, lines: PairedLines, source: str, target: str | None, errors: str) -> Encoded:
    return encode_lines(model, *both_sides(lines, source, target, errors))


def chunks_of_text(model: Model, text: Numbered | Iterable[Pair]) -> Iterator[Chunk]:
    """A text in memory, or a stream of pairs, which is then read no further than is needed."""
    size = chunk_size(model)
    for number, encode in enumerate(unencoded_parts(model, text, size)):
        yield Chunk(Place(number * size), encode)


def align_chunks(aligner: Aligner, chunks: Iterable[Chunk], outputs: Outputs, run: Run) -> Iterator[Piece]:
    """What is written about each chunk, in their order."""
    compile_long = _LongPairs(run)
    desks = local()

    def work(chunk: Chunk) -> Piece:
        clock = Clock()
        with phase("numbering"):
            text = chunk.encode()
        compile_long.if_needed(text)
        if chunk.begin.line == 0:
            _note_unknown(aligner.model, text, run)
        desk = desks.own = getattr(desks, "own", None) or Desk()
        matrices: list[Array] | None = None if outputs.posteriors is None else []
        links = aligner.align_part(text, desk, matrices)
        end = chunk.end or Place(chunk.begin.line + len(links))
        with phase("printing"):
            piece = printed(links, outputs, chunk.begin, end, clock.seconds)
        return piece if matrices is None else piece._replace(matrices=matrices)

    return ordered_map(work, chunks, aligner.threads)


class _LongPairs:
    """Compiles the kernels for very long sentences when the first of them comes, and says so."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._lock = Lock()
        self._done = False

    def if_needed(self, text: Encoded) -> None:
        sides = text.bitext.source, text.bitext.target
        if self._done or max(int(side.lengths.max(initial=0)) for side in sides) <= LONGEST_IN_STEP:
            return
        with self._lock:
            if not self._done:
                compile_kernels(self._run.note, "long")
            self._done = True


def _note_unknown(model: Model, text: Encoded, run: Run) -> None:
    """Warn where the first pairs of a text are in other languages than the model's."""
    bitext = text.bitext
    for side, vocabulary, name in (
        (bitext.source, model.source, "source"),
        (bitext.target, model.target, "target"),
    ):
        unknown = int((side.tokens >= len(vocabulary)).sum())
        if unknown > MOSTLY * len(side.tokens):
            share = 100 * unknown / len(side.tokens)
            run.note(
                f"warning: the model does not know {share:.0f} % of the {name} words "
                "at the beginning; was it trained on these languages, in this order?"
            )
