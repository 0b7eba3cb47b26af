"""Learning the parameters from text without labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualign.core.lazy import lazily

if TYPE_CHECKING:
    from dualign.learn.prior_counts import Prior
    from dualign.learn.training import NothingToLearn, Progress

__all__ = ["NothingToLearn", "Prior", "Progress"]

_HOMES = {"NothingToLearn": "training", "Prior": "prior_counts", "Progress": "training"}
__getattr__, __dir__ = lazily(__name__, _HOMES)
