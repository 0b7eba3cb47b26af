"""dualign: aligns bilingual text, with a probability on every link and a proof where one exists.

Names are imported when they are first used: `import dualign` loads neither NumPy nor Numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dualign import phrase
    from dualign.aligner import Aligner, align
    from dualign.core.certified import Certified
    from dualign.core.errors import DataError, DualignError, Infeasible, ModelError, UsageError
    from dualign.decode.symmetrize import symmetrize
    from dualign.measure.quality import evaluate
    from dualign.model.options import Options
    from dualign.text.alignment import Alignment

__all__ = [
    "Aligner",
    "Alignment",
    "Certified",
    "DataError",
    "DualignError",
    "Infeasible",
    "ModelError",
    "Options",
    "UsageError",
    "__version__",
    "align",
    "evaluate",
    "phrase",
    "symmetrize",
]

_HOMES = {
    "Aligner": "dualign.aligner",
    "Alignment": "dualign.text.alignment",
    "Certified": "dualign.core.certified",
    "DataError": "dualign.core.errors",
    "DualignError": "dualign.core.errors",
    "Infeasible": "dualign.core.errors",
    "ModelError": "dualign.core.errors",
    "Options": "dualign.model.options",
    "UsageError": "dualign.core.errors",
    "align": "dualign.aligner",
    "evaluate": "dualign.measure.quality",
    "symmetrize": "dualign.decode.symmetrize",
}

_ROOMS = ("decode", "phrase", "translate")
"""Rooms whose functions are reached through their own name, as in `dualign.decode.bidirectional`."""


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"dualign.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("dualign")
    if name not in _HOMES:
        raise AttributeError(f"module 'dualign' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
