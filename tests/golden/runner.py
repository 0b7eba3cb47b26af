"""Run the commands of `commands.toml` with one installation of dualign, and hash all that they write.

A command runs in an empty folder in which `in` is the folder of inputs; what it leaves there are its outputs.
Inputs are made of the sample (`inputs.py`) or by a command of the table `inputs`, when they are first needed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.golden import inputs

HERE = Path(__file__).parent
Outputs = dict[str, str]
"""SHA-256 by the name of what a command wrote; the exit code as `exit`."""


class Row(NamedTuple):
    """A command of the table, and how it is run."""

    line: str
    threads: tuple[int, ...] = ()
    """Run with each of these; the outputs must be the same."""
    quick: bool = False
    """Part of the short list of `make test`."""
    program: str = ""
    """What runs in place of `-m dualign`, always in a process of its own; `""`: a fork of the worker."""
    environment: tuple[tuple[str, str], ...] = ()
    stop: str = ""
    """Send SIGTERM once this file has grown, then give the same command again."""


@cache
def table() -> dict[str, Any]:
    return tomllib.loads((HERE / "commands.toml").read_text("utf-8"))


def rows() -> Iterator[Row]:
    """Those that make inputs first."""
    for line in table()["inputs"].values():
        yield Row(line)
    for group in table()["group"]:
        for n, line in enumerate(lines_of(group["commands"])):
            yield Row(
                line,
                tuple(group.get("threads", ())),
                n < group.get("quick", 1),
                group.get("program", ""),
                tuple(group.get("environment", {}).items()),
                group.get("stop", ""),
            )


def lines_of(text: str) -> list[str]:
    return [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("#")]


class Runner:
    """Runs commands with the dualign that an interpreter has; `given` are inputs that another one made."""

    def __init__(self, python: str, folder: Path, given: Path | None = None) -> None:
        self.folder = folder
        self.inputs = given or folder / "inputs"
        self._python, self._count = os.path.abspath(shutil.which(python) or python), 0
        self._environment = environment()
        folder.mkdir(parents=True, exist_ok=True)
        self._worker = subprocess.Popen(
            [self._python, str(HERE / "worker.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self._environment, text=True, cwd=folder,
        )  # fmt: skip
        if given is None:
            self.inputs.mkdir()
            self._make("demo --files .")
            inputs.make(self.inputs)

    def close(self) -> None:
        self._worker.communicate()

    def run(self, row: Row) -> Outputs:
        """What a row writes; an output that changes with the number of threads is there under both."""
        self.require(row.line)
        found: Outputs = {}
        for number in row.threads or (None,):
            place = self._place()
            line = row.line if number is None else with_threads(row.line, number)
            outputs = {"exit": str(self._perform(line, place, row))} | hashes(place)
            if not found:
                found = outputs
            for name in sorted(found.keys() | outputs.keys()):
                if found.get(name) != outputs.get(name):
                    found[f"{name} with {number} threads"] = outputs.get(name, "missing")
        return found

    def shown(self, line: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error."""
        self.require(line)
        place = self._place()
        code = self._perform(line, place, Row(line))
        return code, *((place / name).read_text("utf-8") for name in ("stdout", "stderr"))

    def require(self, line: str) -> None:
        """Make the inputs of a command that other commands make."""
        for name in re.findall(r"\bin/([\w.]+)", line):
            if name in table()["inputs"] and not (self.inputs / name).exists():
                self._make(table()["inputs"][name])

    def _make(self, line: str) -> None:
        self.require(line)
        place = self._place()
        if code := self._perform(line, place, Row(line)):
            raise RuntimeError(f"{line}: exit {code}\n{(place / 'stderr').read_text('utf-8')}")
        for path in (place / "here").iterdir():
            if path.is_file() and not path.is_symlink():
                path.write_bytes(normalised(path.name, path.read_bytes()))
            if path.name != "in":
                path.rename(self.inputs / path.name)

    def _place(self) -> Path:
        """A new folder: `here` to run in, and beside it what is printed."""
        self._count += 1
        place = self.folder / str(self._count)
        (place / "here").mkdir(parents=True)
        (place / "here" / "in").symlink_to(self.inputs.resolve())
        return place

    def _perform(self, line: str, place: Path, row: Row) -> int:
        """Run a command line, which may end in `< FILE`."""
        line, _, stdin = line.partition(" < ")
        arguments, here = shlex.split(line), place / "here"
        given = here / stdin if stdin else Path(os.devnull)
        if not (row.program or row.stop or row.environment):
            order = {"arguments": arguments, "folder": str(here), "stdin": str(given)}
            order |= {name: str(place / name) for name in ("stdout", "stderr")}
            return self._ask(order)
        program = shlex.split(row.program.replace("HERE", str(HERE))) or ["-m", "dualign"]
        command = [self._python, *program, *arguments]
        if row.stop:
            stopped(command, here, row.stop)
        with (
            given.open("rb") as source,
            (place / "stdout").open("wb") as out,
            (place / "stderr").open("wb") as err,
        ):
            more = dict(row.environment)
            return subprocess.run(
                command, cwd=here, stdin=source, stdout=out, stderr=err, env=self._environment | more
            ).returncode

    def _ask(self, order: dict[str, Any]) -> int:
        assert self._worker.stdin is not None
        assert self._worker.stdout is not None
        print(json.dumps(order), file=self._worker.stdin, flush=True)
        return int(self._worker.stdout.readline())


def with_threads(line: str, number: int) -> str:
    command, mark, stdin = line.partition(" < ")
    return f"{command} --threads {number}{mark}{stdin}"


def environment() -> dict[str, str]:
    """The caller's, without what changes messages."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("DUALIGN_", "LC_", "PYTHONUNBUFFERED"))
    }
    return kept | {
        "COLUMNS": "80", "LC_ALL": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "TERM": "dumb", "PYTHONUTF8": "1",
    }  # fmt: skip


def stopped(command: list[str], folder: Path, part: str) -> None:
    """Begin a command and terminate it as soon as a file has something in it."""
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL, env=environment())
    path = folder / part
    while process.poll() is None and not (path.exists() and path.stat().st_size):
        time.sleep(0.001)
    process.send_signal(signal.SIGTERM)
    if process.wait() != 128 + signal.SIGTERM:
        raise RuntimeError(f"{shlex.join(command)}: ended before it was stopped")


def hashes(place: Path) -> Outputs:
    """SHA-256 of what a command has printed and of the files that it has left."""
    found = {"stdout": place / "stdout"} if (place / "stdout").stat().st_size else {}
    for path in sorted((place / "here").rglob("*")):
        if path.is_file() and not path.is_symlink():
            found[str(path.relative_to(place / "here"))] = path
    return {
        name: hashlib.sha256(normalised(name, path.read_bytes())).hexdigest() for name, path in found.items()
    }


def normalised(name: str, data: bytes) -> bytes:
    """Without what may vary: seconds, the version in signatures, and figures of a profile."""
    if name.startswith("profile"):
        return b" ".join(key.encode() for key in json.loads(data))
    data = re.sub(rb'("seconds": ?)[-+.e\d]+', rb"\g<1>0", data)
    data = re.sub(rb"Time: [.\d]+ s to train, [.\d]+ s to align", b"Time", data)
    return re.sub(rb"\|v:[^|\s\"<]+", b"|v:", data)


def description(python: str = sys.executable) -> dict[str, str]:
    """What the stored hashes depend on, of an interpreter."""
    words = (
        "import json, platform; from importlib.metadata import version; "
        "from llvmlite.binding import get_host_cpu_name as cpu; "
        "names = 'highspy', 'llvmlite', 'matplotlib', 'numba', 'numpy', 'zstandard'; "
        "print(json.dumps({'processor': cpu(), 'python': platform.python_version()}"
        " | {name: version(name) for name in names}))"
    )
    return json.loads(subprocess.run([python, "-c", words], capture_output=True, check=True).stdout)
