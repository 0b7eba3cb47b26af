from __future__ import annotations

import gzip
import io
import os
import sys

import pytest
from tests.commands.command import write

from dualign.commands.cli import run


def test_formats_by_option(tmp_path):
    links = write(tmp_path / "links", "0-0 1?2\n\n")
    out = tmp_path / "out"
    assert run(["convert", links, str(out), "--from", "pharaoh", "--to", "talp"]) == 0
    assert out.read_text() == "1-1 2p3\n\n"


def test_formats_by_name(tmp_path):
    links = write(tmp_path / "links.talp", "1-1 2p3\n")
    out = tmp_path / "out.naacl"
    assert run(["convert", links, str(out)]) == 0
    assert out.read_text() == "1 1 1 S\n1 2 3 P\n"


def test_format_before_a_compression_suffix(tmp_path):
    links = write(tmp_path / "links", "0-0\n")
    out = tmp_path / "out.talp.gz"
    assert run(["convert", links, str(out)]) == 0
    assert gzip.decompress(out.read_bytes()) == b"1-1\n"


def test_option_wins_over_the_name(tmp_path):
    links = write(tmp_path / "links", "0-0\n")
    out = tmp_path / "out.talp"
    assert run(["convert", links, str(out), "--to", "pharaoh"]) == 0
    assert out.read_text() == "0-0\n"


@pytest.mark.parametrize("name", ["out", "out.wa", "out.gz", "talp", "-"])
def test_name_that_says_no_format_needs_the_option(tmp_path, name, capsys):
    links = write(tmp_path / "links", "0-0\n")
    out = name if name == "-" else str(tmp_path / name)
    assert run(["convert", links, out]) == 2
    assert "--to" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["links"]


def test_standard_streams(monkeypatch, capsysbinary):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1-1\n")))
    assert run(["convert", "-", "-", "--from", "talp", "--to", "pharaoh"]) == 0
    assert capsysbinary.readouterr() == (b"0-0\n", b"")


def test_file_may_be_rewritten_in_place(tmp_path):
    links = write(tmp_path / "links", "0-0 1-1\n" * 1000)
    assert run(["convert", links, links, "--to", "talp"]) == 0
    assert (tmp_path / "links").read_text() == "1-1 2-2\n" * 1000


def test_number_of_pairs_brings_back_those_without_links(tmp_path):
    links = write(tmp_path / "gold.wa", "2 1 1\n")
    out = tmp_path / "out"
    assert run(["convert", links, str(out), "--to", "pharaoh", "--pairs", "4"]) == 0
    assert out.read_text() == "\n0-0\n\n\n"


@pytest.mark.parametrize(("last", "said"), [("\n", "the last pair has"), ("\n\n", "the last 2 pairs have")])
def test_pairs_at_the_end_that_naacl_cannot_mention_are_noted(tmp_path, capsys, last, said):
    links = write(tmp_path / "links", "\n0-0\n" + last)
    assert run(["convert", links, str(tmp_path / "out"), "--to", "naacl"]) == 0
    noted = capsys.readouterr().err
    assert f"note: {said} no links, so the NAACL file does not mention" in noted
    assert f"--pairs {2 + len(last)}" in noted
    assert run(["convert", links, str(tmp_path / "out"), "--to", "talp"]) == 0
    assert run(["convert", write(tmp_path / "more", "\n0-0\n"), str(tmp_path / "out"), "--to", "naacl"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("format", ["naacl", "talp"])
def test_what_is_written_can_be_read_again_or_is_refused(tmp_path, format, capsys):
    out, back = str(tmp_path / "out"), tmp_path / "back"
    assert run(["convert", write(tmp_path / "links", "999999998-0\n"), out, "--to", format]) == 0
    assert run(["convert", out, str(back), "--from", format, "--to", "pharaoh"]) == 0
    assert back.read_text() == "999999998-0\n"
    assert run(["convert", write(tmp_path / "more", "0-0\n999999999-0\n"), out, "--to", format]) == 1
    said = f"pair 2: link 999999999-0 cannot be written as {format}, whose numbers have up to nine digits"
    assert said in capsys.readouterr().err


def test_malformed_link_names_file_and_line_and_leaves_no_output(tmp_path, capsys):
    links = write(tmp_path / "links", "0-0\n0-x\n")
    assert run(["convert", links, str(tmp_path / "out"), "--to", "talp"]) == 1
    assert f"{links}:2: `0-x` is not a link" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["links"]


@pytest.mark.parametrize("option", ["--from", "--to"])
def test_unknown_format_is_wrong_usage(tmp_path, option, capsys):
    links = write(tmp_path / "links", "0-0\n")
    assert run(["convert", links, str(tmp_path / "out.talp"), option, "moses"]) == 2
    assert "unknown link format `moses`" in capsys.readouterr().err


def test_giza_cannot_be_written(tmp_path, capsys):
    links = write(tmp_path / "links", "0-0\n")
    assert run(["convert", links, str(tmp_path / "out.giza")]) == 2
    assert "GIZA" in capsys.readouterr().err


def test_output_in_a_directory_that_does_not_exist(tmp_path, capsys):
    links = write(tmp_path / "links", "0-0\n")
    assert run(["convert", links, str(tmp_path / "none" / "out.talp")]) == 1
    assert "there is no folder" in capsys.readouterr().err


def test_bytes_that_are_not_utf8(tmp_path, capsys):
    (tmp_path / "links").write_bytes(b"0-0\n\xff\n")
    arguments = ["convert", str(tmp_path / "links"), "-", "--to", "talp"]
    assert run(arguments) == 1
    assert "--errors replace" in capsys.readouterr().err
    # Replaced they are text, though still no link.
    assert run([*arguments, "--errors", "replace"]) == 1
    assert "is not a link" in capsys.readouterr().err
