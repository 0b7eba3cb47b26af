"""Settings in messages, as the user typed them: what jobs call `max_length=5` is `--max-length 5` here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from dualign._core.errors import UsageError
from dualign.cli.exits import say
from dualign.options import Options

# A name, `=`, and values that change: flags have none, words need no quotes. What follows `--set` stays.
_SETTING = re.compile(r"(?<![\w./=`'\"-])(?<!--set )([a-z][a-z0-9_]*)=(True\b|False\b|\"[\w-]+\"|'[\w-]+')?")
_OTHER_NAMES = {"model": "model_type", "lowercase": "keep_case"}
_FIELDS = {field.name for field in fields(Options)}

IGNORED = "Accepted but ignored"
"""How the help of such options begins."""

_running: list[dict[str, Any]] = [{}]
"""The options of the running command, by the name of the parameter, last; its threads see them, too."""


@contextmanager
def flags_of(parameters: Iterable[Any]) -> Iterator[None]:
    """Inside, a command with these parameters runs: `as_typed` knows its flags, and its errors use them."""
    _running.append({each.name: each for each in parameters if each.param_type_name == "option"})
    try:
        yield
    except UsageError as error:
        error.args = (as_typed(str(error)),)
        raise
    finally:
        _running.pop()


def note_ignored(parameters: Iterable[Any], values: dict[str, Any]) -> None:
    """Tell which options that another program has were given without effect, unless `--quiet` was."""
    given = [
        min(each.opts, key=len)
        for each in parameters
        if (getattr(each, "help", None) or "").startswith(IGNORED)
        and values[each.name] is not None
        and values[each.name] is not False
    ]
    if given and not values["quiet"]:
        *others, last = given
        have = f"{', '.join(others)} and {last} have" if others else f"{last} has"
        say(f"note: {have} no effect here")


def as_typed(message: str) -> str:
    """The message with flags of the running command for `name=value`, and `--set` for other `Options`."""
    options = _running[-1]

    def flag(found: re.Match[str]) -> str:
        name, value = found[1], (found[2] or "").strip("'\"")
        option = options.get(_OTHER_NAMES.get(name, name)) or options.get(name)
        if option is None:
            return f"--set {name}={value}" if "set_" in options and name in _FIELDS else found[0]
        longest = max(option.opts, key=len)
        return longest if option.is_flag else f"{longest} {value}"

    return _SETTING.sub(flag, message)
