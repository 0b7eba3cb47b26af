"""`align - --line-buffered` answers each line before the next one is sent."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from tests.cli.bitexts import SOURCE, TARGET, write_bitext

from dualign.cli.main import run


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
    assert "--line-buffered is for a saved model" in capsys.readouterr().err
