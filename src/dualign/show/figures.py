"""Figures of one sentence pair, its links or its posteriors, and the style that all figures share.

Sure gold links are squares with a border, possible ones squares without; circles are links, their area the
probability; in the posteriors after projection full blue circles have grown and hollow orange ones have
shrunk (after Graça et al. 2010, Figures 1 and 9).

Figures need matplotlib (the extra `plots`); the same data give the same bytes. Colours are Okabe and Ito's;
lines differ in their dashes and markers as well, so that figures are legible in grey.
"""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import UsageError, refusing
from dualign._core.files.streams import FilePath, open_binary_output
from dualign.text.links import Alignment, Link

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, GREY = "#1b1f24", "#8a939c"
BLUE, ORANGE = "#0072b2", "#d55e00"
STYLES = (
    ("#0072b2", "-", "o"),
    ("#d55e00", "--", "s"),
    ("#009e73", "-.", "^"),
    ("#cc79a7", ":", "D"),
    ("#56b4e9", (0, (5, 1, 1, 1, 1, 1)), "v"),
    ("#e69f00", (0, (1, 1)), "P"),
    ("#1b1f24", (0, (7, 2)), "X"),
)
"""Colour, dashes and marker of the first series, the second …"""

PAPER = "#e9dfb0"
"""The squares of gold links."""

CELL = 0.24
"""Inches of a word's row or column."""

VISIBLE = 0.005
"""The least posterior that is drawn."""

CHANGE = 0.01
"""How much a posterior must change to be drawn in another colour."""

MOST = 150
"""Words of a sentence, at most."""

FORMATS = {".svg": "svg", ".pdf": "pdf", ".png": "png"}

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# Of those installed, the first that has a letter draws it.
_FONTS = (
    "DejaVu Sans", "Noto Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans Arabic",
    "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Thai",
    "Arial Unicode MS", "Hiragino Sans", "Microsoft YaHei", "Yu Gothic",
)  # fmt: skip


@contextmanager
def style() -> Iterator[None]:
    """Draw in our style without changing matplotlib's own settings; can decorate a function."""
    what = "figures need matplotlib; install it with: pip install 'dualign[plots]'"
    with refusing(ImportError, by=UsageError, what=what):
        import matplotlib
        from matplotlib.font_manager import fontManager
    installed = {font.name for font in fontManager.ttflist}
    settings: dict[str, Any] = {
        "font.family": [name for name in _FONTS if name in installed],
        "font.size": 9,
        "axes.edgecolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#e4e8ec",
        "axes.axisbelow": True,
        "legend.frameon": False,
        "svg.hashsalt": "dualign",
        "pdf.fonttype": 42,
        # A word such as `$x$` is not a formula.
        "text.parse_math": False,
    }
    with matplotlib.rc_context(settings):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure; the size is in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


@style()
def save(figure: Figure, path: FilePath) -> str:
    """Write SVG, PDF or PNG by the name's suffix, whole or not at all; without a date.

    Returns the letters that no installed font has, which are drawn as boxes.
    """
    path = os.fspath(path)
    kind = FORMATS.get(os.path.splitext(path)[1].lower())
    if kind is None:
        raise UsageError(f"{path}: figures are written as {', '.join(FORMATS)}; end the name in one of them")
    dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
    buffer = io.BytesIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.savefig(buffer, format=kind, dpi=200, metadata=dateless[kind])
    drawn = buffer.getvalue()
    if kind == "svg":
        # Words are drawn as outlines, but also written in comments, and XML allows few control characters.
        drawn = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", drawn.decode("utf-8", "replace")).encode()
    with open_binary_output(path) as stream:
        stream.write(drawn)
    missing = (re.match(r"Glyph (\d+)", str(warning.message)) for warning in caught)
    return "".join(sorted({chr(int(glyph[1])) for glyph in missing if glyph}))


class FigureMatrix(NamedTuple):
    """What one system says of a pair."""

    links: Alignment
    probabilities: dict[Link, float] | None = None
    title: str = ""


def matrix_figure(
    source: Sequence[str],
    target: Sequence[str],
    links: Alignment,
    gold: Alignment | None = None,
    probabilities: dict[Link, float] | None = None,
    title: str = "",
) -> Figure:
    """Draw the links of a pair; with gold, those that it does not have are crossed out."""
    return matrices_figure(source, target, [FigureMatrix(links, probabilities, title)], gold)


@style()
def matrices_figure(
    source: Sequence[str],
    target: Sequence[str],
    systems: Sequence[FigureMatrix],
    gold: Alignment | None = None,
) -> Figure:
    """Draw the links of a pair, side by side for each system; with gold, those that it does not have are
    crossed out."""
    marks: dict[str, _Mark] = {} if gold is None else _GOLD
    accepted = None if gold is None else {*gold.links, *gold.possible}
    if any(system.links.links for system in systems):
        known = all(system.probabilities is None for system in systems)
        marks = marks | {"link" if known else "link (area: probability)": _Mark("o", INK)}
    if any(set(system.links.links) - (accepted or set(system.links.links)) for system in systems):
        marks = marks | {"not in gold": _Mark("o", ORANGE, "x")}
    if any(system.links.possible for system in systems):
        marks = marks | {"possible link": _Mark("o", "none", edge=GREY)}
    figure = _sized(source, target, 1, len(systems), len(marks))
    for axes, (links, probabilities, title) in zip(
        figure.subplots(1, len(systems), squeeze=False)[0], systems, strict=True
    ):
        _frame(axes, source, target, title)
        _squares(axes, gold)
        for i, j in links.links:
            p = 1.0 if probabilities is None else probabilities.get((i, j), 1.0)
            wrong = accepted is not None and (i, j) not in accepted
            _circle(axes, i, j, p, fill=True, colour=ORANGE if wrong else INK)
            if wrong:
                axes.plot([j], [i], marker="x", color="white", markersize=4, zorder=4)
        for i, j in links.possible:
            _circle(axes, i, j, 0.6, fill=False, colour=GREY)
    _legend(figure, marks)
    return figure


@style()
def posterior_figure(
    source: Sequence[str],
    target: Sequence[str],
    posteriors: Array,
    gold: Alignment | None = None,
    projection: str = "symmetric",
) -> Figure:
    """Draw posteriors (before/after, direction, I, J) as `dualign.show.model_view.ModelView.of_pairs` gives
    them.

    Two rows of two panels; with projection "none" there is only the first row.
    """
    rows = 1 if projection == "none" else 2
    marks = {"posterior (area)": _Mark("o", INK)}
    if rows == 2:
        marks |= {"grown by projection": _Mark("o", BLUE), "shrunk": _Mark("o", "none", edge=ORANGE)}
    marks = (_GOLD if gold is not None else {}) | marks
    figure = _sized(source, target, rows, 2, len(marks))
    grid = figure.subplots(rows, 2, squeeze=False)
    names = ("target words choose", "source words choose")
    for stage, direction in np.ndindex(rows, 2):
        axes = grid[stage][direction]
        when = f"after {projection} projection" if stage else "before projection" if rows == 2 else ""
        _frame(axes, source, target, ": ".join(filter(None, (when, names[direction]))))
        _squares(axes, gold)
        values, before = posteriors[stage, direction], posteriors[0, direction]
        for i, j in np.ndindex(len(source), len(target)):
            p, change = float(values[i, j]), float(values[i, j] - before[i, j])
            lost = change <= -CHANGE
            if p >= VISIBLE or lost:
                colour = ORANGE if lost else BLUE if change >= CHANGE else INK
                _circle(axes, i, j, max(p, VISIBLE), fill=not lost, colour=colour)
    _legend(figure, marks)
    return figure


class _Mark(NamedTuple):
    """How a sign looks in the legend: a marker, its filling, a sign upon it, its edge."""

    marker: str
    face: str
    upon: str = ""
    edge: str = "none"


_GOLD = {"gold, sure": _Mark("s", PAPER, edge=INK), "gold, possible": _Mark("s", PAPER)}


def _legend(figure: Figure, marks: dict[str, _Mark]) -> None:
    from matplotlib.lines import Line2D

    def drawn(mark: _Mark) -> tuple[Line2D, ...]:
        style = {"linestyle": "", "markersize": 8}
        below = Line2D(
            [], [], marker=mark.marker, markerfacecolor=mark.face, markeredgecolor=mark.edge, **style
        )
        above = Line2D([], [], marker=mark.upon or "", color="white", linestyle="", markersize=4)
        return below, above

    if marks:
        handles = [drawn(mark) for mark in marks.values()]
        figure.legend(
            handles, list(marks), loc="outside lower center", ncols=1, handletextpad=0.4, fontsize=8
        )


def _sized(source: Sequence[str], target: Sequence[str], rows: int, columns: int, notes: int) -> Figure:
    for words, name in ((source, "source"), (target, "target")):
        if not words:
            raise UsageError(f"the {name} sentence is empty; choose a pair with words on both sides")
        if len(words) > MOST:
            raise UsageError(f"the {name} sentence has {len(words)} words, too many for a figure ({MOST})")
    left, top = (0.09 * max(map(len, words)) + 0.35 for words in (source, target))
    width = max(CELL * len(target) + min(left, 3.0), 3.4 if rows > 1 or columns > 1 else 2.0)
    height = CELL * len(source) + min(top, 3.0) + 0.3
    return new_figure(columns * width + 0.2, rows * height + 0.1 + 0.19 * notes)


def _frame(axes: Axes, source: Sequence[str], target: Sequence[str], title: str) -> None:
    axes.set_xlim(-0.5, len(target) - 0.5)
    axes.set_ylim(len(source) - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(target)), target, rotation=90)
    axes.set_yticks(range(len(source)), source)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for words, draw in ((target, axes.axvline), (source, axes.axhline)):
        for k in range(len(words) + 1):
            draw(k - 0.5, color="#d0d7de", linewidth=0.5, zorder=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if title:
        axes.set_xlabel(title)


def _squares(axes: Axes, gold: Alignment | None) -> None:
    from matplotlib.patches import Rectangle

    if gold is None:
        return
    for links, border in ((gold.links, INK), (gold.possible, "none")):
        for i, j in links:
            corner, style = (j - 0.42, i - 0.42), {"linewidth": 1.0, "zorder": 1}
            axes.add_patch(Rectangle(corner, 0.84, 0.84, facecolor=PAPER, edgecolor=border, **style))


def _circle(axes: Axes, i: int, j: int, p: float, *, fill: bool, colour: str) -> None:
    from matplotlib.patches import Circle

    radius = 0.36 * p**0.5
    axes.add_patch(
        Circle((j, i), radius, fill=fill, facecolor=colour, edgecolor=colour, linewidth=1.2, zorder=3)
    )
