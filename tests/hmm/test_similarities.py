"""Similarities: emissions times exp(w · s), in the chains of training and of aligning alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.decode.emissions import directions
from tests.oracles.chain import dense_chain, path_score

from dualign._core.errors import DataError, UsageError
from dualign.aligner import Aligner
from dualign.options import DECODERS
from dualign.text.corpus import numbered
from dualign.text.samples import generate

pytestmark = pytest.mark.kernel

BITEXT = [(source, target) for source, target, _ in generate(60, seed=3, vocabulary=40, mean_length=6)]
TEXT = numbered(BITEXT, True)


@pytest.fixture(scope="module")
def trained() -> Aligner:
    return Aligner(threads=2, rounds=2).fit(TEXT)


def drawn(seed: int, pairs=BITEXT) -> list[np.ndarray]:
    """Matrices of random similarities."""
    random = np.random.default_rng(seed)
    return [random.uniform(-1, 1, (len(source), len(target))) for source, target in pairs]


def swayed(model, pair, matrix, weight):
    """The chains of a pair, their emissions multiplied by definition."""
    (there, p, null), (back, q, other) = directions(model, *pair)
    factor = np.exp(weight * matrix)
    return (there, p * factor.T, null), (back, q * factor, other)


@pytest.mark.parametrize("weight", [0.5, 4, -3])
def test_posteriors_are_those_of_chains_with_multiplied_emissions(trained, weight):
    aligner = Aligner.of_model(trained.model, threads=2).set_options(projection="none")
    matrices = drawn(1)
    found = aligner.posteriors(TEXT.with_similarities(matrices, weight), directions=True)
    for pair, matrix, posterior in zip(BITEXT, matrices, found, strict=True):
        there, back = swayed(aligner.model, pair, matrix, weight)
        np.testing.assert_allclose(posterior[0], dense_chain(*there)[1].T, rtol=2e-3, atol=1e-5)
        np.testing.assert_allclose(posterior[1], dense_chain(*back)[1], rtol=2e-3, atol=1e-5)


def test_viterbi_paths_are_those_of_multiplied_emissions(trained):
    aligner = Aligner.of_model(trained.model, threads=1)
    matrices = drawn(2)
    text = TEXT.with_similarities(matrices, 3)
    for d, method in enumerate(("forward", "backward")):
        aligner.set_options(decoder="viterbi", symmetrize=method)
        for pair, matrix, links in zip(BITEXT, matrices, aligner.align(text), strict=True):
            chain = swayed(aligner.model, pair, matrix, 3)[d]
            chosen = {link[1 - d]: link[d] for link in links.links}
            path = tuple(chosen.get(row, -1) for row in range(len(pair[1 - d])))
            assert path_score(path, *chain) == pytest.approx(dense_chain(*chain)[2], rel=1e-4)


@pytest.mark.parametrize("weight", [1, 5])
def test_no_similarity_or_no_weight_changes_nothing(trained, weight):
    usual = trained.align(TEXT)
    zeros = [np.zeros((len(source), len(target))) for source, target in BITEXT]
    assert trained.align(TEXT.with_similarities(zeros, weight)) == usual
    assert trained.align(TEXT.with_similarities(drawn(3), 0)) == usual
    few = trained.align(TEXT.with_similarities(drawn(3)[:7], weight))
    assert few[7:] == usual[7:]
    assert [one.probabilities for one in few[:7]] != [one.probabilities for one in usual[:7]]
    again = Aligner(threads=1, rounds=2).fit(TEXT.with_similarities(zeros))
    assert (again.model.lexicon.table == trained.model.lexicon.table).all()


@pytest.mark.parametrize("decoder", DECODERS)
def test_the_answer_for_a_pair_depends_on_the_pair_and_its_matrix_alone(trained, decoder):
    matrices = drawn(4)
    answers = []
    for threads in (1, 2):
        aligner = Aligner.of_model(trained.model, threads=threads).set_options(decoder=decoder)
        answers.append(aligner.align(TEXT.with_similarities(matrices)))
    alone = [
        aligner.align(numbered([pair], True).with_similarities([matrix]))[0]
        for pair, matrix in zip(BITEXT[:10], matrices, strict=False)
    ]
    assert answers[0] == answers[1]
    assert [found.links for found in alone] == [found.links for found in answers[0][:10]]


def test_training_does_not_depend_on_threads_and_teaches_the_lexicon():
    long = (["s1"] * 140, ["t1", "t2"])
    pairs = [*BITEXT, long, ([], ["t1"]), (["s1"], ["t1"])]
    text, matrices = numbered(pairs, True), drawn(5, pairs)
    one, two = (
        Aligner(threads=n, rounds=2, max_length=200).fit(text.with_similarities(matrices)) for n in (1, 2)
    )
    assert (one.model.lexicon.table == two.model.lexicon.table).all()
    assert one.align(text.with_similarities(matrices)) == two.align(text.with_similarities(matrices))
    # What the matrices of some pairs say is used for pairs without.
    known = [np.eye(2)] * 30
    crossed = numbered([(["a", "b"], ["x", "y"])] * 40, True)
    taught = Aligner(threads=1).fit(crossed.with_similarities([m[::-1] for m in known]))
    straight = Aligner(threads=1).fit(crossed.with_similarities(known))
    assert straight.translations("a")[0].word == "x"
    assert taught.translations("a")[0].word == "y"


@given(st.integers(1, 3), st.integers(0, 12))
def test_copies_and_choices_keep_their_matrices(times, number):
    text = numbered(BITEXT[:12], True).with_similarities(drawn(6)[:number])
    background = numbered(BITEXT[12:15], True)
    whole = text.with_background(background, times).similar
    single = text.similar
    assert len(whole.begin) == times * 12 + 4
    for n in range(times * 12):
        expected = single.factor[single.begin[n % 12] : single.begin[n % 12 + 1]]
        np.testing.assert_array_equal(whole.factor[whole.begin[n] : whole.begin[n + 1]], expected)
    odd = np.arange(12) % 2 == 1
    np.testing.assert_array_equal(
        text.chosen(odd).similar.factor,
        np.concatenate([text.similar.slice(n, n + 1).factor for n in range(1, 12, 2)]),
    )


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        ([np.eye(3)], "matrix 0: 3 × 3, but pair 1 has 2 source and 1 target words"),
        ([[[0.5], ["much"]]], "matrix 0: not a matrix of numbers"),
        ([[[0.5], []]], "matrix 0: not a matrix of numbers"),
        ([np.array([[1j], [0]])], "matrix 0: not a matrix of numbers"),
        ([[[2], [10**400]]], "matrix 0: not a matrix of numbers"),
        ([[[1e308], [float("-inf")]]], "matrix 0: a similarity is not a finite number"),
        ([7.0], "matrix 0: one number, but pair 1"),
        ([[[0.5], [float("nan")]]], "matrix 0: a similarity is not a finite number"),
        ([[[0.5], [9]]], "matrix 0: a similarity times the weight 4 is not within 20 of 0"),
        ([[[0], [1]], []], "matrix 1: a matrix too many; the text has 1 pairs"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(matrices, message):
    with pytest.raises(DataError, match=message):
        numbered([(["a", "b"], ["x"])], True).with_similarities(matrices)


def test_what_cannot_be_done_with_similarities_is_refused(trained):
    text = TEXT.with_similarities(drawn(7))
    with pytest.raises(UsageError, match="similarity_weight=30"):
        TEXT.with_similarities(drawn(7), 30)
    for options, message in (({"model": "ibm2"}, "for the HMM"), ({"skip_tokens": "s1"}, "skip_tokens")):
        with pytest.raises(UsageError, match=message):
            Aligner(threads=1, **options).fit(text)
    with pytest.raises(UsageError, match="leave skip_tokens"):
        Aligner.of_model(trained.model, threads=1).set_options(skip_tokens="s1").align(text)
    with pytest.raises(UsageError, match="a cluster does not know similarities"):
        Aligner(threads=1).fit(text, client=object())
