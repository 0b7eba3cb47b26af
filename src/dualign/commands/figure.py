"""`dualign figure`, `dualign summarize`: figures of aligned text, models and reports; a page about a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from dualign._core.errors import DataError, UsageError, refusing
from dualign._core.fields import arg, bundle, opt
from dualign._core.files.streams import named, open_output, plain_name
from dualign.commands.bundles import SHOWN, Computing, columns, model_view, output, projection, read_all
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.show.dataset import Files
from dualign.text.checks import number_of
from dualign.text.links import Alignment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dualign.measure.curves import LinkScores
    from dualign.show.dataset import Dataset
    from dualign.show.figures import FigureMatrix
    from dualign.text.blocks import Pair
    from dualign.text.reports import Record

FEW = 7
"""Traces in a figure that one can still tell apart."""


@dataclass(frozen=True)
class Drawing(Command):
    """A figure in a file."""

    output: str = output(MISSING, "Figure to write: .svg, .pdf or .png.")
    computing: Computing = bundle(Computing, "errors")

    def write(self, figure: Figure, tell: Reporter) -> None:
        """Save a figure, and say which letters could not be drawn."""
        from dualign.show.figures import save

        if missing := save(figure, self.output):
            tell.note(
                "note: no font for {letters}; install one (such as Noto Sans). If you have just done so, "
                "remove matplotlib's list of fonts, fontlist-*.json in its cache directory",
                letters=missing[:20],
            )


@dataclass(frozen=True)
class TextDrawing(Drawing):
    """A figure of a text, or of one of its pairs."""

    columns: str | None = columns()

    def chosen(
        self, files: Files, line: int, tell: Reporter, model: str | None = None
    ) -> tuple[Pair, Alignment | None, list[FigureMatrix]]:
        """Return the pair of that line, its gold links if there are any, and what each system says of it."""
        from dualign.show.figures import FigureMatrix

        text = read_all(files, self.columns, self.computing, tell, model)
        if line > len(text):
            raise UsageError("{line=}: the text has {count}", line=line, count=number_of(len(text), "lines"))
        n = line - 1
        systems = [
            FigureMatrix(system.links[n], None if system.cells is None else system.cells[n], system.name)
            for system in text.systems
        ]
        return text.pairs[n], None if text.gold is None else text.gold[n], systems


def _line() -> Any:
    return opt(1, "Which sentence pair.", metavar="N", least=1)


@dataclass(frozen=True)
class DrawMatrix(TextDrawing):
    """Draw the links of a sentence pair as a matrix.

    Squares are gold links, with a border if sure; circles are links, as large as they are probable, and
    crossed out where gold does not have them.
    """

    shown: Files = bundle(Files, SHOWN)
    line: int = _line()

    def run(self, tell: Reporter) -> None:
        """Draw a matrix for each system, with gold links if there are any."""
        from dualign.show.figures import FigureMatrix, matrices_figure

        pair, gold, systems = self.chosen(self.shown, self.line, tell)
        self.write(matrices_figure(*pair, systems or [FigureMatrix(Alignment())], gold), tell)


@dataclass(frozen=True)
class DrawPosteriors(TextDrawing):
    """Draw a model's posteriors of a pair, both directions, before and after projection."""

    model: str = opt(MISSING, "Saved model.", metavar="MODEL", file="in")
    shown: Files = bundle(Files, "source target gold gold_format first")
    projection: str | None = projection()
    line: int = _line()
    computing: Computing = bundle(Computing, "threads errors")

    def run(self, tell: Reporter) -> None:
        """Draw four matrices."""
        from dualign.show.figures import posterior_figure

        pair, gold, _ = self.chosen(self.shown, self.line, tell, self.model)
        seen = model_view(self.model, self.projection, self.computing, tell)
        self.write(posterior_figure(*pair, next(seen.of_pairs([pair])), gold, seen.projection), tell)


@dataclass(frozen=True)
class Scoring(TextDrawing):
    """A figure of links with probabilities, of files and of saved models, compared with gold."""

    model: tuple[str, ...] = opt(
        (), "Saved model: every link that it scores.", metavar="[NAME=]MODEL", file="in", named=True
    )
    shown: Files = bundle(Files, SHOWN)
    computing: Computing = bundle(Computing, "threads errors")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shown.gold is None:
            raise UsageError("there is nothing to compare with; name gold links with {gold=}", gold=...)

    def scored(
        self, tell: Reporter
    ) -> tuple[dict[str, list[LinkScores]], list[int], list[Alignment], Dataset]:
        """Return scores of links by system; the pairs that have gold; their gold links; and the text."""
        text = read_all(replace(self.shown, links=()), self.columns, self.computing, tell)
        reference = text.gold or ()
        kept = [n for n, gold in enumerate(reference) if gold is not None]
        scored: dict[str, list[LinkScores]] = {}
        for system in text.systems:
            cells = system.cells or ()
            scored[system.name] = [[(*link, p) for link, p in cells[n].items()] for n in kept]
        for item in self.model:
            name, path = named(item)
            arrays = model_view(path, None, self.computing, tell).of_pairs(text.pairs[n] for n in kept)
            scored[name] = [array[1].mean(axis=0) for array in arrays]
        return scored, kept, [gold for gold in reference if gold is not None], text


@dataclass(frozen=True)
class DrawCurve(Scoring):
    """Draw precision against recall of several systems.

    A file of probabilities gives a curve as far as its links go, a saved model a whole one, and a file of
    links a point. Gold links are needed.
    """

    def run(self, tell: Reporter) -> None:
        """Draw curves and points."""
        from dualign.measure.curves import curve
        from dualign.measure.links import evaluate
        from dualign.show.dataset import systems_of
        from dualign.show.plots import curve_figure

        if not (self.shown.probabilities or self.model or self.shown.links):
            raise UsageError(
                "nothing to draw; give {probabilities=}, {model=} or {links=}, any of them repeatedly",
                probabilities=..., model=..., links=...,
            )  # fmt: skip
        scored, kept, reference, text = self.scored(tell)
        files = replace(self.shown, probabilities=())
        plain = systems_of(files, text.pairs, text.ids, self.computing.errors) if files.links else []
        curves = {name: curve(scores, reference) for name, scores in scored.items()}
        points = {each.name: evaluate([each.links[n] for n in kept], reference) for each in plain}
        self.write(curve_figure(curves, points), tell)


@dataclass(frozen=True)
class DrawCalibration(Scoring):
    """Draw how many of the links with a probability of p are right.

    A file of probabilities is about the links that it has, a saved model about every pair of words. Gold
    links are needed.
    """

    shown: Files = bundle(Files, "source target probabilities gold gold_format first")

    def run(self, tell: Reporter) -> None:
        """Draw a curve for each system."""
        from dualign.measure.curves import calibration
        from dualign.show.plots import calibration_figure

        if not (self.shown.probabilities or self.model):
            raise UsageError(
                "nothing to draw; give {probabilities=} or {model=}, any of them repeatedly",
                probabilities=..., model=...,
            )  # fmt: skip
        scored, _, reference, _ = self.scored(tell)
        found = {name: calibration(scores, reference) for name, scores in scored.items()}
        self.write(calibration_figure(found), tell)


@dataclass(frozen=True)
class DrawTrace(Drawing):
    """Draw how bound and score of a pair approach each other.

    A trace is a list with [bound, score] for each round, or [bound, score, share left] for --pruning.
    """

    reports: tuple[str, ...] = arg(
        "Reports whose pairs have a `trace`.", metavar="[NAME=]REPORT...", file="in", named=True
    )
    line: tuple[int, ...] = opt(
        (), "Pairs to draw; the first with a trace if not given.", metavar="N", least=1
    )
    pruning: bool = opt(False, "Draw how much pruning leaves of the search space, the mean over pairs.")

    def run(self, tell: Reporter) -> None:
        """Draw a curve for each pair, or for each report."""
        from dualign.show.plots import pruning_figure, trace_figure
        from dualign.text.reports import trace_of

        found = _traced(self.reports, self.computing.errors)
        if self.pruning:
            rounds = {name: [trace_of(record) for _, record in pairs] for name, pairs in found}
            self.write(pruning_figure(rounds), tell)
            return
        traces = {}
        for name, traced in found:
            known = dict(traced)
            for number in self.line or [traced[0][0]]:
                if number not in known:
                    raise UsageError("{line=}: {name} has no trace of that line", line=number, name=name)
                label = f"{name}, line {number}" if len(self.reports) > 1 else f"line {number}"
                traces[label] = trace_of(known[number])
        if len(traces) > FEW:
            raise UsageError(f"{len(traces)} traces are too many for one figure; choose at most {FEW} lines")
        self.write(trace_figure(traces), tell)


@dataclass(frozen=True)
class DrawPruning(DrawTrace):
    """Draw how much pruning leaves of the search space, round by round.

    The same as `dualign figure trace --pruning`, which is its name from the next release on.
    """

    line: tuple[int, ...] = ()
    pruning: bool = True

    def show(self, result: None, tell: Reporter) -> None:
        """Tell the new name."""
        tell.note("note: `figure pruning` is now called `figure trace --pruning`")


@dataclass(frozen=True)
class DrawCost(Drawing):
    """Draw time, memory or another cost against size."""

    measured: tuple[str, ...] = arg(
        "JSON lines, as the benchmarks write them.",
        metavar="[NAME=]FILE...", file="in", named=True, name="files",
    )  # fmt: skip
    x: str = opt("pairs", "Key of the horizontal axis.", metavar="KEY")
    y: str = opt("seconds", "Key of the vertical axis.", metavar="KEY")
    by: str | None = opt(None, "One line per value of this key.", metavar="KEY")

    def run(self, tell: Reporter) -> None:
        """Draw a curve for each file, or for each value of the key `by`."""
        from dualign.show.plots import cost_figure
        from dualign.text.tables import parse_json
        from dualign.text.utf8 import read_lines

        series: dict[str, list[tuple[float, float]]] = {}
        for name, path in map(named, self.measured):
            for number, line in enumerate(read_lines(path, self.computing.errors), 1):
                if not line.strip():
                    continue
                what = "no JSON object with numbers `{x}` and `{y}`"
                with refusing(
                    ArithmeticError, LookupError, TypeError, ValueError,
                    what=what, place=f"{path}:{number}", x=self.x, y=self.y,
                ):  # fmt: skip
                    record: Any = parse_json(line, "write an object", finite=True)
                    point = float(record[self.x]), float(record[self.y])
                    if not all(map(isfinite, point)):
                        raise ValueError
                label = name if self.by is None else str(record.get(self.by))
                if self.by is not None and len(self.measured) > 1:
                    label = f"{name}, {label}"
                series.setdefault(label, []).append(point)
        if not series:
            raise DataError("no measurement, the file is empty", place=self.measured[0])
        self.write(cost_figure(series, self.x, self.y), tell)

    def show(self, result: None, tell: Reporter) -> None:
        """Tell what to use instead."""
        tell.note("note: `figure cost` goes with the next release; `dualign.show.cost_figure` stays")


@dataclass(frozen=True)
class Summarize(Command):
    """Write a page about aligned text: statistics and dictionary.

    Links, of one system, may come from any aligner. `dualign align --html-report` writes the same page about
    its own run, with the objective of each round.
    """

    shown: Files = bundle(Files, "source target links probabilities reports format")
    columns: str | None = columns()
    output: str = output()
    computing: Computing = bundle(Computing, "errors")

    def __post_init__(self) -> None:
        super().__post_init__()
        if max(len(self.shown.links), len(self.shown.probabilities)) != 1:
            raise UsageError(
                "the page is about one system; give {links=} or {probabilities=} once",
                links=..., probabilities=...,
            )  # fmt: skip

    def run(self, tell: Reporter) -> None:
        """Read the files, and write the page."""
        from dualign.show.summary import About, summary_page

        files = self.shown
        dataset = read_all(files, self.columns, self.computing, tell)
        system = dataset.systems[0]
        alignments = list(system.links)
        if system.cells is not None:
            alignments = [
                replace(each, probabilities=tuple(cells.get(link, float("nan")) for link in each.links))
                for each, cells in zip(alignments, system.cells, strict=True)
            ]
        links = (*files.links, *files.probabilities)[0]
        sides = (files.source, files.target) if self.columns is None else dataset.names
        given = {"source": sides[0], "target": sides[1], "links": links}
        facts = {name: plain_name(named(path)[1]) for name, path in given.items() if path is not None}
        title = f"{dataset.names[0]} – {dataset.names[1]}: {system.name}"
        about = About(title, records=system.records or (), facts=facts)
        with open_output(self.output) as stream:
            stream.write(summary_page(dataset.pairs, alignments, about))
        tell.wrote(len(dataset), "pairs", self.output)


def _traced(paths: Sequence[str], errors: str) -> list[tuple[str, list[tuple[int, Record]]]]:
    """Return, for each report, its name and the pairs that it has a trace of, with their lines."""
    from dualign.text.reports import read_records, record_of

    found = []
    for name, path in map(named, paths):
        lines = enumerate(read_records(path, errors=errors), 1)
        traced = [(n, record) for n, line in lines if line and (record := record_of(line)).get("trace")]
        if not traced:
            raise DataError("no traces; a report has them where a pair has the key `trace`", place=path)
        found.append((name, traced))
    return found
