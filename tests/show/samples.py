"""A small dataset with everything that is hard to show, and the page of it."""

from __future__ import annotations

import json
from pathlib import Path

from dualign.show.dataset import Dataset, Files, read_dataset
from dualign.show.viewer import content, viewer_page

SCRIPT = "<script>alert(1)</script>"

SOURCE = [
    "das Haus ist klein",
    f"ein {SCRIPT} Test </script><!--",
    "",
    "البيت صغير جدا",
    "私 は 本 を 読む",
    " ".join(f"w{k}" for k in range(80)),
    "das Buch",
    "",
]
TARGET = [
    "the house is small",
    "a <b>test</b> &amp; more",
    "nothing to link",
    "the house is very small",
    "I read books",
    " ".join(f"v{k}" for k in range(70)),
    "בית ספר גדול",
    "",
]
ONE = [
    "0-0:0.99 1-1:0.9 2-3:0.3",
    "0-0:0.6 2-1:0.55",
    "",
    "0-1:0.8 1-4:0.7",
    "0-0:1.0 2-2:0.9 4-1:0.8",
    " ".join(f"{k}-{k}:0.5" for k in range(70)),
    "1-0:0.4",
    "",
]
TWO = ["0-0 1-1 2-2 3-3", "0-0", "", "0-1 1-4 2-3", "0-0 2-2 4-1", "0-0", "1-0", ""]
GOLD = ["0-0 1-1 2-2 3-3", "0-0 2?1", "", "0-1 1-4 2?3", "0-0 2-2 4-1", "0-0", "0-0 1-1", ""]
RECORDS = [
    {"line": n + 1, "score": 3.0 - n, "bound": 3.0 - n + (n == 3), "certified": n != 3, "seconds": 0.1}
    for n in range(len(SOURCE))
]
RECORDS[3]["trace"] = [[4.0, None], [2.0, -1.0], [1.0, 0.0]]


def write(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def files(folder: Path) -> Files:
    return Files(
        write(folder / "text.xx", SOURCE),
        write(folder / "text.en", TARGET),
        probabilities=[f"one={write(folder / 'one', ONE)}"],
        reports=[write(folder / "one.jsonl", [json.dumps(record) for record in RECORDS])],
        gold=write(folder / "gold", GOLD),
    )


def dataset(folder: Path) -> Dataset:
    """Systems `one`, with probabilities and reports, and `two`, with links alone; gold."""
    read = read_dataset(files(folder))
    other = read_dataset(
        Files(str(folder / "text.xx"), str(folder / "text.en"), [f"two={write(folder / 'two', TWO)}"])
    )
    return Dataset(read.pairs, [*read.systems, *other.systems], read.gold, read.names)


POSTERIORS = ["", *[""] * 7]
POSTERIORS[0] = "0,0,990,980,1000,1000 1,1,700,600,900,850 2,1,250,0,0,0 2,3,100,400,300,300"


def page(folder: Path, *, gold: bool = True, **more: object) -> str:
    """The address of the page of the dataset."""
    data = dataset(folder)
    if not gold:
        data = Dataset(data.pairs, data.systems, None, data.names)
    path = folder / "page.html"
    path.write_text(viewer_page(content(data, **more)), encoding="utf-8")
    return path.as_uri()
