"""Plots of many pairs or runs: precision against recall, bounds and scores, pruning, costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from dualign._core.errors import DataError
from dualign.measure.curves import Calibration, Curve
from dualign.measure.links import Evaluation
from dualign.show.figures import GREY, STYLES, new_figure, style
from dualign.text.checks import number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Trace = Sequence[Sequence[float]]


@style()
def curve_figure(
    curves: Mapping[str, Curve], points: Mapping[str, Evaluation] | None = None, title: str = ""
) -> Figure:
    """Draw precision against recall as the threshold falls; a system without probabilities is one point."""
    figure, axes = _axes(5.2, 4.2, "recall of sure links", "precision")
    styles = cycle(STYLES)
    lows = []
    for name, curve in curves.items():
        colour, dashes, _ = next(styles)
        shown = curve.recall > 0
        label = f"{name} (area {curve.area():.3f}, least AER {100 * curve.aer.min():.1f} %)"
        axes.plot(curve.recall[shown], curve.precision[shown], color=colour, linestyle=dashes, label=label)
        lows.append(float(curve.precision[shown].min(initial=1.0)))
    for name, point in (points or {}).items():
        colour, _, marker = next(styles)
        label = f"{name} (AER {100 * point.aer:.1f} %)"
        axes.plot([point.recall], [point.precision], color=colour, marker=marker, linestyle="", label=label)
        lows.append(point.precision)
    axes.set_xlim(0, 1.005)
    axes.set_ylim(max(0.0, np.floor(10 * min(lows, default=0.0)) / 10), 1.005)
    axes.set_title(title)
    axes.legend(loc="lower left")
    return figure


@style()
def calibration_figure(systems: Mapping[str, Calibration]) -> Figure:
    """Draw the share of links that are right against their probability; calibrated ones lie on the grey
    line."""
    figure, axes = _axes(4.6, 4.2, "probability of a link", "share in gold")
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, zorder=0, label="calibrated")
    for (name, found), (colour, dashes, marker) in zip(systems.items(), cycle(STYLES), strict=False):
        label = f"{name} ({number_of(found.links, 'links')}, error {100 * found.error():.1f} %)"
        style = {"color": colour, "linestyle": dashes, "marker": marker, "label": label}
        axes.plot(found.probability, found.right, **style)
    axes.set_xlim(0, 1.01)
    axes.set_ylim(0, 1.01)
    axes.set_aspect("equal")
    axes.legend(loc="upper left")
    return figure


@style()
def trace_figure(traces: Mapping[str, Trace]) -> Figure:
    """Draw bound (dashed) and best score (solid) after each round, one colour for each trace."""
    figure, axes = _by_round("objective")
    for (name, trace), (colour, _, _) in zip(traces.items(), cycle(STYLES), strict=False):
        values = _rounds(name, trace)
        rounds = np.arange(1, len(values) + 1)
        # A line needs two points: one round is a mark. Bound and score are often equal then.
        bound, score = ("s", "+") if len(values) == 1 else ("", "")
        marks = {"color": colour, "markersize": 9}
        axes.plot(rounds, values[:, 0], "--", marker=bound, fillstyle="none", label=f"{name}: bound", **marks)
        axes.plot(rounds, values[:, 1], "-", marker=score, label=f"{name}: best score", **marks)
    if max(map(len, traces.values()), default=0) == 1:
        axes.set_xlim(0.5, 1.5)
        axes.set_xticks([1])
    axes.legend()
    return figure


@style()
def pruning_figure(traces: Mapping[str, Sequence[Trace]]) -> Figure:
    """Draw the share that pruning has left after each round: mean over pairs; the last share of a pair is
    kept."""
    figure, axes = _by_round("left after pruning, %")
    for (name, group), (colour, dashes, _) in zip(traces.items(), cycle(STYLES), strict=False):
        arrays = [_rounds(name, trace) for trace in group]
        if not arrays or any(array.shape[1] < 3 for array in arrays):
            raise DataError(
                f"{name}: its traces have no shares; each round must be [bound, score, share left by pruning]"
            )
        longest = max(map(len, arrays))
        padded = np.stack([np.pad(array[:, 2], (0, longest - len(array)), mode="edge") for array in arrays])
        axes.plot(
            np.arange(1, longest + 1), 100 * padded.mean(axis=0), color=colour, linestyle=dashes,
            label=f"{name} ({number_of(len(arrays), 'pairs')})",
        )  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.legend()
    return figure


@style()
def cost_figure(series: Mapping[str, Sequence[tuple[float, float]]], x: str, y: str) -> Figure:
    """Draw cost against size on logarithmic scales; the grey line of slope one shows proportional cost."""
    from matplotlib.ticker import NullFormatter

    figure, axes = _axes(5.2, 3.8, x, y)
    starts = []
    for (name, points), (colour, dashes, marker) in zip(series.items(), cycle(STYLES), strict=False):
        values = np.array(sorted(points))
        if not (values > 0).all():
            raise DataError(f"{name}: {x} and {y} must be over 0 for logarithmic scales")
        axes.plot(values[:, 0], values[:, 1], color=colour, linestyle=dashes, marker=marker, label=name)
        starts.append(values)
    every = np.concatenate(starts)
    anchor, ends = starts[0][0], np.array([every[:, 0].min(), every[:, 0].max()])
    axes.plot(ends, anchor[1] * ends / anchor[0], color=GREY, linewidth=0.8, zorder=0, label="proportional")
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,g}")  # matplotlib's own powers of ten would need its formulas
        axis.set_minor_formatter(NullFormatter())
    axes.legend()
    return figure


def _axes(width: float, height: float, x: str, y: str) -> tuple[Figure, Axes]:
    figure = new_figure(width, height)
    axes = figure.subplots()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    return figure, axes


def _by_round(y: str) -> tuple[Figure, Axes]:
    figure, axes = _axes(5.2, 3.6, "round", y)
    axes.xaxis.get_major_locator().set_params(integer=True)
    return figure, axes


def _rounds(name: str, trace: Trace) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    values = np.array(trace, np.float64)
    if values.ndim != 2 or values.shape[1] < 2:
        raise DataError(f"{name}: not a trace, which has [bound, score] for each round")
    values[~np.isfinite(values)] = np.nan
    return values
