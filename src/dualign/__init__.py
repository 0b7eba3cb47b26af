"""dualign: aligns bilingual text, with a probability for every link and a proof where there is one.

Names are imported on first use: `import dualign` loads neither NumPy nor Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dualign.core.lazy import lazily

if TYPE_CHECKING:
    from dualign import decode, infer, jobs, learn, measure, phrase, show, text, transfer, translate
    from dualign.aligner import Aligner, align
    from dualign.core.certified import Certified
    from dualign.core.errors import DataError, DualignError, Infeasible, ModelError, UsageError
    from dualign.decode.pair_scores import PairScore
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
    "PairScore",
    "UsageError",
    "__version__",
    "align",
    "decode",
    "evaluate",
    "infer",
    "jobs",
    "learn",
    "measure",
    "phrase",
    "show",
    "symmetrize",
    "text",
    "transfer",
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
    "PairScore": "decode.pair_scores",
    "UsageError": "core.errors",
    "align": "aligner",
    "evaluate": "measure.quality",
    "symmetrize": "decode.symmetrize",
}
_ROOMS = [name for name in __all__ if name.islower() and name not in ("__version__", *_HOMES)]
_attribute, _ = lazily(__name__, _HOMES | dict.fromkeys(_ROOMS, ""))


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from dualign.core.release import release

        return release()
    return _attribute(name)


def __dir__() -> list[str]:
    return sorted(__all__)
