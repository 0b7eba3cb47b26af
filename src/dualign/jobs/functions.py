"""Functions of `dualign.jobs`, made of the verbs."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import fields
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, NamedTuple

from dualign._core.fields import Setting, settings
from dualign.commands.bundles import Computing
from dualign.commands.command import Command
from dualign.jobs.running import SILENT, Run
from dualign.options import Options

_WRITTEN = "# Written by `python -m dualign.jobs.functions`; a test compares it with the fields.\n"

OF_RUN = {f.name for f in fields(Computing)}


class JobParameter(NamedTuple):
    """A parameter: its name, the options that it sets, and the class of `dualign.jobs` that has these."""

    name: str
    options: tuple[str, ...]
    kind: str = ""

    @classmethod
    def of(cls, text: str) -> JobParameter:
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
        jobs: Any = import_module("dualign.jobs")
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
    is as `JobParameter.of` reads it. Other options are keywords. After `->` there may be the class of the
    result. `usual` are other defaults than those of the verb.
    """
    module, _, kind = home.partition(".")
    verb: type[Command] = getattr(import_module(f"dualign.commands.{module}"), kind)
    form, _, result = form.partition("->")
    parts = f"{form}*".split("*")[:2]
    before, after = ([JobParameter.of(word) for word in part.split()] for part in parts)
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
            options |= special.get(each, JobParameter.of(each)).expanded(value, known)
        return verb.of(computing=run, **options).execute(run.reporter)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = verb.__doc__
    types = list(_parameters(before, after, verb, usual))
    types.append(Parameter("run", Parameter.KEYWORD_ONLY, default=SILENT, annotation="Run"))
    space = JobNames()
    parameters = [each.replace(annotation=eval(each.annotation, {}, space)) for each in types]
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": Any}
    call.types = types, result.strip() or str(verb.run.__annotations__["return"])  # type: ignore[attr-defined]
    return call


class JobNames(dict[str, Any]):
    """Names of `dualign.jobs` and of Python."""

    def __missing__(self, name: str) -> Any:
        jobs: Any = import_module("dualign.jobs")

        return Any if name == "Any" else getattr(builtins, name, None) or getattr(jobs, name)


def _parameters(
    before: list[JobParameter], after: list[JobParameter], verb: type[Command], usual: dict[str, Any]
) -> Iterator[Parameter]:
    """Return the parameters of a function, with their types as text."""
    known = settings(verb)
    first = [_parameter(each, verb, usual, Parameter.POSITIONAL_OR_KEYWORD) for each in before]
    last = max((n for n, each in enumerate(first) if each.default is Parameter.empty), default=0)
    yield from (each.replace(default=Parameter.empty) for each in first[:last])
    yield from first[last:]
    taken = {option for each in (*before, *after) for option in each.known()} | OF_RUN | usual.keys()
    taken |= {each for each in known if "shell" in known[each].rules}
    taken |= {each.name for each in (*before, *after)}
    for each in [*after, *(JobParameter.of(name) for name in known if name not in taken)]:
        yield _parameter(each, verb, usual, Parameter.KEYWORD_ONLY)


def _parameter(each: JobParameter, verb: type[Command], usual: dict[str, Any], kind: Any) -> Parameter:
    required = Parameter.empty if kind is Parameter.POSITIONAL_OR_KEYWORD else None
    if each.kind:
        annotation = each.kind if required is Parameter.empty else f"{each.kind} | None"
        return Parameter(each.name, kind, default=required, annotation=annotation)
    setting = settings(verb)[each.options[0]]
    default = usual.get(each.options[0], Parameter.empty if setting.is_required else setting.field.default)
    annotation = str(setting.field.type)
    if (whole := _public_bundle(setting, verb)) is not None:
        annotation += f" | {whole}"
    return Parameter(each.name, kind, default=default, annotation=annotation)


def _public_bundle(setting: Setting, verb: type[Command]) -> str | None:
    """Return the class that may be given in place of the first of its options."""
    [bundle] = [f.metadata.get("bundle") for f in fields(verb) if f.name == setting.path[0]]
    if bundle is None or next(iter(settings(bundle))) != setting.name:
        return None
    return {"Evidence": "Knowledge", "Outputs": "Outputs", "Tuning": "Tuning"}.get(bundle.__name__)


def stub() -> str:
    """Return `__init__.pyi` of `dualign.jobs`: the types of its functions, and where its other names are."""
    jobs: Any = import_module("dualign.jobs")
    names = [name for name in jobs.__all__ if name not in jobs._VERBS]
    imports, functions = {"from typing import Any"}, []
    for name in names:
        home, there = jobs.home_of(name)
        imports.add(f"from {home} import {there} as {name}")
    for name, (home, *_) in jobs._VERBS.items():
        function = getattr(jobs, name)
        parameters, result = function.types
        module = import_module(f"dualign.commands.{home.partition('.')[0]}")
        for word in {*re.findall(r"[A-Z]\w+", result)} - {"None", "Any", *names}:
            imports.add(f"from {_home_of(word, module)} import {word}")
        shown = [f"{p.name}: {p.annotation}{'' if p.default is p.empty else ' = ...'}" for p in parameters]
        star = next((n for n, p in enumerate(parameters) if p.kind is p.KEYWORD_ONLY), len(shown))
        shown.insert(star, "*")
        text = "".join(f"    {each},\n" for each in shown)
        functions.append(f"def {name}(\n{text}) -> {result}: ...\n")
    every = "".join(f'    "{name}",\n' for name in jobs.__all__)
    return "\n".join([_WRITTEN, *sorted(imports), "", f"__all__ = [\n{every}]\n", *functions]).rstrip() + "\n"


def option_values() -> str:
    """Return `option_values.pyi`: the keywords of an aligner, for type checkers and editors."""
    lines = "".join(f"    {f.name}: {f.type}\n" for f in fields(Options))
    return f"{_WRITTEN}\nfrom typing import TypedDict\n\nclass OptionValues(TypedDict, total=False):\n{lines}"


def _home_of(name: str, module: Any) -> str:
    """Return the module from which this one has a name, which it may import for types alone."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom) and name in (each.name for each in node.names):
            return str(node.module)
    return str(module.__name__)


def stubs() -> dict[Path, str]:
    """Return the files of types that are made of the fields, and their contents."""
    package = Path(__file__).parents[1]
    return {package / "jobs" / "__init__.pyi": stub(), package / "option_values.pyi": option_values()}


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
