"""`dualign transfer` as users run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commands.command import dualign, write
from tests.oracles.conllu import problems


def conllu(*words: tuple[str, str, int, str], name: str = "") -> str:
    comment = f"# sent_id = {name}\n" if name else ""
    rows = [
        f"{n}\t{form}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_"
        for n, (form, tag, head, relation) in enumerate(words, 1)
    ]
    return comment + "\n".join(rows) + "\n\n"


SOURCE = conllu(
    ("der", "DET", 2, "det"), ("Hund", "NOUN", 3, "nsubj"), ("schläft", "VERB", 0, "root"), name="eins"
) + conllu(("ja", "INTJ", 0, "root"))
TARGET = "the dog sleeps\nyes indeed\n"
LINKS = "0-0:0.5 1-1:0.9 2-2:1\n0-0:0.4\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    return (
        write(tmp_path / "source.conllu", SOURCE),
        write(tmp_path / "target.txt", TARGET),
        write(tmp_path / "links", LINKS),
    )


def test_trees_are_carried_to_text(files: tuple[str, str, str], tmp_path: Path) -> None:
    output, report = tmp_path / "out.conllu", tmp_path / "report.jsonl"
    ended = dualign("transfer", "tree", *files, "-o", str(output), "--report", str(report))
    assert ended.returncode == 0
    assert "2 sentence pairs: words 5, edges 2, source edges 2, roots 2, unattached 1" in ended.stderr
    text = output.read_text(encoding="utf-8")
    assert problems(text) == []
    assert text.startswith(
        "# sent_id = eins\n# text = the dog sleeps\n1\tthe\t_\tDET\t_\t_\t2\tdet\t_\tProjection=0.45\n"
    )
    assert "# sent_id = 2\n" in text
    assert "2\tindeed\t_\t_\t_\t_\t_\t_\t_\t_\n" in text
    assert [json.loads(line)["edges"] for line in report.read_text().splitlines()] == [2, 0]


def test_trees_are_carried_to_conllu_whole_or_over_a_threshold(
    files: tuple[str, str, str], tmp_path: Path
) -> None:
    target = write(
        tmp_path / "target.conllu",
        conllu(("the", "X", 0, "root"), ("dog", "NOUN", 1, "dep"), ("sleeps", "VERB", 1, "dep"))
        + conllu(("yes", "INTJ", 0, "root"), ("indeed", "ADV", 1, "advmod")),
    )
    ended = dualign("transfer", "tree", files[0], target, files[2], "--complete", "--threshold", "0.6", "-q")
    assert problems(ended.stdout, whole=True) == []
    assert "1\tthe\t_\tX\t_\t_\t3\tdep\t_\t_\n" in ended.stdout
    assert ended.stderr == ""
    told = dualign("transfer", "tree", files[0], target, files[2], "--complete", "--threshold", "0.6")
    assert told.stdout == ended.stdout
    assert "words 5, edges 1, source edges 2, roots before 1, completed 3" in told.stderr
    filtered = dualign("transfer", "tree", files[0], target, files[2], "--pos", "same", "-q")
    assert "1\tthe\t_\tX\t_\t_\t2\tdet\t_\tProjection=0.45\n" in filtered.stdout  # X goes with all


def test_tags_are_carried_as_conllu_or_lines(files: tuple[str, str, str], tmp_path: Path) -> None:
    ended = dualign("transfer", "tags", *files, "--default", "X")
    assert "2\tindeed\t_\tX\t_\t_\t_\t_\t_\t_\n" in ended.stdout
    assert problems(ended.stdout) == []
    tags = write(tmp_path / "tags", "DET NOUN VERB\nINTJ\n")
    lines = dualign("transfer", "tags", tags, *files[1:], "-q")
    assert lines.stdout == "DET NOUN VERB\nINTJ _\n"


def test_bio_tags_are_carried_as_spans(tmp_path: Path) -> None:
    source = write(tmp_path / "tags", "B-PER I-PER O\nO\n\n")
    target = write(tmp_path / "target", "x y z\n\n\n")
    links = write(tmp_path / "links", "0-1 1-2 2-0\n\n\n")
    report = tmp_path / "report"
    ended = dualign("transfer", "tags", source, target, links, "--bio", "--report", str(report))
    assert ended.stdout == "O B-PER I-PER\n\n\n"
    assert json.loads(report.read_text().splitlines()[0]) == {"line": 1, "whole": 1, "words": 3}


def test_bio_in_misc_is_read_and_written(tmp_path: Path) -> None:
    source = write(tmp_path / "source.conllu", SOURCE.replace("\tnsubj\t_\t_", "\tnsubj\t_\tNER=B-ANIMAL"))
    target, links = write(tmp_path / "target", TARGET), write(tmp_path / "links", LINKS)
    ended = dualign("transfer", "tags", source, target, links, "--bio", "--column", "NER", "-q")
    assert "2\tdog\t_\t_\t_\t_\t_\t_\t_\tNER=B-ANIMAL|Projection=0.9\n" in ended.stdout


def test_a_column_that_is_nowhere_is_named(files: tuple[str, str, str]) -> None:
    ended = dualign("transfer", "tags", *files, "--column", "upso")
    assert ended.returncode == 2
    assert f"{files[0]}: no word has `upso`" in ended.stderr
    assert "neither one of the columns lemma, upos, xpos, feats" in ended.stderr


def test_a_tag_that_misc_cannot_hold_is_named(tmp_path: Path) -> None:
    source, links = write(tmp_path / "tags", "A B|C D\nE\n"), write(tmp_path / "links", LINKS)
    target = write(tmp_path / "target.conllu", SOURCE)
    ended = dualign("transfer", "tags", source, target, links, "--column", "NER")
    assert ended.returncode == 1
    assert f"{source}:1: tag `B|C` has a |" in ended.stderr


def test_spans_are_carried_with_what_is_lost(tmp_path: Path) -> None:
    spans = [{"start": 0, "end": 3, "label": "A"}, {"start": 4, "end": 7, "label": "B"}]
    source = write(tmp_path / "s.jsonl", json.dumps({"text": "une île", "spans": spans}) + "\n")
    target = write(tmp_path / "t.txt", "an  island\n")
    links = write(tmp_path / "links", "1-1\n")
    ended = dualign("transfer", "spans", source, target, links)
    assert json.loads(ended.stdout) == {
        "text": "an  island",
        "spans": [{"start": 4, "end": 10, "label": "B", "confidence": 1.0, "status": "whole"}],
        "lost": [{"start": 0, "end": 3, "label": "A", "status": "unaligned"}],
    }
    assert "unaligned 1, whole 1" in ended.stderr


def test_markup_is_set_into_raw_text_by_tokens(tmp_path: Path) -> None:
    source = write(tmp_path / "s", "Click <b>Save</b>.\n")
    target = write(tmp_path / "t", "Sichern klicken.\n")
    links = write(tmp_path / "links", "0-1 1-0 2-2\n")
    tokens = [
        f"--{side}-tokens={write(tmp_path / side, text)}"
        for side, text in (("source", "click save .\n"), ("target", "Sichern klicken .\n"))
    ]
    ended = dualign("transfer", "markup", source, target, links, *tokens)
    assert ended.stdout == "<b>Sichern</b> klicken.\n"


def test_a_number_that_json_does_not_have_is_named(tmp_path: Path) -> None:
    record = '{"text": "a b", "spans": [{"start": 0, "end": 1, "label": "A", "weight": 1e400}]}\n'
    source, target = write(tmp_path / "s.jsonl", record), write(tmp_path / "t", "x y\n")
    ended = dualign("transfer", "spans", source, target, write(tmp_path / "l", "0-0\n"))
    assert ended.returncode == 1
    assert "s.jsonl, pair 1: a span has a number too large for JSON" in ended.stderr


def test_evaluation_of_trees_and_of_spans(files: tuple[str, str, str], tmp_path: Path) -> None:
    own = write(
        tmp_path / "own.conllu",
        conllu(("the", "DET", 2, "det"), ("dog", "NOUN", 3, "obj"), ("sleeps", "VERB", 0, "root"))
        + conllu(("yes", "X", 0, "root"), ("indeed", "ADV", 1, "advmod")),
    )
    ended = dualign(
        "transfer", "evaluate", files[0], own, files[2], "--json", "--threshold", "0", "--threshold", "0.6"
    )
    report = json.loads(ended.stdout)
    assert report["sentences"] == 2
    loose, strict = report["points"]
    assert (loose["transferred"], loose["accuracy"], loose["uas"], loose["las"]) == (1.0, 1.0, 0.8, 0.6)
    assert (loose["tagged"], loose["tag_accuracy"]) == (0.8, 0.75)
    assert strict["edges_per_sentence"] == 0.5
    assert report["accuracy_at"] == 1.0
    table = dualign("transfer", "evaluate", files[0], own, files[2])
    assert "100.00 % of the edges are right where 50 % come across" in table.stdout
    record = {"text": "a b", "spans": [{"start": 0, "end": 1, "label": "A"}]}
    both = [write(tmp_path / f"{side}.jsonl", json.dumps(record) + "\n") for side in "st"]
    links = write(tmp_path / "l", "0-0 1-1\n")
    assert (
        json.loads(dualign("transfer", "evaluate", *both, links, "--json").stdout)["points"][0]["span_f1"]
        == 1.0
    )


@pytest.mark.parametrize(
    ("verb", "change", "message"),
    [
        (
            "tree",
            {"links": "0-0\n"},
            "source.conllu has 2 sentences, {target} has 2, {links} has 1; give the same sentences",
        ),
        ("tree", {"target": "a b c\nd\ne\n"}, "{target} has 3"),
        ("tree", {"links": "0-3\n\n"}, "{links}, sentence pair 1: link 0-3 is outside the pair"),
        ("tags", {"links": "\n1-0\n"}, "{links}, sentence pair 2: link 1-0 is outside the pair"),
        ("tree", {"target": "a b c\n\n"}, "{target}:2: an empty line"),
        ("tree", {"target": SOURCE}, "{target}:1: read as text, but looks like CoNLL-U"),
        (
            "tree",
            {"source": SOURCE.replace("\t3\tnsubj", "\t9\tnsubj")},
            "{source}:3: word 2, `Hund`: HEAD `9`",
        ),
        ("tree", {"source": SOURCE.replace("\t0\troot", "\t1\troot", 1)}, "form a cycle"),
        (
            "tags",
            {"source": SOURCE.replace("3\tschläft", "4\tschläft")},
            "{source}:4: ID `4` where word 3 is next",
        ),
        ("tree", {"links": "0-0:2\n\n"}, "{links}:1: `0-0:2`: 2 is not a probability"),
    ],
)
def test_bad_data_is_named(verb: str, change: dict[str, str], message: str, tmp_path: Path) -> None:
    content = {"source": SOURCE, "target": TARGET, "links": LINKS} | change
    names = {"source": "source.conllu", "target": "target.txt", "links": "links"}
    paths = {key: write(tmp_path / name, content[key]) for key, name in names.items()}
    output = tmp_path / "out"
    ended = dualign("transfer", verb, *paths.values(), "-o", str(output))
    assert ended.returncode == 1
    assert message.format(**paths) in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not output.exists()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "<b>a <i>b</b> c</i>\n",
            "s:1: `</b>` at character 9 closes while `<i>` is open; tags must not overlap",
        ),
        ("<b>a b c\n", "s:1: `<b>` is never closed"),
    ],
)
def test_overlapping_tags_are_named(source: str, message: str, tmp_path: Path) -> None:
    paths = [write(tmp_path / name, text) for name, text in (("s", source), ("t", "x\n"), ("l", "0-0\n"))]
    ended = dualign("transfer", "markup", *paths)
    assert ended.returncode == 1
    assert message in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tree", "a.conllu", "b.txt", "l", "--pos", "same"), "give it as CoNLL-U"),
        (("tags", "a", "b", "l", "--pos", "same"), "--pos same compares parts of speech"),
        (("tags", "a", "b", "l", "--default", "a b"), "is not a tag"),
        (("tags", "a", "b", "l", "--column", "HEAD"), "column HEAD does not hold tags"),
        (("tags", "a", "b", "l", "--column", "a=b"), "cannot be an attribute in MISC"),
        (("tree", "-", "-", "l"), "only one file can be standard input"),
        (("tree", "a", "b", "l", "--target-format", "xml"), "is not one of conllu, text"),
        (("tree", "a", "b", "l", "--threshold", "1"), "--threshold 1.0 must be"),
        (("evaluate", "a.jsonl", "b.conllu", "l"), "must both be"),
        (("evaluate", "a", "b", "l", "--threshold", "1"), "--threshold 1.0 must be"),
        (("evaluate", "a", "b", "l", "--at", "0"), "--at 0"),
        (("spans", "a", "b", "l", "--threshold", "1"), "--threshold 1.0 must be"),
        (("markup", "a", "b", "l", "--threshold", "1"), "--threshold 1.0 must be"),
        (("tags", "a", "b.conllu", "l", "--bio"), "BIO tags are not parts of speech"),
        (("tree", "a", "b", "l", "-o", "x", "--report", "x"), "two outputs are written to the same place"),
    ],
)
def test_wrong_usage_ends_with_two(arguments: tuple[str, ...], message: str) -> None:
    ended = dualign("transfer", *arguments)
    assert ended.returncode == 2
    assert message in ended.stderr
