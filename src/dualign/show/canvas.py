"""What all figures share: matplotlib (the extra `plots`), fonts, colours, and reproducible files.

Colours are Okabe and Ito's; lines differ in their dashes and markers as well, so that figures are legible in
grey.
"""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dualign.core.errors import UsageError
from dualign.text.streams import FilePath, open_binary_output

if TYPE_CHECKING:
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
    try:
        import matplotlib
        from matplotlib.font_manager import fontManager
    except ImportError:
        raise UsageError("figures need matplotlib; install it with: pip install 'dualign[plots]'") from None
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
    """An empty figure; the size is in inches."""
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
