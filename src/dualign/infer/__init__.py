"""What learning and decoding both ask of a model; and constraints of your own on its posteriors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualign.core.lazy import lazily

if TYPE_CHECKING:
    from dualign.infer.constraints import ConstraintSet, Glossary, Rule

__all__ = ["ConstraintSet", "Glossary", "Rule"]

__getattr__, __dir__ = lazily(__name__, dict.fromkeys(__all__, "constraints"))
