"""Functions of `dualign.jobs`, made of the verbs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from inspect import Parameter, Signature
from typing import Any

from dualign._core.fields import Setting, settings
from dualign.commands.command import Command
from dualign.commands.computing import Computing
from dualign.commands.console import Reporter
from dualign.jobs.running import SILENT, Run


def function_of(name: str, home: str, positions: str, others: dict[str, str]) -> Callable[..., Any]:
    """Make a function of a verb: these files by position, options by name, `run` for callbacks and settings.

    `others` are names that options have here alone.
    """
    module, _, kind = home.partition(".")
    verb: type[Command] = getattr(import_module(f"dualign.commands.{module}"), kind)
    order = positions.split()

    def call(*files: Any, run: Run = SILENT, **options: Any) -> Any:
        if len(files) > len(order):
            raise TypeError(f"{name}() takes {len(order)} positional arguments, but {len(files)} were given")
        options = {others.get(each, each): value for each, value in options.items()}
        options |= zip(order, files, strict=False)
        options["computing"] = Computing(**{f.name: getattr(run, f.name) for f in fields(Computing)})
        return verb.of(**options).execute(Reporter(run.note, run.progress, run.round, run.warn, run.tasks))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = verb.__doc__
    known = {each: setting for each, setting in settings(verb).items() if each not in _of_run()}
    renamed = {there: here for here, there in others.items()}
    parameters = [_parameter(known[each], each, Parameter.POSITIONAL_OR_KEYWORD) for each in order]
    rest = [each for each in known if each not in order]
    parameters += [_parameter(known[each], renamed.get(each, each), Parameter.KEYWORD_ONLY) for each in rest]
    parameters.append(Parameter("run", Parameter.KEYWORD_ONLY, default=SILENT, annotation=Run))
    space = {**vars(import_module(verb.__module__))}
    parameters = [each.replace(annotation=_type(each.annotation, space)) for each in parameters]
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": Any}
    return call


def _of_run() -> set[str]:
    return {f.name for f in fields(Computing)}


def _parameter(setting: Setting, name: str, kind: Any) -> Parameter:
    default = Parameter.empty if setting.is_required else setting.field.default
    return Parameter(name, kind, default=default, annotation=setting.field.type)


def _type(annotation: Any, space: dict[str, Any]) -> Any:
    return eval(annotation, space) if isinstance(annotation, str) else annotation
