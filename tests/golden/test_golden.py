"""A short list of the golden commands against stored hashes; `make golden` compares all with a release."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.golden.compare import STORED, differences
from tests.golden.runner import Runner, description, rows

QUICK = [row for row in rows() if row.quick]
Stored = dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def stored() -> Stored:
    content = json.loads(STORED.read_text("utf-8"))
    here, there = description(), content["environment"]
    apart = [f"{name} {there[name]}, here {here[name]}" for name in there if here[name] != there[name]]
    if apart:
        pytest.skip(f"hashes hold for another environment: {'; '.join(apart)}; run `make golden`")
    return content["outputs"]


@pytest.fixture(scope="module")
def runner(stored: Stored, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    made = Runner(sys.executable, tmp_path_factory.mktemp("golden") / "runs")
    yield made
    made.close()


@pytest.mark.parametrize("row", QUICK, ids=[row.line for row in QUICK])
def test_outputs_have_the_bytes_of_the_release(row, stored, runner):
    outputs = runner.run(row._replace(threads=row.threads[1:2]))
    assert differences(stored[row.line], outputs) == []


def test_all_commands_are_recorded():
    assert list(json.loads(STORED.read_text("utf-8"))["outputs"]) == [row.line for row in rows()]


def test_the_inputs_do_not_come_from_the_folder_that_they_are_in(stored: Stored, tmp_path: Path):
    """Inputs that are made twice have the same bytes, XLSX aside."""
    folders = []
    for name in ("one", "two"):
        made = Runner(sys.executable, tmp_path / name)
        made.close()
        folders.append(made.inputs)
    for path in folders[0].rglob("*"):
        if path.is_file() and path.suffix != ".xlsx":
            assert path.read_bytes() == (folders[1] / path.relative_to(folders[0])).read_bytes(), path
