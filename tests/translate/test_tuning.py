"""Tuning: envelopes and line searches against many values of t, weights that do better."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dualign.translate.tuning import Candidates, envelope, tune_weights


def test_the_envelope_has_the_highest_line_everywhere():
    rng = np.random.default_rng(0)
    for _ in range(500):
        n = int(rng.integers(1, 8))
        slope, height = rng.integers(-3, 4, n).astype(float), rng.integers(-5, 6, n).astype(float)
        lines, corners = envelope(slope, height)
        assert len(corners) == len(lines) - 1
        assert corners == sorted(corners)
        middles = [0.0]
        if corners:
            middles = [corners[0] - 1, *((a + b) / 2 for a, b in pairwise(corners)), corners[-1] + 1]
        for t, line in zip(middles, lines, strict=True):
            assert (slope * t + height).max() == pytest.approx(slope[line] * t + height[line])


def test_tuning_finds_weights_that_choose_the_good_translations():
    rng = np.random.default_rng(1)
    truth = np.array([1.0, -2.0, 0.5])
    lists = []
    for _ in range(30):
        entry = Candidates()
        features = rng.normal(size=(20, 3))
        best = int(np.argmax(features @ truth))
        for n, row in enumerate(features):
            hits = 10.0 if n == best else 5.0
            entry.add((str(n),), row, np.array([hits] * 4 + [10.0] * 4 + [10.0, 10.0]))
        lists.append(entry)
    weights, reached = tune_weights(lists, np.array([1.0, 1.0, 1.0]))
    assert reached > 85
    assert np.abs(weights).sum() == pytest.approx(3.0)
    again, _ = tune_weights(lists, np.array([1.0, 1.0, 1.0]))
    assert np.array_equal(weights, again)
