"""Constraints of your own on posteriors; the documented names, whose home is `dualign.hmm`."""

from dualign.hmm import ConstraintSet, Glossary, Rule

__all__ = ["ConstraintSet", "Glossary", "Rule"]


def __dir__() -> list[str]:
    return __all__
