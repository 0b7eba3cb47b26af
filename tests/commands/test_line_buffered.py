"""`align - --line-buffered` answers each line before the next one is sent."""

from __future__ import annotations

import io
import subprocess
import sys
import threading

import pytest
from tests.commands.bitexts import SOURCE, TARGET, write_bitext

from dualign.commands.cli import run


@pytest.mark.slow
def test_each_line_is_answered_as_it_comes(tmp_path, capsys):
    files = write_bitext(tmp_path)
    model = str(tmp_path / "model")
    assert run(["train", *files, model, "--rounds", "1", "-q"]) == 0
    assert run(["align", *files, "--model", model, "-q"]) == 0
    expected = capsys.readouterr().out.splitlines()
    command = [sys.executable, "-m", "dualign", "align", "-", "--model", model, "--line-buffered", "-q"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        clock = threading.Timer(120, process.kill)  # where no answer comes
        clock.start()
        assert process.stdin is not None
        assert process.stdout is not None
        for source, target, links in list(zip(SOURCE, TARGET, expected, strict=True))[:5]:
            process.stdin.write(f"{source} ||| {target}\n")
            process.stdin.flush()
            assert process.stdout.readline() == f"{links}\n"
        process.stdin.close()
        assert process.wait() == 0
        clock.cancel()


def test_training_needs_the_whole_text(capsys):
    assert run(["align", "-", "--line-buffered"]) == 2
    assert "--line-buffered needs a saved model" in capsys.readouterr().err


@pytest.mark.parametrize("begin", [b"", b"no separator\n"])
def test_a_bad_line_has_no_links_and_the_next_is_answered(tmp_path, monkeypatch, begin, capfdbinary):
    files = write_bitext(tmp_path)
    model = str(tmp_path / "model")
    assert run(["train", *files, model, "--rounds", "1", "-q"]) == 0
    assert run(["align", *files, "--model", model, "-q"]) == 0
    first, second = capfdbinary.readouterr().out.split(b"\n")[:2]
    good = [f"{s} ||| {t}\n".encode() for s, t in zip(SOURCE[:2], TARGET[:2], strict=True)]
    lines = begin + good[0] + b"a b\n" + b"\xff ||| c\n" + good[1]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert run(["align", "-", "--model", model, "--line-buffered", "-q"]) == 1
    out, err = capfdbinary.readouterr()
    assert out.split(b"\n") == [*[b""] * len(begin.splitlines()), first, b"", b"", second, b""]
    at = 2 + len(begin.splitlines())
    assert f"-:{at}: ".encode() in err
    assert f"-:{at + 1}: invalid UTF-8".encode() in err
    assert b"bad lines; see the warnings" in err
