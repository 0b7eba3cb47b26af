"""Everything that the documentation shows runs, in an empty folder, and prints what the page says."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import pytest

import dualign
from dualign.commands import commands
from dualign.commands.cli import program, run

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$(?:\n\n```\n((?!\$ ).*?)^```$)?", re.MULTILINE | re.DOTALL)
"""A block, with its language if it has one, and a block without `$` if one follows directly: its output."""

COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
"""A command, which may go on after a backslash, and the output below it."""

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUNNING = [
    page
    for page in PAGES
    if any(
        kind == "python" or body.startswith("$ ") for kind, body, _ in BLOCK.findall(page.read_text("utf-8"))
    )
]
ROOMS = ("decode", "infer", "jobs", "learn", "measure", "phrase", "show", "text", "transfer", "translate")


def titled(page: Path) -> str:
    return page.relative_to(ROOT).with_suffix("").as_posix()


@pytest.fixture(scope="module")
def shell(tmp_path_factory) -> Callable[[str], None]:
    """Runs a command in the current folder by `sh`, where `dualign` and `python` are those under test."""
    programs = tmp_path_factory.mktemp("bin")
    for command, words in (("dualign", "-m dualign"), ("python", "")):
        program = programs / command
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        program.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"

    def call(command: str) -> None:
        # Inherited descriptors: a command that is run within this process is captured in the same way.
        code = subprocess.run(["sh", "-c", command], env={**os.environ, "PATH": path}).returncode
        assert code == 0, command

    return call


@pytest.mark.parametrize("page", RUNNING, ids=map(titled, RUNNING))
def test_a_page_does_what_it_says(page, shell, tmp_path, monkeypatch, capfd):
    """Blocks run one after the other. `…` in an output stands for anything."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    for number, (language, body, output) in enumerate(BLOCK.findall(page.read_text("utf-8")), 1):
        place = f"{titled(page)}, block {number}"
        if language == "python" and body.startswith(">>> "):
            check_session(body, names, place)
        elif language == "python":
            printed = StringIO()
            with redirect_stdout(printed):
                exec(compile(body, place, "exec"), names)
            assert not output or printed.getvalue() == output, place
        elif not language and body.startswith("$ "):
            for command, shown in COMMAND.findall(body):
                check_command(command, shown, shell, capfd)


def check_session(body: str, names: dict[str, object], place: str) -> None:
    parsed = doctest.DocTestParser().get_doctest(body.replace("…", "..."), {}, place, None, None)
    parsed.globs = names
    printed = StringIO()
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    assert runner.run(parsed, out=printed.write, clear_globs=False).failed == 0, printed.getvalue()


def check_command(
    command: str, shown: str, shell: Callable[[str], None], capfd: pytest.CaptureFixture
) -> None:
    """Notes and progress, on standard error, count only where the page shows some."""
    capfd.readouterr()
    words = shlex.split(command.replace("\\\n", " "), comments=True)
    if words[0] == "dualign" and not re.search(r"[|<>;&*$(]", command):
        assert run(words[1:]) == 0, f"{command}\n{capfd.readouterr().err}"
    else:
        shell(command)
    out, err = capfd.readouterr()
    pattern = re.escape(shown.strip("\n")).replace("…", "(?s:.*)")
    found = out
    if "dualign: " in shown:  # perhaps after notes that kernels are compiled
        found, pattern = err + out, f"(?s:.*\\n)?{pattern}"
    assert re.fullmatch(pattern, found.strip("\n")), f"{command}\n{err}{found}"


def test_links_between_pages_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]:
        for name, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", page.read_text("utf-8")):
            there = (page.parent / name).resolve() if name else page
            assert there.exists(), f"{page.name}: {name}"
            if anchor:
                heads = re.findall(r"^#+ (.*)", there.read_text("utf-8"), re.MULTILINE)
                assert anchor in {head.lower().replace(" ", "-") for head in heads}, f"{page.name}: #{anchor}"


def test_the_contents_name_every_page():
    contents = (ROOT / "docs" / "README.md").read_text("utf-8")
    for page in (ROOT / "docs").rglob("*.*"):
        if page.suffix in (".md", ".ipynb") and page.name != "README.md":
            assert f"({page.relative_to(ROOT / 'docs').as_posix()})" in contents, page.name


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_every_public_name_has_an_example(room):
    package = import_module(f"dualign.{room}") if room else dualign
    page = (ROOT / "docs" / "api" / f"{room or 'dualign'}.md").read_text("utf-8")
    examples = "\n".join(body for language, body, _ in BLOCK.findall(page) if language == "python")
    described = re.findall(r"^## `?(\w+)", page, re.MULTILINE)
    assert sorted(described) == sorted(package.__all__)
    missing = [name for name in package.__all__ if not re.search(rf"\b{name}\b", examples)]
    assert not missing


def test_there_is_a_page_for_every_room():
    assert set(ROOMS) == {
        name for name in dualign.__all__ if not callable(getattr(dualign, name)) and name != "__version__"
    }


NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.fixture
def site(monkeypatch) -> Callable[[str], object]:
    """Imports a module of docs/."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return import_module


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_shows_what_its_cells_give(path, site, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stored = json.loads(path.read_text("utf-8"))
    for fresh, cell in zip(site("run_notebooks").executed(stored)["cells"], stored["cells"], strict=True):
        assert fresh == cell


def test_the_site_has_every_command_with_its_options(site):
    page = site("site_pages").commands_page()
    sections = dict(re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", page, re.MULTILINE))
    assert set(sections) == {" ".join(words) for words in commands()}
    for words in (("align",), ("phrases", "extract")):
        shown = click_command(words)
        for parameter in shown.params:
            assert all(flag in sections[" ".join(words)] for flag in parameter.opts if flag.startswith("-"))


def click_command(words):
    command = program()
    context = command.make_context("dualign", [], resilient_parsing=True)
    for word in words:
        command = command.get_command(context, word)
        context = command.make_context(word, [], parent=context, resilient_parsing=True)
    return command


def test_the_site_has_signature_and_docstring_of_every_name(site):
    page = site("site_pages").api_page((ROOT / "docs" / "api" / "dualign.md").read_text("utf-8"))
    assert "{py:class} dualign.Aligner(" in page
    assert "{py:method} fit(bitext, target=None" in page
    assert "{py:function} dualign.evaluate(links, gold)" in page
    assert "Och & Ney 2003" in page


@pytest.mark.slow
@pytest.mark.skipif(
    not all(find_spec(name) for name in ("sphinx", "myst_parser", "furo")), reason="pip install -e '.[docs]'"
)
def test_the_site_is_built_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-c", "docs", "-W", "-q", ".", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "index.html").exists()
