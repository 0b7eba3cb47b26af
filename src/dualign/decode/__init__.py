"""From parameters, or from scores of any origin, to links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualign.core.lazy import lazily

if TYPE_CHECKING:
    from dualign.decode.joint.bidirectional import bidirectional
    from dualign.decode.matchings.decoders import matching, penalized, submodular

__all__ = ["bidirectional", "matching", "penalized", "submodular"]

_HOMES = {
    "bidirectional": "joint.bidirectional",
    "matching": "matchings.decoders",
    "penalized": "matchings.decoders",
    "submodular": "matchings.decoders",
}
__getattr__, __dir__ = lazily(__name__, _HOMES)
