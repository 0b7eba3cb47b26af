"""dualign: aligns bilingual text, with a probability on every link and a proof where one exists.

Names are imported when they are first used: `import dualign` loads neither NumPy nor Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dualign.core.lazy import lazily

if TYPE_CHECKING:
    from dualign import decode, jobs, phrase, translate
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
    "decode",
    "evaluate",
    "jobs",
    "phrase",
    "symmetrize",
    "translate",
]

_HOMES = {
    "Aligner": "aligner",
    "Alignment": "text.alignment",
    "Certified": "core.certified",
    "DataError": "core.errors",
    "DualignError": "core.errors",
    "Infeasible": "core.errors",
    "ModelError": "core.errors",
    "Options": "model.options",
    "UsageError": "core.errors",
    "align": "aligner",
    "decode": "",
    "evaluate": "measure.quality",
    "jobs": "",
    "phrase": "",
    "symmetrize": "decode.symmetrize",
    "translate": "",
}
_attribute, _ = lazily(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("dualign")
    return _attribute(name)


def __dir__() -> list[str]:
    return sorted(__all__)
