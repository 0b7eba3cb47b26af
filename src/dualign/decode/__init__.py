"""From parameters, or from scores of any origin, to links.

Names are imported when they are first used: `import dualign.decode` loads neither NumPy nor Numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dualign.decode.agreement.solve import bidirectional
    from dualign.decode.matchings.decoders import matching, penalized, submodular

__all__ = ["bidirectional", "matching", "penalized", "submodular"]

_HOMES = {
    "bidirectional": "dualign.decode.agreement.solve",
    "matching": "dualign.decode.matchings.decoders",
    "penalized": "dualign.decode.matchings.decoders",
    "submodular": "dualign.decode.matchings.decoders",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dualign.decode' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
