"""One case: a command whose input, output or surroundings are disturbed, and what it must not do.

A command must end with 0, 1 or 2, without a traceback, soon, in little memory. It must not change an input.
Its outputs are as before if it failed; whatever happens, nothing else is left behind. Where only the way to a
healthy file differs (a pipe, another name), the outputs are those of the undisturbed command, or it fails.
"""

from __future__ import annotations

import io
import os
import random
import re
import resource
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from time import process_time
from typing import Any, NamedTuple

from tests.fuzz.inputs import OLD, decode_forest

from dualign.commands.cli import guarded, run

SECONDS = 10.0
MEMORY = 1 << 30
NOBODY = 65534


class Ended(NamedTuple):
    """What became of a case: exit code, what it said on stderr, seconds, bytes at most, what is wrong."""

    case: int
    command: str
    disturbance: str
    code: int
    said: str
    seconds: float
    memory: int
    fault: str


@dataclass
class Case:
    """A command to be run in a folder of its own; a disturbance changes its arguments and surroundings."""

    words: list[str]
    healthy: Path
    folder: Path
    paths: dict[str, str] = field(default_factory=dict)
    """Where a name of the command leads, if not to the healthy file or to the output in the folder."""
    more: list[str] = field(default_factory=list)
    """Words added to the command."""
    around: list[Callable[[], Any]] = field(default_factory=list)
    """Makers of context managers in which the command runs."""
    same: bool = False
    """Whether a successful command must write what it writes undisturbed."""

    @property
    def inputs(self) -> list[str]:
        return sorted({word for word in self.words[1:] if (self.healthy / word).exists()})

    @property
    def outputs(self) -> list[str]:
        return sorted({word for word in [*self.words, *self.paths] if word.startswith("OUT")})

    def copy(self, name: str, to: str = "") -> Path:
        """Put a copy of a healthy input into the folder, and have the command read it."""
        path = self.folder / (to or name)
        (shutil.copytree if (self.healthy / name).is_dir() else shutil.copy)(self.healthy / name, path)
        self.paths[name] = str(path)
        return path

    def path_of(self, word: str) -> str:
        if word in self.paths:
            return self.paths[word]
        if word.startswith("OUT"):
            return str(self.folder / word)
        if word == "HERE":
            return str(self.folder)
        return str(self.healthy / word) if (self.healthy / word).exists() else word

    def arguments(self) -> list[str]:
        """The words of the command with paths for names."""
        if self.words[0] == "forest":
            return ["forest", self.path_of("forest"), self.path_of("lm.arpa")]
        return [self.words[0], *map(self.path_of, self.words[1:]), *self.more]


def run_case(case: Case, number: int, what: str, draw: random.Random) -> Ended:
    """Run a command, and look at what it leaves."""
    whole = undisturbed(case) if case.same else {}
    outputs = {name: Path(case.path_of(name)) for name in case.outputs}
    for path in outputs.values():
        is_new = path.parent == case.folder and not os.path.lexists(path)
        if is_new and not path.name.startswith("OUTDIR") and draw.random() < 0.5:
            path.write_bytes(OLD)
    old = {name: path.read_bytes() for name, path in outputs.items() if os.path.isfile(path)}
    before = {path.name for path in case.folder.iterdir()}
    inputs = content_of(case)
    began, said = process_time(), io.StringIO()
    _forget_peak()
    shared = _peak()  # what the process began with, most of it its parent's
    errors, sys.stderr = sys.stderr, said
    try:
        with ExitStack() as stack:
            stack.enter_context(chdir(case.folder))  # names without a folder are in it
            for around in case.around:
                stack.enter_context(around())
            code = execute(case.arguments())
    finally:
        sys.stderr = errors
    seconds, memory, text = process_time() - began, _peak() - shared, said.getvalue()
    names = {path.name for path in outputs.values()} | {"OUTDIR.partial"}
    left = {path.name for path in case.folder.iterdir()} - before - names
    left = {name for name in left if not any(name.startswith(f"{each}.") for each in names)}
    written = {name: path.read_bytes() for name, path in outputs.items() if os.path.isfile(path)}
    may_rewrite = case.words[0] == "convert" and not code
    changed = [path for path in inputs if not may_rewrite and _bytes_of(path) != inputs[path]]
    if code and "/dev/full" not in map(
        str, outputs.values()
    ):  # a device fails after the others have their names
        changed += [name for name in written if written[name] != old.get(name)]
    fault = ""
    if code not in (0, 1, 2):
        fault = f"exit {code}"
    elif "Traceback" in text or "Exception ignored" in text:
        fault = "traceback"
    elif code and not text.strip():
        fault = "no message"
    elif seconds > SECONDS:
        fault = f"{seconds:.0f} s"
    elif memory > MEMORY or "out of memory" in text:
        fault = f"{memory >> 20} MiB"
    elif left:
        fault = f"left {', '.join(sorted(left))}"
    elif changed:
        fault = f"changed {', '.join(changed)}"
    elif not code and (wrong := [name for name in whole if timeless(outputs[name]) != whole[name]]):
        fault = f"wrong {', '.join(wrong)}"
    return Ended(number, " ".join(case.words), what, code, text[-2000:], seconds, memory, fault)


def undisturbed(case: Case) -> dict[str, bytes]:
    """What the command writes when nothing is in its way."""
    folder = case.folder / "undisturbed"
    folder.mkdir()
    plain = Case(case.words, case.healthy, folder)
    errors, sys.stderr = sys.stderr, io.StringIO()
    try:
        if execute(plain.arguments()):
            raise RuntimeError(f"{' '.join(case.words)} failed on healthy files")
    finally:
        sys.stderr = errors
    found = {name: timeless(folder / name) for name in case.outputs if (folder / name).is_file()}
    shutil.rmtree(folder)
    return found


def timeless(path: Path) -> bytes:
    """The content of an output without what differs between two runs: seconds, and names of files."""
    if not path.is_file():
        return b""
    content = path.read_bytes()
    if path.suffix == ".svg" or b"<html" in content[:200] or b"CPU seconds" in content:
        return b""  # names of files stand in it, or how fast this was
    return re.sub(rb'("?seconds"?:? )[-0-9.e]+', rb"\1", content)


def content_of(case: Case) -> dict[str, bytes]:
    """All bytes of a command's inputs."""
    found = {}
    for name in filter(case.path_of, case.inputs):  # not those whose name is empty: that would be this folder
        path = Path(case.path_of(name))
        for each in [path] if not path.is_dir() else sorted(path.rglob("*")):
            if each.is_file() and not str(each).startswith("/dev/"):
                found[str(each)] = each.read_bytes()
    return found


def _bytes_of(path: str) -> bytes | None:
    return Path(path).read_bytes() if os.path.isfile(path) else None


def execute(words: list[str]) -> int:
    """Run a command in this process, without its output."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        shown, sys.stdout = sys.stdout, nowhere
        try:
            if words[0] == "forest":
                return guarded(lambda: decode_forest(words[1], words[2]))
            return run(words)
        finally:
            sys.stdout = shown


@contextmanager
def fed(content: bytes, as_stdin: bool = False) -> Iterator[str]:
    """Another thread writes to a pipe, which can be read once; the name by which a shell would give it."""
    read, write = os.pipe()
    thread = Thread(target=_feed, args=(write, content), daemon=True)
    thread.start()
    stdin = sys.stdin
    try:
        if as_stdin:
            sys.stdin = open(read, encoding="utf-8", closefd=False)  # noqa: SIM115
        yield f"/dev/fd/{read}"
    finally:
        sys.stdin = stdin
        os.close(read)
        thread.join()


def _feed(write: int, content: bytes) -> None:
    with suppress(BrokenPipeError), open(write, "wb", buffering=0) as stream:
        for at in range(0, len(content), 4096):
            stream.write(content[at : at + 4096])


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """No file may become larger, as on a full disk."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


@contextmanager
def nobody() -> Iterator[None]:
    """A user without rights, if this process may become one; root may read and write everything."""
    if os.geteuid() == 0:
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)
    else:
        yield


def _forget_peak() -> None:
    """Let the system count the largest memory from now on."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """The largest memory of this process since then, in bytes."""
    try:
        status: Any = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))
