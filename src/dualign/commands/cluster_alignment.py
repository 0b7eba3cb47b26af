"""Aligning a text with the workers of a cluster.

The text is cut into shards of some chunks, as one machine aligns them, whatever the number of workers; the
lines of each shard are a file of the work folder. A task makes of it another, with all that is written about
these lines. When all are there, they are put together in the order of the text.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count, islice
from typing import Any

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import UsageError
from dualign.aligner import Aligner
from dualign.commands.bundles import Outputs
from dualign.commands.console import Reporter
from dualign.commands.outputs import PairTotals, Piece, Printer, write
from dualign.engines.dask.work_folder import is_whole, keep, kept_model, made, mark_of, model_mark, remembered
from dualign.engines.dask.workers import Made, Task, Workers
from dualign.hmm.encoding import UnreadPart, chunk_size, encode_block
from dualign.hmm.model import Model
from dualign.text.blocks import Position, TextBlock, TextFiles, read_blocks

CHUNKS = 8
"""Most chunks of a shard: some seconds of work, and less of it lost when a worker dies."""

SHARDS = 64
"""Shards of each size: the first have one chunk, so that a short text keeps many workers busy, too."""


def refuse_outputs(outputs: Outputs, text: TextFiles, resume: bool) -> None:
    """Refuse what a cluster does not write."""
    for name in ("page", "posteriors", "ids"):
        if text.has_ids if name == "ids" else getattr(outputs, name) is not None:
            raise UsageError(f"a cluster does not write {name}; leave it out, or align on one machine")
    if outputs.at_once:
        raise UsageError(
            "{line_buffered=} answers line by line; a cluster is for whole texts", line_buffered=True
        )
    if resume:
        raise UsageError(
            "on a cluster every command goes on where it was stopped; leave {resume=} out", resume=True
        )


def align_on(
    crew: Workers, aligner: Aligner, files: TextFiles, outputs: Outputs, tell: Reporter, *, learnt: bool
) -> PairTotals:
    """Align a text; a `learnt` one is cut as a single machine cuts what it has in memory."""
    size = chunk_size(aligner.model)
    blocks = read_blocks(files, size)
    if learnt and not outputs.reads_lines:
        blocks = cut_evenly(blocks, size)
    # The names of the outputs matter for their compression alone.
    outputs = replace(outputs, model=None)
    known = crew.pickled(aligner.constraints)
    state = model_mark(aligner.model)
    path = kept_model(crew.work, aligner.model, state)
    bare = replace(files, tell=None)
    tasks = []
    tell.progress(0, "cut")
    for number, shard in enumerate(_shards(blocks)):
        arrays = shard_arrays(shard)
        mark = mark_of(*arrays.values(), shard[-1].bars)
        lines = crew.place(f"lines-{mark[:12]}-{number:06}")
        if not is_whole(lines, mark):
            keep(lines, mark, arrays, {"bars": shard[-1].bars})
        what = path, known, bare, outputs
        mark = mark_of(mark, state, known, outputs, files.errors, learnt)
        links = crew.place(f"links-{mark[:12]}-{number:06}")
        tasks.append(Task(links, mark, align_shard, (lines, *what, learnt)))
    crew.run("align", tasks)
    return write(pieces_of(tasks, tell), outputs, tell)[0]


def _shards(blocks: Iterator[TextBlock]) -> Iterator[list[TextBlock]]:
    """Shards of 1, 2, 4, … chunks."""
    for number in count():
        shard = list(islice(blocks, min(CHUNKS, 1 << number // SHARDS)))
        if not shard:
            return
        yield shard


def shard_arrays(shard: Iterable[TextBlock]) -> dict[str, Array]:
    """Blocks of lines as arrays: the bytes of each side, and the places where the blocks begin and end."""
    blocks = list(shard)
    arrays = {"places": np.array([blocks[0].begin, *(block.end for block in blocks)], np.int64)}
    sizes = [[len(block.source), len(block.target or b"")] for block in blocks]
    arrays["sizes"] = np.array(sizes, np.int64)
    arrays["source"] = np.frombuffer(b"".join(block.source for block in blocks), np.uint8)
    if blocks[0].target is not None:
        arrays["target"] = np.frombuffer(b"".join(block.target or b"" for block in blocks), np.uint8)
    return arrays


def blocks_of(path: str, text: TextFiles) -> Iterator[TextBlock]:
    """The inverse."""
    header, arrays = made(path)
    source, target = arrays["source"].tobytes(), None
    if "target" in arrays:
        target = arrays["target"].tobytes()
    places = [Position(*place) for place in arrays["places"].tolist()]
    at = [0, 0]
    for begin, end, (left, right) in zip(places, places[1:], arrays["sizes"].tolist(), strict=False):
        sides = source[at[0] : at[0] + left], None if target is None else target[at[1] : at[1] + right]
        yield TextBlock(begin, end, *sides, text, header["bars"])
        at = [at[0] + left, at[1] + right]


def cut_evenly(blocks: Iterable[TextBlock], size: int) -> Iterator[TextBlock]:
    """The same lines in blocks of exactly `size`, except the last."""
    held: TextBlock | None = None
    for block in blocks:
        held = block if held is None else _joined(held, block)
        while len(held) > size:
            first, held = _split(held, size)
            yield first
        if len(held) == size:
            yield held
            held = None
    if held is not None:
        yield held


def _joined(one: TextBlock, other: TextBlock) -> TextBlock:
    target = None if one.target is None else one.target + (other.target or b"")
    return replace(other, begin=one.begin, source=one.source + other.source, target=target)


def _split(block: TextBlock, lines: int) -> tuple[TextBlock, TextBlock]:
    """Cut after that many lines; the place between is known by its line alone."""
    middle = Position(block.begin.line + lines)

    def halves(side: bytes) -> tuple[bytes, bytes]:
        end = int(np.flatnonzero(np.frombuffer(side, np.uint8) == 10)[lines - 1]) + 1
        return side[:end], side[end:]

    left, right = halves(block.source), (None, None) if block.target is None else halves(block.target)
    first = replace(block, end=middle, source=left[0], target=right[0])
    return first, replace(block, begin=middle, source=left[1], target=right[1])


@remembered
def _aligner(path: str, known: bytes) -> Aligner:
    aligner = Aligner.of_model(Model.load(path, mapped=True), 1)
    aligner.constraints = pickle.loads(known)  # of our own, from the process that gives the tasks
    return aligner


class ShardReporter(Reporter):
    """Keeps what is told about a shard, as templates and values; nothing about kernels of this machine."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, str, dict[str, Any]]] = []

    def note(self, template: str, **values: Any) -> None:
        """Keep a note."""
        self.told.append(("note", template, values))

    def warn(self, template: str, **values: Any) -> None:
        """Keep a warning."""
        self.told.append(("warn", template, values))


def align_shard(
    lines: str, model: str, known: bytes, files: TextFiles, outputs: Outputs, learnt: bool
) -> Made:
    """What is written about the lines of a shard."""
    aligner = _aligner(model, known)
    tell = ShardReporter()
    keep_lines = outputs.reads_lines
    parts = (
        UnreadPart(block.begin, block.end, partial(encode_block, block=block, keep=keep_lines))
        for block in blocks_of(lines, files)
    )
    printer = Printer(outputs, aligner.cutting, tell, learnt=learnt)
    done = list(aligner.decode(parts, printer.piece, look=printer.look))
    counts = sum((piece.counts for piece in done), PairTotals())
    arrays = {
        f"stream_{n}": np.frombuffer(b"".join(part), np.uint8)
        for n, part in enumerate(zip(*(piece.contents for piece in done), strict=True))
    }
    # A text that was learnt from was looked at before.
    return {"counts": list(counts), "told": [] if learnt else tell.told}, arrays


def pieces_of(tasks: Iterable[Task], tell: Reporter) -> Iterator[Piece]:
    """What is written about each shard, in order."""
    for task in tasks:
        header, arrays = made(task.path)
        for kind, template, values in header["told"]:
            getattr(tell, kind)(template, **values)
        contents = tuple(arrays[f"stream_{n}"].tobytes() for n in range(len(arrays)))
        yield Piece(Position(), contents, PairTotals(*header["counts"]), None)
