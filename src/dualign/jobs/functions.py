"""Functions of `dualign.jobs`, made of the verbs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import fields
from importlib import import_module
from inspect import Parameter, Signature
from typing import Any, NamedTuple

from dualign._core.fields import Setting, settings
from dualign.commands.command import Command
from dualign.commands.computing import Computing
from dualign.commands.console import Reporter
from dualign.jobs.running import SILENT, Run

OF_RUN = {f.name for f in fields(Computing)}


class Given(NamedTuple):
    """A parameter: its name, the options that it sets, and the class of `dualign.jobs` that has these."""

    name: str
    options: tuple[str, ...]
    kind: str = ""

    @classmethod
    def of(cls, text: str) -> Given:
        """Read `a`, which is an option, `a=b`, the option b, `a=b,c`, a pair of them, or `a:Class`."""
        text, _, kind = text.partition(":")
        name, _, options = text.partition("=")
        return cls(name, tuple((options or name).split(",")), kind)

    @property
    def prefix(self) -> str:
        """How names of its options begin."""
        return self.options[0] if self.options[0].endswith("_") else ""

    def known(self) -> Collection[str]:
        """Return the names of its options."""
        from dualign import jobs
        from dualign.jobs.records import names_of

        return names_of(getattr(jobs, self.kind), self.prefix) if self.kind else self.options

    def expanded(self, value: Any, known: Collection[str]) -> dict[str, Any]:
        """Return options with their values; for `a=b_:Class` their names begin with `b_`."""
        if len(self.options) > 1:
            return dict(zip(self.options, value, strict=True))
        if not self.kind:
            return {self.options[0]: value}
        if value is None:
            return {}
        from dualign.jobs.records import options_of

        # A verb need not know an option that is not set, nor what its files always are.
        found = options_of(value, self.prefix)
        return {name: each for name, each in found if name in known or each not in (None, "conllu")}


def function_of(name: str, home: str, form: str, **usual: Any) -> Callable[..., Any]:
    """Make a function of a verb, which takes `run` for callbacks and settings.

    `form` has what is given by position and, after a `*`, what else is not called like its option; each word
    is as `Given.of` reads it. Other options are keywords. `usual` are other defaults than those of the verb.
    """
    module, _, kind = home.partition(".")
    verb: type[Command] = getattr(import_module(f"dualign.commands.{module}"), kind)
    before, after = ([Given.of(word) for word in part.split()] for part in f"{form}*".split("*")[:2])
    special = {each.name: each for each in (*before, *after)}
    known = settings(verb)

    def call(*values: Any, run: Run = SILENT, **more: Any) -> Any:
        if len(values) > len(before):
            raise TypeError(
                f"{name}() takes {len(before)} positional arguments, but {len(values)} were given"
            )
        given = {each.name: value for each, value in zip(before, values, strict=False)} | more
        options = dict(usual)
        for each, value in given.items():
            options |= special.get(each, Given.of(each)).expanded(value, known)
        options["computing"] = Computing(**{f.name: getattr(run, f.name) for f in fields(Computing)})
        return verb.of(**options).execute(Reporter(run.note, run.progress, run.round, run.warn, run.tasks))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = verb.__doc__
    parameters = [_parameter(each, known, usual, Parameter.POSITIONAL_OR_KEYWORD) for each in before]
    last = max((n for n, each in enumerate(parameters) if each.default is Parameter.empty), default=0)
    parameters[:last] = [each.replace(default=Parameter.empty) for each in parameters[:last]]
    parameters += [_parameter(each, known, usual, Parameter.KEYWORD_ONLY) for each in after]
    taken = {option for each in special.values() for option in each.known()} | OF_RUN | usual.keys()
    rest = [Given.of(each) for each in known if each not in taken]
    parameters += [_parameter(each, known, usual, Parameter.KEYWORD_ONLY) for each in rest]
    parameters.append(Parameter("run", Parameter.KEYWORD_ONLY, default=SILENT, annotation=Run))
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": Any}
    return call


def _parameter(each: Given, known: dict[str, Setting], usual: dict[str, Any], kind: Any) -> Parameter:
    if each.kind:
        from dualign import jobs

        default = Parameter.empty if kind is Parameter.POSITIONAL_OR_KEYWORD else None
        return Parameter(each.name, kind, default=default, annotation=getattr(jobs, each.kind))
    setting = known[each.options[0]]
    default = usual.get(each.options[0], Parameter.empty if setting.is_required else setting.field.default)
    return Parameter(each.name, kind, default=default, annotation=eval(str(setting.field.type)))
