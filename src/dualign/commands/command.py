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
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import product
from typing import Any, ClassVar, Self

from dualign._core.errors import DataError, UsageError
from dualign._core.fields import bundle, check, made, refuse_unknown, settings
from dualign._core.files.places import in_place, kept_apart
from dualign._core.files.streams import named
from dualign.commands.computing import Computing
from dualign.commands.console import SILENT, Reporter


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
        if not self.overwrites:
            self.check_files()
        with in_place() if self.overwrites else kept_apart(), self._profiled():
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
        from dualign._core.files.remote import is_remote
        from dualign._core.files.streams import check_input, check_output

        inputs, outputs = self.files("in"), [*self.files("out"), *self.extra_outputs()]
        if inputs.count("-") > 1:
            raise UsageError("only one file can be standard input (-); name the others")
        for output, other in product(outputs, inputs):
            if _is_same(output, other):
                raise UsageError(
                    "{path} is both read and written, and would be lost; name another output", path=output
                )
        places = [path if path == "-" else os.path.realpath(path) for path in outputs]
        for path, place in zip(outputs, places, strict=True):
            if places.count(place) > 1:
                raise UsageError(
                    "two outputs are written to the same place, {path}; give each its own", path=path
                )
            if path != "-" and not is_remote(path):
                if not os.path.isdir(folder := os.path.dirname(place)):
                    raise DataError(
                        "there is no folder {folder} to write to; make it first", place=path, folder=folder
                    )
                if os.path.isdir(path):
                    raise DataError("a directory; name a file to write", place=path)
                check_output(path)
        for path in self.files("in", without="model"):
            check_input(path)

    def _check_cluster(self) -> None:
        computing = self.computing
        if computing.work is not None and computing.cluster is None:
            raise UsageError(
                "{work=} is the folder that a cluster shares; name the cluster, too", work=computing.work
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


def _is_same(output: str, other: str) -> bool:
    try:
        return os.path.samefile(output, other) and os.path.isfile(other)
    except (OSError, ValueError):
        return False


def _bundles(record: type) -> Iterator[type]:
    """The bundles of a record, and theirs."""
    for f in fields(record):
        if (inner := f.metadata.get("bundle")) is not None:
            yield inner
            yield from _bundles(inner)


def function_of(verb: type[Command]) -> Callable[..., Any]:
    """Make the function for Python: files by position, options by keyword, `tell` for notes and progress."""

    def call(*files: Any, tell: Reporter = SILENT, **options: Any) -> Any:
        return verb.of(*files, **options).execute(tell)

    call.__doc__, call.__name__ = verb.__doc__, verb.title()
    return call
