"""What word alignment writes: links, their probabilities, a report, and a page about the tell."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from math import isfinite, isnan
from typing import IO, Any, NamedTuple, Protocol

import numpy as np

from dualign._core import release
from dualign._core.arrays import Array
from dualign._core.errors import DataError
from dualign._core.files.streams import (
    flush_through,
    open_binary_output,
    open_input,
    open_output,
    pack,
    plain_name,
)
from dualign._core.progress import in_words
from dualign.aligner import Aligner, alignments
from dualign.commands.bundles import Outputs
from dualign.commands.console import Reporter
from dualign.decode.decoders import DecodedLinks, scores_of
from dualign.text.blocks import Pair, Position
from dualign.text.checks import number_of
from dualign.text.score_matrices import MatrixArchive
from dualign.text.utf8_kernels import print_links


class Piece(NamedTuple):
    """What is written about some consecutive pairs, compressed by the name of its file."""

    end: Position
    """The place in the text after them."""
    contents: tuple[bytes, ...]
    """What goes to each file, in the order of `Outputs.streamed`."""
    counts: PairTotals
    kept: DecodedLinks | None
    """For the page."""
    matrices: Sequence[Array] = ()
    """For the file of posteriors."""


class PairTotals(NamedTuple):
    """Of pairs: how many were aligned, how many were too long for it, and of how many the best links are
    proved; and all their links."""

    pairs: int = 0
    too_long: int = 0
    proved: int = 0
    links: int = 0

    def __add__(self, other: object) -> PairTotals:
        assert isinstance(other, PairTotals)
        return PairTotals(*map(sum, zip(self, other, strict=True)))


class Printed(NamedTuple):
    """How the links of some pairs are written."""

    links: Callable[[bool], bytes]
    """A line for each pair, with or without probabilities."""
    tokens: bytes = b""


def printed(
    links: DecodedLinks,
    outputs: Outputs,
    begin: Position,
    end: Position,
    seconds: float,
    lines: Printed | None = None,
    ids: list[bytes] | None = None,
) -> Piece:
    """What is written about the pairs between two places in a text, whose alignment took these seconds."""
    written = lines or Printed(partial(print_links, links))
    scored = report = scores = tokens = b""
    if outputs.probabilities is not None:
        scored = pack(_after_ids(written.links(True), ids), outputs.probabilities)
    if outputs.report is not None:
        records = io.StringIO()
        write_report(links, begin.line, seconds / max(len(links), 1), records, ids)
        report = pack(records.getvalue().encode(), outputs.report)
    if outputs.scores is not None:
        rows = "".join(f"{p:.6f}\t{q:.6f}\t{mean:.6f}\t{rest:.6f}\n" for p, q, mean, rest in scores_of(links))
        scores = pack(_after_ids(rows.encode(), ids), outputs.scores)
    if outputs.tokens is not None:
        tokens = pack(_after_ids(written.tokens, ids), outputs.tokens)
    contents = pack(_after_ids(written.links(False), ids), outputs.links), scored, report, scores, tokens
    counts = PairTotals(len(links), int(links.too_long.sum()), int(links.certified.sum()), len(links.source))
    return Piece(end, contents, counts, links if outputs.page is not None else None)


class Ids:
    """The ids of the pairs of a text, from a file with one on each line."""

    def __init__(self, path: str) -> None:
        with open_input(path) as stream:
            self._text = stream.read()
        self._ends = np.flatnonzero(np.frombuffer(self._text, np.uint8) == 10)

    def of(self, begin: int, end: int) -> list[bytes]:
        """The ids of pairs begin … end."""
        if end > len(self._ends):
            raise DataError(f"there are {len(self._ends)} ids for more pairs; give an id for each")
        first = int(self._ends[begin - 1]) + 1 if begin else 0
        return self._text[first : int(self._ends[end - 1]) + 1].split(b"\n")[:-1] if end > begin else []


def _after_ids(lines: bytes, ids: list[bytes] | None) -> bytes:
    """The lines, each with its id and a tab before it."""
    if ids is None:
        return lines
    return b"".join([b"%b\t%b\n" % both for both in zip(ids, lines.split(b"\n")[:-1], strict=True)])


class Sink(Protocol):
    """Takes the pieces of a text in their order."""

    def write(self, piece: Piece) -> None:
        """Write a piece."""


class WholeFiles:
    """Writes to files that appear under their names when all is written."""

    def __init__(self, outputs: Outputs, stack: ExitStack) -> None:
        self._streams: list[tuple[str, IO[bytes] | None]] = []
        for path in outputs.streamed:
            stream = stack.enter_context(open_binary_output(path, packed=True)) if path else None
            self._streams.append((path or "", stream))
        self._empty, self._at_once = True, outputs.at_once
        self._archive: MatrixArchive | None = None
        if outputs.posteriors is not None:
            self._archive = MatrixArchive(stack.enter_context(open_binary_output(outputs.posteriors)))
            stack.callback(self._archive.give_up)

    def write(self, piece: Piece) -> None:
        """Write a piece."""
        self._empty = False
        if self._archive is not None:
            for matrix in piece.matrices:
                self._archive.write(matrix)
        for (_, stream), data in zip(self._streams, piece.contents, strict=True):
            if stream is not None:
                stream.write(data)
                if self._at_once:
                    flush_through(stream)

    def finish(self) -> None:
        """A compressed text of no lines has some bytes, too."""
        for path, stream in self._streams:
            if self._empty and stream is not None:
                stream.write(pack(b"", path))
        if self._archive is not None:
            self._archive.finish()


def write(pieces: Iterable[Piece], outputs: Outputs, tell: Reporter) -> tuple[PairTotals, list[DecodedLinks]]:
    """Write links, and what else is wanted, piece by piece; nothing appears under a final name before
    everything is written. Returns what was counted, and what was kept for the page."""
    with ExitStack() as stack:
        files = WholeFiles(outputs, stack)
        found = write_pieces(pieces, files, PairTotals(), tell)
        files.finish()
    return found


def write_pieces(
    pieces: Iterable[Piece], sink: Sink, counts: PairTotals, tell: Reporter
) -> tuple[PairTotals, list[DecodedLinks]]:
    """Write pieces after those that are counted already."""
    kept = []
    tell.progress(0, "align")
    for piece in pieces:
        sink.write(piece)
        counts += piece.counts
        if piece.kept is not None:
            kept.append(piece.kept)
        tell.progress(counts.pairs, "align")
    return counts, kept


def note_counts(counts: PairTotals, aligner: Aligner, seconds: float, tell: Reporter) -> None:
    """Tell what is worth knowing about the pairs that were aligned in these seconds."""
    tell.note(f"{number_of(counts.pairs, 'pairs')}, {number_of(counts.links, 'links')}, {in_words(seconds)}")
    if aligner.options.decoder == "bidirectional":
        tell.note(f"{counts.proved:,} of {counts.pairs:,} alignments are proved optimal")
    if counts.too_long:
        has = "pair is" if counts.too_long == 1 else "pairs are"
        tell.warn(f"{counts.too_long:,} {has} too long to align (over 10 million cells), and without links")


def write_report(
    chunk: DecodedLinks, line: int, seconds: float, report: IO[str], ids: list[bytes] | None = None
) -> None:
    """A JSON object for each pair. Where a decoder does not search pair by pair, `seconds` is the mean over
    the chunk. A pair that was too long for the decoder has no score or bound.
    """
    for n, (forward, backward, _, unlinked) in enumerate(scores_of(chunk)):
        probabilities = chunk.probability[chunk.offsets[n] : chunk.offsets[n + 1]]
        count = len(probabilities)
        score, bound = float(chunk.score[n]), float(chunk.bound[n])
        record: dict[str, Any] = {
            "line": line + n + 1,
            **({} if ids is None else {"id": ids[n].decode()}),
            "links": count,
            "mean_probability": round(float(probabilities.mean()), 6) if count else None,
            "target_given_source": None if isnan(forward) else round(forward, 6),
            "source_given_target": None if isnan(backward) else round(backward, 6),
            "unlinked": round(unlinked, 6),
            "score": None if isnan(score) else score,
            "bound": None if isnan(bound) or chunk.too_long[n] else bound,
            "certified": bool(chunk.certified[n] and not chunk.too_long[n]),
            "seconds": round(float(chunk.seconds[n]) or seconds, 9),
        }
        if chunk.rounds[n]:
            record["iterations"] = int(chunk.rounds[n])
        if len(chunk.trace) and chunk.trace[n]:
            record["trace"] = [[value if isfinite(value) else None for value in r] for r in chunk.trace[n]]
        report.write(json.dumps(record) + "\n")


def write_page(
    path: str,
    pairs: Sequence[Pair],
    chunks: Sequence[DecodedLinks],
    aligner: Aligner,
    files: dict[str, str | None],
) -> None:
    """Write the page about a run that has aligned these pairs, and has read and written these files."""
    from dualign.show.summary import About, summary_page

    report = io.StringIO()
    line = 0
    for chunk in chunks:
        write_report(chunk, line, 0.0, report)
        line += len(chunk)
    shown = ("model", "constraint", "projection", "decoder", "threshold")
    facts = {name: plain_name(file) for name, file in files.items() if file not in (None, "-")}
    facts |= {name: str(getattr(aligner.options, name)) for name in shown} | {"dualign": release()}
    about = About("Word alignment", aligner.history, report.getvalue().splitlines(), facts)
    found = [alignment for chunk in chunks for alignment in alignments(chunk)]
    with open_output(path) as stream:
        stream.write(summary_page(pairs, found, about))
