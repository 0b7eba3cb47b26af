"""The exceptions that callers may catch, and how messages are made: from a template and its values.

`UsageError("{threshold=} must be below 1", threshold=2.0)`: as in an f-string, `{threshold=}` names a setting
and its value. Python reads `threshold=2.0`, a shell `--threshold 2.0`; the value `...` leaves the name alone.
`{count:,}` is a plain value. What a user wrote stands in the values, never in the template; a message without
values is taken as it is. Messages name the file, the line or the value that is wrong, and what to do about
it. The command line prints the message alone; it never shows a traceback for these.
"""

from __future__ import annotations

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
