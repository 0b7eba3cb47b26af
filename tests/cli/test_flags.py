"""Messages about settings: a shell user sees the flags of the command that runs."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import typing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import typer
from tests.cli.bitexts import write_lines

import dualign.cli
from dualign._core.errors import UsageError
from dualign.cli.flags import as_typed, flags_of
from dualign.cli.main import app, commands, run


def parameters(*words: str) -> list:
    command = typer.main.get_command(app)
    for word in words:
        command = command.get_command(None, word)
    return command.params


@pytest.mark.parametrize("words", commands())
def test_every_option_of_every_command_is_named_by_its_flag(words):
    with flags_of(parameters(*words)):
        for each in parameters(*words):
            if each.param_type_name == "option" and each.name not in ("model", "set_"):
                assert as_typed(f"({each.name}=1)").startswith(f"({max(each.opts, key=len)}")


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("alpha=2.0 must be", "--set alpha=2.0 must be"),
        ("model=ibm1 has no chains", "--model-type ibm1 has no chains"),
        ("with lowercase=False", "with --keep-case"),
        ("early_stop=True has", "--early-stop has"),
        ("at most penalty=-3.0", "at most --penalty -3.0"),
        ('decoder="best" is', "--decoder best is"),
        ('scores="x" and decoder="x y"', '--set scores=x and --decoder "x y"'),
        ("output=x", "--output x"),
        ("--set rounds=many: not", "--set rounds=many: not"),
        ("a/rounds=3.txt, `rounds=3`, x=y, source=1", "a/rounds=3.txt, `rounds=3`, x=y, source=1"),
    ],
)
def test_settings_of_align(message, shown):
    with flags_of(parameters("align")):
        assert as_typed(message) == shown
    assert as_typed(message) == message


def test_only_a_command_that_takes_them_has_other_options():
    with flags_of(parameters("phrases", "train")):
        assert as_typed("alpha=2, model='x' is") == "alpha=2, --model x is"


def test_errors_keep_their_kind():
    class SpecialError(UsageError):
        pass

    with pytest.raises(SpecialError, match=r"^--rounds 0$"), flags_of(parameters("align")):
        raise SpecialError("rounds=0")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("align a a --tune a --tune-target a", "--tune-target needs --tune-source"),
        ("align - a --html-report b", "--html-report reads the text a second time"),
        ("align a a --tune a --early-stop --model b", "--early-stop is for training, but --model is given"),
        ("align a a --rounds 2 --set rounds=3", "--rounds 2 and --set rounds=3 contradict each other"),
        ("align a a --keep-case --set lowercase=true", "--keep-case and --set lowercase=true"),
        ("align a a --set quantile=1", "--set quantile=1.0 must be"),
        ("decode a --source-limit -1", "--source-limit -1 must not be negative"),
        ("decode a --target a", "--target needs --source"),
        ("phrases align a a --method best", "--method best is not one of"),
        ("phrases align a a --time-limit 0", "--time-limit 0.0: must be more than 0 seconds"),
        ("phrases evaluate a a --target a", "--target needs --source"),
        ("translate decode a a --method best", "--method best is not one of"),
        ("figure matrix a -o b.svg --line 9", "--line 9: the text has 1 line"),
        ("figure curve a --gold a -o b.svg", "give --probabilities, --model or --links"),
        ("summarize a", "give --links or --probabilities once"),
        ("transfer tags a a a --pos class", "--pos class compares parts of speech"),
        ("transfer tags a a a --default=", "--default '' is not a tag"),
        ("transfer tags a a a --bio --source-format conllu", "as in --column NER"),
        ("transfer evaluate a a a --at 0", "--at 0.0: "),
        ("convert a b", "as in --to pharaoh"),
    ],
)
def test_flags_in_errors(tmp_path, monkeypatch, capsys, command, message):
    monkeypatch.chdir(tmp_path)
    write_lines(Path("a"), ["x ||| y"])
    assert run(command.split()) == 2
    assert message in capsys.readouterr().err


def test_a_warning_is_not_silenced(tmp_path, capsys):
    blank = write_lines(tmp_path / "blank", [""])
    assert run(["align", blank, blank, "--quiet", "-o", str(tmp_path / "out")]) == 0
    assert (
        f"dualign: warning: {blank}: the only sentence pair does not have words on both sides"
        in capsys.readouterr().err
    )


def test_no_flag_is_left_to_its_metavar():
    """Typer 0.27 makes `--FORMAT` of a parameter `format` whose metavar is FORMAT, if no flag is given."""
    found = []
    for module in pkgutil.walk_packages(dualign.cli.__path__, "dualign.cli."):
        functions = inspect.getmembers(importlib.import_module(module.name), inspect.isfunction)
        for _, function in functions:
            if function.__module__ != module.name:
                continue
            try:
                hints = typing.get_type_hints(function, include_extras=True)
            except NameError:  # not a verb: of these, all annotations are there when it runs
                continue
            for name, hint in hints.items():
                for info in getattr(hint, "__metadata__", ()):
                    if not isinstance(info, typer.models.OptionInfo):
                        continue
                    # The first flag stands where Typer expects a default; it sorts that out later.
                    flags = [info.default, *(info.param_decls or ())]
                    given = any(isinstance(flag, str) and flag.startswith("-") for flag in flags)
                    if not given and (info.metavar or "").lower() == name:
                        found.append(f"{module.name}.{function.__name__}: {name}")
    assert found == []


def test_threads_of_a_command_use_its_flags():
    with flags_of(parameters("align")), ThreadPoolExecutor(1) as pool:
        assert pool.submit(as_typed, "set tokenize=simple").result() == "set --tokenize simple"
