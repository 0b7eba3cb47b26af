from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.measure.strategies import SIZE, link_sets
from tests.oracles import quality as oracle

from dualign._core.errors import DataError, UsageError
from dualign.measure.curves import curve
from dualign.text.links import Alignment

# Few distinct values, so that ties are common; extremes and neighbouring floats, so that midpoints are hard.
values = st.one_of(
    st.sampled_from([0.0, 0.25, 0.5, 1.0, math.nextafter(1.0, 2.0), math.nextafter(0.5, 0.0), 5e-324, -3.0]),
    st.floats(0, 1),
    st.sampled_from([1e300, -1e300, math.nextafter(1e300, 0.0), 1e-323]),
)


@st.composite
def scored(draw):
    """Scores as dictionaries, sure links and possible links of a few sentence pairs."""
    pairs = draw(st.integers(0, 4))
    cells = st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1))
    scores = [draw(st.dictionaries(cells, values, max_size=8)) for _ in range(pairs)]
    return scores, [draw(link_sets) for _ in range(pairs)], [draw(link_sets) for _ in range(pairs)]


def triples(scores):
    return [[(i, j, score) for (i, j), score in sentence.items()] for sentence in scores]


def gold_of(sure, possible):
    return [Alignment.of(s, p) for s, p in zip(sure, possible, strict=True)]


# One sentence pair, sure 0-0 1-1, possible also 0-1. By falling score:
#   score   link   A∩S A∩P |A|   precision  recall  AER = 1 − (A∩S + A∩P) / (|A| + 2)
#   (none)          0   0   0    1          0       1
#   0.9     0-0     1   1   1    1          1/2     1 − 2/3
#   0.6     0-1     1   2   2    1          1/2     1 − 3/4
#   0.4     1-0     1   2   3    2/3        1/2     1 − 3/5
#   0.2     1-1     2   3   4    3/4        1       1 − 5/6   ← lowest
MATRIX = np.array([[0.9, 0.6], [0.4, 0.2]])
GOLD = ["0-0 1-1 0?1"]


def test_hand_computed_curve():
    points = curve([MATRIX], GOLD)
    np.testing.assert_allclose(points.threshold, [0.95, 0.75, 0.5, 0.3, 0.1], rtol=1e-14)
    np.testing.assert_allclose(points.precision, [1, 1, 1, 2 / 3, 3 / 4], rtol=1e-14)
    np.testing.assert_allclose(points.recall, [0, 1 / 2, 1 / 2, 1 / 2, 1], rtol=1e-14)
    np.testing.assert_allclose(points.aer, [1, 1 / 3, 1 / 4, 2 / 5, 1 / 6], rtol=1e-14)
    assert points.best_threshold() == pytest.approx(0.1, rel=1e-14)
    # Interpolated precision is 1 up to recall 1/2 and 3/4 from there on: 1/2 · 1 + 1/2 · 3/4 = 7/8.
    assert points.area() == pytest.approx(7 / 8, rel=1e-14)
    assert [points.precision_at(r) for r in (0, 0.5, 0.51, 1)] == [1, 1, 3 / 4, 3 / 4]


def test_recall_that_no_threshold_reaches_has_precision_zero():
    points = curve([[(0, 0, 0.9)]], ["0-0 1-1"])
    assert points.precision_at(0.6) == 0
    assert points.area() == 0.5  # precision 1 up to recall 1/2, then nothing


def test_ties_come_and_go_together():
    points = curve([np.full((3, 3), 0.5)], ["0-0"])
    assert len(points.threshold) == 2
    assert points.aer[1] == pytest.approx(1 - 2 / 10, rel=1e-15)


def test_equal_error_takes_the_fewest_links():
    # With 0.9 AER is 0; 0.5 adds a link that is possible and leaves it at 0.
    assert curve([[(0, 0, 0.9), (1, 1, 0.5)]], ["0-0 1?1"]).best_threshold() == pytest.approx(0.7, rel=1e-15)


def test_nothing_scored_at_all():
    assert curve([], []).aer.tolist() == [0]
    assert curve([np.empty((0, 4))], [""]).threshold.tolist() == [0.5]
    assert curve([[]], ["0-0"]).aer.tolist() == [1]


@settings(deadline=None)
@given(scored())
def test_every_point_equals_recomputation(data):
    scores, sure, possible = data
    points = curve(triples(scores), gold_of(sure, possible))
    assert (np.diff(points.threshold) < 0).all()
    assert len(points.threshold) == 1 + len({score for sentence in scores for score in sentence.values()})
    expected = [oracle.quality(oracle.above(scores, t), sure, possible) for t in points.threshold]
    for name in ("precision", "recall", "aer"):
        wanted = [float(point[name]) for point in expected]
        np.testing.assert_allclose(getattr(points, name), wanted, rtol=1e-14, atol=1e-15, err_msg=name)
    area = oracle.area([(point["recall"], point["precision"]) for point in expected])
    assert points.area() == pytest.approx(float(area), rel=1e-12, abs=1e-15)


@settings(deadline=None)
@given(scored())
def test_best_threshold_equals_exhaustive_search(data):
    scores, sure, possible = data
    threshold = curve(triples(scores), gold_of(sure, possible)).best_threshold()
    reached = oracle.quality(oracle.above(scores, threshold), sure, possible)["aer"]
    assert reached == oracle.lowest_aer(scores, sure, possible)


@settings(deadline=None)
@given(scored(), st.sampled_from([0.0, 0.01, 0.2, 2.0]))
def test_the_steady_threshold_is_in_the_middle_of_the_good_ones(data, margin):
    scores, sure, possible = data
    grid = [k / 100 for k in range(1, 100)]
    aer = {t: float(oracle.quality(oracle.above(scores, t), sure, possible)["aer"]) for t in grid}
    chosen = curve(triples(scores), gold_of(sure, possible)).steady_threshold(margin)
    good = [t for t in grid if aer[t] <= min(aer.values()) + margin]
    assert chosen == good[len(good) // 2]


@settings(deadline=None)
@given(scored(), st.sampled_from([0.05, 0.4, 0.77]))
def test_the_steady_threshold_is_no_worse_than_the_present_one(data, present):
    scores, sure, possible = data
    chosen = curve(triples(scores), gold_of(sure, possible)).steady_threshold(2.0, present)
    before, after = (
        oracle.quality(oracle.above(scores, t), sure, possible)["aer"] for t in (present, chosen)
    )
    assert after <= before


@settings(deadline=None)
@given(scored())
def test_an_array_equals_its_triples(data):
    scores, sure, possible = data
    arrays = []
    for sentence in scores:
        array = np.zeros((SIZE, SIZE))
        for link, score in sentence.items():
            array[link] = score
        arrays.append(array)
    full = [[(i, j, array[i, j]) for i in range(SIZE) for j in range(SIZE)] for array in arrays]
    left, right = (curve(form, gold_of(sure, possible)) for form in (arrays, full))
    for name in ("threshold", "precision", "recall", "aer"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)


@pytest.mark.parametrize(
    ("scores", "gold", "message"),
    [
        ([MATRIX, MATRIX], GOLD, "scores has 2 sentence pairs but gold has 1"),
        ([MATRIX], ["0-0 2-1"], r"gold, sentence 1: link 2-1 is outside the pair, which has 2 source and 2"),
        ([MATRIX], ["0?2"], r"gold, sentence 1: link 0-2 is outside"),
        ([np.array([0.1, 0.2])], [""], r"scores, sentence 1: expected an array \[source, target\]"),
        ([np.array([[np.nan]])], [""], "scores, sentence 1: nan is not a score"),
        ([[(0, 0, math.inf)]], [""], "scores, sentence 1: inf is not a score"),
        ([[(0, 0, 0.5), (0, 0, 0.6)]], [""], "scores, sentence 1: link 0-0 is scored twice"),
        ([[(0, 0)]], [""], r"scores, sentence 1: expected an array or triples \(i, j, score\)"),
        ([7], [""], r"scores, sentence 1: expected an array or triples"),
    ],
)
def test_bad_scores_are_named(scores, gold, message):
    with pytest.raises(DataError, match=message):
        curve(scores, gold)


@pytest.mark.parametrize("recall", [-0.1, 1.1, 50])
def test_recall_outside_its_range(recall):
    with pytest.raises(UsageError, match=r"recall=.* must be at least 0 and at most 1"):
        curve([MATRIX], GOLD).precision_at(recall)
