"""A verb of the command line, which is also a function: `Command`.

How a verb is written, in `commands/<verb>.py`:

    @dataclass(frozen=True)
    class Symmetrize(Command):
        \"\"\"Combine the links of the two directions into one set.\"\"\"

        forward: str = arg("Links of source to target.", file="in")
        method: str = opt("union", "How they are combined.", choices=METHODS)
        output: str = output()
        computing: Computing = bundle(Computing, "errors")  # of its options, those that have a flag here

        def run(self, tell: Reporter) -> None: …

Then add a line to the table in `dualign.commands`. Fields are files and options (`dualign._core.fields`), in
the order of the help; what several verbs share is in `dualign.commands.bundles`, and options of the aligner
are `bundle(Options, …)`. The module imports nothing that needs NumPy: `run` does, so that `--help` is quick.
What is wrong about a single field is refused by its rules, what relates several by `__post_init__` (`raise
UsageError("{a=} needs {b=}", a=self.a, b=...)`), and files that are missing, read twice or overwritten by
`execute`, which calls `run`. `run` returns the result, and tells by `tell.note("{a=} is idle", a=self.a)`;
`show` is for what a shell prints besides. `dualign.jobs` makes the function for Python of the same class.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from dualign._core.errors import DataError, UsageError
from dualign._core.fields import Setting, bundle, check, idle, name_of, refuse_unknown, settings
from dualign.commands.bundles import Computing
from dualign.commands.console import SILENT, Reporter

if TYPE_CHECKING:
    from dualign.text.blocks import TextFiles

R = TypeVar("R")


@dataclass(frozen=True)
class Command:
    """A verb: its files and options are fields, `run` does the work. `given`: the options that were set."""

    computing: Computing = bundle(Computing, "")

    given: ClassVar[frozenset[str]] = frozenset()
    usage: ClassVar[str] = ""
    """How to name the files, for messages, where their number can vary."""
    quiet: ClassVar[tuple[str, ...]] = ("--quiet", "-q")
    shows_rate: ClassVar[bool] = False
    """Whether pairs per second are shown."""
    overwrites: ClassVar[bool] = False
    """Whether an output may be an input."""

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def title(cls) -> str:
        """Return what it is called in `dualign.jobs`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    @classmethod
    def declared(cls) -> dict[str, Setting]:
        """Return all its options, those of its bundles included, by name."""
        return settings(cls)

    @classmethod
    def of(cls, *files: Any, **options: Any) -> Self:
        """Make a command of its files, by position, and its options, by name; a bundle stands for its own."""
        known = settings(cls)
        names = [name for name, each in known.items() if each.is_argument]
        if len(files) > len(names):
            raise TypeError(f"{cls.__name__} takes {len(names)} files, but {len(files)} were given")
        options = dict(zip(names, files, strict=False)) | options
        kinds = tuple(_bundles(cls))
        objects: list[Any] = [value for value in options.values() if isinstance(value, kinds)]
        options = {name: value for name, value in options.items() if not isinstance(value, kinds)}
        refuse_unknown(options, known)
        command = made(cls, options, objects)
        set_ = {
            f.metadata.get("name", f.name)
            for each in objects
            for f in fields(each)
            if getattr(each, f.name) != f.default
        }
        object.__setattr__(command, "given", set_ | options.keys())
        return command

    def run(self, tell: Reporter) -> Any:
        """Do the work."""
        raise NotImplementedError

    def execute(self, tell: Reporter = SILENT) -> Any:
        """Do the work after checks of its files; write a profile if one is wanted."""
        self._check_cluster()
        self.check_files()
        with self._profiled():
            return self.run(tell)

    def show(self, result: Any, tell: Reporter) -> None:
        """Show the result in a shell, where that is not an output of its own."""

    @property
    def is_silent(self) -> bool:
        """Whether a shell is shown no progress and no notes, though it did not ask for `--quiet`."""
        return False

    @property
    def main_output(self) -> str:
        """Where the result goes: progress is not shown on a terminal that shows it."""
        output = settings(type(self)).get("output")
        # That of a bundle is written in the end.
        return "" if output is None or len(output.path) > 1 else output.of(self)

    def set_options(self, names: Iterable[str]) -> dict[str, Any]:
        """Return those of the named options that the caller set."""
        return {
            name: each.of(self)
            for name, each in settings(type(self)).items()
            if name in self.given & {*names}
        }

    def files(self, kind: str, *, without: str = "") -> list[str]:
        """Return what it reads, "in", or writes, "out", without names; not that with a certain rule."""
        from dualign._core.files.streams import named

        found = []
        for each in settings(type(self)).values():
            value, plain = each.of(self), named if each.rules.get("named") else _unnamed
            if each.rules.get("file") == kind and without not in each.rules:
                value = getattr(value, "path", value)
                items = [value] if isinstance(value, str) else value or ()
                found += [plain(item)[1] for item in items]
        return found

    def extra_outputs(self) -> list[str]:
        """Return the files that are written besides those that are named."""
        return []

    def check_files(self) -> None:
        """Refuse before the work what could not be read, or not be written after it."""
        from dualign._core.files.streams import check_apart, check_input, check_output

        inputs, outputs = self.files("in"), [*self.files("out"), *self.extra_outputs()]
        if inputs.count("-") > 1:
            raise UsageError("only one file can be standard input (-); name the others")
        if not self.overwrites:
            check_apart(inputs, outputs)
        for path in outputs:
            check_output(path)
        for path in self.files("in", without="model"):
            check_input(path)

    def _check_cluster(self) -> None:
        computing = self.computing
        if computing.work is not None and computing.cluster is None:
            raise UsageError(
                "{work=} is the folder that a cluster shares; name the cluster, too", work=computing.work
            )
        if computing.cluster is not None and computing.device == "cuda":
            raise UsageError(
                "a cluster computes on processors; leave {device=} or {cluster=} out",
                device="cuda",
                cluster=...,
            )
        if computing.cluster is not None and not settings(type(self))["cluster"].has_flag:
            name = self.title()
            raise UsageError(
                "{name} does not run on a cluster; leave {cluster=} out", name=name, cluster=computing.cluster
            )

    @contextmanager
    def _profiled(self) -> Iterator[None]:
        """Write a profile, if one is wanted, when the block has ended without an error."""
        if self.computing.profile is None:
            yield
            return
        from dualign.commands.profiling import Profile

        profile = Profile(self.title(), self.computing)
        with profile.measuring():
            yield
        profile.write(self.computing.profile)


def _unnamed(item: str) -> tuple[str, str]:
    return "", item


def _bundles(record: type) -> Iterator[type]:
    """The bundles of a record, and theirs."""
    for f in fields(record):
        if (inner := f.metadata.get("bundle")) is not None:
            yield inner
            yield from _bundles(inner)


def made(record: type[R], values: Mapping[str, Any], objects: Collection[Any] = ()) -> R:
    """Make a record from values by name; `objects` are bundles that somebody has made already."""
    parts: dict[str, Any] = {}
    for f in fields(record):  # type: ignore[arg-type] # it is a dataclass
        if (inner := f.metadata.get("bundle")) is not None:
            changes = {
                each.field.name: values[name]
                for name, each in settings(inner).items()
                if name in values and len(each.path) == 1
            }
            if f.metadata["deferred"]:
                parts[f.name] = changes
                continue
            known = next((each for each in objects if isinstance(each, inner)), None)
            parts[f.name] = made(inner, values, objects) if known is None else replace(known, **changes)
        elif name_of(f) in values:
            parts[f.name] = values[name_of(f)]
    return record(**parts)


@contextmanager
def text_of(
    text: TextFiles, computing: Computing, ids: str | None = None, tell: Callable[[str], None] | None = None
) -> Iterator[TextFiles]:
    """Give a text as it is to be read; of a table that comes through a pipe, a copy."""
    text = replace(text, errors=computing.errors, ids=ids, tell=tell)
    if text.columns is None or text.is_regular:
        yield text
        return
    from shutil import copyfileobj

    from dualign._core.files.atomic import temporary_folder
    from dualign._core.files.streams import open_input

    with temporary_folder(computing.scratch) as folder:
        path = os.path.join(folder, f"table{os.path.splitext(text.source)[1]}")
        with open_input(text.source) as stream, open(path, "wb") as copy:
            copyfileobj(stream, copy)
        try:
            yield replace(text, source=path)
        except DataError as error:
            raise DataError(str(error).replace(path, text.name)) from None


def check_model_output(path: str, remedy: str, **values: Any) -> None:
    """Refuse before the work a model that could not be written there."""
    from dualign._core.files.container import checked_path, refuse_other_files

    checked_path(path)
    refuse_other_files(path, remedy, **values)


def inspect_text(text: TextFiles, tell: Reporter, *, waits: bool = False) -> None:
    """Refuse, before kernels are compiled, one file that has not both sides on its first line; not if the run
    `waits` for lines as they come. Warn where a text is its own translation, as after a typing error."""
    source, target = text.source, text.target
    if target is None:
        if text.is_regular and not waits and not text.is_table:
            from dualign.text.tables import check_first_line

            check_first_line(source, text.errors)
        return
    local = os.path.exists(source) and os.path.exists(target)
    if not (os.path.samefile(source, target) if local else source == target):
        return
    if text.is_regular and text.size:  # an empty text has a warning of its own
        what = "{file}: both the source and the target text; name the file of the other language"
        tell.warn(what, file=source)


def note_idle(options: Any, given: Mapping[str, Any], tell: Reporter, *, only_training: bool = False) -> None:
    """Tell which of the given options have no effect on what is written.

    With `only_training`, that is a model: it keeps the options that wait for another decoder.
    """
    for name, other in idle(options, given) if given else ():
        if other == "model" or not only_training:
            what = f"note: {{{name}=}} has no effect with {{{other}=}}"
            tell.note(what, **{name: given[name], other: getattr(options, other)})


def compile_for(crew: Any, tell: Reporter, *names: str) -> None:
    """Compile kernels, and load them on the workers of a cluster, while the text is read."""
    from dualign._core.jit import not_compiled

    names = names if crew is None else (*names, "lines", "cluster")
    if not_compiled(names):
        from dualign.commands.warming import compile_kernels

        compile_kernels(tell.note, *names)
    if crew is not None:
        from dualign.commands.warming import load_kernels

        crew.prepare(load_kernels)
