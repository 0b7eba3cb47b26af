"""How a sentence pair walks through the package: which files a command uses, and how often it changes rooms.

    python tests/walk.py                 # the five journeys, as a table
    python tests/walk.py --order align   # the files of one, in the order in which they are first used

Counted are files of the package whose Python functions run, and distinct edges from a file of one room to a
file of another. Compiled kernels are not seen, nor is what runs while a module is imported. A room is the
first folder under the package, or a module beside them. Each journey runs once before it is watched, so that
its kernels are compiled.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NamedTuple, NoReturn

PREPARED = (
    "demo --files . --quiet",
    "eflomal -s sample.de -t sample.en -f forward -r backward --quiet",
    "train sample.de sample.en model --quiet --threads 1",
    "translate train sample.de sample.en system --rounds 1 --quiet --threads 1",
)
"""What makes the files of the journeys: the 400 pairs of the sample, links, a model, a translation system."""

JOURNEYS = {
    "align": "align sample.de sample.en --quiet -o out --threads 1",
    "align --model": "align sample.de sample.en --model model --quiet -o out --threads 1",
    "symmetrize": "symmetrize forward backward --quiet -o out",
    "translate decode": "translate decode system sample.de --quiet -o out --threads 1",
    "align --model --decoder bidirectional": (
        "align sample.de sample.en --model model --decoder bidirectional --quiet -o out --threads 1"
    ),
}

FORMER = {
    "core": "_core", "search": "_search", "model": "hmm", "infer": "hmm", "learn": "hmm",
    "device": "engines", "cluster": "engines", "cli": "commands",
}  # fmt: skip
"""Folders whose files belong to another room, once that room is there."""

PACKAGE = Path(__file__).parents[1] / "src" / "dualign"


class Walk(NamedTuple):
    """One journey: `files` in the order of their first use."""

    files: list[str]
    edges: list[tuple[str, str]]

    @property
    def between_rooms(self) -> list[tuple[str, str]]:
        return [(one, other) for one, other in self.edges if room_of(one) != room_of(other)]


def room_of(name: str) -> str:
    room = name.split("/")[0].removesuffix(".py")
    return FORMER[room] if room in FORMER and (PACKAGE / FORMER[room]).is_dir() else room


def journeys(names: list[str] | None = None) -> dict[str, Walk]:
    """Walk these journeys, or all, with the dualign that this interpreter has."""
    with TemporaryDirectory(prefix="dualign-walk-") as folder:
        for line in PREPARED:
            run(["-m", "dualign", *line.split()], folder)
        found = {}
        for name in names or JOURNEYS:
            words = JOURNEYS[name].split()
            run(["-m", "dualign", *words], folder)
            run([__file__, "--trace", *words], folder)
            traced = json.loads((Path(folder) / "trace").read_text("utf-8"))
            found[name] = Walk(traced["files"], [(one, other) for one, other in traced["edges"]])
    return found


def run(words: list[str], folder: str) -> None:
    subprocess.run([sys.executable, *words], cwd=folder, check=True, stdin=subprocess.DEVNULL)


def trace(arguments: list[str]) -> None:
    """Run a command line in this process, and write its files and edges to `trace`."""
    import dualign
    from dualign.__main__ import main as command

    root = str(Path(dualign.__file__).parent) + os.sep
    names: dict[str, str | None] = {}
    files: dict[str, None] = {}
    edges: dict[tuple[str, str], None] = {}

    def name_of(frame: FrameType) -> str | None:
        path = frame.f_code.co_filename
        if path not in names:
            names[path] = path.removeprefix(root).replace(os.sep, "/") if path.startswith(root) else None
        return names[path]

    def is_imported(frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code.co_name == "<module>" and name_of(frame) is not None:
                return True
            frame = frame.f_back
        return False

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or (here := name_of(frame)) is None:
            return
        back = frame.f_back
        while back is not None and name_of(back) is None:
            back = back.f_back
        edge = (here if back is None else str(name_of(back)), here)
        if (here in files and (edge[0] == here or edge in edges)) or is_imported(frame):
            return
        files.setdefault(here)
        if edge[0] != here:
            edges.setdefault(edge)

    def leave(code: int) -> NoReturn:
        raise SystemExit(code)

    os._exit = leave  # a command leaves at once, and would take what was seen with it
    sys.argv = ["dualign", *arguments]
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        command()
    except SystemExit as end:
        code = end.code
    finally:
        sys.setprofile(None)
    Path("trace").write_text(json.dumps({"files": list(files), "edges": list(edges)}), "utf-8")
    sys.exit(code)


def main() -> None:
    if sys.argv[1:2] == ["--trace"]:
        trace(sys.argv[2:])
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--order", metavar="JOURNEY", choices=JOURNEYS, help="show the files of this one")
    given = options.parse_args()
    found = journeys([given.order] if given.order else None)
    if given.order:
        print(*found[given.order].files, sep="\n")
        return
    print("| journey | files | rooms | edges | between rooms |\n|---|---:|---:|---:|---:|")
    for name, walk in found.items():
        numbers = (
            len(walk.files),
            len(set(map(room_of, walk.files))),
            len(walk.edges),
            len(walk.between_rooms),
        )
        print(f"| {name} | {' | '.join(map(str, numbers))} |")


if __name__ == "__main__":
    main()
