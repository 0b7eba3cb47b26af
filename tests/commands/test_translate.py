"""`dualign translate`: a system learnt from the sample, its translations, and wrong usage."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.commands.command import dualign, write

from dualign._core.errors import DataError, UsageError
from dualign._core.files.atomic import Temporary
from dualign.commands import translate as translation
from dualign.commands.cli import run
from dualign.translate import LanguageModel
from dualign.translate.system import Translator, read_settings, train_system
from dualign.translate.tuning import tuned

SOURCE = [
    "das Haus ist klein",
    "das Haus ist groß",
    "der Hund ist klein",
    "der Hund schläft",
    "das Kind schläft",
]
TARGET = ["the house is small", "the house is big", "the dog is small", "the dog sleeps", "the child sleeps"]


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("system")
    source = write(folder / "s", "\n".join(SOURCE * 8) + "\n\n")
    target = write(folder / "t", "\n".join(TARGET * 8) + "\n\n")
    assert run(["translate", "train", source, target, str(folder / "model"), "--rounds", "1", "--quiet"]) == 0
    return folder


def test_a_system_learns_and_translates_with_a_report(system, capsys):
    text = write(system / "new", "das Kind ist groß\n\nder Zebra schläft\n")
    report = str(system / "report.jsonl")
    assert run(["translate", "decode", str(system / "model"), text, "--report", report]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines[0] == "the child is big"
    assert lines[1] == ""
    assert "Zebra" in lines[2].split()
    assert lines[3:] == [""]
    records = [json.loads(line) for line in Path(report).read_text().splitlines()]
    assert [record["line"] for record in records] == [1, 2, 3]
    for record in records:
        assert record["certified"]
        assert record["bound"] - record["score"] <= 1e-6 * (1 + abs(record["score"]))
        assert record["seconds"] >= 0


@pytest.mark.parametrize("method", ["cube", "exhaustive", "relax", "tighten", "ilp", "lp"])
def test_methods_agree_on_an_easy_sentence(system, capsys, method):
    text = write(system / "new", "das Kind ist groß\n")
    assert run(["translate", "decode", str(system / "model"), text, "--method", method]) == 0
    assert capsys.readouterr().out == "the child is big\n"


def test_the_report_of_tightening_has_the_number_of_partitions(system):
    text = write(system / "new", "das Kind ist groß\n\nder Zebra schläft\n")
    report = str(system / "report.jsonl")
    options = ["--method", "tighten", "--report", report, "-o", str(system / "out")]
    assert run(["translate", "decode", str(system / "model"), text, *options]) == 0
    records = [json.loads(line) for line in Path(report).read_text().splitlines()]
    assert len(records) == 3
    assert all(record["certified"] and record["partitions"] >= 1 for record in records)


def test_errors_replace_holds_for_a_language_model_too(system, tmp_path, capsys):
    text, lm = write(tmp_path / "new", SOURCE[0] + "\n"), tmp_path / "lm.arpa"
    plain = write(tmp_path / "text", "\n".join(TARGET) + "\ngr@n\n")
    assert run(["translate", "lm", plain, str(lm), "-q"]) == 0
    lm.write_bytes(lm.read_bytes().replace(b"gr@n", b"gr\xfcn"))
    command = ["translate", "decode", str(system / "model"), text, "--lm", str(lm), "-q"]
    assert run(command) == 1
    assert "invalid UTF-8" in capsys.readouterr().err
    assert run([*command, "--errors", "replace"]) == 0
    assert capsys.readouterr().out.count("\n") == 1
    with pytest.raises(DataError, match="invalid UTF-8"):
        LanguageModel.read(str(lm))
    assert "gr\ufffdn" in LanguageModel.read(str(lm), "replace").words


def test_threads_change_nothing(system, capsys):
    text = write(system / "new", "\n".join(SOURCE))
    outputs = []
    for threads in ("1", "3"):
        assert run(["translate", "decode", str(system / "model"), text, "--threads", threads]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") == len(SOURCE)


def test_lm_writes_a_model_that_can_be_read(tmp_path):
    text = write(tmp_path / "text", "\n".join(TARGET) + "\n\n")
    path = str(tmp_path / "lm.arpa.gz")
    done = dualign("translate", "lm", text, path, "--order", "2")
    assert done.returncode == 0
    assert "1-grams" in done.stderr
    model = LanguageModel.read(path)
    assert model.order == 2
    assert math.isfinite(model.score(["the", "house", "sleeps"]))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["decode", "nowhere", "{text}"], 1, "no such folder"),
        (["decode", "{folder}", "{text}"], 1, "settings.json"),
        (["decode", "{folder}", "{text}", "--method", "magic"], 2, "is not one of exact"),
        (["decode", "{folder}", "{text}", "-o", "x", "--report", "x"], 2, "same place"),
        (["train", "{text}", "{text}", "{folder}/m", "--dev-source", "{text}"], 2, "belong together"),
        (["train", "-", "-", "{folder}/m"], 2, "standard input"),
        (["train", "{empty}", "{empty}", "{folder}/m", "--quiet"], 1, "empty: no sentence pair to train on"),
        (
            ["train", "/dev/null", "/dev/null", "{folder}/m"],
            1,
            "/dev/null: no sentence pair to train on, there",
        ),
        (["lm", "{empty}", "{folder}/lm.arpa"], 1, "empty: no sentence to learn a language model from"),
        (["lm", "{bad}", "{folder}/lm.arpa"], 1, "bad: sentence 1 has the word"),
    ],
)
def test_wrong_usage_and_bad_data_are_explained(tmp_path, arguments, code, message):
    places = {
        "folder": str(tmp_path),
        "text": write(tmp_path / "text", "a b\n"),
        "empty": write(tmp_path / "empty", "\n\n"),
        "bad": write(tmp_path / "bad", "a <s>\n"),
    }
    done = dualign("translate", *(argument.format(**places) for argument in arguments))
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_damaged_folder_is_explained(system, tmp_path):
    text = write(tmp_path / "text", "a b\n")
    for name, content, message in (
        ("settings.json", "{}", "settings of a translation system"),
        ("model.npz", "nonsense", "model.npz: not the file"),
        ("rules.gz", "nonsense", "rules.gz"),
    ):
        folder = tmp_path / f"without-{name}"
        folder.mkdir()
        for path in (system / "model").iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        (folder / name).write_text(content)
        done = dualign("translate", "decode", str(folder), text)
        assert done.returncode == 1
        assert message in done.stderr


TAGS = {"das": "DT", "der": "DT", "ist": "V", "schläft": "V", "klein": "JJ", "groß": "JJ"}


def tree(sentence: str) -> str:
    tagged = [f"({TAGS.get(word, 'NN')} {word})" for word in sentence.split()]
    return f"(S (NP {' '.join(tagged[:2])}) (VP {' '.join(tagged[2:])}))"


def test_a_system_learns_from_trees_and_translates_trees(tmp_path, capsys):
    source = write(tmp_path / "s", "\n".join(SOURCE * 8) + "\n\n")
    target = write(tmp_path / "t", "\n".join(TARGET * 8) + "\n\n")
    trees = write(tmp_path / "trees", "\n".join(map(tree, SOURCE * 8)) + "\n\n")
    folder = str(tmp_path / "model")
    command = ["translate", "train", source, target, folder, "--rounds", "1", "--quiet"]
    assert run([*command, "--source-trees", trees]) == 0
    text = write(tmp_path / "new", tree("das Kind ist groß") + "\n\n" + tree("der Zebra schläft") + "\n")
    report = str(tmp_path / "report.jsonl")
    assert run(["translate", "decode", folder, text, "--report", report]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines == ["the child is big", "", "the Zebra sleeps", ""]
    assert all(json.loads(line)["certified"] for line in Path(report).read_text().splitlines())
    words = write(tmp_path / "words", "das Kind ist groß\n")
    done = dualign("translate", "decode", folder, words)
    assert done.returncode == 1
    assert "words:1: 'das' stands outside all brackets" in done.stderr


@pytest.mark.parametrize(
    ("trees", "code", "message"),
    [
        ("(S (X a)\n", 1, "trees:1: 1 `(` without `)`"),
        ("(S a)\n", 1, "trees:1: word 2 is 'missing' in the tree and 'b' in the text"),
        ("(S a b)\n(S a b)\n", 1, "trees has 2 lines but the text has 1"),
    ],
)
def test_trees_that_do_not_fit_the_text_are_explained(tmp_path, trees, code, message):
    source, target = write(tmp_path / "s", "a b\n"), write(tmp_path / "t", "x y\n")
    path = write(tmp_path / "trees", trees)
    done = dualign("translate", "train", source, target, str(tmp_path / "m"), "--source-trees", path)
    assert done.returncode == code
    assert message in done.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"span": "x"}, "span is 'x'"),
        ({"span": 2.5}, "span is 2.5"),
        ({"limit": -1}, "limit is -1"),
        ({"order": True}, "order is True"),
        ({"trees": 1}, "trees is 1"),
        ({"weights": {"Words": 10**400}}, "the weight of Words"),
        ({"weights": {"Words": "1"}}, "the weight of Words is '1'"),
        ({"weights": []}, "settings of a translation system"),
        ({"files": 3}, "settings of a translation system"),
        ({"more": 3}, "more"),
    ],
)
def test_settings_that_are_not_of_a_system_are_refused(system, tmp_path, capsys, change, message):
    folder = copied(system / "model", tmp_path / "copy")
    settings = json.loads((folder / "settings.json").read_text())
    (folder / "settings.json").write_text(json.dumps(settings | change))
    assert run(["translate", "decode", str(folder), write(tmp_path / "t", "das\n")]) == 1
    assert message in capsys.readouterr().err


def copied(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to))


def test_files_of_two_systems_are_not_taken_for_one(system, tmp_path, capsys):
    folder = copied(system / "model", tmp_path / "copy")
    LanguageModel.train([["a", "b"]], 3).save(str(folder / "model.npz"))
    assert run(["translate", "decode", str(folder), write(tmp_path / "t", "das\n")]) == 1
    assert "model.npz: not the file that settings.json was written with" in capsys.readouterr().err


def test_interrupted_training_leaves_the_old_system_as_it_was(system, tmp_path, monkeypatch):
    folder = copied(system / "model", tmp_path / "copy")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    pairs = [(s.split(), t.split()) for s, t in zip(SOURCE[:4] * 9, TARGET[:4] * 9, strict=True)]

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for what, usable in (("LanguageModel.train", False), ("tuned", True)):
        monkeypatch.setattr(f"dualign.translate.system.{what}", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train_system(pairs, str(folder), rounds=1, threads=1)
        monkeypatch.undo()
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        partial = tmp_path / "copy.partial"
        assert partial.exists() == usable
        if usable:  # the weights are not tuned, but all else is there
            assert Translator.load(str(partial)).translate(["das", "Haus"]).certified
    train_system(pairs, str(folder), rounds=1, threads=1)
    assert {path.name for path in folder.iterdir()} == before.keys()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} != before
    assert not partial.exists()
    partial.mkdir()
    Temporary(str(partial / "file")).file.close()  # left by a training that was killed
    train_system(pairs, str(folder), rounds=0, threads=1)
    partial.mkdir()
    write(partial / "mine", "x")
    with pytest.raises(UsageError, match="has files of others"):
        train_system(pairs, str(folder), rounds=0, threads=1)


def test_interrupted_tuning_goes_on(tmp_path, monkeypatch):
    """Rules and language model are not learnt again, weights are not forgotten; another text is refused."""
    folder = str(tmp_path / "system")
    pairs = [(s.split(), t.split()) for s, t in zip(SOURCE[:4] * 9, TARGET[:4] * 9, strict=True)]
    options = {"rounds": 2, "threads": 1, "tuner": "pro", "seed": 3}

    def interrupted(*parts: Any) -> None:
        parts[4].keep({**parts[3], "Words": 0.25})
        raise KeyboardInterrupt

    monkeypatch.setattr("dualign.translate.system.tuned", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train_system(pairs, folder, **options)
    monkeypatch.undo()
    with pytest.raises(UsageError, match="on other text, or with other options"):
        train_system(pairs[1:], folder, resume=True, **options)
    with pytest.raises(UsageError, match="on other text, or with other options"):
        train_system(pairs, folder, resume=True, order=2, **options)
    begun: list[float] = []

    def observed(*parts: Any) -> Any:
        begun.append(parts[3]["Words"])
        return tuned(*parts)

    monkeypatch.setattr("dualign.translate.system.tuned", observed)
    monkeypatch.setattr("dualign.translate.system.extract", None)
    assert train_system(pairs, folder, resume=True, **options) == read_settings(folder)
    assert begun == [0.25]
    assert not (tmp_path / "system.partial").exists()
    monkeypatch.undo()
    said: list[str] = []
    train_system(pairs, folder, resume=True, report=said.append, **options)  # nothing to go on with
    assert "extracting rules" in said


def test_a_system_is_trained_from_a_table(system, tmp_path, capsys):
    rows = "".join(f"{n}\t{s}\t{t}\n" for n, (s, t) in enumerate(zip(SOURCE, TARGET, strict=True)))
    table = write(tmp_path / "table.tsv", rows)
    more = ["--columns", "source=2,target=3", "-o", str(tmp_path / "made"), "--rounds", "0", "-q"]
    assert run(["translate", "train", table, *more]) == 0
    assert (tmp_path / "made" / "settings.json").exists()
    assert run(["translate", "train", table, *more, "--tuner", "best"]) == 2
    assert "not one of mert, pro" in capsys.readouterr().err
    assert run(["translate", "train", table]) == 2
    assert "BITEXT -o DIR" in capsys.readouterr().err


def test_several_translations_are_different_sentences_best_first(system, tmp_path, capsys):
    text = write(tmp_path / "new", "das Kind ist groß\n\nder Hund schläft\n")
    assert run(["translate", "decode", str(system / "model"), text, "-k", "3"]) == 0
    rows = [line.split(" ||| ") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert {row[0] for row in rows} == {"1", "3"}
    assert rows[0][1] == "the child is big"
    for number in ("1", "3"):
        words, scores = zip(*((row[1], float(row[2])) for row in rows if row[0] == number), strict=True)
        assert len({*words}) == len(words)
        assert list(scores) == sorted(scores, reverse=True)


def test_forests_are_written_and_translated_again(system, tmp_path, capsys):
    text = write(tmp_path / "new", "das Kind ist groß\n\nder Zebra schläft\n")
    arguments = ["translate", "decode", str(system / "model"), "--quiet"]
    assert run([*arguments, text, "--forests", str(tmp_path / "forests")]) == 0
    first = capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "forests").iterdir()) == ["1.json", "3.json"]
    assert run([*arguments, str(tmp_path / "forests")]) == 0
    assert capsys.readouterr().out == first
    (tmp_path / "none").mkdir()
    assert run([*arguments, str(tmp_path / "none")]) == 1
    assert "has no forests" in capsys.readouterr().err


def test_a_system_takes_links_and_a_model_of_others(tmp_path, capsys):
    source = write(tmp_path / "s", "\n".join(SOURCE * 8) + "\n")
    target = write(tmp_path / "t", "\n".join(TARGET * 8) + "\n")
    links = [" ".join(f"{n}-{n}" for n in range(len(line.split()))) for line in SOURCE * 8]
    model, folder = str(tmp_path / "lm.arpa"), str(tmp_path / "model")
    assert run(["translate", "lm", target, model, "--order", "2", "--quiet"]) == 0
    train = ["translate", "train", source, target, folder, "--rounds", "0", "--lm", model, "--links"]
    assert run([*train, write(tmp_path / "links", "\n".join(links) + "\n")]) == 0
    text = write(tmp_path / "new", "das Kind ist groß\n")
    for more in ([], ["--lm", model], ["--gap", "0.5"]):
        assert run(["translate", "decode", folder, text, *more]) == 0
        assert capsys.readouterr().out == "the child is big\n"
    assert run([*train, write(tmp_path / "short", "0-0\n")]) == 1
    assert "short" in capsys.readouterr().err
    assert run([*train, write(tmp_path / "far", "9-9\n" * len(links))]) == 1
    assert "9" in capsys.readouterr().err


def test_a_line_that_is_too_long_for_a_forest_is_translated_in_pieces(system, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(translation, "LONGEST", 8)
    monkeypatch.setattr(translation, "PIECE", 5)
    words = " ".join(SOURCE[:3]).split()
    text, report = write(tmp_path / "text", " ".join(words) + "\n"), tmp_path / "report"
    decode = ["translate", "decode", str(system / "model")]
    assert run([*decode, text, "--report", str(report)]) == 0
    found = capsys.readouterr().out
    record = json.loads(report.read_text())
    assert (record["bound"], record["certified"]) == (None, False)
    text = write(tmp_path / "pieces", "\n".join(SOURCE[:3]) + "\n")
    assert run([*decode, text]) == 0
    assert found.split() == capsys.readouterr().out.split()
