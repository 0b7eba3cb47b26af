"""BLEU against its definition and sacrebleu."""

from __future__ import annotations

import random

import pytest
from tests.oracles import translation as oracle

import dualign
from dualign.measure.translation import bleu


def texts(seed, references):
    rng = random.Random(seed)
    words = list("abcdefg")
    truth = [[rng.choice(words) for _ in range(rng.randint(5, 15))] for _ in range(12)]

    def noisy(sentence):
        return [w if rng.random() < 0.9 else rng.choice(words) for w in sentence if rng.random() < 0.95]

    return [noisy(s) for s in truth], [[noisy(s) for _ in range(references)] for s in truth]


@pytest.mark.parametrize("references", [1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_bleu_is_its_definition(seed, references):
    translations, several = texts(seed, references)
    assert bleu(translations, several) == pytest.approx(oracle.bleu(translations, several))


def test_bleu_is_sacrebleus():
    sacrebleu = pytest.importorskip("sacrebleu", reason="sacrebleu is not installed (extra `mt`)")
    translations, several = texts(9, 2)
    metric = sacrebleu.metrics.BLEU(tokenize="none", smooth_method="none")
    streams = [[" ".join(r[n]) for r in several] for n in range(2)]
    theirs = metric.corpus_score([" ".join(words) for words in translations], streams).score
    assert bleu(translations, several) == pytest.approx(theirs, abs=1e-9)


def test_edges():
    assert bleu([["a", "b", "c", "d"]], [[["a", "b", "c", "d"]]]) == pytest.approx(100)
    assert bleu([[]], [[["a"]]]) == 0
    with pytest.raises(dualign.DataError, match=r"translations has .* sentences? but references has"):
        bleu([["a"]], [])
