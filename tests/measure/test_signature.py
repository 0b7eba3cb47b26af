from __future__ import annotations

from importlib.metadata import version

from dualign.measure.bootstrap import confidence_interval
from dualign.measure.links import evaluate
from dualign.measure.signature import signature

LINKS, GOLD = ["0-0 1-1", "0-1", ""], ["0-0 1?2", "0-1 1-1", "0-0"]


def test_counts_and_version():
    assert signature(evaluate(LINKS, GOLD)) == f"aer|pairs:3|sure:4|possible:5|links:3|v:{version('dualign')}"


def test_resampling_is_named_with_its_seed():
    interval = confidence_interval(LINKS, GOLD, samples=200, level=0.9, seed=7)
    line = signature(evaluate(LINKS, GOLD), interval)
    assert line.endswith(f"|links:3|boot:200|level:0.9|seed:7|v:{version('dualign')}")
