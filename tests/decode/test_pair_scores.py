"""Scores of pairs: those of the chains by their definition, whatever stands beside a pair."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.decode.emissions import directions
from tests.oracles.chain import dense_chain

from dualign import Aligner
from dualign.hmm import encoding, posteriors
from dualign.text.samples import generate

pytestmark = pytest.mark.kernel

BITEXT = [(source, target) for source, target, _ in generate(150, seed=2, vocabulary=60, mean_length=7)]
STRANGE = [
    (["s1", "nowhere", "s2"], ["t1", "never", "t2"]),
    ([], ["t1", "t2"]),
    (["s1"], []),
    ([], []),
    (["s1"] * 140, ["t1"] * 3),
]


@pytest.fixture(scope="module")
def aligner() -> Aligner:
    return Aligner(threads=2, rounds=2).fit(BITEXT)


@pytest.mark.parametrize("projection", ["none", "symmetric"])
def test_likelihoods_are_those_of_the_chains_whatever_the_projection(aligner, projection):
    found = Aligner.of_model(aligner.model, 2).set_options(projection=projection).score(BITEXT[:30])
    for (source, target), score in zip(BITEXT, found, strict=False):
        there, back = directions(aligner.model, source, target)
        assert score.target_given_source == pytest.approx(dense_chain(*there)[0] / len(target), rel=1e-4)
        assert score.source_given_target == pytest.approx(dense_chain(*back)[0] / len(source), rel=1e-4)


@pytest.mark.parametrize("model", ["ibm1", "ibm2"])
def test_models_without_chains_have_likelihoods_too(model):
    aligner = Aligner(threads=1, model=model, ibm1_rounds=1, rounds=1).fit(BITEXT[:40])
    total = sum(
        s.target_given_source * len(target) + s.source_given_target * len(source)
        for s, (source, target) in zip(aligner.score(BITEXT[:40]), BITEXT, strict=False)
    )
    # The objective of one more round is the likelihood of the model that we have.
    again = Aligner(threads=1, model=model, ibm1_rounds=1, rounds=2).fit(BITEXT[:40])
    if model == "ibm2":
        assert total == pytest.approx(again.history[-1].likelihood, rel=1e-3)
    assert math.isfinite(total)
    assert total < 0


def test_mean_probability_and_unlinked_words_are_those_of_the_links(aligner):
    for score, found, (source, target) in zip(
        aligner.score(BITEXT), aligner.align(BITEXT), BITEXT, strict=True
    ):
        linked = len({i for i, _ in found.links}) + len({j for _, j in found.links})
        assert score.unlinked == pytest.approx(1 - linked / (len(source) + len(target)))
        if found.links:
            assert score.mean_probability == pytest.approx(np.mean(found.probabilities), rel=1e-6)


def test_a_pair_without_words_to_score_has_no_likelihood(aligner):
    scores = aligner.score(STRANGE)
    for score in scores[1:4]:
        assert math.isnan(score.target_given_source)
        assert math.isnan(score.source_given_target)
        assert (score.mean_probability, score.unlinked) == (0, 1)
    assert all(map(math.isfinite, (*scores[0], *scores[4])))


@given(st.permutations(range(40)), st.integers(1, 41), st.sampled_from([64, 1 << 12, 1 << 18]))
def test_scores_depend_on_the_pair_alone(aligner, order, size, cells):
    pairs = [*STRANGE, *BITEXT[:35]]
    whole = [repr(score) for score in aligner.score(pairs)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "CHUNK", size)
        patch.setattr(posteriors, "JOB_CELLS", cells)
        found = Aligner.of_model(aligner.model, threads=1).score([pairs[n] for n in order])
    assert [repr(score) for score in found] == [whole[n] for n in order]


def test_strange_pairs_score_worse_than_true_ones(aligner):
    true = np.mean([score[:2] for score in aligner.score(BITEXT)], axis=0)
    wrong = [(source, BITEXT[n - 1][1]) for n, (source, _) in enumerate(BITEXT)]
    assert (np.mean([score[:2] for score in aligner.score(wrong)], axis=0) < true - 0.5).all()
