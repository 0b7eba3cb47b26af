"""The table of verbs, the overview, and wrong command lines."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from types import SimpleNamespace

import pytest
from tests.cli.command import dualign

from dualign.cli.main import GROUPS, VERBS, commands, run


def modules_after(*arguments: str) -> set[str]:
    """What a fresh interpreter has imported once it has run a command line."""
    script = "import sys; from dualign.cli.main import run; print(run(sys.argv[1:]), *sys.modules, sep='\\n')"
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
    verbs = {".".join(("dualign.cli", *words)) for words in commands()}
    assert modules_after("--help") & verbs == set()
    assert modules_after("convert", "--help") & verbs == {"dualign.cli.convert"}


def test_overview_has_a_line_for_each_verb(capsys):
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    for verb, line in VERBS.items():
        assert f"  {verb}" in shown
        assert line in shown


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_each_verb_is_a_function_that_begins_with_its_line_in_the_table(words):
    names = [word.replace("-", "_") for word in words]
    function = getattr(import_module(".".join(("dualign.cli", *names))), names[-1])
    assert inspect.getdoc(function).splitlines()[0] == commands()[words]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_each_verb_can_be_quiet(words, capsys):
    assert run([*words, "-h"]) == 0
    assert "--quiet" in capsys.readouterr().out


def test_each_group_has_a_line_of_its_own():
    assert set(GROUPS) <= set(VERBS)


@pytest.fixture
def things(monkeypatch):
    """A group of two verbs that is there for the test only."""

    def count(things: int) -> None:
        """Count things."""
        print(things + 1)

    monkeypatch.setitem(VERBS, "things", "Do with things what there is to do.")
    monkeypatch.setitem(GROUPS, "things", {"count": "Count things.", "weigh": "Weigh things."})
    monkeypatch.setitem(sys.modules, "dualign.cli.things", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "dualign.cli.things.count", SimpleNamespace(count=count))


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
    for line in (VERBS["things"], "count", "Count things.", "Weigh things."):
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
        ("dualign ev", ["evaluate"]),
        ("dualign figure ca", ["calibration"]),
        ("dualign align --dec", ["--decoder"]),
    ],
)
def test_the_shell_completes_verbs_and_options(words, found):
    asked = {"_DUALIGN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert dualign(**asked).stdout.split() == found
