"""Options are fields: their checks, their names in messages, and records of them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.commands.bitexts import write_lines

from dualign._core.errors import DataError, UsageError
from dualign._core.fields import OptionRecord, arg, bundle, idle, opt, refuse_unknown, settings
from dualign.commands.cli import run
from dualign.commands.command import made


@dataclass(frozen=True)
class Inner(OptionRecord):
    path: str | None = opt(None, "A file.", file="in")
    share: float = opt(0.5, "A share.", least=0, below=1)
    count: int = opt(1, "A number.", name="number", over=0, used_with={"path": ("a", "b")})
    other: str | None = opt(None, "Needs a path.", needs="path")
    kind: str = opt("x", "A kind.", choices=("x", "y"))


@dataclass(frozen=True)
class Outer:
    text: str = arg("A text.")
    inner: Inner = bundle(Inner, "share")
    flag: bool = opt(False, "A flag.")


def test_options_of_a_bundle_are_options_of_its_record():
    known = settings(Outer)
    assert list(known) == ["text", "path", "share", "number", "other", "kind", "flag"]
    assert [name for name, each in known.items() if each.has_flag] == ["text", "share", "flag"]
    assert known["number"].path == ("inner", "count")
    record = made(Outer, {"text": "t", "number": 3})
    assert (record.text, record.inner, known["number"].of(record)) == ("t", Inner(count=3), 3)
    assert made(Outer, {"text": "t", "share": 0.1}, [Inner("p")]).inner == Inner("p", 0.1)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"share": 1.0}, "share=1.0 must be at least 0 and below 1"),
        ({"share": -1}, "share=-1 must be at least 0"),
        ({"share": float("nan")}, "share=nan must be finite"),
        ({"share": "much"}, "share='much' must be a number"),
        ({"share": True}, "share=True must be a number"),
        ({"count": 0}, "number=0 must be over 0"),
        ({"count": 1.5}, "number=1.5 must be a whole number"),
        ({"count": 2**31}, "number=2147483648 must be at most"),
        ({"other": "a b"}, 'other="a b" needs path'),
        ({"kind": "z"}, 'kind="z" is not one of x, y'),
        ({"path": 3}, "path=3 must be a name"),
    ],
)
def test_a_value_that_breaks_a_rule_is_refused(values, words):
    with pytest.raises(UsageError) as error:
        Inner(**values)
    assert str(error.value).startswith(words)


def test_paths_become_strings():
    assert Inner(Path("a")).path == "a"


def test_an_option_without_effect_is_found_with_the_reason():
    assert list(idle(Inner("c"), ["number", "share"])) == [("number", "path")]
    assert list(idle(Inner("a"), ["number"])) == []


def test_unknown_names_are_refused_with_a_similar_one():
    with pytest.raises(UsageError, match="unknown option shore; did you mean share"):
        refuse_unknown(["shore"], settings(Outer))


def test_what_a_user_wrote_is_no_template():
    error = DataError("the word {word} is odd", word="{0}{x=}", place="{f}", remedy="leave {word} out")
    assert str(error) == "{f}: the word {0}{x=} is odd; leave {0}{x=} out"
    assert str(UsageError("{plain}")) == "{plain}"
    assert str(UsageError("{a=} and {b=}", a=1, b=...).with_remedy("try {a}")) == "a=1 and b; try 1"


def test_errors_are_spelled_by_whoever_shows_them():
    error = UsageError("{a=} needs {b=}", a=True, b=...)
    assert error.spelled(lambda name, value: f"--{name}") == "--a needs --b"
    assert error.with_remedy("leave {a=} out").spelled(lambda name, value: "?") == "? needs ?; leave ? out"


def test_no_option_of_a_verb_has_the_name_of_another():
    from tests.commands.test_cli import MOVED, class_of

    for words in MOVED:
        verb = class_of(words)
        found = []
        stack = [verb]
        while stack:
            for f in dataclasses.fields(stack.pop()):
                inner = f.metadata.get("bundle")
                stack += [inner] if inner else []
                found += [f.metadata.get("name", f.name)] if "help" in f.metadata else []
        assert sorted(found) == sorted(settings(verb)), words


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("align a a --tune a --tune-target a", "--tune-target needs --tune-source"),
        ("align - a --html-report b", "--html-report reads the text a second time"),
        ("align a a --tune a --early-stop --model b", "--early-stop is for training, but --model is given"),
        ("align a a --rounds 2 --set rounds=3", "--rounds 2 and --set rounds=3 contradict each other"),
        ("align a a --keep-case --set lowercase=true", "--keep-case and --set lowercase=true"),
        ("align a a --set quantile=1", "--set quantile=1.0 must be"),
        ("decode a --source-limit -1", "--source-limit -1 must be at least 0"),
        ("decode a --target a", "--target needs --source"),
        ("phrases align a a --method best", "--method best is not one of"),
        ("phrases align a a --time-limit 0", "--time-limit 0.0 must be over 0"),
        ("phrases evaluate a a --target a", "--target needs --source"),
        ("translate decode a a --method best", "--method best is not one of"),
        ("figure matrix a -o b.svg --line 9", "--line 9: the text has 1 line"),
        ("figure curve a --gold a -o b.svg", "give --probabilities, --model or --links"),
        ("summarize a", "give --links or --probabilities once"),
        ("transfer tags a a a --pos class", "--pos class compares parts of speech"),
        ("transfer tags a a a --default=", '--default "" is not a tag'),
        ("transfer tags a a a --bio --source-format conllu", "as in --column NER"),
        ("transfer evaluate a a a --at 0", "--at 0.0 must be over 0"),
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


@pytest.mark.parametrize("option", ["floor=nan", "stem_weight=inf"])
def test_a_number_that_is_none_is_refused_and_contradicts_nothing(tmp_path, capsys, option):
    text = write_lines(tmp_path / "text", ["a"])
    code = run(["align", text, text, "-o", str(tmp_path / "out"), "--set", option])
    assert code == 2
    assert f"--set {option} must be finite" in capsys.readouterr().err.replace(
        "--threshold ", "--set threshold="
    )
