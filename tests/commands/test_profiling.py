"""`--profile`: what it says about a job, and when it is written."""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest
from tests.commands.bitexts import SOURCE, TARGET, write_bitext, write_lines

from dualign import jobs
from dualign._core.errors import DataError
from dualign._core.progress import Phases, measuring, phase, timed
from dualign.commands.cli import run

pytestmark = pytest.mark.kernel

FAST = ["--rounds", "2", "--quiet"]

KEYS = [
    "job", "versions", "machine", "threads", "memory", "seconds", "processor_seconds", "peak_memory",
    "phases",
]  # fmt: skip

TRAINING = {
    "reading", "choosing pairs", "IBM 1: first round",
    "smoothing", "cells", "posteriors", "counts",
}  # fmt: skip
"""Phases of every training; those of the rounds among them."""

ALIGNING = {"numbering", "cells", "posteriors", "choosing links", "printing"}


@pytest.fixture
def files(tmp_path) -> list[str]:
    return list(write_bitext(tmp_path))


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("model")
    path = str(folder / "model")
    assert run(["train", *write_bitext(folder), path, *FAST]) == 0
    return path


def read(path: Path) -> dict:
    return json.loads(path.read_text("utf-8"))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("verb", "expected"), [("train", TRAINING), ("align", ALIGNING), ("both", TRAINING | ALIGNING)]
)
def test_a_profile_says_what_a_job_took_and_where(files, model, tmp_path, verb, expected, threads):
    command = {
        "train": ["train", *files, str(tmp_path / "new"), *FAST],
        "align": ["align", *files, "--model", model, "-o", str(tmp_path / "links"), "--quiet"],
        "both": ["align", *files, "-o", str(tmp_path / "links"), *FAST],
    }[verb]
    profile = tmp_path / "profile.json"
    assert run([*command, "--threads", str(threads), "--memory", "2G", "--profile", str(profile)]) == 0
    content = read(profile)
    assert list(content) == KEYS
    assert content["job"] == ("train" if verb == "train" else "align")
    assert set(content["versions"]) == {"dualign", "numba", "numpy", "python"}
    assert content["machine"]["processors"] == os.cpu_count()
    assert content["machine"]["memory"] > 0
    assert (content["threads"], content["memory"]) == (threads, "2G")
    assert 10_000_000 < content["peak_memory"] < content["machine"]["memory"]
    phases = content["phases"]
    assert expected <= set(phases)
    assert all(each["calls"] >= 1 for each in phases.values())
    # Times are rounded to milliseconds, and the clock of a thread may be coarser than that of the process.
    slack = 0.001 * (len(phases) + 1) + 0.01
    for kind, whole in (("processor_seconds", content["processor_seconds"]), ("seconds", content["seconds"])):
        most = whole * (threads + 1 if kind == "seconds" else 1)
        assert 0 <= sum(each[kind] for each in phases.values()) <= most + slack
    assert content["processor_seconds"] <= (os.cpu_count() or 1) * content["seconds"] + slack


def test_a_profile_tells_nothing_about_the_text_or_its_place(files, tmp_path):
    profile = tmp_path / "profile.json"
    assert run(["align", *files, "-o", str(tmp_path / "links"), "--profile", str(profile), *FAST]) == 0
    text = profile.read_text("utf-8")
    assert str(tmp_path) not in text
    assert not [name for name in ("text.de", "text.en", "links", *SOURCE, *TARGET) if f'"{name}"' in text]


@pytest.mark.parametrize("threads", ["1", "2"])
def test_phases_are_not_inside_each_other(files, model, tmp_path, threads, monkeypatch):
    """Both would count the same time."""
    spans: dict[int, list[tuple[float, float, str]]] = {}
    add = Phases.add

    def note(self, name, seconds, processor):
        end = time.perf_counter()
        spans.setdefault(threading.get_ident(), []).append((end - seconds, end, name))
        add(self, name, seconds, processor)

    monkeypatch.setattr(Phases, "add", note)
    new = [write_lines(tmp_path / name, [f"{line} neu" for line in side]) for name, side in
           (("new.de", SOURCE), ("new.en", TARGET))]  # fmt: skip
    common = ["--threads", threads, "--profile", str(tmp_path / "profile")]
    assert run(["align", *files, "-o", os.devnull, *common, *FAST]) == 0
    assert run(["align", *new, "--model", model, "-o", os.devnull, "--quiet", *common]) == 0
    for found in spans.values():
        for (_, end, first), (begin, _, second) in pairwise(sorted(found)):
            assert end <= begin + 1e-4, (first, second)


def test_the_result_is_the_same_with_a_profile(files, tmp_path):
    for name, more in (("a", []), ("b", ["--profile", str(tmp_path / "p")])):
        assert run(["align", *files, "-o", str(tmp_path / name), *more, *FAST]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_profile_may_go_to_standard_output(files, model, tmp_path, capsys):
    assert run(["train", *files, str(tmp_path / "new"), "--profile", "-", *FAST]) == 0
    assert list(json.loads(capsys.readouterr().out)) == KEYS
    arguments = ["align", *files, "--model", model, "--profile", "-", "--quiet"]
    assert run([*arguments, "-o", str(tmp_path / "links")]) == 0
    assert list(json.loads(capsys.readouterr().out)) == KEYS
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "two outputs are written to the same place, -" in shown.err


@pytest.mark.parametrize("verb", ["train", "align"])
@pytest.mark.parametrize(
    ("place", "code", "message"),
    [
        ("no/profile", 1, "there is no folder"),
        (".", 1, "a directory"),
        ("file/profile", 1, "there is no folder"),
        ("", 1, '"" is no name of a file'),
        ("text.de", 2, "text.de is both read and written, and would be lost; name another output"),
        ("out", 2, "two outputs are written to the same place"),
    ],
)
def test_a_profile_that_cannot_be_written_is_refused_before_the_work(
    files, tmp_path, monkeypatch, verb, place, code, message, capsys
):
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "file", [])
    before = sorted(os.listdir(tmp_path))
    command = ["train", "text.de", "text.en", "out"]
    if verb == "align":
        command = ["align", "text.de", "text.en", "-o", "out"]
    assert run([*command, "--profile", place]) == code
    shown = capsys.readouterr().err
    assert message in shown
    assert len(shown.splitlines()) == 1, "no round has been reported"
    assert sorted(os.listdir(tmp_path)) == before
    assert Path(files[0]).read_text("utf-8").splitlines() == SOURCE


@pytest.mark.parametrize("output", ["out", "profile"])
def test_rights_that_are_missing_are_noticed_before_the_work(files, tmp_path, monkeypatch, output, capsys):
    kept = tmp_path / "kept"
    kept.mkdir()
    places = {"out": str(tmp_path / "out"), "profile": str(tmp_path / "profile")}
    places[output] = str(kept / output)
    # Who runs the tests may be allowed everything.
    monkeypatch.setattr("os.access", lambda path, mode: not str(path).startswith(str(kept)))
    assert run(["train", *files, places["out"], "--profile", places["profile"]]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith(f"dualign: error: {places[output]}: no permission to write")
    assert len(shown.splitlines()) == 1


def test_no_profile_is_written_of_a_job_that_failed(files, tmp_path, capsys):
    profile = tmp_path / "profile"
    shorter = write_lines(tmp_path / "shorter", TARGET[:-1])
    before = sorted(os.listdir(tmp_path))
    assert run(["train", files[0], shorter, str(tmp_path / "m"), "--profile", str(profile), *FAST]) == 1
    assert "lines" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == before
    # Nor is anything measured from now on.
    with phase("after"):
        pass
    with measuring() as phases:
        pass
    assert phases == {}
    assert timed("after", len) is len


def test_an_old_profile_stays_when_a_job_fails(files, tmp_path):
    profile = write_lines(tmp_path / "profile", ["old"])
    absent = str(tmp_path / "absent")
    assert run(["train", absent, files[1], str(tmp_path / "m"), "--profile", profile, *FAST]) == 1
    assert Path(profile).read_text() == "old\n"


def test_every_job_has_a_profile_and_takes_paths(tmp_path):
    links = write_lines(tmp_path / "links", ["0-0 1-1"])
    profile = tmp_path / "profile.gz"
    settings = jobs.Run(profile=profile, memory=1 << 30)  # type: ignore[arg-type]
    jobs.convert(links, tmp_path / "converted", to_format="talp", run=settings)
    content = json.loads(gzip.decompress(profile.read_bytes()))
    assert content["job"] == "convert"
    assert content["memory"] == 1 << 30
    assert content["phases"] == {}
    with pytest.raises(DataError, match="there is no folder"):
        jobs.convert(links, tmp_path / "other", run=jobs.Run(profile=str(tmp_path / "no" / "profile")))
    assert not (tmp_path / "other").exists()
