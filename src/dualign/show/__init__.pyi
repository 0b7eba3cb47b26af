from .dataset import Dataset as Dataset
from .dataset import Files as Files
from .dataset import System as System
from .dataset import read_dataset as read_dataset
from .figures import matrix_figure as matrix_figure
from .figures import posterior_figure as posterior_figure
from .figures import save as save
from .model_view import ModelView as ModelView
from .plots import calibration_figure as calibration_figure
from .plots import cost_figure as cost_figure
from .plots import curve_figure as curve_figure
from .plots import pruning_figure as pruning_figure
from .plots import trace_figure as trace_figure
from .summary import About as About
from .summary import summary_page as summary_page
from .terminal import Shown as Shown
from .terminal import pair_on_terminal as pair_on_terminal
from .viewer import Viewer as Viewer
from .viewer import content as content
from .viewer import viewer_page as viewer_page

__all__ = [
    "About",
    "Dataset",
    "Files",
    "ModelView",
    "Shown",
    "System",
    "Viewer",
    "calibration_figure",
    "content",
    "cost_figure",
    "curve_figure",
    "matrix_figure",
    "pair_on_terminal",
    "posterior_figure",
    "pruning_figure",
    "read_dataset",
    "save",
    "summary_page",
    "trace_figure",
    "viewer_page",
]
