"""The former place of `dualign.translate.forest.tree_match`."""

from __future__ import annotations

from dualign.translate.forest.tree_match import match

__all__ = ["match"]
