"""Rounds of EM: equal to their definition on tiny text, never worse, the same bits however they are run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.hmm.chains import both_parameters, jump_rows
from tests.hmm.corpora import assert_same_bits, em_round, encoded, entries, random_pairs, train_ibm1
from tests.oracles.chain import enumerate_chain

import dualign
from dualign._core.memory import Workspace
from dualign.engines import threads as em
from dualign.engines.threads import ThreadsEngine
from dualign.hmm.blocks import block_bounds
from dualign.hmm.ibm1 import prune
from dualign.hmm.jumps import (
    BESIDE,
    BOLD,
    CLOSE,
    FLOOR,
    NEAR,
    NULL,
    NULL_FLOOR,
    SAFE,
    STARTS,
    STOPS,
    classes_of,
    initial_jumps,
    initial_weights,
    update_jumps,
    update_starts,
    update_stops,
)
from dualign.hmm.lexicon import Lexicon
from dualign.hmm.model import Model, Vocabulary
from dualign.hmm.smoothing import UNSEEN, make_priors
from dualign.hmm.training import train
from dualign.options import Options
from dualign.text.corpus import numbered
from dualign.text.samples import generate

pytestmark = pytest.mark.kernel

PLAIN = Options(stem_weight=0, form_weight=0, prune=0, jump_words=3, jump_weight=1)


def synthetic_pairs(count: int, vocabulary: int = 60, mean_length: float = 8.0):
    """Pairs of numbers that have something to learn."""
    return [
        ([int(word[1:]) for word in source], [int(word[1:]) for word in target])
        for source, target, _ in generate(count, seed=3, vocabulary=vocabulary, mean_length=mean_length)
    ]


def start(pairs, words: int, options: Options = PLAIN, threads: int = 2):
    """What EM begins with: the bitext, a model after Model 1, and the priors."""
    bitext = encoded(pairs)
    lexicon = prune(train_ibm1(bitext, words, words, 3, threads), options.prune, threads)
    names = [f"s{v}" for v in range(words)], [f"t{w}" for w in range(words)]
    priors = make_priors(
        lexicon, *names, options.stem_letters, options.stem_weight, options.form_weight, threads
    )
    weights = initial_weights(options.null, options.floor)
    jumps = initial_jumps(
        *(
            classes_of(np.bincount(side.tokens, minlength=words), options.jump_words)
            for side in (bitext.target, bitext.source)
        )
    )
    return bitext, Model(*map(Vocabulary, names), lexicon, weights, jumps, options), priors


def assert_normal(lexicon: Lexicon, counts: dict[tuple[int, int], np.ndarray]) -> None:
    """The table has the relative frequencies of these counts, of both directions."""
    new = entries(lexicon)
    for v, w in counts:
        there = sum(count[0] for (a, _), count in counts.items() if a == v)
        back = sum(count[1] for (_, b), count in counts.items() if b == w)
        assert new[v, w] == pytest.approx(
            (counts[v, w][0] / there, counts[v, w][1] / back), rel=2e-4, abs=1e-6
        )


@pytest.mark.parametrize("constraint", ["none", "agreement"])
@pytest.mark.parametrize("least", [0.0, 0.15])
def test_a_round_equals_its_definition(constraint, least):
    pairs = random_pairs(1, 10, 5, 5, 4)
    bitext, model, priors = start(pairs, 5, replace(PLAIN, prune=least))
    factor = np.exp(0.5 * np.random.default_rng(1).standard_normal(model.jumps.factor.shape))
    factor[:, 0] = 1
    chosen = np.exp(0.5 * np.random.default_rng(2).standard_normal(model.jumps.chosen.shape))
    chosen[:, :, 0] = 1
    factors = {"factor": factor.astype(np.float32), "chosen": chosen.astype(np.float32)}
    model = replace(model, jumps=model.jumps._replace(**factors))
    done = em_round(bitext, model, priors, constraint, 2)

    table = entries(model.lexicon)
    assert (len(table) == len({(v, w) for s, t in pairs for v in s for w in t})) is (least == 0)
    floor, null_floor = float(model.weights[0, FLOOR]), float(model.weights[0, NULL_FLOOR])
    counts = {cell: np.zeros(2) for cell in table}
    nulls = np.zeros((2, 5))
    jumps, foreseen = np.zeros((2, 2, 2, 4, NEAR + 1))
    close = np.zeros((2, 2, 2, 4, CLOSE))
    starts, stops = np.zeros((2, STARTS + 1)), np.zeros((2, 2, STOPS + 1))
    likelihood = 0.0
    for source, target in pairs:
        p = np.array([[table.get((v, w), (0, 0)) for w in target] for v in source]) + floor
        null_target = model.lexicon.null_target[target].astype(float) + null_floor
        null_source = model.lexicon.null_source[source].astype(float) + null_floor
        classes = model.jumps.by_target[target], model.jumps.by_source[source]
        rows = [jump_rows(model.jumps, d, classes[d]) for d in (0, 1)]
        there, back = both_parameters(model.weights, model.jumps, *classes)
        chains = (
            enumerate_chain(there, p[:, :, 0].T, null_target),
            enumerate_chain(back, p[:, :, 1], null_source),
        )
        posterior = np.stack([chains[0].posterior.T, chains[1].posterior], axis=2)
        if constraint == "agreement":
            posterior = np.repeat(posterior.prod(axis=2, keepdims=True), 2, axis=2)
        for i, v in enumerate(source):
            for j, w in enumerate(target):
                if (v, w) in table:
                    counts[v, w] += posterior[i, j]
        np.add.at(nulls[0], target, chains[0].null)
        np.add.at(nulls[1], source, chains[1].null)
        for d, states in enumerate((len(source), len(target))):
            likelihood += chains[d].likelihood
            # From every word but the last, to every word but the first.
            guesses = chains[d].openings * np.column_stack((rows[d], np.ones(len(rows[d]))))
            for role, words in enumerate((classes[d][:-1], classes[d][1:])):
                np.add.at(jumps[d, role], words, chains[d].jumps[:-1])
                np.add.at(foreseen[d, role], words, guesses[:-1])
            for i, c in enumerate(classes[1 - d]):
                for there, e in enumerate(classes[1 - d]):
                    k = there - i + BESIDE
                    if 0 <= k < CLOSE:
                        close[d, :, 0, c, k] += chains[d].close[:, k, i]
                        close[d, :, 1, e, k] += chains[d].close[:, k, i]
            starts[d, :states] += chains[d].starts
            stops[d, :, :states] += chains[d].visits[::-1], chains[d].ends[::-1]

    assert done.objective == pytest.approx(likelihood, rel=1e-5)
    assert_normal(done.model.lexicon, counts)
    np.testing.assert_allclose(
        done.model.lexicon.null_target, nulls[0] / (nulls[0].sum() + UNSEEN), rtol=1e-3, atol=1e-5
    )
    np.testing.assert_allclose(
        done.model.lexicon.null_source, nulls[1] / (nulls[1].sum() + UNSEEN), rtol=1e-3, atol=1e-5
    )
    lengths = bitext.source.lengths, bitext.target.lengths
    expected = update_stops(update_starts(model.weights, starts, lengths), stops)
    np.testing.assert_allclose(done.model.weights, expected, rtol=2e-3, atol=1e-5)
    step = SAFE if constraint == "none" else BOLD
    expected = update_jumps(model.jumps, jumps, foreseen, close, 1, step)
    np.testing.assert_allclose(done.model.jumps.weight, expected.weight, rtol=2e-3, atol=1e-5)
    np.testing.assert_allclose(done.model.jumps.factor, expected.factor, rtol=2e-3, atol=1e-5)
    np.testing.assert_allclose(done.model.jumps.chosen, expected.chosen, rtol=2e-3, atol=1e-5)
    assert len(np.unique(done.model.jumps.chosen, axis=2)[0, 0]) == 4
    assert len(np.unique(done.model.jumps.weight, axis=1)[0]) == 4
    assert len(np.unique(done.model.jumps.factor, axis=1)[0]) == 4


@pytest.mark.parametrize("constraint", ["none", "symmetric"])
def test_an_even_round_equals_its_definition(constraint):
    pairs = random_pairs(2, 10, 5, 5, 9)
    bitext, model, priors = start(pairs, 5, replace(PLAIN, constraint=constraint))
    done = em_round(bitext, model, priors, "even", 2)
    table, p0 = entries(model.lexicon), float(model.weights[0, NULL])
    floor = float(model.weights[0, FLOOR])
    counts = {cell: np.zeros(2) for cell in table}
    likelihood = 0.0
    for source, target in pairs:
        p = np.array([[table.get((v, w), (0, 0)) for w in target] for v in source]) + floor
        nulls = model.lexicon.null_target[target] + floor, model.lexicon.null_source[source] + floor
        joint = p * (1 - p0) / np.array([len(source), len(target)])
        of_target, of_source = (
            joint[:, :, 0].sum(axis=0) + p0 * nulls[0],
            joint[:, :, 1].sum(axis=1) + p0 * nulls[1],
        )
        likelihood += np.log(of_target).sum() + np.log(of_source).sum()
        posterior = joint / np.stack(np.broadcast_arrays(of_target[None, :], of_source[:, None]), axis=2)
        if constraint != "none":
            posterior = np.repeat(posterior.prod(axis=2, keepdims=True), 2, axis=2)
        for i, v in enumerate(source):
            for j, w in enumerate(target):
                counts[v, w] += posterior[i, j]
    assert done.objective == pytest.approx(likelihood, rel=1e-5)
    assert_normal(done.model.lexicon, counts)
    np.testing.assert_array_equal(done.model.weights, model.weights)
    np.testing.assert_array_equal(done.model.jumps.weight, model.jumps.weight)


@pytest.mark.parametrize("own", [0, 10])
def test_plain_rounds_never_lower_the_likelihood(own):
    bitext, model, priors = start(synthetic_pairs(400), 60, replace(PLAIN, jump_words=own))
    values = []
    for _ in range(8):
        done = em_round(bitext, model, priors, "none", 2)
        values.append(done.objective)
        model = done.model
    assert np.diff(values).min() > -1e-5 * abs(values[0])
    assert values[-1] > values[0] + 0.01 * abs(values[0])


@pytest.mark.parametrize("constraint", ["none", "agreement", "symmetric"])
def test_threads_do_not_change_a_bit(constraint):
    options = Options()
    pairs = synthetic_pairs(700)
    results = []
    for threads in (1, 2, 7):
        bitext, model, priors = start(pairs, 60, options, threads)
        values = []
        for _ in range(2):
            done = em_round(bitext, model, priors, constraint, threads)
            values.append((done.objective, done.evaluations))
            model = done.model
        results.append((model, values))
    for model, values in results[1:]:
        assert_same_bits(results[0][0].lexicon, model.lexicon)
        np.testing.assert_array_equal(results[0][0].weights, model.weights)
        assert_same_bits(results[0][0].jumps, model.jumps)
        assert values == results[0][1]


@pytest.mark.parametrize("limit", [1, 500, 20_000])
def test_the_size_of_blocks_changes_no_bit(limit, monkeypatch):
    bitext, model, priors = start(synthetic_pairs(300), 60, Options())
    whole = em_round(bitext, model, priors, "agreement", 2)
    monkeypatch.setattr(em, "BLOCK_CELLS", limit)
    assert len(block_bounds(bitext, limit)) > 1
    cut = em_round(bitext, model, priors, "agreement", 2)
    assert_same_bits(whole.model.lexicon, cut.model.lexicon)
    assert_same_bits(whole.model.jumps, cut.model.jumps)
    np.testing.assert_array_equal(whole.model.weights, cut.model.weights)
    assert cut.objective == whole.objective


def test_many_rounds_of_agreement_settle():
    """Steps as long as those of few rounds would overshoot, ever more, on a text of nearly monotone pairs."""
    bitext = numbered([(s, t) for s, t, _ in generate(300, seed=5, vocabulary=300)], lowercase=True)
    heard = []
    train(bitext, Options(constraint="agreement", rounds=16), ThreadsEngine(1, Workspace()), heard.append)
    objectives = [progress.likelihood for progress in heard if progress.stage == "HMM"]
    assert len(objectives) == 16
    assert np.all(np.diff(objectives) > 0)


def test_symmetric_rounds_make_the_directions_agree():
    bitext, model, priors = start(synthetic_pairs(300), 60, replace(PLAIN, slack=0.05, tolerance=0.01))
    free = em_round(bitext, model, priors, "none", 2)
    projected = em_round(bitext, model, priors, "symmetric", 2)
    assert projected.evaluations > free.evaluations == 1

    def disagreement(lexicon) -> float:
        return float(np.abs(lexicon.table[:, 0] - lexicon.table[:, 1]).mean())

    assert disagreement(projected.model.lexicon) < disagreement(free.model.lexicon)


def test_a_round_leaves_the_model_it_was_given_alone():
    bitext, model, priors = start(synthetic_pairs(50), 60)
    before = [array.copy() for array in (*model.lexicon, model.weights, *model.jumps)]
    em_round(bitext, model, priors, "agreement", 2)
    for old, now in zip(before, (*model.lexicon, model.weights, *model.jumps), strict=True):
        np.testing.assert_array_equal(old, now)


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [10, 200])
def test_plain_em_never_lowers_the_objective_with_the_prior_of_null(pairs):
    """The objective alone falls in small texts: it does not include the pseudo-counts of null."""
    text = [(["s"] * (1 + n % 6), ["t"] * (1 + n * 7 % 5)) for n in range(pairs)]
    options = {"stem_weight": 0.0, "form_weight": 0.0, "leave_out": 0.0, "ibm1_rounds": 1}
    sums, prior = [], None
    for rounds in range(1, 7):
        aligner = dualign.Aligner(threads=1, constraint="none", rounds=rounds, **options).fit(text)
        if prior is not None:  # the objective is that of the model before the round
            sums.append(aligner.history[-1].likelihood + prior)
        lexicon = aligner.model.lexicon
        beyond = [1.0 - float(null.sum()) for null in (lexicon.null_target, lexicon.null_source)]
        prior = UNSEEN * float(np.log(beyond).sum())
    assert (np.diff(sums) >= -1e-6 * abs(sums[0])).all(), sums
