"""The benchmarks can be started; what they measure is for people to look at."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

NAMES = sorted(
    path.stem
    for path in (Path(__file__).parents[1] / "benchmarks").glob("*.py")
    if "__main__" in path.read_text("utf-8")
)


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_explains_its_options(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as end:
        import_module(f"benchmarks.{name}").main()
    assert end.value.code == 0
    assert "usage:" in capsys.readouterr().out
