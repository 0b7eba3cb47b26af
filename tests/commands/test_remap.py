"""`dualign remap` as users run it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.commands.command import dualign, write

RAW = "Ein Häuschen, sagt er.\n\n"
WORDS = "Ein Häuschen , sagt er .\n\n"
BPE = "Ein Häus@@ chen , sagt er .\n\n"
WORDPIECE = "ein haus ##chen , sagt er .\n\n"
SENTENCEPIECE = "▁Ein ▁ Häus chen , ▁sagt ▁er .\n\n"
TARGET = "A little house , he says .\n\n"
LINKS = "0-0:0.900000 1-1:0.500000 1-2:1.000000 2-3:0.250000 3-5:0.750000 4-4:1.000000 5-6:1.000000\n\n"


@pytest.fixture
def place(tmp_path: Path) -> dict[str, str]:
    texts = {"raw": RAW, "words": WORDS, "bpe": BPE, "wordpiece": WORDPIECE, "sentencepiece": SENTENCEPIECE}
    texts |= {"target": TARGET, "links": LINKS}
    return {name: write(tmp_path / name, text) for name, text in texts.items()}


@pytest.mark.parametrize("scheme", ["bpe", "wordpiece", "sentencepiece"])
def test_words_to_subwords_and_back(scheme: str, place: dict[str, str], tmp_path: Path) -> None:
    there = str(tmp_path / "there")
    files = "--source-from", place["words"], "--source-to", place[scheme]
    assert dualign("remap", place["links"], "--to", scheme, *files, "-o", there).returncode == 0
    first = Path(there).read_text().split("\n")[0].split()
    shift = 1 if scheme == "sentencepiece" else 0
    assert f"{1 + shift}-1:0.500000" in first
    assert f"{2 + shift}-2:1.000000" in first
    back = "--source-from", place[scheme], "--source-to", place["words"]
    assert dualign("remap", there, "--from", scheme, *back).stdout == LINKS


@pytest.mark.parametrize("scheme", ["bpe", "wordpiece", "sentencepiece"])
def test_subwords_without_marks_are_warned_of(scheme: str, place: dict[str, str]) -> None:
    files = "--source-from", place["words"], "--source-to", place["words"]
    ended = dualign("remap", place["links"], "--to", scheme, *files)
    assert ended.stdout == LINKS
    assert f"warning: no token of {place['words']} has the mark of {scheme}" in ended.stderr
    quietly = dualign("remap", place["links"], "--to", scheme, *files, "-q")
    assert quietly.stderr == ended.stderr  # a warning is no note
    marked = "--source-from", place["words"], "--source-to", place[scheme]
    assert dualign("remap", place["links"], "--to", scheme, *marked).stderr == ""


@pytest.mark.parametrize("unit", ["characters", "bytes", "utf16"])
def test_words_to_offsets_and_back(unit: str, place: dict[str, str], tmp_path: Path) -> None:
    there = str(tmp_path / "there")
    files = ["--source-from", place["words"], "--source-to", place["raw"], "--target-to", place["target"]]
    assert dualign("remap", place["links"], "--to", unit, *files, "-o", there).returncode == 0
    first = Path(there).read_text().split("\n")[0].split()
    assert first[:2] == ["0:3-0:1:0.900000", f"4:{13 if unit == 'bytes' else 12}-2:8:0.500000"]
    back = ["--source-from", place["raw"], "--source-to", place["words"], "--target-from", place["target"]]
    assert dualign("remap", there, "--from", unit, *back).stdout == LINKS


def test_words_are_put_together_from_subwords_alone(tmp_path: Path) -> None:
    pieces = write(tmp_path / "pieces", "a@@ b c\n")
    links = write(tmp_path / "links", "0-0 2-1\n")
    ended = dualign("remap", links, "--from", "bpe", "--source-from", pieces)
    assert ended.stdout == "0-0 1-1\n"
    words = write(tmp_path / "words", ended.stdout)
    assert dualign("remap", words, "--to", "bpe", "--source-to", pieces).stdout == "0-0 1-0 2-1\n"


def test_units_are_exchanged(tmp_path: Path) -> None:
    text, links = write(tmp_path / "text", "é a\n"), write(tmp_path / "links", "2:3-0:1\n")
    files = "--source-from", text, "--target-from", text
    assert dualign("remap", links, "--from", "characters", "--to", "bytes", *files).stdout == "3:4-0:2\n"


def test_lines_that_differ_are_named_or_skipped(place: dict[str, str], tmp_path: Path) -> None:
    other = write(tmp_path / "other", "Ein Haus , sagt er .\n\n")
    files = "--source-from", place["words"], "--source-to", other
    ended = dualign("remap", place["links"], *files, "-o", str(tmp_path / "out"))
    assert ended.returncode == 1
    assert f"{place['words']}:1: token 1, `Häuschen`, where {other}:1 has `haus,sagter.`" in ended.stderr
    assert not (tmp_path / "out").exists()
    skipped = dualign("remap", place["links"], *files, "--skip")
    assert skipped.stdout == "\n\n"
    assert "1 line was left empty" in skipped.stderr


@pytest.mark.parametrize(
    ("links", "arguments", "message"),
    [
        (
            "6-0\n\n",
            ["--to=bpe", "--source-from", "words", "--source-to", "bpe"],
            "links, sentence pair 1: link 6-0 is outside the pair, which has 6 source words",
        ),
        ("0-0\n", ["--to=bpe", "--source-from", "words", "--source-to", "bpe"], "links has 1 sentence"),
        (
            "0:99-0:1\n\n",
            ["--from", "bytes", "--source-from", "raw", "--target-from", "target"],
            "links, sentence pair 1: 0:99 lies outside the text: there is no place 99, the line has 23 bytes",
        ),
        (
            "0-0\n\n",
            ["--from", "bytes", "--source-from", "raw", "--target-from", "target"],
            "links:1: `0-0` is not a link",
        ),
    ],
)
def test_bad_data_is_named(links: str, arguments: list[str], message: str, place: dict[str, str]) -> None:
    path = write(Path(place["links"]), links)
    ended = dualign("remap", path, *(place.get(word, word) for word in arguments))
    assert ended.returncode == 1
    assert message in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to carry links to"),
        (["--source-from", "a"], "give the other tokens of the source side as --source-to"),
        (["--to", "bytes", "--source-to", "a"], "give it as --target-to"),
        (["--from", "bytes", "--source-to", "a"], "give it as --source-from"),
        (
            ["--from", "bpe", "--to", "bytes", "--source-to", "a", "--target-to", "b"],
            "give the subwords of the source",
        ),
        (
            ["--from", "bytes", "--source-from", "a", "--target-from", "b", "--pairs", "3"],
            "--format and --pairs",
        ),
    ],
)
def test_wrong_usage_ends_with_two(arguments: list[str], message: str) -> None:
    ended = dualign("remap", "links", *arguments)
    assert ended.returncode == 2
    assert message in ended.stderr
