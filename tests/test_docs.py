"""The Python examples of the documentation run and print what the page says; some commands run, too."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from shutil import copy

import pytest

from dualign import Aligner
from dualign.text.samples import sample

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
"""A block of Python, and a block of output if one follows directly."""

PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if BLOCK.search(page.read_text("utf-8"))
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the examples run: with the sample, and a model of it."""
    place = tmp_path_factory.mktemp("docs")
    for path in (ROOT / "src" / "dualign" / "text" / "sample").iterdir():
        copy(path, place)
    for side in ("de", "en"):
        copy(place / f"sample.{side}", place / f"text.{side}")
    source, target, _ = sample()
    Aligner().fit((source, target)).save(place / "sample.model")
    return place


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_examples_print_what_the_page_says(page, folder, monkeypatch):
    monkeypatch.chdir(folder)
    names: dict[str, object] = {"__name__": page.stem}
    for number, (code, output) in enumerate(BLOCK.findall(page.read_text("utf-8"))):
        place = f"{page.name}, block {number + 1}"
        printed = StringIO()
        if code.startswith(">>> "):
            parsed = doctest.DocTestParser().get_doctest(code.replace("…", "..."), {}, place, None, None)
            parsed.globs = names
            runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
            assert runner.run(parsed, out=printed.write, clear_globs=False).failed == 0, printed.getvalue()
        else:
            with redirect_stdout(printed):
                exec(compile(code, place, "exec"), names)
            assert not output or printed.getvalue() == output, place


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "shown"),
    [("large", False), ("pipelines", True), ("raw", True), ("coming", True), ("recipes", True)],
)
def test_the_commands_of_guides_run(name, shown, folder, tmp_path):
    """One after the other; if not `shown`, the lines without `$` show what other texts give."""
    for path in [*folder.glob("sample.??"), *folder.glob("sample.gold")]:
        copy(path, tmp_path)
    for command, words in (("dualign", "-m dualign"), ("python", "")):
        program = tmp_path / "bin" / command
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        program.chmod(0o755)
    page = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    commands = re.findall(r"^\$ (.*)\n((?:(?!\$ |```).*\n)*)", page, re.MULTILINE)
    assert len(commands) > 2
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    for command, output in commands:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        if shown:
            pattern = re.escape(output).replace("…", "(?s:.*)")
            assert re.fullmatch(pattern, done.stdout), f"{command}\n{done.stdout}"


def test_links_between_pages_lead_somewhere():
    files = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")]
    for page in files:
        for name, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", page.read_text("utf-8")):
            there = (page.parent / name).resolve() if name else page
            assert there.exists(), f"{page.name}: {name}"
            if anchor:
                heads = re.findall(r"^#+ (.*)", there.read_text("utf-8"), re.MULTILINE)
                assert anchor in {head.lower().replace(" ", "-") for head in heads}, f"{page.name}: #{anchor}"
