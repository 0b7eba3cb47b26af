"""Functions of `dualign.jobs`, made of the verbs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from importlib import import_module
from inspect import Parameter, Signature
from typing import Any, NamedTuple

from dualign._core.errors import DataError
from dualign._core.fields import settings
from dualign._core.files.atomic import explaining, temporary_folder
from dualign.commands.bundles import Computing, cutting_of_model
from dualign.commands.command import Command
from dualign.jobs.records import SILENT, Run, attributes_of, options_of
from dualign.text.blocks import TextFiles, read_blocks
from dualign.text.numbering import LINES
from dualign.text.tokenizing import PLAIN

jobs: Any = import_module("dualign.jobs")

PUBLIC_BUNDLES = {"Evidence": "Knowledge", "Outputs": "Outputs", "Tuning": "Tuning"}
"""What those bundles are called here that may be given in place of the first of their options."""


class JobParameter(NamedTuple):
    """A parameter: its name, the options that it sets, and the class of `dualign.jobs` that has these."""

    name: str
    options: list[str]
    kind: str = ""
    prefix: str = ""
    """How names of the options of that class begin."""

    @classmethod
    def of(cls, text: str) -> JobParameter:
        """Read `a`, which is an option, `a=b`, the option b, `a=b,c`, a pair of them, or `a:Class`, or
        `a=b_:Class`, whose options begin with `b_`."""
        text, _, kind = text.partition(":")
        name, _, options = text.partition("=")
        if kind:
            return cls(name, [*attributes_of(getattr(jobs, kind), options)], kind, options)
        return cls(name, (options or name).split(","))

    def expanded(self, value: Any, known: Mapping[str, Any]) -> dict[str, Any]:
        """Return options with their values."""
        if self.kind:
            return {} if value is None else options_of(value, known, self.prefix)
        return dict(zip(self.options, value if len(self.options) > 1 else (value,), strict=True))

    def shown(self, verb: type[Command], usual: Mapping[str, Any], kind: Any) -> Parameter:
        """Return it with its type as text."""
        default: Any = Parameter.empty
        annotation = self.kind
        if self.kind and kind is Parameter.KEYWORD_ONLY:
            default, annotation = None, f"{self.kind} | None"
        elif not self.kind:
            setting = settings(verb)[self.options[0]]
            default = Parameter.empty if setting.is_required else setting.field.default
            default, annotation = usual.get(setting.name, default), str(setting.field.type)
            [bundle] = [f.metadata.get("bundle") for f in fields(verb) if f.name == setting.path[0]]
            if bundle is not None and next(iter(settings(bundle))) == setting.name:
                whole = PUBLIC_BUNDLES.get(bundle.__name__)
                annotation += f" | {whole}" if whole else ""
        return Parameter(self.name, kind, default=default, annotation=annotation)


def function_of(name: str, form: str, usual: Mapping[str, Any]) -> Callable[..., Any]:
    """Make a function of a verb, which takes `run` for callbacks and settings.

    `form` has the verb's module, and its class if that is not called like the function; then what is given
    by position and, after a `*`, what else is not called like its option; each word is as `JobParameter.of`
    reads it. Other options are keywords. After `->` there may be the class of the result. `usual` are other
    defaults than those of the verb.
    """
    form, _, result = form.partition(" -> ")
    home, *words = form.split()
    module, _, kind = home.partition(".")
    verb: type[Command] = getattr(
        import_module(f"dualign.commands.{module}"), kind or name.title().replace("_", "")
    )
    known, positions = settings(verb), (*words, "*").index("*")
    named = [JobParameter.of(word) for word in words if word != "*"]
    special = {each.name: each for each in named}

    def call(*values: Any, run: Run = SILENT, **more: Any) -> Any:
        if len(values) > positions:
            raise TypeError(f"{name}() takes {positions} positional arguments, but {len(values)} were given")
        options = dict(usual)
        for each, value in (dict(zip(special, values, strict=False)) | more).items():
            options |= special[each].expanded(value, known) if each in special else {each: value}
        return verb.of(computing=run, **options).execute(run.reporter)

    parameters = list(_parameters(verb, named[:positions], named[positions:], usual))
    call.__name__ = call.__qualname__ = name
    call.__doc__ = verb.__doc__
    returned = result or str(verb.run.__annotations__["return"])
    call.__signature__ = Signature(parameters, return_annotation=returned)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    return call


def _parameters(
    verb: type[Command], before: list[JobParameter], after: list[JobParameter], usual: Mapping[str, Any]
) -> Iterator[Parameter]:
    """Return the parameters of a function, with their types as text."""
    first = [each.shown(verb, usual, Parameter.POSITIONAL_OR_KEYWORD) for each in before]
    last = max((n for n, each in enumerate(first) if each.default is Parameter.empty), default=0)
    yield from (each.replace(default=Parameter.empty) for each in first[:last])
    yield from first[last:]
    special = [*before, *after]
    taken = {f.name for f in fields(Computing)} | usual.keys() | {each.name for each in special}
    taken |= {option for each in special for option in each.options}
    taken |= {option for option, each in settings(verb).items() if "shell" in each.rules}
    rest = [JobParameter(option, [option]) for option in settings(verb) if option not in taken]
    yield from (each.shown(verb, usual, Parameter.KEYWORD_ONLY) for each in [*after, *rest])
    yield Parameter("run", Parameter.KEYWORD_ONLY, default=SILENT, annotation="Run")


class PlainText(NamedTuple):
    """Files of lines: both sides, or one with both; the ids of the pairs, if they have any."""

    source: str
    target: str | None = None
    ids: str | None = None
    copied: bool = False
    """Whether these are copies that go when the block ends."""


@contextmanager
def plain_text(
    source: str,
    target: str | None = None,
    *,
    columns: str | None = None,
    model: str | None = None,
    run: Run = SILENT,
) -> Iterator[PlainText]:
    """Give the text of one or two files as plain files; those that are plain already stay.

    A copy is made of a table with `columns`, and of text for a `model` whose own text was cut by a tokeniser,
    which is cut in the same way.
    """
    cutting = cutting_of_model(model, run.reporter)
    text = TextFiles(source, target, columns, errors=run.errors, cutting=cutting)
    if columns is None and cutting == PLAIN:
        yield PlainText(source, target)
        return
    with temporary_folder(run.scratch) as folder:
        places = [os.path.join(folder, name) for name in ("source", "target", "ids")[: 2 + text.has_ids]]
        with explaining(folder, "write"), ExitStack() as stack:
            streams = [stack.enter_context(open(place, "wb")) for place in places]
            for block in read_blocks(text, LINES):
                sides = (block.source, block.target or b"") if cutting == PLAIN else block.tokens()
                ids = "".join(f"{id}\n" for id in block.ids).encode()
                for stream, lines in zip(streams, (*sides, ids), strict=False):
                    stream.write(lines)
        try:
            yield PlainText(places[0], places[1], places[2] if text.has_ids else None, copied=True)
        except DataError as error:  # about what was copied, not about a copy
            told, names = str(error), text.files * (1 + (target is None))
            for place, name, side in zip(places, names, (" (source)", " (target)"), strict=False):
                told = told.replace(place, name + side * (target is None))
            raise DataError(told) from None
