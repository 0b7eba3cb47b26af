"""What people look at: the viewer, figures, pairs on the terminal, the page about a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualign.core.lazy import lazily

if TYPE_CHECKING:
    from dualign.show.canvas import save
    from dualign.show.dataset import Dataset, Files, System, read_dataset
    from dualign.show.figures import matrix_figure, posterior_figure
    from dualign.show.model_view import ModelView
    from dualign.show.page import viewer_page
    from dualign.show.payload import content
    from dualign.show.plots import calibration_figure, cost_figure, curve_figure, pruning_figure, trace_figure
    from dualign.show.server import Viewer
    from dualign.show.summary import About, summary_page
    from dualign.show.terminal import Shown, pair_on_terminal

__all__ = [
    "About", "Dataset", "Files", "ModelView", "Shown", "System", "Viewer", "calibration_figure", "content",
    "cost_figure", "curve_figure", "matrix_figure", "pair_on_terminal", "posterior_figure", "pruning_figure",
    "read_dataset", "save", "summary_page", "trace_figure", "viewer_page",
]  # fmt: skip

_HOMES = {
    name: module
    for module, names in {
        "canvas": "save",
        "dataset": "Dataset Files System read_dataset",
        "figures": "matrix_figure posterior_figure",
        "model_view": "ModelView",
        "page": "viewer_page",
        "payload": "content",
        "plots": "calibration_figure cost_figure curve_figure pruning_figure trace_figure",
        "server": "Viewer",
        "summary": "About summary_page",
        "terminal": "Shown pair_on_terminal",
    }.items()
    for name in names.split()
}
__getattr__, __dir__ = lazily(__name__, _HOMES)
