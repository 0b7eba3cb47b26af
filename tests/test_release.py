"""What must hold of a release: one version everywhere, comparable scores, links that work on the index."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

from dualign.options import Options

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]

DEFAULTS = {
    "0.3.0": {
        "model": "hmm", "ibm1_rounds": 2, "rounds": 3, "constraint": "symmetric",
        "projection": "symmetric", "tokenize": "none", "whitespace": "unicode", "skip_tokens": "",
        "lowercase": True, "max_length": 100, "null": 0.2, "floor": 1e-06, "prune": 0.0003,
        "stem_letters": 4, "stem_weight": 20.0, "form_weight": 3.0, "leave_out": 0.7, "jump_words": 3000,
        "jump_weight": 10.0, "slack": 0.6, "tolerance": 0.1, "evaluations": 5, "mixture": False,
        "decoder": "soft-union", "threshold": 0.0, "style": "lean",
    }
}  # fmt: skip
"""What the default model depends on, by release; signatures of scores name the release (`v:`)."""


absolute = runpy.run_path(str(ROOT / "setup.py"), run_name="read")["absolute"]


def test_every_file_names_the_same_version():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == VERSION
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(r"^## \[(.*?)\]", changes, re.MULTILINE)[1] in (VERSION, "Unreleased")


def test_defaults_of_the_model_change_only_with_the_version():
    now = Options().as_dict()
    changed = {name: now.get(name) for name, value in DEFAULTS[VERSION].items() if now.get(name) != value}
    assert not changed, (
        f"scores under v:{VERSION} could no longer be compared: raise the version in pyproject.toml and "
        "CITATION.cff, and list its defaults here"
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            "[a](docs/a.md#b) [c](https://x/y) [d](#e)",
            "[a](HOME/blob/TAG/docs/a.md#b) [c](https://x/y) [d](#e)",
        ),
        ("![p](docs/p.png)", "![p](RAW/TAG/docs/p.png)"),
        ("[![p](docs/p.png)](docs/a.md)", "[![p](RAW/TAG/docs/p.png)](HOME/blob/TAG/docs/a.md)"),
        ("f(x) and `[0](1)`", "f(x) and `[0](HOME/blob/TAG/1)`"),
    ],
)
def test_links_of_the_long_description_are_absolute(given, expected):
    home = "https://github.com/dualign/dualign"
    expected = expected.replace("HOME", home).replace("TAG", f"v{VERSION}")
    expected = expected.replace("RAW", home.replace("github.com", "raw.githubusercontent.com"))
    assert absolute(given) == expected


def test_the_readme_has_no_relative_link_left():
    text = absolute((ROOT / "README.md").read_text("utf-8"))
    assert re.findall(r"\]\((?!https?://|#)[^)]*\)", text) == []
