"""`dualign align` from raw text: one command to links on tokens, words or characters."""

from __future__ import annotations

import json
import re

import pytest

from dualign._core.errors import UsageError
from dualign.aligner import Aligner
from dualign.commands.bundles import Outputs
from dualign.commands.cli import run
from dualign.commands.requests import Answerer, Refused

WORDS = {"Hund": "dog", "Haus": "house", "Buch": "book", "Mann": "man", "Baum": "tree", "Tag": "day"}
PAIRS = [
    (f"Der {a}, sagt er, ist ein {b}.", f"The {WORDS[a]}, he says, is a {WORDS[b]}.")
    for a in WORDS
    for b in WORDS
    if a != b
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw")
    for side, name in enumerate(("s", "t")):
        (folder / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS * 2), encoding="utf-8")
    texts = [str(folder / "s"), str(folder / "t")]
    assert run(["train", *texts, str(folder / "model"), "--tokenize", "simple", "-q"]) == 0
    return folder


def aligned(folder, *options: str, name: str = "links") -> list[str]:
    texts = [str(folder / "s"), str(folder / "t")]
    assert run(["align", *texts, "-q", "-o", str(folder / name), *options]) == 0
    return (folder / name).read_text(encoding="utf-8").splitlines()


def test_links_are_on_the_tokens_that_are_written(folder):
    model = ["--model", str(folder / "model")]
    links = aligned(folder, *model, "--tokens", str(folder / "tokens"))
    source, target = (folder / "tokens").read_text(encoding="utf-8").splitlines()[0].split("\t")
    assert source == "Der Hund , sagt er , ist ein Haus ."
    assert {"1-1", "8-8", "9-9"} <= set(links[0].split())
    assert target.split()[8] == "house"


def test_links_on_tokens_that_nobody_sees_are_told(folder, tmp_path, capsys):
    texts, links = [str(folder / "s"), str(folder / "t")], ["-o", str(tmp_path / "links")]
    said = (
        "note: links count tokens as --tokenize simple cuts them, not the words of your files; "
        "--positions words counts words, --tokens FILE writes the tokens\n"
    )
    for how in (["--tokenize", "simple"], ["--model", str(folder / "model")]):
        assert run(["align", *texts, *links, *how]) == 0
        assert capsys.readouterr().err.count(said) == 1
        for more in (["--positions", "words"], ["--tokens", str(tmp_path / "tokens")]):
            assert run(["align", *texts, *links, *how, *more]) == 0
            assert "links count tokens" not in capsys.readouterr().err
    assert run(["align", *texts, *links]) == 0
    assert "links count tokens" not in capsys.readouterr().err


def test_raw_text_is_told_once_for_both_sides(folder, tmp_path, capsys):
    texts, model = [str(folder / "s"), str(folder / "t")], str(tmp_path / "model")
    links = ["-o", str(tmp_path / "links")]
    sign = r"note: \d+ % of the source and \d+ % of the target words end in punctuation; if this text is not "
    advice = sign + "tokenised, train with --tokenize simple"
    for command, more in (
        (
            ["align", *texts, *links],
            ", and align with --positions words for links on the words of your files",
        ),
        (["align", *texts, *links, "--positions", "words"], ""),
        (["train", *texts, model], ""),
        (["align", *texts, *links, "--model", model, "--positions", "characters"], ""),
    ):
        assert run(command) == 0
        shown = capsys.readouterr().err
        assert re.search(f"{advice}{more}\n", shown)
        assert shown.count("punctuation") == 1
    cut = tmp_path / "cut"
    cut.write_text((folder / "t").read_text().replace(",", " ,").replace(".", " ."))
    assert run(["align", texts[0], str(cut), *links]) == 0
    assert re.search(r"note: \d+ % of the source words end in punctuation; if", capsys.readouterr().err)


def test_links_on_characters_and_words_are_those_that_remap_makes(folder):
    model = ["--model", str(folder / "model")]
    aligned(folder, *model, "--tokens", str(folder / "tokens"))
    rows = (folder / "tokens").read_text(encoding="utf-8").splitlines()
    for side, name in enumerate(("cut.s", "cut.t")):
        (folder / name).write_text("".join(row.split("\t")[side] + "\n" for row in rows), encoding="utf-8")
    for kind in ("words", "characters"):
        found = aligned(folder, *model, "--positions", kind, name=kind)
        sides = [f"--{side}-{end}" for side in ("source", "target") for end in ("from", "to")]
        files = [str(folder / name) for name in ("cut.s", "s", "cut.t", "t")]
        given = [value for pair in zip(sides, files, strict=True) for value in pair]
        command = ["remap", str(folder / "links"), "--from", "words", "--to", kind, *given, "-q"]
        assert run([*command, "-o", str(folder / "remapped")]) == 0
        assert (folder / "remapped").read_text().splitlines() == found


def test_one_command_trains_and_writes_characters(folder):
    scored = str(folder / "scored")
    links = aligned(folder, "--tokenize", "simple", "--positions", "characters", "--probabilities", scored)
    assert links == aligned(folder, "--model", str(folder / "model"), "--positions", "characters")
    first = (folder / "scored").read_text().splitlines()[0].split()
    assert all(re.fullmatch(r"\d+:\d+-\d+:\d+:[01]\.\d{6}", link) for link in first)
    assert [link.rsplit(":", 1)[0] for link in first] == links[0].split()


def test_decomposed_letters_count_as_they_are_written(folder, tmp_path):
    for name in ("s", "t"):
        (tmp_path / name).write_text("E\u0301tat, ja.\n", encoding="utf-8")
    links = aligned(
        tmp_path, "--model", str(folder / "model"), "--positions", "characters", "--set", "threshold=0.01"
    )
    ends = {int(part) for part in re.findall(r":(\d+)", links[0])}
    assert ends <= {5, 6, 9, 10}


def test_raw_text_is_noticed(folder, capsys):
    assert run(["align", str(folder / "s"), str(folder / "t"), "-o", str(folder / "x")]) == 0
    assert "43 % of the source and 43 % of the target words end in" in (shown := capsys.readouterr().err)
    assert "train with --tokenize simple" in shown
    assert (
        run(["align", str(folder / "s"), str(folder / "t"), "-o", str(folder / "x"), "--tokenize", "simple"])
        == 0
    )
    assert "punctuation" not in capsys.readouterr().err


def test_a_pipe_cannot_be_read_twice(folder, capsys):
    assert run(["align", "-", "--tokenize", "simple", "--positions", "words"]) == 2
    assert "a second time" in capsys.readouterr().err
    with pytest.raises(UsageError, match="tokens, words, characters"):
        Outputs(positions="letters")


def test_scores_and_dictionaries_cut_text_as_the_model_does(folder, capsys):
    model = str(folder / "model")
    aligned(folder, "--model", model, "--scores", str(folder / "scores"))
    first = [float(value) for value in (folder / "scores").read_text().splitlines()[0].split("\t")]
    (score,) = Aligner.load(model, threads=1).score([PAIRS[0]])
    assert score == pytest.approx(first, abs=1e-6)
    text = ["--source", str(folder / "s"), "--target", str(folder / "t")]
    assert run(["dictionary", model, *text, "-q"]) == 0
    rows = [row.split("\t") for row in capsys.readouterr().out.splitlines()[1:]]
    assert {*WORDS.items(), (",", ","), (".", ".")} <= {(row[0], row[1]) for row in rows}
    assert all("." in row[6].split() for row in rows)


def test_a_server_cuts_text_as_the_model_does_and_tells_the_tokens(folder):
    aligner = Aligner.load(str(folder / "model"), threads=1)
    source, target = PAIRS[0]
    (expected,) = aligner.align([PAIRS[0]])

    def answer(**request):
        return json.loads(Answerer(aligner).answer(json.dumps(request).encode()))

    found = answer(source=source, target=target)
    assert found["tokens"] == [list(side) for side in expected.words]
    assert found["links"] == [list(link) for link in expected.links]
    tagged = answer(source=source.replace("Haus", "<b>Haus</b>"), target=target, markup=True)
    assert tagged["markup"] == target.replace("house", "<b>house</b>")
    assert tagged["tokens"] == found["tokens"]
    listed = answer(source=found["tokens"][0], target=found["tokens"][1])
    assert listed == {name: value for name, value in found.items() if name != "tokens"}
    with pytest.raises(Refused, match=r"the pair\.source has half a surrogate pair"):
        answer(source="\ud800", target="x")


def test_gold_links_of_words_are_not_taken_for_those_of_tokens(tmp_path, capsys):
    for name, text in (("s", "Haus, Haus.\n"), ("t", "house, house.\n"), ("gold", "1\t0-0 1-1\n")):
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / name) for name in ("s", "t")]
    more = ["--gold", str(tmp_path / "gold"), "--tokenize", "simple", "-o", str(tmp_path / "links"), "-q"]
    assert run(["align", *files, *more, "--positions", "words"]) == 2
    assert "gold links count the tokens of --tokenize simple" in capsys.readouterr().err
    assert run(["align", *files, *more]) == 0
