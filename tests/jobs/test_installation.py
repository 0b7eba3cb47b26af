"""The measurement behind `dualign bench`, without running it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dualign.jobs.installation import Measured, Own, Synthetic, sizes, write_synthetic
from dualign.jobs.speed import Timed, digest_of, phase_table, thread_counts
from dualign.measure.links import evaluate
from dualign.measure.timing import Usage
from dualign.text.samples import generate

USAGE = Usage(2.0, 3.0, 150_000_000)


def profile(threads: int, whole: float, **phases: float) -> dict[str, object]:
    return {
        "threads": threads,
        "processor_seconds": whole,
        "phases": {name: {"processor_seconds": seconds} for name, seconds in phases.items()},
    }


def timed(threads: int, digest: str = "x") -> Timed:
    profiles = {name: profile(threads, 4.0, cells=1.0, rounds=2.5) for name in ("train", "align")}
    return Timed(threads, Usage(8.0 / threads, 9.0, 10**8), Usage(6.0, 6.5, 10**8), profiles, digest)


def measured(text: Synthetic | Own, **more: object) -> Measured:
    return Measured(
        text, 1000, (15_000, 16_000), 2, USAGE, USAGE, USAGE, 5_000_000, **{"quality": None, **more}
    )


def test_the_text_to_align_follows_the_text_to_train_on(tmp_path):
    *names, gold = write_synthetic(str(tmp_path), Synthetic(3, seed=5))
    lines = [Path(name).read_text(encoding="utf-8").splitlines() for name in names]
    made = list(generate(6, seed=5))
    assert lines[0] + lines[2] == [" ".join(source) for source, _, _ in made]
    assert lines[1] + lines[3] == [" ".join(target) for _, target, _ in made]
    assert list(map(str, gold)) == [str(links) for _, _, links in made[3:]]


def test_sizes_count_pairs_and_words(tmp_path):
    for name, text in (("s", "a b\n\nc\n"), ("t", "x\ny z\nw\n")):
        (tmp_path / name).write_text(text)
    assert sizes(str(tmp_path / "s"), str(tmp_path / "t"), "strict") == (3, 3, 4, 2)


def test_text_has_the_rates_and_says_what_was_measured():
    shown = measured(Synthetic(1000, 7), quality=evaluate(["0-0 1-1"], ["0-0 1-2"])).as_text()
    assert "synthetic, seed 7; 1,000 pairs of 15.0 and 16.0 words; threads: 2" in shown
    assert "| train              |    2.00 |        3.00 |     500 |     150 |" in shown
    assert "AER 50.00, precision 50.00, recall 50.00" in shown
    assert "aer|pairs:1|sure:2|possible:2|links:2|" in shown


def test_without_gold_there_is_no_quality():
    own = measured(Own("text.de", "text.en"))
    assert "text.de" in own.as_text()
    assert "AER" not in own.as_text()
    assert json.loads(own.as_json())["quality"] is None


def test_json_has_every_number():
    content = json.loads(measured(Synthetic(1000, 7)).as_json())
    assert content["train"] == {**USAGE.as_dict(), "pairs_per_second": 500.0}
    assert content["text"] == {"pairs": 1000, "source_words": 15_000, "target_words": 16_000, "seed": 7}
    assert content["model_bytes"] == 5_000_000


@pytest.mark.parametrize(
    ("most", "counts"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (4, [1, 2, 4]), (6, [1, 2, 4, 6])]
)
def test_numbers_of_threads_double_up_to_the_most(most, counts):
    assert thread_counts(most) == counts


def test_speed_up_is_over_one_thread():
    several = measured(Synthetic(1000, 7), runs=(timed(1), timed(2), timed(4)))
    shown = several.as_text()
    assert "| train              |       4 |    2.00 |        9.00 |     4.00 |     500 |     100 |" in shown
    assert "| align, saved model |       2 |    6.00 |        6.50 |     1.00 |     167 |     100 |" in shown
    assert "model and links have the same bytes for every number of threads" in shown
    assert "| train    | CPU s, 1 thread |   % | CPU s, 4 threads |   % |" in shown
    content = json.loads(several.as_json())
    assert [run["threads"] for run in content["by_threads"]] == [1, 2, 4]
    assert [run["train"]["speed_up"] for run in content["by_threads"]] == [1.0, 2.0, 4.0]
    assert content["by_threads"][1]["train"]["pairs_per_second"] == 250.0
    assert content["by_threads"][2]["profiles"] == content["profiles"]
    assert content["same_bytes"] is True


def test_outputs_that_differ_are_not_passed_over():
    several = measured(Synthetic(1000, 7), runs=(timed(1), timed(2, "y")))
    assert "MODEL OR LINKS DIFFER" in several.as_text()
    assert json.loads(several.as_json())["same_bytes"] is False


def test_one_run_has_phases_but_no_comparison():
    shown = measured(Synthetic(1000, 7), runs=(timed(2),))
    assert "speed-up" not in shown.as_text()
    assert "| train    | CPU s, 2 threads |   % |" in shown.as_text()
    assert "by_threads" not in json.loads(shown.as_json())


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
