"""The commands of fast_align and eflomal: their options are taken, their readers accept what is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.commands.bitexts import LINES, SOURCE, TARGET, write_bitext

from dualign.commands.cli import run
from dualign.text.link_formats import read_links


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tools")
    write_bitext(folder)
    lines = [f"{s} ||| {t}\n" for s, t in zip(SOURCE, TARGET, strict=True)]
    (folder / "text.de-en").write_text("".join(lines), encoding="utf-8")
    return folder


def read(path: Path) -> list[tuple[tuple[int, int], ...]]:
    return [alignment.links for alignment in read_links(str(path), "pharaoh")]


def fast_align(folder: Path, capsys, *options: str) -> str:
    assert run(["fast-align", "-i", str(folder / "text.de-en"), *options]) == 0
    return capsys.readouterr().out


def test_fast_aligns_recommended_commands(folder, capsys):
    forward = fast_align(folder, capsys, "-d", "-o", "-v")
    reverse = fast_align(folder, capsys, "-dov", "-r", "--quiet")
    for links, side in ((forward, 1), (reverse, 0)):
        (folder / "links").write_text(links)
        found = read(folder / "links")
        assert len(found) == LINES
        assert sum(map(len, found)) > LINES
        for pair in found:  # each word of one side has at most one link
            assert len({link[side] for link in pair}) == len(pair)


def test_fast_aligns_other_options_are_taken(folder, capsys):
    plain = fast_align(folder, capsys, "--quiet")
    others = "-I 5 -T 4 -a 0.01 -t -4 -m 1 -b 100 -N --favor_diagonal --optimize_tension --quiet"
    assert fast_align(folder, capsys, *others.split()) == plain
    assert fast_align(folder, capsys, "-q", "0.9", "--quiet") != plain


def test_options_without_effect_are_named_in_one_note(folder, capsys):
    text = str(folder / "text.de-en")
    assert run(["fast-align", "-i", text, "-I", "0", "-T", "4.0", "-m", "9.9", "-q", "0.1"]) == 0
    shown = capsys.readouterr().err
    assert "dualign: note: -I, -T and -m have no effect here\n" in shown
    assert shown.count("no effect") == 1
    command = ["eflomal", "-i", text, "-f", str(folder / "ignored"), "--overwrite"]
    assert run([*command, "-M", "2", "--debug"]) == 0
    assert capsys.readouterr().err == "dualign: note: -M and --debug have no effect here\n"
    assert run([*command, "--n-samplers", "2"]) == 0
    assert capsys.readouterr().err == "dualign: note: --n-samplers has no effect here\n"
    assert run([*command, "--debug", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_fast_align_proposes_for_two_files_what_takes_two(folder, capsys):
    assert run(["fast-align", "-i", str(folder / "text.de")]) == 1
    shown = capsys.readouterr().err
    assert "no separator; write `source ||| target`" in shown
    assert "for two files there is `dualign align SOURCE TARGET`" in shown
    assert "or name two files" not in shown


def test_a_model_is_saved_and_forced(folder, capsys):
    model = str(folder / "parameters")
    forward = fast_align(folder, capsys, "-d", "-p", model, "--quiet")
    assert fast_align(folder, capsys, "-d", "-f", model, "--quiet") == forward
    assert run(["fast-align", "-i", "x", "-p", model, "-f", model]) == 2


def test_eflomals_example_commands(folder, capsys):
    files = {name: str(folder / name) for name in ("text.de", "text.en", "text.de-en", "f", "r", "f2", "r2")}
    two = ["-s", files["text.de"], "-t", files["text.en"]]
    assert run(["eflomal", *two, "--model", "3", "-f", files["f"], "-r", files["r"]]) == 0
    assert capsys.readouterr().err == ""
    assert run(["eflomal", "-i", files["text.de-en"], "-f", files["f2"], "-r", files["r2"], "-v"]) == 0
    assert (folder / "f").read_bytes() == (folder / "f2").read_bytes()
    assert (folder / "r").read_bytes() == (folder / "r2").read_bytes()
    assert (folder / "f").read_text() == fast_align(folder, capsys, "--quiet")
    assert run(["eflomal", *two, "-f", files["f"]]) == 1  # as eflomal does
    assert "already exists; remove it, or use --overwrite" in capsys.readouterr().err
    others = "-l 2 -1 5 -2 5 -3 5 --n-samplers 3 --source-prefix 4 --target-suffix 3 --null-prior 0.2"
    assert run(["eflomal", *two, "-f", files["f"], "--overwrite", *others.split()]) == 0
    assert (folder / "f").read_bytes() == (folder / "f2").read_bytes()


def test_eflomal_reads_the_links(folder):
    package = pytest.importorskip("eflomal")
    assert (
        run(["eflomal", "-i", str(folder / "text.de-en"), "-f", str(folder / "e"), "-r", str(folder / "d")])
        == 0
    )
    with open(folder / "e", encoding="utf-8") as forward, open(folder / "d", encoding="utf-8") as reverse:
        priors = package.calculate_priors(SOURCE, TARGET, forward, reverse)
    assert priors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "name either -s and -t, or -i"),
        (["-s", "x"], "name either -s and -t, or -i"),
        (["-i", "x", "-s", "y", "-t", "z", "-f", "f"], "name either -s and -t, or -i"),
        (["-i", "x"], "nothing to write"),
    ],
)
def test_what_eflomal_needs_is_said(options, message, capsys):
    assert run(["eflomal", *options]) == 2
    assert message in capsys.readouterr().err


def test_words_are_separated_by_ascii_white_space(tmp_path, capsys):
    (tmp_path / "t").write_text("10\u00a0km weit ||| 10 km far\n" * 5, encoding="utf-8")
    assert run(["fast-align", "-i", str(tmp_path / "t"), "--quiet"]) == 0
    assert max(i for line in capsys.readouterr().out.splitlines() for i, _ in read_line(line)) <= 1


def read_line(line: str) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in (link.split("-") for link in line.split())]


def test_bars_in_two_files_are_words(tmp_path, capsys):
    for name in "st":
        (tmp_path / name).write_text("a ||| b\n" * 4)
    assert run(["align", str(tmp_path / "s"), str(tmp_path / "t"), "-q"]) == 0
    assert capsys.readouterr().out == "0-0 1-1 2-2\n" * 4


def test_scores_are_those_of_align(folder, capsys):
    files = {name: str(folder / name) for name in ("text.de-en", "sf", "sr", "sF", "sR", "scores", "x")}
    two = ["-F", files["sF"], "-R", files["sR"]]
    assert run(["eflomal", "-i", files["text.de-en"], *two]) == 0
    assert run(["align", files["text.de-en"], "--scores", files["scores"], "-o", files["x"], "-q"]) == 0
    rows = [line.split("\t") for line in Path(files["scores"]).read_text().splitlines()]
    for column, name in enumerate(("sF", "sR")):
        costs = [float(line) for line in Path(files[name]).read_text().splitlines()]
        assert costs == pytest.approx([-float(row[column]) for row in rows], rel=1e-4, abs=1e-4)
    scored = fast_align(folder, capsys, "-s", "--quiet").splitlines()
    links = fast_align(folder, capsys, "--quiet").splitlines()
    assert [line.split(" ||| ")[0] for line in scored] == links
    assert float(scored[0].split(" ||| ")[1]) == pytest.approx(
        float(rows[0][0]) * len(TARGET[0].split()), rel=1e-4
    )


def test_priors_count(folder, tmp_path):
    (tmp_path / "priors").write_text("LEX\tMarkt\tbegins\t1000\n", encoding="utf-8")
    text = ["-i", str(folder / "text.de-en")]
    assert run(["eflomal", *text, "-f", str(tmp_path / "a")]) == 0
    assert run(["eflomal", *text, "-f", str(tmp_path / "b"), "-p", str(tmp_path / "priors")]) == 0
    assert (tmp_path / "a").read_text() != (tmp_path / "b").read_text()
