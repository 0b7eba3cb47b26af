"""The sample as files, in every form that `align` and `train` read."""

from __future__ import annotations

from pathlib import Path

from dualign.text.samples import sample_path

LINES = 120
SOURCE, TARGET = (
    sample_path(name).read_text(encoding="utf-8").splitlines()[:LINES] for name in ("sample.de", "sample.en")
)
GOLD = sample_path("sample.gold").read_text(encoding="utf-8").splitlines()[:40]


def write_lines(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def write_bitext(folder: Path) -> tuple[str, str]:
    return write_lines(folder / "text.de", SOURCE), write_lines(folder / "text.en", TARGET)
