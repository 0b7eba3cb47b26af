"""The exceptions that callers may catch.

Messages name the file, the line or the value that is wrong, and what to do about it. The command line
prints the message alone; it never shows a traceback for these.
"""

from __future__ import annotations


class DualignError(Exception):
    """Base of every error that dualign raises on purpose."""

    exit_code = 1


class DataError(DualignError, ValueError):
    """The content of a file, or of an argument, is not what it must be."""


class ModelError(DualignError, ValueError):
    """A model file is corrupt, truncated, from a newer version, or no model at all."""


class Infeasible(DualignError, ValueError):  # noqa: N818 - an outcome that is proved
    """The problem has no solution, and that is proved."""


class UsageError(DualignError, ValueError):
    """Options that contradict each other or lie outside their range."""

    exit_code = 2
