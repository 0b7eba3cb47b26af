from __future__ import annotations

import io
import os
import re
import sys

import pytest
from tests.commands.command import write

from dualign.commands import symmetrize as verb
from dualign.commands.cli import run
from dualign.decode.symmetrize import METHODS, symmetrize

FORWARD = ["0-0 1-1 2-1", "", "0-0", "0-1 1-0", "3-3 2-2"]
BACKWARD = ["0-0 2-2", "1-1", "", "0-1 1-1", "3-3 2-3"]


@pytest.fixture
def files(tmp_path):
    return [
        write(tmp_path / name, "".join(f"{line}\n" for line in lines))
        for name, lines in (("forward", FORWARD), ("backward", BACKWARD))
    ]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("chunk", [1, 2, 5, 100])
def test_equals_the_library_for_any_chunk(files, method, chunk, monkeypatch, capsysbinary):
    monkeypatch.setattr(verb, "CHUNK", chunk)
    assert run(["symmetrize", *files, "--method", method]) == 0
    expected = "".join(f"{alignment}\n" for alignment in symmetrize(FORWARD, BACKWARD, method))
    assert capsysbinary.readouterr() == (expected.encode(), b"")


def test_method_unless_told(files, capsysbinary):
    assert run(["symmetrize", *files]) == 0
    expected = [str(alignment) for alignment in symmetrize(FORWARD, BACKWARD, "grow-diag-final-and")]
    assert capsysbinary.readouterr().out.decode().splitlines() == expected


def test_help_names_every_method(capsys):
    run(["symmetrize", "--help"])
    shown = re.sub(r"-\n +", "-", capsys.readouterr().out)  # wrapped at a hyphen
    words = shown.replace(",", " ").replace(".", " ").split()
    assert set(METHODS) <= set(words)


def test_output_file(files, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(["symmetrize", *files, "--method", "union", "-o", str(out), "--quiet"]) == 0
    assert out.read_text().splitlines()[:3] == ["0-0 1-1 2-1 2-2", "1-1", "0-0"]
    assert capsys.readouterr() == ("", "")


def test_one_direction_from_standard_input(files, monkeypatch, capsysbinary):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(FORWARD).encode())))
    assert run(["symmetrize", "-", files[1], "--method", "forward"]) == 0
    assert capsysbinary.readouterr().out.splitlines()[0] == b"0-0 1-1 2-1"


def test_format_holds_for_both_files(tmp_path, capsysbinary):
    there, back = write(tmp_path / "there", "1-1\n"), write(tmp_path / "back", "1-1 2-2\n")
    assert run(["symmetrize", there, back, "--format", "talp", "--method", "union"]) == 0
    assert capsysbinary.readouterr().out == b"0-0 1-1\n"


def test_number_of_pairs_fills_up_naacl_files(tmp_path, capsysbinary):
    there, back = write(tmp_path / "there.wa", "1 1 1\n"), write(tmp_path / "back.wa", "2 1 1\n")
    assert run(["symmetrize", there, back, "--pairs", "3", "--method", "union"]) == 0
    assert capsysbinary.readouterr().out == b"0-0\n0-0\n\n"


@pytest.mark.parametrize(("forward", "backward"), [(3, 5), (5, 3), (0, 2), (2, 0), (4, 5)])
@pytest.mark.parametrize("chunk", [2, 100])
def test_different_lengths_name_both_counts_and_leave_no_output(
    tmp_path, forward, backward, chunk, monkeypatch, capsys
):
    monkeypatch.setattr(verb, "CHUNK", chunk)
    there, back = write(tmp_path / "there", "0-0\n" * forward), write(tmp_path / "back", "0-0\n" * backward)
    assert run(["symmetrize", there, back, "-o", str(tmp_path / "out")]) == 1
    shown = capsys.readouterr().err
    assert f"{there} has {forward} sentence pairs but {back} has {backward};" in shown
    assert sorted(os.listdir(tmp_path)) == ["back", "there"]


@pytest.mark.parametrize("lines", ["0-0\n", ""])
def test_unknown_method_is_wrong_usage(tmp_path, lines, capsys):
    links = write(tmp_path / "links", lines)
    assert run(["symmetrize", links, links, "--method", "grow"]) == 2
    assert "--method grow is not one of intersection" in capsys.readouterr().err


def test_malformed_link_names_file_and_line(files, tmp_path, capsys):
    bad = write(tmp_path / "bad", "0-0\n\n1:1\n")
    assert run(["symmetrize", files[0], bad, "--format", "pharaoh"]) == 1
    assert f"{bad}:3: `1:1` is not a link" in capsys.readouterr().err


def test_pair_that_is_too_large_is_found_in_its_chunk(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(verb, "CHUNK", 2)
    diagonal = " ".join(f"{i}-{i}" for i in range(20_000))
    links = write(tmp_path / "links", f"0-0\n0-0\n0-0\n{diagonal}\n")
    assert run(["symmetrize", links, links, "-o", str(tmp_path / "out")]) == 1
    shown = capsys.readouterr().err
    assert "where [0] is line 3: " in shown
    assert "forward[1]" in shown


def giza(*blocks: tuple[str, str]) -> str:
    """A GIZA file of (second line, third line without its null word)."""
    return "".join(
        f"# Sentence pair ({n}) source length {words.count('({')} target length {len(target.split())} "
        f"alignment score : 0.1\n{target}\nNULL ({{ }}) {words}\n"
        for n, (target, words) in enumerate(blocks, 1)
    )


def test_giza_files_are_turned_by_their_words(tmp_path, capsys):
    there = [("the house", "das ({ 1 }) Haus ({ 2 })"), ("x the", "das ({ 2 })")]
    back = [("das Haus", "the ({ 1 }) house ({ 2 })"), ("das", "x ({ }) the ({ 1 })")]
    (tmp_path / "fe.A3.final").write_text(giza(*there))
    (tmp_path / "ef.A3.final").write_text(giza(*back))
    forward, backward = str(tmp_path / "fe.A3.final"), str(tmp_path / "ef.A3.final")
    assert run(["symmetrize", forward, backward, "--method", "intersect"]) == 0
    assert capsys.readouterr().out == "0-0 1-1\n0-1\n"
    assert run(["symmetrize", backward, forward, "--method", "intersect"]) == 0
    assert capsys.readouterr().out == "0-0 1-1\n1-0\n"
    assert run(["symmetrize", forward, forward]) == 1
    assert "of the same direction" in capsys.readouterr().err
    (tmp_path / "ef.A3.final").write_text(giza(("das Buch", "the ({ 1 }) house ({ 2 })"), back[1]))
    assert run(["symmetrize", forward, backward]) == 1
    assert "the words of sentence pair 1 differ" in capsys.readouterr().err


def test_links_written_target_first_are_suspected_and_swapped(tmp_path, capsys):
    (tmp_path / "f").write_text("0-1 1-2 2-3 3-0\n" * 10)
    (tmp_path / "b").write_text("1-0 2-1 3-2 0-3\n" * 10)
    files = [str(tmp_path / "f"), str(tmp_path / "b")]
    assert run(["symmetrize", *files]) == 0
    assert "share 0 links, but 40 if one of them is written target word first; if so, set --swap" in (
        capsys.readouterr().err
    )
    assert run(["symmetrize", *files, "--swap", "--method", "gdfa"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "0-1 1-2 2-3 3-0\n" * 10
    assert shown.err == ""
