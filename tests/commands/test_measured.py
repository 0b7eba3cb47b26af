"""The measurement behind `dualign bench`, without running it."""

from __future__ import annotations

import json
from pathlib import Path

from dualign.commands.bench import Measured, sizes, write_synthetic
from dualign.measure.links import evaluate
from dualign.measure.timing import Usage
from dualign.text.samples import generate

USAGE = Usage(2.0, 3.0, 150_000_000)


def measured(name: str = "synthetic, seed 7", seed: int | None = 7, **more: object) -> Measured:
    content: dict[str, object] = {"profiles": {}, "model_bytes": 5_000_000, "quality": None}
    return Measured(name, seed, 1000, (15_000, 16_000), 2, USAGE, USAGE, USAGE, **content | more)


def test_the_text_to_align_follows_the_text_to_train_on(tmp_path):
    *names, gold = write_synthetic(str(tmp_path), 3, 5)
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
    shown = measured(quality=evaluate(["0-0 1-1"], ["0-0 1-2"])).as_text()
    assert "synthetic, seed 7; 1,000 pairs of 15.0 and 16.0 words; threads: 2" in shown
    assert "| train              |    2.00 |        3.00 |     500 |     150 |" in shown
    assert "AER 50.00, precision 50.00, recall 50.00" in shown
    assert "aer|pairs:1|sure:2|possible:2|links:2|" in shown


def test_without_gold_there_is_no_quality():
    own = measured("text.de", None)
    assert "text.de" in own.as_text()
    assert "AER" not in own.as_text()
    assert json.loads(own.as_json())["quality"] is None


def test_json_has_every_number():
    content = json.loads(measured().as_json())
    assert content["train"] == {**USAGE.as_dict(), "pairs_per_second": 500.0}
    assert content["text"] == {"pairs": 1000, "source_words": 15_000, "target_words": 16_000, "seed": 7}
    assert content["model_bytes"] == 5_000_000
