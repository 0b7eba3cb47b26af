"""chrF against its definition and sacrebleu."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dualign._core.errors import DataError
from dualign.measure.translation import chrf, chrf_counts, chrf_of_counts


def texts(seed: int) -> tuple[list[list[str]], list[list[str]]]:
    rng = random.Random(seed)
    truth = [["".join(rng.choices("abc", k=rng.randint(1, 6))) for _ in range(9)] for _ in range(7)]
    return [[w for w in words if rng.random() < 0.8] for words in truth], truth


def definition(translations: list[list[str]], references: list[list[str]]) -> float:
    """n-grams are matched one by one."""
    precision, recall = [], []
    for n in range(1, 7):
        right = mine = gold = 0
        for words, reference in zip(translations, references, strict=True):
            a, b = ["".join(words)[i : i + n] for i in range(len("".join(words)) - n + 1)], []
            b = ["".join(reference)[i : i + n] for i in range(len("".join(reference)) - n + 1)]
            mine, gold = mine + len(a), gold + len(b)
            for gram in a:
                if gram in b:
                    b.remove(gram)
                    right += 1
        precision.append(right / mine)
        recall.append(right / gold)
    p, r = np.mean(precision), np.mean(recall)
    return float(100 * 5 * p * r / (4 * p + r))


@pytest.mark.parametrize("seed", range(3))
def test_chrf_is_its_definition(seed):
    translations, references = texts(seed)
    assert chrf(translations, references) == pytest.approx(definition(translations, references))


@pytest.mark.parametrize("seed", range(3))
def test_chrf_is_sacrebleus(seed):
    sacrebleu = pytest.importorskip("sacrebleu", reason="sacrebleu is not installed (extra `mt`)")
    translations, references = texts(seed)
    lines = [[" ".join(words) for words in side] for side in (translations, references)]
    theirs = sacrebleu.metrics.CHRF().corpus_score(lines[0], [lines[1]]).score
    assert chrf(translations, references) == pytest.approx(theirs, abs=1e-9)


def test_chrf_is_sacrebleus_for_short_sentences():
    """An n that the reference of a sentence is too short for once counted against its translation."""
    sacrebleu = pytest.importorskip("sacrebleu", reason="sacrebleu is not installed (extra `mt`)")
    rng, metric = random.Random(5), sacrebleu.metrics.CHRF()
    for _ in range(2000):
        sides = [
            [
                ["".join(rng.choices("ab", k=rng.randint(1, 3))) for _ in range(rng.randint(0, 3))]
                for _ in "xyz"
            ]
            for _ in range(2)
        ]
        lines = [[" ".join(words) for words in side] for side in sides]
        theirs = metric.corpus_score(lines[0], [lines[1]]).score
        assert chrf(*sides) == pytest.approx(theirs, abs=1e-9), sides


def test_edges():
    assert chrf([["ab", "c"]], [["a", "bc"]]) == pytest.approx(100)
    assert chrf([[]], [["a"]]) == 0
    several = np.array([chrf_counts(["abc"], ["abd"]), chrf_counts(["x"], ["y"])])
    assert chrf_of_counts(several)[1] == 0
    with pytest.raises(DataError, match=r"translations has .* sentences? but references has"):
        chrf([["a"]], [])
