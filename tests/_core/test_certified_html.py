"""What notebooks show of certified answers, aligners and scores."""

from __future__ import annotations

import pytest

from dualign import Aligner, Certified, decode
from dualign._core.certified import html_table, html_text
from dualign.measure import compare, confidence_interval, evaluate
from dualign.text import sample


def test_what_is_shown_is_never_markup():
    assert html_table([("<b>", "a & b")], ("&", "<")).count("<b>") == 0
    assert html_text("<script>") == "<pre>&lt;script&gt;</pre>"
    assert "&lt;img&gt;" in Certified("<img>", 1.0, 1.0, True, "exact")._repr_html_()


def test_a_gap_is_not_called_proved():
    assert "proved optimal" in Certified((), 1.0, 1.0, True, "exact")._repr_html_()
    open_gap = Certified((), 1.0, 2.5, False, "greedy")._repr_html_()
    assert "proved optimal" not in open_gap
    assert ">1.5<" in open_gap


@pytest.mark.parametrize(
    ("trace", "lines"),
    [
        ((), 0),
        (((3.0, 1.0),), 0),
        (((3.0, 1.0), (2.0, 1.5)), 2),
        (((3.0, float("-inf")), (3.0, 1.0), (2.0, 1.5)), 2),
        ((("first", 3.0, 1.0, 0.1), ("second", 1.0, 1.0, 0.2)), 2),
    ],
)
def test_a_trace_of_several_rounds_is_drawn(trace, lines):
    assert Certified((), 1.0, 2.0, False, "relax", trace=trace)._repr_html_().count("<polyline") == lines


def test_a_long_solution_is_cut():
    assert len(Certified(list(range(10_000)), 1.0, 1.0, True, "exact")._repr_html_()) < 2000


def test_aligners_and_scores_display_themselves():
    german, english, gold = sample()
    aligner = Aligner()
    assert "not fitted" in aligner._repr_html_()
    aligner.fit(german, english)
    assert "HMM round 3/3" in aligner._repr_html_()
    links = aligner.align(german[:60], english[:60])
    quality = evaluate(links, gold)
    assert f"{100 * quality.aer:.2f} %" in quality._repr_html_()
    assert "95 % interval" in confidence_interval(links, gold, samples=20)._repr_html_()
    assert "p, two-sided" in compare(links, links, gold, samples=20)._repr_html_()
    assert "unlinked" in aligner.score(german[:1], english[:1])[0]._repr_html_()
    assert "proved" in decode.matching([[1.0]])._repr_html_()
