"""What word alignment writes: links, their probabilities, a report, and a page about the run."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from importlib.metadata import version
from math import isfinite, isnan
from typing import IO, Any

from dualign.aligner import Aligner, alignments
from dualign.core.clocks import Clock
from dualign.decode.links import Links
from dualign.jobs.running import Run
from dualign.text.pairs import Pair
from dualign.text.printing import print_links
from dualign.text.streams import open_binary_output, open_output


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files to write; all but the links are optional."""

    links: str = "-"
    model: str | None = None
    probabilities: str | None = None
    """Links as `i-j:probability`."""
    report: str | None = None
    """A JSON object for each pair: line, score, bound, certified, seconds."""
    page: str | None = None
    """An HTML page about the run."""

    def places(self) -> list[str]:
        """Every path."""
        return [path for path in astuple(self) if path is not None]


def write(
    links: Iterator[Links], aligner: Aligner, outputs: Outputs, pairs: Callable[[], Sequence[Pair]], run: Run
) -> None:
    """Write links, and what else is wanted, chunk by chunk; nothing appears under a final name before
    everything is written. `pairs` reads the text again, for the page."""
    line = too_long = proved = 0
    kept: list[Links] = []
    with ExitStack() as stack:
        out = stack.enter_context(open_binary_output(outputs.links))
        scored = (
            stack.enter_context(open_binary_output(outputs.probabilities)) if outputs.probabilities else None
        )
        report = stack.enter_context(open_output(outputs.report)) if outputs.report else None
        run.progress(0, "align")
        clock = Clock()
        for chunk in links:
            seconds = clock.seconds / max(len(chunk), 1)
            write_links(chunk, out, scored)
            if report is not None:
                write_report(chunk, line, seconds, report)
            if outputs.page is not None:
                kept.append(chunk)
            line += len(chunk)
            too_long += int(chunk.too_long.sum())
            proved += int(chunk.certified.sum())
            run.progress(line, "align")
            clock.restart()
    if aligner.options.decoder == "bidirectional":
        run.note(f"{proved:,} of {line:,} alignments are proved optimal")
    if too_long:
        has = "pair is" if too_long == 1 else "pairs are"
        run.note(f"warning: {too_long:,} {has} too long to align (over 10 million cells), and without links")
    if outputs.page is not None:
        write_page(outputs.page, pairs(), kept, aligner)


def write_links(chunk: Links, out: IO[bytes], scored: IO[bytes] | None) -> None:
    """A line for each pair: `i-j …`, and `i-j:probability …` where wanted."""
    links = chunk.source, chunk.target, chunk.probability, chunk.begin, chunk.count
    out.write(print_links(*links, False))
    if scored is not None:
        scored.write(print_links(*links, True))


def write_report(chunk: Links, line: int, seconds: float, report: IO[str]) -> None:
    """A JSON object for each pair. Where a decoder does not search pair by pair, `seconds` is the mean over
    the chunk. A pair that was too long for the decoder has no score or bound.
    """
    for n in range(len(chunk)):
        begin, count = int(chunk.begin[n]), int(chunk.count[n])
        probabilities = chunk.probability[begin : begin + count]
        score, bound = float(chunk.score[n]), float(chunk.bound[n])
        record: dict[str, Any] = {
            "line": line + n + 1,
            "links": count,
            "mean_probability": round(float(probabilities.mean()), 6) if count else None,
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


def write_page(path: str, pairs: Sequence[Pair], chunks: Sequence[Links], aligner: Aligner) -> None:
    """Write the page about a run that has aligned these pairs."""
    from dualign.show.summary import About, summary_page

    report = io.StringIO()
    line = 0
    for chunk in chunks:
        write_report(chunk, line, 0.0, report)
        line += len(chunk)
    shown = ("model", "constraint", "projection", "decoder", "threshold")
    facts = {name: str(getattr(aligner.options, name)) for name in shown} | {"dualign": version("dualign")}
    about = About("Word alignment", aligner.history, report.getvalue().splitlines(), facts)
    found = [alignment for chunk in chunks for alignment in alignments(chunk)]
    with open_output(path) as stream:
        stream.write(summary_page(pairs, found, about))
