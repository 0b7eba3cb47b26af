"""The former place of `dualign.translate.search.baselines.partitions`."""

from __future__ import annotations

from dualign.translate.search.baselines.partitions import partitions

__all__ = ["partitions"]
