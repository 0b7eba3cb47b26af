"""`align --resume`: stopped at any moment, the same command goes on, and ends with the same bytes."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.commands.bitexts import SOURCE, TARGET, write_lines
from tests.commands.command import environment

from dualign._core.errors import DataError
from dualign.commands import resuming
from dualign.commands.cli import run

# A record after every chunk, and chunks of a few pairs.
OFTEN = (
    "import dualign.hmm.encoding as e, dualign.commands.resuming as r; e.CHUNK = 16; r.EVERY = 0; "
    "from dualign.__main__ import main; main()"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("resume")


@pytest.fixture(scope="module")
def files(folder) -> list[str]:
    times = 12
    return [
        write_lines(folder / "text.de", [*SOURCE, ""] * times),
        write_lines(folder / "text.en", [*TARGET, ""] * times),
    ]


@pytest.fixture(scope="module")
def model(folder) -> str:
    small = write_lines(folder / "small.de", SOURCE), write_lines(folder / "small.en", TARGET)
    path = str(folder / "model")
    assert run(["train", *small, path, "--rounds", "1", "--quiet"]) == 0
    return path


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr("dualign.hmm.encoding.CHUNK", 16)
    monkeypatch.setattr(resuming, "EVERY", 0)


def stopped_after(pieces: int, monkeypatch, arguments: list[str]) -> None:
    """Run the command, and end it as `kill -9` would: without a word to anybody."""
    write, keep = resuming.Resumable.write, resuming.Resumable._keep
    done = 0

    def count(self, piece):
        nonlocal done
        if done == pieces:
            monkeypatch.setattr(resuming.Resumable, "_keep", lambda self: None)
            raise RuntimeError("stop")
        done += 1
        write(self, piece)

    monkeypatch.setattr(resuming.Resumable, "write", count)
    assert run(["align", *arguments]) == 70
    monkeypatch.setattr(resuming.Resumable, "write", write)
    monkeypatch.setattr(resuming.Resumable, "_keep", keep)


def failure(capsys, *arguments: str, code: int = 1) -> str:
    capsys.readouterr()
    assert run(["align", *arguments]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) <= 2
    return shown.err


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst", ".bz2", ".xz"])
@pytest.mark.parametrize("pieces", [1, 40])
def test_the_rest_is_added_and_the_bytes_are_the_same(
    files, model, tmp_path, often, monkeypatch, capsys, pieces, suffix
):
    names = [str(tmp_path / f"{name}{suffix}") for name in ("links", "p", "whole", "whole.p")]
    common = [*files, "--model", model, "--threads", "2"]
    outputs = ["-o", names[0], "--probabilities", names[1]]
    stopped_after(pieces, monkeypatch, [*common, *outputs, "--resume"])
    assert sorted(os.listdir(tmp_path)) == sorted(
        [f"links{suffix}.part", f"p{suffix}.part", f"links{suffix}.resume"]
    )
    capsys.readouterr()
    assert run(["align", *common, *outputs, "--resume"]) == 0
    assert f"going on after {16 * pieces} pairs" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == sorted([f"links{suffix}", f"p{suffix}"])
    assert run(["align", *common, "-o", names[2], "--probabilities", names[3]]) == 0
    for found, expected in ((0, 2), (1, 3)):
        assert Path(names[found]).read_bytes() == Path(names[expected]).read_bytes()


@pytest.mark.parametrize("form", ["|||", "\t", ".gz"])
def test_one_file_and_compressed_files_go_on_too(files, model, tmp_path, often, monkeypatch, form):
    texts = [Path(path).read_text("utf-8").split("\n")[:-1] for path in files]
    if form == ".gz":
        inputs = [str(tmp_path / name) for name in ("s.gz", "t.gz")]
        for path, lines in zip(inputs, texts, strict=True):
            Path(path).write_bytes(gzip.compress("".join(f"{x}\n" for x in lines).encode()))
    else:
        both = [f"{s} {form} {t}" if s else "" for s, t in zip(*texts, strict=True)]
        inputs = [write_lines(tmp_path / "both", ["", *both[1:]])]
        texts = [["", *side[1:]] for side in texts]
    arguments = [*inputs, "--model", model, "-o", str(tmp_path / "links"), "--resume"]
    stopped_after(30, monkeypatch, arguments)
    assert run(["align", *arguments]) == 0
    plain = [write_lines(tmp_path / name, side) for name, side in zip("st", texts, strict=True)]
    assert run(["align", *plain, "--model", model, "-o", str(tmp_path / "whole")]) == 0
    assert (tmp_path / "links").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.slow
def test_killed_at_random_moments_it_goes_on(files, model, tmp_path):
    chosen = random.Random(4)
    arguments = ["align", *files, "--model", model, "--resume", "--quiet"]
    outputs = ["-o", str(tmp_path / "links.gz"), "--report", str(tmp_path / "report")]
    outputs += ["--scores", str(tmp_path / "scores")]
    command = [sys.executable, "-c", OFTEN, *arguments, *outputs]
    record = tmp_path / "links.gz.resume"
    killed = 0
    for _ in range(60):
        before = record.read_bytes() if record.exists() else b""
        process = subprocess.Popen(command, env=environment())
        while process.poll() is None and not (record.exists() and record.read_bytes() != before):
            time.sleep(0.001)
        if killed < 4:
            time.sleep(chosen.random() / 20)
            process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            break
        killed += 1
    assert killed >= 2
    assert sorted(os.listdir(tmp_path)) == ["links.gz", "report", "scores"]
    command = [sys.executable, "-c", OFTEN, *arguments[:-2], "--quiet", "-o", str(tmp_path / "whole.gz")]
    assert subprocess.run(command, env=environment()).returncode == 0
    assert (tmp_path / "links.gz").read_bytes() == (tmp_path / "whole.gz").read_bytes()
    lines = [json.loads(line)["line"] for line in (tmp_path / "report").read_text().splitlines()]
    assert lines == list(range(1, len(lines) + 1))
    assert len((tmp_path / "scores").read_text().splitlines()) == len(lines)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_keeps_what_is_done(files, model, tmp_path, number, code):
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    record = tmp_path / "links.resume"
    command = [
        sys.executable, "-c", heed + OFTEN, "align", *files, "--model", model, "--resume", "--threads", "2",
        "-o", str(tmp_path / "links"),
    ]  # fmt: skip
    process = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not record.exists():
        time.sleep(0.001)
    process.send_signal(number)
    _, shown = process.communicate()
    if process.returncode != 0:  # it may have been faster
        assert process.returncode == code
        assert "Traceback" not in shown
        assert record.exists()
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["links"]


def test_nothing_to_go_on_with_is_a_beginning(files, model, tmp_path, capsys):
    arguments = [*files, "--model", model, "--quiet"]
    for name, more in (("a", ["--resume"]), ("b", [])):
        assert run(["align", *arguments, "-o", str(tmp_path / name), *more]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_an_empty_text_is_complete_at_once(model, tmp_path):
    empty = write_lines(tmp_path / "e", [])
    out = tmp_path / "links.gz"
    assert run(["align", empty, empty, "--model", model, "-o", str(out), "--resume"]) == 0
    assert gzip.decompress(out.read_bytes()) == b""
    assert sorted(os.listdir(tmp_path)) == ["e", "links.gz"]


@pytest.mark.parametrize("renamed", [0, 1])
def test_stopped_between_the_last_line_and_the_last_name(files, model, tmp_path, monkeypatch, renamed):
    from dualign._core.files.atomic import PartFile

    arguments = [*files, "--model", model, "--quiet"]
    outputs = ["-o", str(tmp_path / "links"), "--probabilities", str(tmp_path / "p")]
    complete = PartFile.complete
    done = 0

    def stop(self, size):
        nonlocal done
        if done == renamed:
            raise RuntimeError("stop")
        done += 1
        complete(self, size)

    monkeypatch.setattr(PartFile, "complete", stop)
    assert run(["align", *arguments, *outputs, "--resume"]) == 70
    monkeypatch.setattr(PartFile, "complete", complete)
    assert run(["align", *arguments, *outputs, "--resume"]) == 0
    assert sorted(os.listdir(tmp_path)) == ["links", "p"]
    assert run(["align", *arguments, "-o", str(tmp_path / "whole")]) == 0
    assert (tmp_path / "links").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.fixture
def begun(files, model, tmp_path, often, monkeypatch) -> list[str]:
    copies = []
    for path in files:
        copies.append(str(tmp_path / Path(path).name))
        Path(copies[-1]).write_bytes(Path(path).read_bytes())
    mine = str(tmp_path / "model")
    Path(mine).write_bytes(Path(model).read_bytes())
    arguments = [*copies, "--model", mine, "-o", str(tmp_path / "links"), "--resume"]
    stopped_after(5, monkeypatch, arguments)
    return arguments


def test_another_text_model_or_option_is_refused(begun, files, folder, tmp_path, capsys):
    small = str(folder / "small.de"), str(folder / "small.en")
    other = str(tmp_path / "other")
    assert run(["train", *small, other, "--rounds", "2", "--quiet"]) == 0
    record = str(tmp_path / "links.resume")
    shown = failure(capsys, *begun, "--threshold", "0.3")
    assert f"{record}: belongs to another run: threshold (it was " in shown
    assert "now it is 0.3) changed" in shown
    assert f"remove {record} and {tmp_path / 'links.part'} to start afresh" in shown
    assert "the model changed" in failure(capsys, *begun[:3], other, *begun[4:])
    assert "the treatment of bytes" in failure(capsys, *begun, "--errors", "replace")
    assert "the report changed" in failure(capsys, *begun, "--report", str(tmp_path / "r"))
    text = Path(begun[0])
    lines = text.read_text("utf-8")
    text.write_text(lines.replace("a", "b"), "utf-8")
    assert "the source text changed" in failure(capsys, *begun)
    text.unlink()
    assert str(text) in failure(capsys, *begun)


def test_after_texts_of_unequal_length_the_files_to_remove_are_named(files, model, tmp_path, capsys):
    target = write_lines(tmp_path / "short", TARGET)
    links = tmp_path / "links"
    arguments = [files[0], target, "--model", model, "-o", str(links), "--resume"]
    assert "give the same sentences in the same order" in failure(capsys, *arguments)
    kept = [tmp_path / "links.resume", tmp_path / "links.part"]
    assert all(path.exists() for path in kept)
    assert not links.exists()
    Path(target).write_bytes(Path(files[1]).read_bytes())
    shown = failure(capsys, *arguments)
    assert "the target text changed" in shown
    assert shown.splitlines()[-1].endswith(f"remove {kept[0]} and {kept[1]} to start afresh")
    for path in kept:
        path.unlink()
    assert run(["align", *arguments, "--quiet"]) == 0
    assert len(links.read_text().splitlines()) == len(Path(files[0]).read_text("utf-8").splitlines())


def test_a_copy_of_the_model_is_the_same_model(begun, tmp_path):
    copy = tmp_path / "copy"
    copy.write_bytes((tmp_path / "model").read_bytes())
    assert run(["align", *begun[:3], str(copy), *begun[4:], "--quiet"]) == 0


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\xfe", None])
def test_a_damaged_record_is_refused(begun, tmp_path, damage, capsys):
    record = tmp_path / "links.resume"
    content = record.read_bytes()
    record.write_bytes(content.replace(b"16", b"17") if damage is None else damage)
    shown = failure(capsys, *begun)
    assert f"{record}: damaged" in shown
    assert "to start afresh" in shown


@pytest.mark.parametrize(
    "forged",
    [[], {"place": [1]}, {"counts": ["x", 0, 0]}, {"sizes": [-1, 0, 0]}, {"about": 5}, {"complete": 1}],
)
def test_a_forged_record_is_refused(begun, tmp_path, forged, capsys):
    record = tmp_path / "links.resume"
    state = json.loads(record.read_bytes().split(b"\n")[1])
    text = json.dumps(state | forged if isinstance(forged, dict) else forged)
    record.write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}\n")
    assert f"{record}: damaged" in failure(capsys, *begun)


def test_a_part_that_is_gone_or_short_is_refused(begun, tmp_path, capsys):
    part = tmp_path / "links.part"
    content = part.read_bytes()
    part.write_bytes(content[:100])
    shown = failure(capsys, *begun)
    assert f"{part}: has 100 of the" in shown
    assert "to start afresh" in shown
    part.unlink()
    assert f"{part}: the file is gone" in failure(capsys, *begun)
    part.write_bytes(content + b"more than was recorded")
    assert run(["align", *begun, "--quiet"]) == 0
    assert b"more" not in (tmp_path / "links").read_bytes()


def test_a_part_without_a_record_is_nobodys_to_overwrite(begun, tmp_path, capsys):
    (tmp_path / "links.resume").unlink()
    assert f"{tmp_path / 'links.part'} exists, but not" in failure(capsys, *begun)


def test_two_processes_do_not_write_one_part(begun, tmp_path, capsys):
    from dualign._core.files.atomic import PartFile

    first = PartFile(str(tmp_path / "links"))
    first.open(0)
    with pytest.raises(DataError, match="another process is writing it"):
        PartFile(str(tmp_path / "links")).open(0)
    first.close()


def test_a_full_disk_keeps_what_is_done(begun, tmp_path, monkeypatch, capsys):
    from dualign._core.files.atomic import PartFile

    write = PartFile.write

    def fail(self, data):
        raise DataError("links.part: cannot write: No space left on device")

    monkeypatch.setattr(PartFile, "write", fail)
    assert run(["align", *begun, "--quiet"]) == 1
    assert "No space left" in capsys.readouterr().err
    monkeypatch.setattr(PartFile, "write", write)
    assert run(["align", *begun, "--quiet"]) == 0


def test_files_of_different_length_leave_no_links(begun, tmp_path, monkeypatch, capsys):
    with open(begun[1], "a", encoding="utf-8") as file:
        file.write("one more\n")
    (tmp_path / "links.resume").unlink()
    (tmp_path / "links.part").unlink()
    assert "has 1452 lines but" in failure(capsys, *begun)
    assert not (tmp_path / "links").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: [*a[:2], *a[4:]], "--resume is for aligning with a saved model"),
        (lambda a: ["-", *a[1:]], "name files instead of -"),
        (lambda a: [*a[:5], "-", a[6]], "name one instead of -"),
        (lambda a: [*a[:5], "/dev/null", a[6]], "/dev/null is not a regular file"),
        (lambda a: [*a, "--html-report", "page.html"], "--resume cannot write a page"),
        (lambda a: [*a, "--report", "-"], "name one instead of -"),
    ],
)
def test_what_cannot_be_gone_on_with_is_told(files, model, tmp_path, change, message, capsys):
    arguments = [*files, "--model", model, "-o", str(tmp_path / "links"), "--resume"]
    assert message in failure(capsys, *change(arguments), code=2)
    assert list(tmp_path.iterdir()) == []


def test_parts_do_not_overwrite_the_text(files, model, tmp_path, capsys):
    text = tmp_path / "links.part"
    text.write_bytes(Path(files[0]).read_bytes())
    arguments = [str(text), files[1], "--model", model, "-o", str(tmp_path / "links"), "--resume"]
    assert "both read and written" in failure(capsys, *arguments, code=2)
