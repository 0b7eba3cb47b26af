"""From parameters, or from scores of any origin, to links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualign.core.lazy import lazily

if TYPE_CHECKING:
    from dualign.decode.joint.bidirectional import bidirectional
    from dualign.decode.matchings.decoders import matching, penalized, submodular
    from dualign.decode.similarity import argmax, itermax, softmax

__all__ = ["argmax", "bidirectional", "itermax", "matching", "penalized", "softmax", "submodular"]

_HOMES = {
    "argmax": "similarity",
    "bidirectional": "joint.bidirectional",
    "itermax": "similarity",
    "matching": "matchings.decoders",
    "penalized": "matchings.decoders",
    "softmax": "similarity",
    "submodular": "matchings.decoders",
}
__getattr__, __dir__ = lazily(__name__, _HOMES)
