"""Figures of aligned text, of models, reports and measurements, from files to files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from dualign._core.errors import DataError, UsageError
from dualign.jobs.running import SILENT, Run, job
from dualign.jobs.viewing import model_view, read_all
from dualign.measure.curves import LinkScores, calibration, curve
from dualign.measure.links import evaluate
from dualign.show.dataset import Files as ShownFiles
from dualign.show.dataset import named
from dualign.show.figures import FigureMatrix, matrices_figure, posterior_figure, save
from dualign.show.plots import calibration_figure, cost_figure, curve_figure, pruning_figure, trace_figure
from dualign.text.checks import number_of
from dualign.text.links import Alignment
from dualign.text.reports import Record, read_records, record_of, trace_of
from dualign.text.tables import parse_json
from dualign.text.utf8 import read_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FEW = 7


@job
def draw_matrix(files: ShownFiles, output: str, *, line: int = 1, run: Run = SILENT) -> None:
    """Draw the links of a sentence pair, a matrix for each system, with its gold links if there are any."""
    dataset = read_all(files, run)
    n = _index(line, len(dataset))
    reference = None if dataset.gold is None else dataset.gold[n]
    systems = [
        FigureMatrix(system.links[n], None if system.cells is None else system.cells[n], system.name)
        for system in dataset.systems
    ]
    figure = matrices_figure(*dataset.pairs[n], systems or [FigureMatrix(Alignment())], reference)
    _write(figure, output, run)


@job
def draw_posteriors(
    files: ShownFiles,
    model: str,
    output: str,
    *,
    projection: str | None = None,
    line: int = 1,
    run: Run = SILENT,
) -> None:
    """Draw a model's posteriors of a pair, both directions, before and after projection."""
    dataset = read_all(files, run)
    n = _index(line, len(dataset))
    seen = model_view(model, projection, run)
    pair = dataset.pairs[n]
    reference = None if dataset.gold is None else dataset.gold[n]
    _write(posterior_figure(*pair, next(seen.of_pairs([pair])), reference, seen.projection), output, run)


@job
def draw_curve(files: ShownFiles, output: str, *, models: Sequence[str] = (), run: Run = SILENT) -> None:
    """Draw precision against recall, of probabilities, saved models (`[NAME=]MODEL`) and links (points)."""
    if not files.probabilities and not models and not files.links:
        raise UsageError("nothing to draw; give probabilities, models or links")
    scored, kept, reference = _scored(files, models, run)
    curves = {name: curve(scores, reference) for name, scores in scored.items()}
    points = {}
    if files.links:
        plain = read_all(replace(files, probabilities=()), run)
        points = {
            system.name: evaluate([system.links[n] for n in kept], reference) for system in plain.systems
        }
    _write(curve_figure(curves, points), output, run)


@job
def draw_calibration(
    files: ShownFiles, output: str, *, models: Sequence[str] = (), run: Run = SILENT
) -> None:
    """Draw how many links of each probability gold has, of files and of saved models (`[NAME=]MODEL`)."""
    if not files.probabilities and not models:
        raise UsageError("nothing to draw; give probabilities or models")
    scored, _, reference = _scored(files, models, run)
    found = {name: calibration(scores, reference) for name, scores in scored.items()}
    _write(calibration_figure(found), output, run)


@job
def draw_trace(reports: Sequence[str], output: str, *, lines: Sequence[int] = (), run: Run = SILENT) -> None:
    """Draw how bound and score of pairs approach each other: those `lines`, or the first with a trace."""
    traces = {}
    for name, traced in _traced(reports, run.errors):
        known = dict(traced)
        for number in lines or [traced[0][0]]:
            if number not in known:
                raise UsageError(f"line={number}: {name} has no trace of that line")
            label = f"{name}, line {number}" if len(reports) > 1 else f"line {number}"
            traces[label] = trace_of(known[number])
    if len(traces) > _FEW:
        raise UsageError(f"{len(traces)} traces are too many for one figure; choose at most {_FEW} lines")
    _write(trace_figure(traces), output, run)


@job
def draw_pruning(reports: Sequence[str], output: str, *, run: Run = SILENT) -> None:
    """Draw how much of the search space pruning leaves, round by round, as the mean over pairs."""
    traced = _traced(reports, run.errors)
    traces = {name: [trace_of(record) for _, record in pairs] for name, pairs in traced}
    _write(pruning_figure(traces), output, run)


@job
def draw_cost(
    files: Sequence[str],
    output: str,
    *,
    x: str = "pairs",
    y: str = "seconds",
    by: str | None = None,
    run: Run = SILENT,
) -> None:
    """Draw one number in JSON lines against another: a curve for each file, or each value of the key `by`."""
    series: dict[str, list[tuple[float, float]]] = {}
    for item in files:
        name, path = named(item)
        for number, line in enumerate(read_lines(path, run.errors), 1):
            if not line.strip():
                continue
            try:
                record: Any = parse_json(line, "write an object", finite=True)
                point = float(record[x]), float(record[y])
                if not all(map(isfinite, point)):
                    raise DataError("not finite")
            except (ValueError, TypeError, KeyError, IndexError, OverflowError):
                raise DataError(f"{path}:{number}: no JSON object with numbers `{x}` and `{y}`") from None
            label = name if by is None else str(record.get(by))
            if by is not None and len(files) > 1:
                label = f"{name}, {label}"
            series.setdefault(label, []).append(point)
    if not series:
        raise DataError(f"{files[0]}: no measurement, the file is empty")
    _write(cost_figure(series, x, y), output, run)


def _scored(
    files: ShownFiles, models: Sequence[str], run: Run
) -> tuple[dict[str, list[LinkScores]], list[int], list[Alignment]]:
    """Scores of links by system, of files and models; the pairs that have gold; and their gold links."""
    text = read_all(replace(files, links=()), run)
    if text.gold is None:
        raise UsageError("there is nothing to compare with; name a file of gold links")
    kept = [n for n, gold in enumerate(text.gold) if gold is not None]
    scored: dict[str, list[LinkScores]] = {}
    for system in text.systems:
        cells = system.cells or ()
        scored[system.name] = [[(*link, p) for link, p in cells[n].items()] for n in kept]
    for item in models:
        name, path = named(item)
        arrays = model_view(path, None, run).of_pairs(text.pairs[n] for n in kept)
        scored[name] = [array[1].mean(axis=0) for array in arrays]
    return scored, kept, [gold for gold in text.gold if gold is not None]


def _traced(paths: Sequence[str], errors: str) -> list[tuple[str, list[tuple[int, Record]]]]:
    """For each report, its name and the pairs that it has a trace of, with their lines."""
    found = []
    for item in paths:
        name, path = named(item)
        lines = enumerate(read_records(path, errors=errors), 1)
        traced = [(n, record) for n, line in lines if line and (record := record_of(line)).get("trace")]
        if not traced:
            raise DataError(f"{path}: no traces; a report has them where a pair has the key `trace`")
        found.append((name, traced))
    return found


def _index(line: int, size: int) -> int:
    if not 1 <= line <= size:
        raise UsageError(f"line={line}: the text has {number_of(size, 'lines')}")
    return line - 1


def _write(figure: Figure, path: str, run: Run) -> None:
    """Save a figure, and say which letters could not be drawn."""
    if missing := save(figure, path):
        run.note(
            f"note: no font for {missing[:20]}; install one (such as Noto Sans). If you have just done so, "
            "remove matplotlib's list of fonts, fontlist-*.json in its cache directory"
        )
