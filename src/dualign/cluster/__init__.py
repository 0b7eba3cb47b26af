"""Training and aligning on several machines, with Dask: see docs/cluster.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualign.core.lazy import lazily

if TYPE_CHECKING:
    from dualign.cluster.crew import Crew, connected

__all__ = ["Crew", "connected"]

__getattr__, __dir__ = lazily(__name__, {"Crew": "crew", "connected": "crew"})
