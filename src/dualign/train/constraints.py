"""The former place of `dualign.infer.constraints`."""

from __future__ import annotations

from dualign.infer.constraints import ConstraintSet, Glossary, Rule

__all__ = ["ConstraintSet", "Glossary", "Rule"]
