"""What word alignment writes, and tells about words: links, probabilities, a report, a page about the run."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from math import isfinite, isnan
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

from dualign._core import release
from dualign._core.arrays import Array
from dualign._core.files.streams import flush_through, open_binary_output, open_output, pack, plain_name
from dualign._core.progress import advance, in_words
from dualign.aligner import Aligner, alignments
from dualign.commands.bundles import Outputs
from dualign.commands.console import Reporter
from dualign.decode.decoders import DecodedLinks, scores_of
from dualign.text.blocks import BEGINNING, Pair, Position
from dualign.text.checks import number_of
from dualign.text.score_matrices import MatrixArchive
from dualign.text.utf8_kernels import print_links

if TYPE_CHECKING:
    from dualign.engines import DecodedPart
    from dualign.hmm.encoding import EncodedText, UnreadPart
    from dualign.hmm.model import Model
    from dualign.text.tokenizing import Cutting


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


class Printer:
    """Makes of each part of a text what is written about it, and tells what its first words look like.

    `ids`: those of the pairs, if the parts have none; `learnt`: the text was looked at before training.
    """

    def __init__(
        self,
        outputs: Outputs,
        cutting: Cutting,
        tell: Reporter,
        ids: Sequence[str] = (),
        *,
        learnt: bool = False,
    ) -> None:
        self.outputs, self.cutting, self.tell, self.ids, self.learnt = outputs, cutting, tell, ids, learnt

    def look(self, model: Model, part: UnreadPart, text: EncodedText) -> None:
        """Tell where the first pairs of a text are in other languages than the model's, or look raw."""
        if part.begin.line:
            return
        vocabularies = model.source, model.target
        sides = [text.bitext.source.tokens, text.bitext.target.tokens]
        names = "source", "target"
        for name, tokens, known, new in zip(names, sides, vocabularies, text.unknown, strict=True):
            if new:
                note_unknown(name, int((tokens >= len(known)).sum()), len(tokens), self.tell)
        if not self.learnt and not self.tell.is_quiet:
            words = ([*known.words, *new] for known, new in zip(vocabularies, text.unknown, strict=True))
            note_raw(zip(sides, words, strict=True), self.cutting, self.outputs.positions, self.tell)

    def piece(self, part: UnreadPart, decoded: DecodedPart) -> Piece:
        """Return what is written about a part, on the thread that has decoded it."""
        text, links, matrices, clock = decoded
        if self.ids:
            part = part._replace(ids=self.ids[part.begin.line : part.end.line])
        lines = None
        if text.lines is not None:
            from dualign.transfer.positions import placed_links, token_lines

            placed = placed_links(links, text.lines, self.cutting, self.outputs.positions, part.begin.line)
            cut = b"" if self.outputs.tokens is None else token_lines(text.lines, self.cutting)
            lines = placed, cut
        piece = printed(links, self.outputs, part, clock.seconds, lines)
        return piece if matrices is None else piece._replace(matrices=matrices)


MOSTLY = 0.5
"""With a larger share of unknown words at the beginning of a text, the model is hardly meant for it."""


def note_unknown(name: str, unknown: int, tokens: int, tell: Reporter) -> None:
    """Warn where most of the first tokens of a side are words that the model does not know."""
    if unknown > MOSTLY * tokens:
        tell.warn(
            f"the model does not know {100 * unknown / tokens:.0f} % of the first {name} words; "
            "was it trained on these languages, in this order?"
        )


def note_raw(
    sides: Iterable[tuple[Array, Sequence[str]]], cutting: Cutting, positions: str | None, tell: Reporter
) -> None:
    """Tell where the text looks raw, and is not tokenised.

    `sides`: the first tokens of each, in numbers, and the words of these. `positions`: what the links are on,
    None if there are none.
    """
    from dualign.text.tokenizing import ENDING, SAMPLE, sign_of_raw_text

    signs = []
    for name, cut, (tokens, words) in zip(
        ("source", "target"), (cutting.source, cutting.target), sides, strict=True
    ):
        if cut is None:
            sign = sign_of_raw_text([words[token] for token in tokens[:SAMPLE].tolist()], name)
            signs += [] if sign is None else [sign]
    if not signs:
        return
    if len(signs) == 2 and all(sign.endswith(ENDING) for sign in signs):
        signs[0] = signs[0].removesuffix(ENDING)
    more = ", and align with {positions=} for links on the words of your files"
    tell.note(
        "note: {signs}; if this text is not tokenised, train with {tokenize=}"
        + (more if positions == "tokens" else ""),
        signs=" and ".join(signs), tokenize="simple", positions="words",
    )  # fmt: skip


def printed(
    links: DecodedLinks,
    outputs: Outputs,
    part: UnreadPart,
    seconds: float,
    lines: tuple[Callable[[bool], bytes], bytes] | None = None,
) -> Piece:
    """What is written about a part of a text, whose alignment took these seconds; `lines`: how its links are
    written, with probabilities or without, and its tokens, where that takes more than the links."""
    print_lines, cut = lines or (partial(print_links, links), b"")
    scored = report = scores = tokens = b""
    if outputs.probabilities is not None:
        scored = pack(_after_ids(print_lines(True), part), outputs.probabilities)
    if outputs.report is not None:
        records = io.StringIO()
        write_report(links, part.begin.line, seconds / max(len(links), 1), records, part.ids)
        report = pack(records.getvalue().encode(), outputs.report)
    if outputs.scores is not None:
        rows = "".join(f"{p:.6f}\t{q:.6f}\t{mean:.6f}\t{rest:.6f}\n" for p, q, mean, rest in scores_of(links))
        scores = pack(_after_ids(rows.encode(), part), outputs.scores)
    if outputs.tokens is not None:
        tokens = pack(_after_ids(cut, part), outputs.tokens)
    contents = pack(_after_ids(print_lines(False), part), outputs.links), scored, report, scores, tokens
    pairs = len(links.too_long)
    counts = PairTotals(pairs, int(links.too_long.sum()), int(links.certified.sum()), len(links.source))
    return Piece(part.end, contents, counts, links if outputs.page is not None else None)


def _after_ids(lines: bytes, part: UnreadPart) -> bytes:
    """The lines, each with its id and a tab before it, if there are ids."""
    if not part.ids:
        return lines
    each = zip(part.ids, lines.split(b"\n")[:-1], strict=True)
    return b"".join([b"%b\t%b\n" % (id.encode(), line) for id, line in each])


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


def write(
    pieces: Iterable[Piece], outputs: Outputs, tell: Reporter, end: Position = BEGINNING
) -> tuple[PairTotals, list[DecodedLinks]]:
    """Write links, and what else is wanted, piece by piece; nothing appears under a final name before
    everything is written. Returns what was counted, and what was kept for the page."""
    with ExitStack() as stack:
        files = WholeFiles(outputs, stack)
        found = write_pieces(pieces, files, PairTotals(), tell, end)
        files.finish()
    return found


def write_pieces(
    pieces: Iterable[Piece], sink: Sink, counts: PairTotals, tell: Reporter, end: Position
) -> tuple[PairTotals, list[DecodedLinks]]:
    """Write pieces after those that are counted already; the text's `end` is 0 where it is not known."""
    kept = []
    tell.progress(0, "align")
    for piece in pieces:
        if end.source:
            advance(piece.end.source / end.source)
        elif end.line:
            advance(piece.end.line / end.line)
        sink.write(piece)
        counts += piece.counts
        if piece.kept is not None:
            kept.append(piece.kept)
        tell.progress(counts.pairs, "align")
    return counts, kept


def note_counts(counts: PairTotals, aligner: Aligner, seconds: float, tell: Reporter) -> None:
    """Tell what is worth knowing about the pairs that were aligned in these seconds."""
    if not tell.is_quiet:
        done = number_of(counts.pairs, "pairs"), number_of(counts.links, "links"), in_words(seconds)
        tell.note(", ".join(done))
    if aligner.options.decoder == "bidirectional":
        tell.note(f"{counts.proved:,} of {counts.pairs:,} alignments are proved optimal")
    if counts.too_long:
        has = "pair is" if counts.too_long == 1 else "pairs are"
        tell.warn(f"{counts.too_long:,} {has} too long to align (over 10 million cells), and without links")


def write_report(
    chunk: DecodedLinks, line: int, seconds: float, report: IO[str], ids: Sequence[str] = ()
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
            **({"id": ids[n]} if ids else {}),
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
    outputs: Outputs,
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
    files = files | {"links": outputs.links}
    facts = {name: plain_name(file) for name, file in files.items() if file not in (None, "-")}
    facts |= {name: str(getattr(aligner.options, name)) for name in shown} | {"dualign": release()}
    about = About("Word alignment", aligner.history, report.getvalue().splitlines(), facts)
    found = [alignment for chunk in chunks for alignment in alignments(chunk)]
    with open_output(str(outputs.page)) as stream:
        stream.write(summary_page(pairs, found, about))
