from __future__ import annotations

import json

import pytest
from tests.commands.bitexts import write_bitext
from tests.show import samples

from dualign.commands.cli import run


@pytest.fixture
def text(tmp_path):
    return samples.write(tmp_path / "s", samples.SOURCE), samples.write(tmp_path / "t", samples.TARGET)


def test_page_about_links_of_any_origin(text, tmp_path, capsys):
    scored = samples.write(tmp_path / "p", samples.ONE)
    report = samples.write(tmp_path / "r", [json.dumps(record) for record in samples.RECORDS])
    assert run(["summarize", *text, "--probabilities", scored, "--report", report]) == 0
    page = capsys.readouterr().out
    assert "Corpus: 8 sentence pairs" in page
    assert "7 of 8 (87.5 %)" in page
    assert "Mean probability of a link" in page
    assert samples.SCRIPT not in page
    assert (
        run(["summarize", *text, "-l", samples.write(tmp_path / "l", samples.TWO), "--probabilities", scored])
        == 0
    )
    assert "Mean probability of a link" in capsys.readouterr().out


def test_one_system_at_a_time(text, tmp_path, capsys):
    assert run(["summarize", *text]) == 2
    links = samples.write(tmp_path / "l", samples.TWO)
    assert run(["summarize", *text, "-l", links, "-l", links]) == 2
    assert "about one system" in capsys.readouterr().err


@pytest.mark.kernel
def test_align_writes_the_page_of_its_run(tmp_path, capsys):
    text = write_bitext(tmp_path)
    page, links = tmp_path / "run.html", tmp_path / "links"
    assert run(["align", *text, "-o", str(links), "--html-report", str(page), "-q"]) == 0
    shown = page.read_text(encoding="utf-8")
    for part in (
        "Corpus: 120 sentence pairs",
        "HMM 3",
        "bits per word",
        "120 of 120",
        "Least certain pairs",
        "soft-union",
    ):
        assert part in shown
    plain = links.read_bytes()
    assert run(["align", *text, "-o", str(links), "-q"]) == 0
    assert links.read_bytes() == plain


def test_align_needs_files_for_the_page(tmp_path, capsys):
    assert run(["align", "-", "--html-report", str(tmp_path / "x")]) == 2
    assert "--html-report reads the text a second time" in capsys.readouterr().err
