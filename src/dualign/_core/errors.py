"""The exceptions that callers may catch, and how messages are made: from a template and its values.

`UsageError("{threshold=} must be below 1", threshold=2.0)`: as in an f-string, `{threshold=}` names a setting
and its value. Python reads `threshold=2.0`, a shell `--threshold 2.0`; the value `...` leaves the name alone.
`{count:,}` is a plain value. What a user wrote stands in the values, never in the template; a message without
values is taken as it is. Messages name the file, the line or the value that is wrong, and what to do about
it. The command line prints the message alone; it never shows a traceback for these.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

Spell = Callable[[str, Any], str]
"""How a setting with its value is written; the value `...` stands for the name alone."""


def as_keyword(name: str, value: Any) -> str:
    """Spell a setting as Python's callers know it."""
    if value is ...:
        return name
    return f'{name}="{value}"' if isinstance(value, str) else f"{name}={value}"


def shown(value: Any) -> str:
    """Write a value; text that is empty or has white space gets quotes."""
    return f'"{value}"' if isinstance(value, str) and value.split() != [value] else str(value)


def message(template: str, values: dict[str, Any], spell: Spell = as_keyword) -> str:
    """Fill a template."""
    if not values:
        return template
    return template.format_map({**values, **{f"{name}=": spell(name, values[name]) for name in values}})


class DualignError(Exception):
    """Base of every error that dualign raises on purpose: a template and its values, a place and a remedy."""

    exit_code = 1

    def __init__(
        self, template: str = "", *, place: str | None = None, remedy: str = "", **values: Any
    ) -> None:
        self.template, self.place, self.remedy, self.values = template, place, remedy, values
        super().__init__(self.spelled(as_keyword))

    def with_remedy(self, remedy: str, **values: Any) -> Self:
        """Return the same error with another remedy."""
        other = copy(self)
        if not self.values:  # it was taken as it is
            other.template = self.template.replace("{", "{{").replace("}", "}}")
        other.remedy, other.values = remedy, {**self.values, **values}
        other.args = (other.spelled(as_keyword),)
        return other

    def spelled(self, spell: Spell) -> str:
        """Return the message with settings as somebody knows them."""
        text = message(self.template, self.values, spell)
        remedy = f"; {message(self.remedy, self.values, spell)}" if self.remedy else ""
        return f"{'' if self.place is None else f'{self.place}: '}{text}{remedy}"


class Terminated(KeyboardInterrupt):
    """Somebody sent SIGTERM."""


class DataError(DualignError, ValueError):
    """The content of a file, or of an argument, is not what it must be."""


class ModelError(DualignError, ValueError):
    """A model file is corrupt, truncated, from a newer version, or no model at all."""


class Infeasible(DualignError, ValueError):  # noqa: N818 - an outcome that is proved
    """The problem has no solution, and that is proved."""


class UsageError(DualignError, ValueError):
    """Options that contradict each other or lie outside their range."""

    exit_code = 2


@contextmanager
def refusing(
    *kinds: type[Exception],
    by: type[DualignError] = DataError,
    what: str = "{cause}",
    place: str | None = None,
    **values: Any,
) -> Iterator[None]:
    """Raise an error of ours for exceptions of these kinds; `{cause}` in its template is their text."""
    try:
        yield
    except kinds as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise by(what, place=place, cause=cause, **values) from None


@contextmanager
def explaining(
    name: str, action: str, by: type[DualignError] = DataError, missing: str = ""
) -> Iterator[None]:
    """Turn an operating system's error into one that says what to do; `action` is `read` or `write`.

    `missing` is what to say of a file that is not there.
    """
    try:
        yield
    except (BrokenPipeError, DualignError):
        raise
    except OSError as error:
        raise by(_reason(error, name, action, missing), place=name) from None
    except ValueError as error:
        # `open` raises it for a NUL, or a character that the file system cannot encode, in the name.
        raise by(f"cannot {action}: {error}", place=repr(name)) from None


def _reason(error: OSError, name: str, action: str, missing: str) -> str:
    """Say why something cannot be read, or written, and what to do."""
    writing, folder = action == "write", os.path.dirname(os.path.realpath(name))
    if writing and not os.path.isdir(folder):
        return f"there is no folder {folder} to write to; make it first"
    if isinstance(error, FileNotFoundError) and not writing:
        return missing or f"no such file; check the path (seen from {_here()})"
    if isinstance(error, IsADirectoryError):
        return f"is a directory; name a file{' to write' if writing else ''}"
    if isinstance(error, PermissionError):
        what = "it and its directory" if writing else "it"
        return f"no permission to {action}; check the rights on {what} (ls -ld)"
    return f"cannot {action}: {error.strerror or error}"


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "a directory that no longer exists"
