"""The benchmarks can be started; what they measure is for people to look at."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest
from benchmarks.by_threads import Run, digest_of, phase_table, table_by_threads

from dualign.measure.timing import Usage

NAMES = sorted(
    path.stem
    for path in (Path(__file__).parents[1] / "benchmarks").glob("*.py")
    if 'if __name__ == "__main__"' in path.read_text("utf-8")
)


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_explains_its_options(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as end:
        import_module(f"benchmarks.{name}").main()
    assert end.value.code == 0
    assert "usage:" in capsys.readouterr().out


def profile(threads: int, whole: float, **phases: float) -> dict[str, object]:
    return {
        "threads": threads,
        "processor_seconds": whole,
        "phases": {name: {"processor_seconds": seconds} for name, seconds in phases.items()},
    }


def timed(threads: int, digest: str = "x") -> Run:
    profiles = {name: profile(threads, 4.0, cells=1.0, rounds=2.5) for name in ("train", "align")}
    return Run(threads, Usage(8.0 / threads, 9.0, 10**8), Usage(6.0, 6.5, 10**8), profiles, digest)


def test_speed_up_is_over_one_thread():
    shown = table_by_threads((timed(1), timed(2), timed(4)), 1000)
    assert "| train              |       4 |    2.00 |        9.00 |     4.00 |     500 |     100 |" in shown
    assert "| align, saved model |       2 |    6.00 |        6.50 |     1.00 |     167 |     100 |" in shown


def test_phases_are_sorted_and_add_up():
    table = phase_table("train", [profile(1, 4.0, a=1.0, b=2.0, tiny=0.01), profile(2, 5.0, b=2.5, c=0.5)])
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    assert rows[0] == ["train", "CPU s, 1 thread", "%", "CPU s, 2 threads", "%"]
    assert rows[2:] == [
        ["b", "2.00", "50", "2.50", "50"],
        ["a", "1.00", "25", "0.00", "0"],
        ["c", "0.00", "0", "0.50", "10"],
        ["the rest", "1.00", "25", "2.00", "40"],
        ["all", "4.00", "100", "5.00", "100"],
    ]


def test_a_job_too_short_for_the_clock_has_a_table_too():
    assert "| the rest | " in phase_table("train", [profile(1, 0.0)])


def test_the_digest_is_of_the_bytes_and_of_which_file_has_them(tmp_path):
    texts = {"a": b"1", "b": b"2", "c": b"12", "d": b"", "e": b"1"}
    for name, content in texts.items():
        (tmp_path / name).write_bytes(content)
    paths = {name: str(tmp_path / name) for name in texts}
    assert digest_of(paths["a"], paths["b"]) != digest_of(paths["c"], paths["d"])
    assert digest_of(paths["a"], paths["b"]) == digest_of(paths["e"], paths["b"])
