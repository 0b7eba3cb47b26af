"""The table of verbs, the overview, and wrong command lines."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from types import SimpleNamespace

import pytest
from tests.commands.command import dualign

from dualign._core.fields import arg
from dualign.commands import GROUPS, VERBS, commands
from dualign.commands.cli import run
from dualign.commands.command import Command
from dualign.commands.console import Reporter


def modules_after(*arguments: str) -> set[str]:
    """What a fresh interpreter has imported once it has run a command line."""
    script = (
        "import sys; from dualign.commands.cli import run; print(run(sys.argv[1:]), *sys.modules, sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=300, check=True
    )
    shown, _, modules = done.stdout.partition("\n0\n")
    assert "Usage: dualign" in shown
    return set(modules.split())


@pytest.mark.parametrize("arguments", [["--help"], *([*words, "--help"] for words in commands())])
def test_help_imports_nothing_heavy(arguments):
    assert not modules_after(*arguments) & {"numpy", "numba", "scipy"}


def test_help_imports_the_verb_it_is_about_and_no_other():
    verbs = {f"dualign.commands.{home_of(words).partition('.')[0]}" for words in commands()}
    assert modules_after("--help") & verbs == set()
    assert modules_after("convert", "--help") & verbs == {"dualign.commands.convert"}


def home_of(words: tuple[str, ...]) -> str:
    table = VERBS if len(words) == 1 else GROUPS[words[0]]
    return table[words[-1]][0]


def class_of(words: tuple[str, ...]) -> type[Command]:
    module, name = home_of(words).split(".")
    return getattr(import_module(f"dualign.commands.{module}"), name)


def test_overview_has_a_line_for_each_verb(capsys):
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    for verb, (_, line) in VERBS.items():
        assert f"  {verb}" in shown
        assert line in shown


MOVED = [words for words in commands() if home_of(words)]


@pytest.mark.parametrize("words", MOVED, ids=" ".join)
def test_each_verb_is_a_class_that_begins_with_its_line_in_the_table(words):
    assert inspect.getdoc(class_of(words)).splitlines()[0] == commands()[words]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_each_verb_can_be_quiet(words, capsys):
    assert run([*words, "-h"]) == 0
    assert "--quiet" in capsys.readouterr().out


def test_each_group_has_a_line_of_its_own():
    assert set(GROUPS) <= set(VERBS)


@pytest.fixture
def things(monkeypatch):
    """A group of two verbs that is there for the test only."""

    @dataclass(frozen=True)
    class Count(Command):
        """Count things."""

        things: int = arg("How many.")

        def run(self, tell: Reporter) -> None:
            print(self.things + 1)

    verbs = {"count": ("things.Count", "Count things."), "weigh": ("things.Weigh", "Weigh things.")}
    monkeypatch.setitem(VERBS, "things", ("things", "Do with things what there is to do."))
    monkeypatch.setitem(GROUPS, "things", verbs)
    monkeypatch.setitem(sys.modules, "dualign.commands.things", SimpleNamespace(Count=Count))


@pytest.mark.usefixtures("things")
def test_group_runs_its_verbs(capsys):
    assert run(["things", "count", "2"]) == 0
    assert capsys.readouterr().out == "3\n"
    assert ("things", "count") in commands()
    assert ("things",) not in commands()


@pytest.mark.usefixtures("things")
def test_group_shows_its_verbs(capsys):
    assert run(["things", "--help"]) == 0
    shown = capsys.readouterr().out
    for line in (VERBS["things"][1], "count", "Count things.", "Weigh things."):
        assert line in shown
    assert run(["things"]) == 2
    assert "Weigh things." in capsys.readouterr().err


@pytest.mark.usefixtures("things")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["things", "cuont"], "no verb `things cuont`; did you mean `things count`?"),
        (["things", "frobnicate"], "no verb `things frobnicate`; there are count, weigh"),
        (["things", "count"], "Try `dualign things count --help`"),
    ],
)
def test_wrong_verb_of_a_group_exits_with_2_and_a_message(arguments, message, capsys):
    assert run(arguments) == 2
    assert message in capsys.readouterr().err


def test_version():
    done = dualign("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"dualign {version('dualign')}\n", "")


def test_nothing_to_do_shows_the_overview_as_an_error(capsys):
    assert run([]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "symmetrize" in shown.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["symetrize"], "no verb `symetrize`; did you mean `symmetrize`?"),
        (["frobnicate"], f"no verb `frobnicate`; there are {', '.join(VERBS)}"),
        (["--frob"], "--frob"),
        (["evaluate", "only-one"], "write LINKS GOLD"),
        (["evaluate", "a", "b", "--bootstrap", "-1"], "--bootstrap"),
        (["evaluate", "a", "b", "--errors", "ignore"], "--errors"),
    ],
)
def test_wrong_command_line_exits_with_2_and_a_message(arguments, message, capsys):
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("dualign: error: ")
    assert message in shown.err


def test_wrong_option_of_a_verb_points_to_the_help_of_that_verb(capsys):
    run(["evaluate", "a", "b", "--frob"])
    assert "Try `dualign evaluate --help`" in capsys.readouterr().err


def test_two_files_cannot_be_standard_input(capsys):
    for arguments in (["evaluate", "-", "-"], ["symmetrize", "-", "-"]):
        assert run(arguments) == 2
        assert "standard input" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("dualign ev", ["plain,evaluate"]),
        ("dualign figure ca", ["plain,calibration"]),
        ("dualign convert --fro", ["plain,--from"]),
        ("dualign convert --errors s", ["plain,strict"]),
        ("dualign convert x", ["file,x"]),
    ],
)
def test_the_shell_completes_verbs_options_values_and_files(words, found):
    asked = {"_DUALIGN_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert dualign(**asked).stdout.split() == found


def test_powershell_completes_too():
    asked = {"_DUALIGN_COMPLETE": "powershell_complete", "COMP_WORDS": "dualign ev", "COMP_WORD": "ev"}
    assert dualign(**asked).stdout.startswith("evaluate\tCompare links with gold links")


@pytest.mark.parametrize(("shell", "reader"), [("bash", ".bashrc"), ("zsh", ".zshrc"), ("fish", None)])
def test_completion_is_installed_once(shell, reader, tmp_path):
    for _ in range(2):
        done = dualign("--install-completion", SHELL=f"/bin/{shell}", HOME=str(tmp_path))
        assert f"{shell} completion installed" in done.stdout
    [script] = [path for path in tmp_path.rglob("*dualign*") if path.is_file()]
    assert "_DUALIGN_COMPLETE" in script.read_text(encoding="utf-8")
    assert (
        dualign("--show-completion", SHELL=shell).stdout.strip() == script.read_text(encoding="utf-8").strip()
    )
    if reader is not None:
        assert len((tmp_path / reader).read_text(encoding="utf-8").splitlines()) == 1


def test_another_shell_is_an_error():
    done = dualign("--install-completion", SHELL="/bin/csh")
    assert (done.returncode, "no completion for the shell csh" in done.stderr) == (2, True)


def test_help_can_be_read_on_a_terminal_without_unicode():
    program = [sys.executable, "-m", "dualign", "align", "--help"]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    done = subprocess.run(program, capture_output=True, env=environment, check=True)
    assert b"--threads" in done.stdout
    assert done.stderr == b""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [("NUMBA_NUM_THREADS", "0", "look at the variables NUMBA_"), ("NUMBA_DISABLE_JIT", "1", "unset it")],
)
def test_settings_of_numba_that_cannot_work_are_named(tmp_path, variable, value, told):
    (tmp_path / "text").write_text("a ||| b\n")
    program = [sys.executable, "-m", "dualign", "align", "text", "-o", "links"]
    environment = {**os.environ, variable: value}
    done = subprocess.run(program, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert "internal error" not in done.stderr
