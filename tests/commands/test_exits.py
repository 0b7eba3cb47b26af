"""Exit codes and messages for all that can happen, and never a traceback."""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys

import pytest
from tests.commands.command import DUALIGN, HEED, INTERRUPTIBLE, dualign, environment, write

from dualign import __main__ as program
from dualign._core.errors import DataError, Infeasible, ModelError, Terminated, UsageError
from dualign.commands import cli
from dualign.commands.cli import guarded, say


def raising(error: BaseException):
    def action() -> int:
        raise error

    return action


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (DataError("x:3: bad"), 1, "dualign: error: x:3: bad\n"),
        (ModelError("m: cut off"), 1, "dualign: error: m: cut off\n"),
        (Infeasible("none"), 1, "dualign: error: none\n"),
        (UsageError("no"), 2, "dualign: error: no\n"),
        (KeyboardInterrupt(), 130, "dualign: interrupted\n"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 141, ""),
    ],
)
def test_code_and_message(error, code, message, capsys):
    assert guarded(raising(error)) == code
    assert capsys.readouterr().err == message


def test_result_of_the_action_is_the_exit_code():
    assert guarded(lambda: 5) == 5


def test_failure_stays_the_same_if_the_output_cannot_be_flushed_either(monkeypatch, capsys):
    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    assert guarded(raising(UsageError("no"))) == 2
    assert capsys.readouterr().err == "dualign: error: no\n"
    assert guarded(lambda: 0) == 1
    assert "No space left on device" in capsys.readouterr().err


def test_full_disk_names_the_file(capsys):
    assert guarded(raising(OSError(errno.ENOSPC, "No space left on device", "/big"))) == 1
    assert capsys.readouterr().err.startswith("dualign: error: /big: No space left on device;")


def test_os_error_without_a_text_says_what_it_has(capsys):
    assert guarded(raising(OSError("odd"))) == 1
    assert capsys.readouterr().err.startswith("dualign: error: odd;")


def test_out_of_memory_is_no_bug(capsys):
    assert guarded(raising(MemoryError())) == 1
    assert "out of memory" in capsys.readouterr().err


def test_bug_asks_for_a_report_and_shows_no_traceback(capsys, monkeypatch):
    monkeypatch.delenv("DUALIGN_DEBUG", raising=False)
    assert guarded(raising(KeyError("k"))) == 70
    shown = capsys.readouterr().err
    assert "KeyError: 'k'" in shown
    assert "report" in shown
    assert "DUALIGN_DEBUG=1" in shown
    assert "Traceback" not in shown


def test_bug_shows_its_traceback_to_who_asks(capsys, monkeypatch):
    monkeypatch.setenv("DUALIGN_DEBUG", "1")
    assert guarded(raising(KeyError("k"))) == 70
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_message_with_nobody_to_hear_it_is_dropped(monkeypatch, capsys):
    monkeypatch.setattr(cli.sys, "stderr", None)
    say("hello")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("number", "code", "word"), [("INT", 130, b"interrupted"), ("TERM", 143, b"terminated")]
)
def test_signals_end_with_a_code_and_one_line(number, code, word, tmp_path):
    with subprocess.Popen(
        [*INTERRUPTIBLE, "convert", "-", str(tmp_path / "out"), "--to", "talp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        # More than a pipe holds: once all is written, the command is reading. It will wait for more.
        process.stdin.write(b"0-0\n" * 50_000)
        process.stdin.flush()
        process.send_signal(signal.Signals[f"SIG{number}"])
        assert process.stderr.read() == b"dualign: " + word + b"\n"
        assert process.wait(timeout=300) == code
    assert os.listdir(tmp_path) == []


def pipeline(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command, "bash", *arguments],
        capture_output=True,
        text=True,
        env=environment(PYTHON=DUALIGN[0]),
        timeout=300,
    )


def test_reader_that_goes_away_ends_us_quietly(tmp_path):
    links = write(tmp_path / "links", "0-0 1-1 2-2\n" * 100_000)
    done = pipeline('"$PYTHON" -m dualign convert "$1" - --to talp | head -1; echo "${PIPESTATUS[0]}"', links)
    assert (done.stdout, done.stderr) == ("1-1 2-2 3-3\n141\n", "")


def test_reader_that_goes_away_before_the_help_ends_us_quietly():
    done = pipeline('{ sleep 0.5; "$PYTHON" -m dualign --help; echo $? >&2; } | true')
    assert (done.stdout, done.stderr) == ("", "141\n")


@pytest.mark.parametrize("arguments", ["--help", "convert $1 - --to talp"])
def test_full_output_device_is_a_message(tmp_path, arguments):
    links = write(tmp_path / "links", "0-0\n")
    done = pipeline(f'"$PYTHON" -m dualign {arguments} > /dev/full', links)
    assert done.returncode == 1
    assert done.stderr.startswith("dualign: error: ")
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


def test_closed_output_is_a_message(tmp_path):
    links = write(tmp_path / "links", "0-0\n")
    done = pipeline('"$PYTHON" -m dualign convert "$1" - --to talp >&-', links)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "standard output" in done.stderr


def test_closed_stderr_changes_no_exit_code():
    done = pipeline('"$PYTHON" -m dualign convert /nowhere - --to talp 2>&-')
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_data_error_in_a_process_of_its_own_shows_no_traceback(tmp_path):
    done = dualign("convert", str(tmp_path / "missing"), "-", "--to", "talp")
    assert done.returncode == 1
    assert done.stderr.startswith(f"dualign: error: {tmp_path / 'missing'}: no such file;")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("number", "code", "word"), [("INT", 130, "interrupted"), ("TERM", 143, "terminated")]
)
def test_signal_while_the_command_line_is_imported_ends_with_a_code_and_one_line(number, code, word):
    # The import of the command line is where the signal comes: no guess at its time.
    sends = f"""
import os, signal, sys
class Sender:
    def find_spec(self, name, path=None, target=None):
        if name == "dualign.commands.cli":
            os.kill(os.getpid(), signal.SIG{number})
sys.meta_path.insert(0, Sender())
"""
    program = f"{HEED}\n{sends}\nfrom dualign.__main__ import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment(), timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"dualign: {word}\n")


def test_second_signal_does_not_disturb_what_cleans_up_after_the_first():
    heeding = program.Heeding()
    with pytest.raises(Terminated):
        heeding.signalled(signal.SIGTERM, None)
    heeding.signalled(signal.SIGINT, None)
    heeding.since = None
    with pytest.raises(KeyboardInterrupt):
        heeding.signalled(signal.SIGINT, None)


def test_signal_that_comes_while_outputs_get_their_names_waits_for_all_of_them(tmp_path):
    program = f"""
import os, signal, time
from contextlib import ExitStack
from dualign.commands.cli import guarded
from dualign.__main__ import heed
from dualign._core.files.streams import open_output
def action():
    with ExitStack() as stack:
        stack.enter_context(open_output({str(tmp_path / "first")!r})).write("new")
        stack.callback(lambda: (os.kill(os.getpid(), signal.SIGINT), time.sleep(0.05)))
        stack.enter_context(open_output({str(tmp_path / "second")!r})).write("new")
    time.sleep(30)
heed()
raise SystemExit(guarded(action))
"""
    words = [sys.executable, "-c", f"{HEED}\n{program}"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=60)
    assert (done.returncode, done.stderr) == (130, "dualign: interrupted\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "second"]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("llvmlite.binding.executionengine", "def link(inside):\n inside()\nlink(inside)"),
        ("numba.core", "inside()"),
    ],
)
def test_signal_that_comes_while_code_is_linked_or_compiled_modules_are_imported_waits(name, code):
    # Raised where LLVM asks for code by a callback, it is lost; where compiled code is imported, another
    # error is.
    program = f"""
import os, signal, time, types
from dualign.commands.cli import guarded
from dualign.__main__ import heed
module = types.ModuleType({name!r})
def inside():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.05)
    print("linked", flush=True)  # here, because outside it may come at any moment
def action():
    module.inside = inside
    exec(compile({code!r}, "module", "exec"), module.__dict__)
    time.sleep(30)
heed()
raise SystemExit(guarded(action))
"""
    done = subprocess.run(
        [sys.executable, "-c", f"{HEED}\n{program}"],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "linked\n", "dualign: interrupted\n")


def test_signal_that_comes_while_an_object_vanishes_is_neither_lost_nor_shown():
    program = """
import os, signal, time
from dualign.commands.cli import guarded
from dualign.__main__ import heed
class Vanishing:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)
def action():
    Vanishing()
    time.sleep(30)
heed()
raise SystemExit(guarded(action))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment(), timeout=60
    )
    assert (done.returncode, done.stderr) == (143, "dualign: terminated\n")


def test_reader_of_what_is_shown_that_goes_away_ends_us_quietly(tmp_path):
    text = write(tmp_path / "text", "a b c ||| d e f\n" * 3000)
    links = write(tmp_path / "links", "0-0 1-1\n" * 3000)
    shown = f'"$PYTHON" -m dualign show {text} --links {links} --lines 1-3000'
    done = pipeline(f'{shown} | head -1 > /dev/null; echo "${{PIPESTATUS[0]}}"')
    assert (done.stdout, done.stderr) == ("141\n", "")
