"""Options of the aligner on the command line: flags for the common ones, `--set NAME=VALUE` for all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Annotated, Any, get_type_hints

import typer

from dualign.cli.exits import say
from dualign.core.errors import UsageError
from dualign.model.options import AGREEMENTS, CONSTRAINTS, DECODERS, KIND_NAMES, MODELS, Options

_HELP = {field.name: field.metadata["help"] for field in fields(Options)}
_DEFAULT = {field.name: field.default for field in fields(Options)}
_FLAGS = {"model": "--model-type", "lowercase": "--keep-case"}
"""Options that have a flag of their own; `_flag` adds those that are called like it."""


def _text(name: str) -> str:
    return f"{_HELP[name][0].upper()}{_HELP[name][1:]}. [default: {_DEFAULT[name]}]"


def _flag(name: str, metavar: str) -> Any:
    _FLAGS[name] = f"--{name.replace('_', '-')}"
    return typer.Option(_FLAGS[name], metavar=metavar, help=_text(name))


Decoder = Annotated[str | None, _flag("decoder", "|".join(DECODERS))]
Symmetrize = Annotated[str | None, _flag("symmetrize", "METHOD")]
Agreement = Annotated[str | None, _flag("agreement", "|".join(AGREEMENTS))]
Penalty = Annotated[float | None, _flag("penalty", "COST")]
Unsupported = Annotated[float | None, _flag("unsupported", "COST")]
Threshold = Annotated[float | None, _flag("threshold", "P")]
Constraint = Annotated[str | None, _flag("constraint", "|".join(CONSTRAINTS))]
ModelName = Annotated[str | None, typer.Option("--model-type", metavar="|".join(MODELS), help=_text("model"))]
Rounds = Annotated[int | None, _flag("rounds", "N")]
MaxLength = Annotated[int | None, _flag("max_length", "N")]
KeepCase = Annotated[
    bool, typer.Option("--keep-case", help="Tell upper from lower case when comparing words.")
]
GlossaryFile = Annotated[
    str | None,
    typer.Option(
        "--glossary",
        metavar="FILE",
        help="Known translations, source<TAB>target on a line: expected to be linked where both words occur.",
    ),
]
Tune = Annotated[
    str | None,
    typer.Option(
        "--tune",
        metavar="GOLD",
        help="Choose threshold and decoder parameters by these gold links of the first lines.",
    ),
]
TuneSource = Annotated[
    str | None,
    typer.Option(
        "--tune-source", metavar="FILE", help="Source text of the gold links, if not the first lines."
    ),
]
TuneTarget = Annotated[
    str | None, typer.Option("--tune-target", metavar="FILE", help="Target text of the gold links.")
]
EarlyStop = Annotated[
    bool, typer.Option("--early-stop", help="Stop training when the gold links say that it gets worse.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help=f"Any other option: {', '.join(sorted(_DEFAULT))}."),
]


def settings(assignments: list[str] | None, **given: Any) -> dict[str, Any]:
    """The options that were given, by name, with values of the right type."""
    chosen = {name: value for name, value in given.items() if value is not None}
    types = get_type_hints(Options)
    for assignment in assignments or ():
        name, equals, text = assignment.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or name not in types:
            raise UsageError(f"--set {assignment}: write NAME=VALUE with one of {', '.join(sorted(types))}")
        value = _value(name, text.strip(), types[name])
        if given.get(name) not in (None, value):
            raise UsageError(f"{_FLAGS[name]} and --set {assignment} contradict each other; give one of them")
        chosen[name] = value
    return chosen


def note_idle(options: Options, given: Iterable[str], quiet: bool, *, training: bool = False) -> None:
    """Tell which of the given options have no effect.

    With `training` nothing is said of options that wait for another decoder: the model keeps them for it.
    """
    for name, other in () if quiet else options.idle(given):
        if other == "model" or not training:
            flag = _FLAGS.get(name, f"--set {name}")
            say(f"note: {flag} has no effect with {_FLAGS[other]} {getattr(options, other)}")


def _value(name: str, text: str, kind: Any) -> Any:
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise UsageError(f"--set {name}={text}: write true or false")
        return text.lower() == "true"
    try:
        return kind(text)
    except ValueError:
        raise UsageError(f"--set {name}={text}: not {KIND_NAMES[kind]}") from None
