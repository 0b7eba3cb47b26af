"""What all jobs share: `Run`, the settings and callbacks of a job, and `job`, which makes a function one."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from dualign._core.errors import UsageError
from dualign._core.files.places import kept_apart
from dualign.text.checks import number_of

if TYPE_CHECKING:
    from dualign._core.memory import Workspace
    from dualign.hmm.training import Progress

Item = TypeVar("Item")
Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")


def _ignore(*_: object) -> None:
    pass


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """Settings that all jobs share. The callbacks do nothing unless given, except `warn`, which logs."""

    threads: int | None = None
    """Threads to compute with, all processors if None; the result is the same."""
    errors: str = "strict"
    """Bytes that are not UTF-8: `strict` refuses them, `replace` reads U+FFFD."""
    note: Callable[[str], None] = _ignore
    """Called with each message for the user."""
    progress: Callable[[int, str], None] = _ignore
    """Called as `progress(done, what)` after each line, or several; `done` is 0 when the work begins."""
    round: Callable[[Progress], None] = _ignore
    """Called after each round of training."""
    warn: Callable[[str], None] = logging.getLogger("dualign").warning
    """Called when the result is probably not what was wanted."""
    memory: int | str | None = None
    """How much memory to use, in bytes or as `4G`; what does not fit lies in scratch files. The result is the
    same. By default, most of what the machine has."""
    scratch: str | None = None
    """The folder for scratch files."""
    device: str = "cpu"
    """Where `align` and `train` compute: `cpu`, `cuda` for a graphics card, or `auto` for one if there is."""
    device_memory: int | str | None = None
    """How much of the card's memory to use, in bytes or as `8G`; by default, most of what is free."""
    profile: str | None = None
    """A file to write, as JSON, where the time went, phase by phase, and how much memory it took."""
    cluster: str | None = None
    """A Dask cluster: the address of its scheduler, its file, or `local:4`, workers on this machine; the
    result is the same."""
    work: str | None = None
    """A folder that all machines of the cluster share: what is done there need not be done again."""
    tasks: Callable[[str, int, int, int], None] = _ignore
    """Called as `tasks(what, done, all, bytes written)` while a cluster works."""
    crew: Any = None
    """The workers of the cluster, once there are any."""

    def __repr__(self) -> str:
        changed = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        return f"Run({', '.join(f'{name}={getattr(self, name)!r}' for name in changed)})"

    def workspace(self) -> Workspace:
        """Room for large arrays, as `memory` and `scratch` say; refuses what cannot be had."""
        from dualign._core.memory import Workspace, as_bytes
        from dualign._core.threads import available

        memory = self.memory
        if isinstance(memory, str):
            try:
                memory = as_bytes(memory)
            except UsageError as error:
                raise UsageError(f"memory={self.memory}: {error}") from None
        if memory is not None and (isinstance(memory, bool) or not hasattr(memory, "__index__")):
            raise UsageError(f"memory={memory!r} must be a number of bytes, or a size such as 4G")
        folder = None if self.scratch is None else os.fspath(self.scratch)
        return Workspace(memory, folder, available(self.threads))

    def wrote(self, count: int, units: str, output: str) -> None:
        """Tell how much a file has got; nothing where it went to standard output, and can be seen."""
        if output != "-":
            self.note(f"{number_of(count, units)}: {output}")

    def counted(self, items: Iterable[Item], what: str) -> Iterator[Item]:
        """Pass `items` on, and report how many are done."""
        self.progress(0, what)
        for number, item in enumerate(items, 1):
            yield item
            self.progress(number, what)


ON_CLUSTER = (
    "align", "train", "translate", "extract_phrases",
    "transfer_tree", "transfer_tags", "transfer_spans", "transfer_markup",
)  # fmt: skip
"""The jobs that a cluster can do."""

SILENT = Run()
"""The default settings, without callbacks."""


def job(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Make a function a job: file names may be `pathlib.Path`s, and no file that it reads is overwritten."""

    @wraps(function)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        given = kwargs.get("run")
        run = given if isinstance(given, Run) else SILENT
        with kept_apart(), profiled(run, function.__name__), _on_cluster(run, function.__name__) as run:
            if run.crew is not None:
                kwargs["run"] = run
            return function(*map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()})

    return wrapped


@contextmanager
def _on_cluster(run: Run, name: str) -> Iterator[Run]:
    """The settings of a job, with the workers that they ask for."""
    if run.cluster is None or run.crew is not None:
        if run.work is not None and run.crew is None:
            raise UsageError("work=DIR is the folder that a cluster shares; name the cluster, too")
        yield run
        return
    if name not in ON_CLUSTER:
        raise UsageError(f"{name} does not run on a cluster; leave cluster=ADDRESS out")
    if run.device == "cuda":
        raise UsageError("a cluster computes on processors; leave device=cuda or cluster= out")
    from dualign.engines.dask.workers import connected

    with connected(run.cluster, None if run.work is None else os.fspath(run.work), run.tasks) as crew:
        yield replace(run, crew=crew)


@contextmanager
def profiled(run: Run, name: str) -> Iterator[None]:
    """Write `run.profile`, if one is wanted, when the block has ended without an error."""
    if run.profile is None:
        yield
        return
    from dualign.commands.profiling import Profile

    profile = Profile(name, run)  # type: ignore[arg-type] # it has the same fields
    with profile.measuring():
        yield
    profile.write(run.profile)


def _plain(value: Any) -> Any:
    """The same with strings for paths, also in lists, tuples and the fields of dataclasses."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    if is_dataclass(value) and not isinstance(value, (type, Run)):
        old = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        new = {name: _plain(content) for name, content in old.items()}
        return replace(value, **new) if new != old else value
    return value


def one_standard_input(*paths: str | None) -> None:
    """Refuse to read two files from standard input."""
    if paths.count("-") > 1:
        raise UsageError("only one file can be standard input (-); name the others")


def separate_outputs(*paths: str | None) -> None:
    """Refuse to write two outputs to one place."""
    given = [path for path in paths if path is not None]
    places = [path if path == "-" else os.path.realpath(path) for path in given]
    for path, place in zip(given, places, strict=True):
        if places.count(place) > 1:
            raise UsageError(f"two outputs are written to the same place, {path}; give each its own")
