"""The former place of `dualign.translate.forest.chart`."""

from __future__ import annotations

from dualign.translate.forest.chart import parse

__all__ = ["parse"]
