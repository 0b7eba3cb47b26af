"""Rules on posteriors: the projection equals its twin, rules are checked, and the aligner obeys them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands.bitexts import SOURCE, TARGET, write_bitext, write_lines
from tests.hmm.blocks import OnePair, expectations, random_pair
from tests.hmm.corpora import em_round, encoded, train_ibm1
from tests.oracles.constraints import Dual, OracleRule, Projected, bijective, project, symmetric

from dualign._core.errors import DataError, UsageError
from dualign.aligner import Aligner
from dualign.commands.cli import run
from dualign.hmm.blocks import Block
from dualign.hmm.constraints import ConstraintRule, Glossary, give, scaled
from dualign.hmm.encoding import EncodedText
from dualign.hmm.jumps import classes_of, initial_jumps, initial_weights
from dualign.hmm.model import Model, Vocabulary
from dualign.hmm.multipliers import Constraint
from dualign.hmm.posteriors import KINDS, constraint_of, make_block
from dualign.hmm.smoothing import make_priors
from dualign.options import Options
from dualign.text.corpus import Bitext
from dualign.text.samples import generate

pytestmark = pytest.mark.kernel

SHAPES = [(1, 1), (1, 3), (2, 2), (3, 2), (3, 3)]
EXACT = 1e-6
"""Tolerance of the projection where it is compared; float32 allows for little less."""

BUILT_IN: dict[str, Callable[[int, int], list[OracleRule]]] = {
    "given": lambda I, J: [],
    "symmetric": symmetric,
    "bijective": bijective,
}


class Listed:
    """A constraint set that has the same rules for every pair."""

    def __init__(self, rules: Iterable[ConstraintRule]) -> None:
        self.listed = list(rules)

    def rules(self, source: Sequence[str], target: Sequence[str]) -> list[ConstraintRule]:
        return self.listed


class Fertility:
    """Every source word is chosen at most so often."""

    def __init__(self, bound: float) -> None:
        self.bound = bound

    def rules(self, source: Sequence[str], target: Sequence[str]) -> Iterable[ConstraintRule]:
        for i in range(len(source)):
            yield ConstraintRule.at_most(self.bound, [(0, i, j) for j in range(len(target))])


class Outcome(NamedTuple):
    """Posteriors (2, I, J), log-likelihood (of chains not projected), evaluations, D(0) − D(λ)."""

    posteriors: np.ndarray
    likelihood: float
    evaluations: float
    divergence: float


def block_with(pair: OnePair, rules: Sequence[ConstraintRule] = ()) -> Block:
    I, J, _ = pair.emission.shape
    block = pair.block()
    words = [f"s{i}" for i in range(I)], [f"t{j}" for j in range(J)]
    return block._replace(given=give(Listed(rules), [words])) if rules else block


def projected(
    pair: OnePair,
    kind: str,
    rules: Sequence[ConstraintRule] = (),
    *,
    slack: float = 0.0,
    tolerance: float = EXACT,
    limit: int = 2000,
    mixture: bool = False,
) -> Outcome:
    I, J, _ = pair.emission.shape
    posterior = np.full((I * J, 2), np.nan, np.float32)
    how = Constraint(KINDS[kind], slack, tolerance, limit, mixture)
    sums = expectations(block_with(pair, rules), how, posterior)
    likelihood, evaluations, _, divergence = sums.totals.tolist()
    return Outcome(posterior.T.reshape(2, I, J).astype(float), likelihood, evaluations, divergence)


def all_rules(pair: OnePair, kind: str, rules: Sequence[ConstraintRule] = ()) -> list[OracleRule]:
    """For the twin: the set that the kernels have built in, then the given rules."""
    I, J, _ = pair.emission.shape
    given = [
        OracleRule(rule.nodes, rule.coefficients, rule.bound, rule.equality) for rule in map(scaled, rules)
    ]
    return BUILT_IN[kind](I, J) + given


def violation(posteriors: np.ndarray, rules: Sequence[OracleRule]) -> float:
    """Norm of what posteriors break the rules by."""
    broken = []
    for rule in rules:
        total = sum(c * posteriors[node] for node, c in zip(rule.nodes, rule.coefficients, strict=True))
        excess = total - rule.bound
        broken.append(excess if rule.equality else max(0.0, excess))
    return float(np.linalg.norm(broken))


def assert_equals_twin(
    pair: OnePair,
    kind: str,
    rules: Sequence[ConstraintRule] = (),
    *,
    slack: float = 0.0,
    mixture: bool = False,
) -> tuple[Outcome, Projected]:
    every = all_rules(pair, kind, rules)
    twin = project(pair.directions, every, slack=slack, mixture=mixture)
    assert abs(twin.gap) < 1e-8, "the twin did not prove its own answer"
    assert twin.violation < slack + 1e-8
    outcome = projected(pair, kind, rules, slack=slack, mixture=mixture)
    np.testing.assert_allclose(outcome.posteriors, twin.posteriors, rtol=0, atol=1e-5)
    assert outcome.divergence == pytest.approx(twin.divergence, rel=1e-5, abs=1e-5)
    return outcome, twin


@pytest.mark.parametrize(("I", "J"), SHAPES)
@pytest.mark.parametrize("kind", ["bijective", "symmetric"])
def test_built_in_sets_equal_the_twin(kind, I, J):
    for seed in range(4):
        assert_equals_twin(random_pair(100 * seed + 10 * I + J, I, J), kind)


@pytest.mark.parametrize("slack", [0.001, 0.05, 0.3])
@pytest.mark.parametrize("kind", sorted(BUILT_IN))
def test_with_slack_the_answer_is_the_closest_within_it(kind, slack):
    for seed, (I, J) in enumerate(SHAPES):
        pair = random_pair(seed, I, J)
        rules = feasible_rules(pair, kind, seed, 2) if kind == "given" else []
        assert_equals_twin(pair, kind, rules, slack=slack)


@pytest.mark.parametrize(("I", "J"), SHAPES)
def test_the_mixture_equals_the_twin_in_posteriors_and_weights(I, J):
    for seed in range(4):
        pair = random_pair(100 * seed + 10 * I + J, I, J)
        outcome, twin = assert_equals_twin(pair, "symmetric", mixture=True)
        # w0 · q0 = w1 · q1 in every cell, w0 + w1 = 1: the weights can be read off the posteriors.
        there, back = outcome.posteriors.sum(axis=(1, 2))
        assert back / (there + back) == pytest.approx(twin.weights[0], abs=1e-5)
        assert there / (there + back) == pytest.approx(twin.weights[1], abs=1e-5)


NAMED = {
    "at most": [ConstraintRule.at_most(0.4, [(0, 0, 0), (0, 0, 1), (0, 0, 2)])],
    "at least": [
        ConstraintRule.at_least(0.9, [(1, 1, 2)]),
        ConstraintRule.at_least(0.7, [(0, 0, 0), (0, 1, 0)]),
    ],
    "equality": [ConstraintRule(((0, 0, 0), (0, 1, 1)), (1.0, 1.0), 0.8, equality=True)],
    "equality across directions": [ConstraintRule(((0, 1, 2), (1, 1, 2)), (1.0, -1.0), 0.1, equality=True)],
    "a node in several rules": [
        ConstraintRule.at_most(0.6, [(0, 0, 0), (0, 0, 1)]),
        ConstraintRule.at_least(0.3, [(0, 0, 0), (1, 0, 0)]),
        ConstraintRule(((0, 0, 0), (0, 1, 2)), (1.0, 1.0), 0.5, equality=True),
    ],
    "coefficients": [
        ConstraintRule(((0, 0, 0), (0, 1, 1), (1, 0, 1)), (2.5, -0.5, 1.5), 0.35),
        ConstraintRule(((1, 1, 0), (1, 0, 0)), (-3.0, 0.25), -1.2),
    ],
    "a node twice in a rule": [ConstraintRule(((0, 0, 0), (0, 0, 0)), (1.0, 2.0), 0.6, equality=True)],
}


@pytest.mark.parametrize("name", list(NAMED))
def test_given_rules_equal_the_twin(name):
    for seed in range(4):
        pair = random_pair(seed, 2, 3)
        outcome, _ = assert_equals_twin(pair, "given", NAMED[name])
        assert violation(outcome.posteriors, all_rules(pair, "given", NAMED[name])) < 1e-5


def feasible_rules(pair: OnePair, kind: str, seed: int, count: int) -> list[ConstraintRule]:
    """Random rules that some distribution, the projection of another pair, satisfies with the set `kind`."""
    random = np.random.default_rng(seed)
    I, J, _ = pair.emission.shape
    other = random_pair(int(random.integers(1 << 30)), I, J)
    reached = project(other.directions, all_rules(other, kind)).posteriors
    nodes = [(d, i, j) for d in (0, 1) for i in range(I) for j in range(J)]
    rules = []
    for _ in range(count):
        chosen = random.choice(len(nodes), random.integers(1, min(4, len(nodes)) + 1), replace=False)
        picked = tuple(nodes[k] for k in chosen)
        coefficients = random.choice([1.0, -1.0, 0.5, -1.5, 2.0], len(picked)).tolist()
        equality = bool(random.integers(2))
        total = sum(c * reached[node] for c, node in zip(coefficients, picked, strict=True))
        rules.append(
            ConstraintRule(picked, tuple(coefficients), float(total) + (0 if equality else 0.02), equality)
        )
    return rules


@given(
    st.sampled_from(sorted(BUILT_IN)), st.sampled_from(SHAPES[1:]), st.integers(0, 2**20), st.integers(1, 3)
)
def test_random_rules_alone_and_joined_with_a_set_equal_the_twin(kind, shape, seed, count):
    pair = random_pair(seed, *shape)
    assert_equals_twin(pair, kind, feasible_rules(pair, kind, seed + 1, count))


def test_rules_that_say_the_same_thing_again_equal_the_twin():
    link = ((0, 0, 0),)
    double = ConstraintRule(link, (2.0,), 0.32238898, equality=True)
    rules = [double, ConstraintRule(((1, 0, 0),), (1.0,), 0.16119449, equality=True), double]
    assert_equals_twin(random_pair(30, 1, 1), "symmetric", rules)


@pytest.mark.parametrize("unit", [0.3, 0.1, 1 / 64, 1e-9, 1e6])
def test_rules_hold_whatever_unit_they_are_written_in(unit):
    pair = random_pair(3, 3, 2)
    pair.emission[0, 0] *= 1e5  # a link that the model is sure of
    nodes = ((0, 0, 0), (1, 0, 0))
    rules = [ConstraintRule((node,), (1.0,), 0.5) for node in nodes]
    other = [ConstraintRule((node,), (unit,), 0.5 * unit) for node in nodes]
    expected, found = (projected(pair, "given", each, tolerance=1e-3) for each in (rules, other))
    assert projected(pair, "none").posteriors[:, 0, 0].min() > 0.99
    assert expected.posteriors[:, 0, 0].max() < 0.502
    np.testing.assert_allclose(found.posteriors, expected.posteriors, rtol=0, atol=1e-5)


def test_rules_that_are_not_met_are_said_once_and_those_that_are_met_never(caplog):
    class Contradictory:
        def rules(self, source: Sequence[str], target: Sequence[str]) -> Iterable[ConstraintRule]:
            yield ConstraintRule.at_least(0.9, [(0, 0, 0)])
            yield ConstraintRule.at_most(0.1, [(0, 0, 0)])

    class Possible:
        def rules(self, source: Sequence[str], target: Sequence[str]) -> Iterable[ConstraintRule]:
            yield ConstraintRule((((0, 0, 0)),), (0.1,), 0.07)

    exact = {"slack": 0.01, "tolerance": 0.01, "evaluations": 100}
    aligner = Aligner(threads=1, rounds=2, **exact).fit(PAIRS)
    aligner.constraints = Possible()
    aligner.align(PAIRS)
    assert caplog.records == []
    aligner.constraints = Contradictory()
    for _ in range(2):
        aligner.align(PAIRS)
    (record,) = caplog.records
    message = record.getMessage()
    assert message.startswith("some rules could not be followed everywhere, such as `")
    assert "more than slack + tolerance, 0.02" in message


def test_entries_that_cannot_be_followed_are_named_with_their_pair(caplog):
    pairs = [(["das", "haus", "steht"], ["the", "house", "stands"]), (["ein", "haus"], ["a", "house"])] * 20
    exact = {"slack": 0.01, "tolerance": 0.01, "evaluations": 100}
    aligner = Aligner(threads=1, rounds=1, **exact).fit(pairs)
    # A word chooses once, so a phrase of it and another word cannot be linked to both with 0.9.
    aligner.constraints = Glossary([("das", "house stands"), ("haus", "house stands")], strength=1)
    aligner.align(pairs)
    (record,) = caplog.records
    message = record.getMessage()
    assert message.startswith("some entries of the glossary could not be followed everywhere, such as `")
    assert "in the pair `das haus steht` - `the house stands`" in message
    assert "try more evaluations" in message


@pytest.mark.parametrize(("slack", "tolerance"), [(0.0, 1e-3), (0.001, 0.001), (0.3, 0.03)])
@pytest.mark.parametrize("kind", ["bijective", "symmetric", "given"])
def test_rules_hold_within_slack_and_tolerance(kind, slack, tolerance):
    for seed, (I, J) in enumerate([(2, 3), (5, 9), (14, 11), (25, 30)]):
        pair = random_pair(seed, I, J)
        rules = [
            ConstraintRule.at_least(0.9, [(1, 0, J - 1)]),
            ConstraintRule.at_most(0.2, [(0, I - 1, j) for j in range(J)]),
        ]
        rules = rules if kind == "given" else []
        outcome = projected(pair, kind, rules, slack=slack, tolerance=tolerance, limit=500)
        assert violation(outcome.posteriors, all_rules(pair, kind, rules)) <= slack + tolerance + 1e-4
        assert outcome.evaluations < 500


@pytest.mark.parametrize("slack", [0.001, 0.05, 0.2])
@pytest.mark.parametrize("kind", ["bijective", "symmetric", "given"])
def test_the_divergence_is_a_lower_bound_on_that_of_whatever_satisfies_the_rules(kind, slack):
    for seed, (I, J) in enumerate(SHAPES[1:]):
        pair = random_pair(seed, I, J)
        rules = feasible_rules(pair, kind, seed, 2) if kind == "given" else []
        every = all_rules(pair, kind, rules)
        best = project(pair.directions, every, slack=slack)
        assert abs(best.gap) < 1e-8
        strict = project(pair.directions, every)
        for tolerance in (EXACT, 0.03):
            outcome = projected(pair, kind, rules, slack=slack, tolerance=tolerance)
            assert -1e-6 <= outcome.divergence <= best.divergence + 1e-5
        assert best.divergence <= strict.divergence + 1e-9
        for few in (2, 3, 5):
            stopped = projected(pair, kind, rules, slack=slack, tolerance=0, limit=few)
            assert stopped.divergence <= best.divergence + 1e-5


def test_a_pair_that_satisfies_its_rules_costs_one_evaluation_and_stays_as_it_is():
    pair = random_pair(3, 3, 3)
    free = projected(pair, "none")
    loose = [
        ConstraintRule.at_most(float(free.posteriors[0, 0].sum()) + 1e-3, [(0, 0, j) for j in range(3)]),
        ConstraintRule.at_least(float(free.posteriors[1, 1, 1]) - 1e-3, [(1, 1, 1)]),
    ]
    outcome = projected(pair, "given", loose)
    assert outcome.evaluations == 1
    np.testing.assert_array_equal(outcome.posteriors, free.posteriors)
    assert projected(pair, "given").evaluations == 1
    single = random_pair(4, 1, 1)
    assert projected(single, "bijective").evaluations == 1  # one word cannot choose another twice


INFEASIBLE = {
    "two sources for one target word": [
        ConstraintRule.at_least(0.9, [(0, 0, 0)]),
        ConstraintRule.at_least(0.9, [(0, 1, 0)]),
    ],
    "more than a probability": [ConstraintRule.at_least(1.5, [(1, 0, 0)])],
    "less than nothing": [ConstraintRule.at_most(-0.1, [(0, 0, 0), (0, 0, 1)])],
    "two equalities": [ConstraintRule(((0, 0, 0),), (1.0,), x, equality=True) for x in (0.2, 0.8)],
    "a rule about nothing": [ConstraintRule.at_least(0.5, [])],
}


@pytest.mark.parametrize("kind", ["given", "symmetric", "bijective"])
def test_rules_that_cannot_hold_end_at_the_limit_with_probabilities(kind):
    for rules in INFEASIBLE.values():
        for seed in range(4):
            for limit in (2, 10, 30, 300):
                outcome = projected(random_pair(seed, 2, 2), kind, rules, slack=0.01, limit=limit)
                assert outcome.evaluations <= limit + 1  # one to go back to the best point
                assert np.isfinite(outcome.posteriors).all()
                assert outcome.posteriors.min() >= 0
                assert outcome.posteriors[0].sum(axis=0).max() <= 1 + 1e-4
                assert outcome.posteriors[1].sum(axis=1).max() <= 1 + 1e-4
                assert np.isfinite(outcome.divergence)


def test_at_the_limit_the_dual_is_never_worse_than_at_the_start():
    for kind in BUILT_IN:
        for seed in range(40):
            random = np.random.default_rng(seed)
            pair = random_pair(seed, *random.integers(1, 4, 2))
            rules = feasible_rules(pair, kind, seed, 2) if kind == "given" else []
            for limit in (2, 3, 4, 6):
                assert projected(pair, kind, rules, limit=limit).divergence >= -1e-4


def tilted(pair: OnePair, rules: Sequence[OracleRule], multipliers: np.ndarray, directions) -> OnePair:
    """The pair with emissions times `exp(−λ·f)` in these directions."""
    exponent = np.zeros((2, *pair.emission.shape[:2]))
    for rule, x in zip(rules, multipliers, strict=True):
        for node, coefficient in zip(rule.nodes, rule.coefficients, strict=True):
            exponent[node] -= coefficient * x if node[0] in directions else 0
    return pair._replace(emission=(pair.emission * np.exp(exponent.transpose(1, 2, 0))).astype(np.float32))


@pytest.mark.parametrize("kind", sorted(BUILT_IN))
@pytest.mark.parametrize("mixture", [False, True])
def test_the_dual_gradient_and_the_mixture_weights_are_those_of_enumeration(kind, mixture):
    pair = random_pair(7, 2, 3)
    given = [rule for name in ("a node in several rules", "coefficients") for rule in NAMED[name]]
    rules = all_rules(pair, kind, given)
    dual = Dual(pair.directions, rules, mixture)
    at = 0.7 * np.random.default_rng(1).standard_normal(len(rules))
    q, log_z = dual.tilted(at)
    ratios = np.array(
        [
            projected(tilted(pair, rules, at, (d,)), "none").likelihood - projected(pair, "none").likelihood
            for d in (0, 1)
        ]
    )
    weights = np.ones(2)
    if mixture:  # Eq. 15: Z of the mixture, and each direction's share of it
        z = 0.5 * np.exp(ratios)
        assert np.log(z.sum()) == pytest.approx(log_z, abs=1e-5)
        weights = z / z.sum()
        assert weights == pytest.approx(np.array(dual.weights(q)), abs=1e-5)
    else:
        assert ratios.sum() == pytest.approx(log_z, abs=1e-5)
    posteriors = projected(tilted(pair, rules, at, (0, 1)), "none").posteriors
    step = 1e-5
    for rule, move in zip(rules, step * np.eye(len(at)), strict=True):
        slope = (dual.value(at + move) - dual.value(at - move)) / (2 * step)
        reached = sum(
            c * weights[node[0]] * posteriors[node]
            for node, c in zip(rule.nodes, rule.coefficients, strict=True)
        )
        assert rule.bound - reached == pytest.approx(slope, abs=1e-5)


def objective(bitext: Bitext, model: Model, kind: str, constraints=None) -> float:
    """Σ log p(words) − KL(q || p) of both directions: what rounds with a projection must not lower."""
    options = model.options
    block = make_block(model, EncodedText(bitext), constraints)
    posterior = np.empty((block.first[-1], 2), np.float32)
    totals = []
    for how in ("none", kind):
        sums = expectations(block, constraint_of(options, how), posterior)
        totals.append(sums.totals)
    return float(totals[0][0] - totals[1][3])


@pytest.mark.parametrize("kind", ["symmetric", "bijective", "given"])
def test_rounds_never_lower_the_regularised_objective(kind):
    made = generate(150, seed=3, vocabulary=40, mean_length=7.0)
    pairs = [([int(word[1:]) for word in s], [int(word[1:]) for word in t]) for s, t, _ in made]
    bitext = encoded(pairs)
    lexicon = train_ibm1(bitext, 40, 40, 3, 2)
    names = [f"s{v}" for v in range(40)], [f"t{w}" for w in range(40)]
    priors = make_priors(lexicon, *names, 4, 0, 0, 1)
    options = Options(
        stem_weight=0, form_weight=0, prune=0, slack=0, tolerance=1e-4, evaluations=300, null=0.15
    )
    weights = initial_weights(options.null, options.floor)
    jumps = initial_jumps(*[classes_of(np.ones(40), 5)] * 2)
    model = Model(*map(Vocabulary, names), lexicon, weights, jumps, options)
    constraints = Fertility(0.8) if kind == "given" else None
    values = [objective(bitext, model, kind, constraints)]
    plain = objective(bitext, model, "none")
    assert values[0] < plain - 1, "the constraints are of no consequence here"
    for _ in range(6):
        model = em_round(bitext, model, priors, kind, 2, constraints).model
        values.append(objective(bitext, model, kind, constraints))
    assert np.diff(values).min() > -1e-5 * abs(values[0])
    assert values[-1] > values[0] + 0.01 * abs(values[0])


def test_rounds_count_no_posterior_that_breaks_a_rule():
    pairs = [([0, 1], [0, 1]), ([0], [0]), ([1], [1])] * 5
    bitext = encoded(pairs)
    lexicon = train_ibm1(bitext, 2, 2, 3, 1)
    names = ["s0", "s1"], ["t0", "t1"]
    options = Options(stem_weight=0, form_weight=0, prune=0, slack=0, tolerance=1e-4, evaluations=300)
    jumps = initial_jumps(*[classes_of(np.ones(2), 0)] * 2)
    model = Model(*map(Vocabulary, names), lexicon, initial_weights(0.15, 1e-8), jumps, options)
    priors = make_priors(lexicon, *names, 4, 0, 0, 1)

    class Crossed:
        def rules(self, source, target):
            return [
                ConstraintRule.at_least(0.95, [(d, i, j)])
                for d in (0, 1)
                for i, s in enumerate(source)
                for j, t in enumerate(target)
                if s[1] != t[1]
            ]

    table = em_round(bitext, model, priors, "given", 1, Crossed()).model.lexicon.table
    plain = em_round(bitext, model, priors, "none", 1).model.lexicon.table
    entry = int(np.flatnonzero(lexicon.columns[: lexicon.rows[1]] == 1)[0])  # s0 - t1
    assert (table[entry] > plain[entry] + 0.2).all()


BAD_RULES = {
    "2 nodes but 1 coefficients": ConstraintRule(((0, 0, 0), (0, 0, 1)), (1.0,), 1.0),
    "direction 2, link 0-0, in a pair of 2 and 3 words": ConstraintRule.at_most(1, [(2, 0, 0)]),
    "link 2-0, in a pair of 2 and 3 words": ConstraintRule.at_most(1, [(0, 2, 0)]),
    "link 0-3, in": ConstraintRule.at_most(1, [(1, 0, 3)]),
    "link -1-0, in": ConstraintRule.at_most(1, [(1, -1, 0)]),
    "not a number": ConstraintRule.at_most(float("nan"), [(0, 0, 0)]),
    "coefficient or bound": ConstraintRule(((0, 0, 0),), (float("inf"),), 1.0),
}


@pytest.mark.parametrize("message", BAD_RULES)
def test_a_bad_rule_is_refused_by_name(message):
    with pytest.raises(UsageError, match=message):
        give(Listed([BAD_RULES[message]]), [(["a", "b"], ["x", "y", "z"])])


def test_a_position_that_is_no_whole_number_is_refused():
    with pytest.raises(UsageError):
        give(Listed([ConstraintRule.at_most(1, [(0, 0.5, 0)])]), [(["a", "b"], ["x"])])


def test_rules_are_laid_out_pair_by_pair():
    pairs = [(["a"], ["x"]), ([], ["x"]), (["a", "b"], ["x", "y"])]
    laid = give(Fertility(0.5), pairs)
    np.testing.assert_array_equal(laid.pair_begin, [0, 1, 1, 3])
    np.testing.assert_array_equal(laid.node_begin, [0, 1, 3, 5])
    np.testing.assert_array_equal(laid.node, [[0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]])
    np.testing.assert_array_equal(laid.signed, [1, 1, 1])
    np.testing.assert_array_equal(laid.bound, np.float32([0.5, 0.5, 0.5]))
    np.testing.assert_array_equal(laid.coefficient, np.ones(5, np.float32))
    nothing = give(Listed([]), pairs)
    assert (len(nothing.node), nothing.node.shape[1], len(nothing.pair_begin)) == (0, 3, 4)


def test_at_least_is_at_most_of_the_negative():
    rule = ConstraintRule.at_least(0.9, iter([(0, 1, 2), (1, 1, 2)]))
    assert rule == ConstraintRule(((0, 1, 2), (1, 1, 2)), (-1.0, -1.0), -0.9, equality=False)
    assert ConstraintRule.at_most(2, [(0, 1, 2)]) == ConstraintRule(((0, 1, 2),), (1.0,), 2)


def test_a_glossary_has_rules_for_the_rarer_side_in_both_directions():
    glossary = Glossary([("Haus", "house"), ("haus", "home"), ("und", "and")], strength=0.7)
    rules = list(glossary.rules(["das", "haus", "HAUS"], ["home", "sweet", "Home"]))
    assert rules == [
        ConstraintRule.at_least(0.7, [(0, 1, 0), (0, 1, 2)]),
        ConstraintRule.at_least(0.7, [(1, 1, 0), (1, 1, 2)]),
        ConstraintRule.at_least(0.7, [(0, 2, 0), (0, 2, 2)]),
        ConstraintRule.at_least(0.7, [(1, 2, 0), (1, 2, 2)]),
    ]
    assert list(glossary.rules(["haus", "haus"], ["home"])) == [
        ConstraintRule.at_least(0.7, [(0, 0, 0), (0, 1, 0)]),
        ConstraintRule.at_least(0.7, [(1, 0, 0), (1, 1, 0)]),
    ]
    assert list(glossary.rules(["und"], ["house"])) == []
    assert list(glossary.rules([], [])) == []


def test_a_glossary_is_read_from_a_file(tmp_path):
    path = write_lines(tmp_path / "glossary", ["Haus\thouse", "", "haus\thome ", "und\tand"])
    glossary = Glossary.read(path, strength=0.5)
    assert glossary.strength == 0.5
    assert {word: [*known] for word, known in glossary.translations.items()} == {
        "haus": ["house", "home"],
        "und": ["and"],
    }


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ("haus", "no tab on the line 'haus'"),
        ("haus house", "no tab on the line 'haus house'"),
        ("x" * 100, f"no tab on the line '{'x' * 39}…'"),
        ("haus\t", r"no translation on the line 'haus\t'"),
        ("\thouse", r"no source on the line '\thouse'"),
        ("\thouse\tc", r"no source on the line '\thouse\tc'"),
    ],
)
def test_a_bad_line_of_a_glossary_is_named_and_quoted(bad, what, tmp_path):
    path = write_lines(tmp_path / "glossary", ["und\tand", "", bad])
    with pytest.raises(DataError) as error:
        Glossary.read(path)
    assert str(error.value) == f"{path}:3: {what}; write a source word or phrase, a tab and its translation"


@pytest.mark.parametrize("entry", [("", "x"), ("a", ""), (" ", "x y")])
def test_a_glossary_entry_of_no_words_is_refused(entry):
    with pytest.raises(DataError, match="one side has no word"):
        Glossary([("a", "x"), entry])


def test_a_phrase_of_a_glossary_has_a_rule_for_each_of_its_words(tmp_path):
    path = write_lines(tmp_path / "glossary", ["Europäische Union\tEuropean Union", "EU\tEuropean Union"])
    glossary = Glossary.read(path, strength=0.8)
    assert list(glossary.rules(["die", "europäische", "Union"], ["the", "European", "union"])) == [
        ConstraintRule.at_least(0.8, [(1, 1, 1), (1, 1, 2)]),
        ConstraintRule.at_least(0.8, [(1, 2, 1), (1, 2, 2)]),
        ConstraintRule.at_least(0.8, [(0, 1, 1), (0, 2, 1)]),
        ConstraintRule.at_least(0.8, [(0, 1, 2), (0, 2, 2)]),
    ]
    assert list(glossary.rules(["EU"], ["European", "Union"])) == [
        ConstraintRule.at_least(0.8, [(1, 0, 0), (1, 0, 1)]),
        ConstraintRule.at_least(0.8, [(0, 0, 0)]),
        ConstraintRule.at_least(0.8, [(0, 0, 1)]),
    ]
    # Two of them, and one translation: the words of the translation choose.
    assert list(glossary.rules(["EU", "EU"], ["European", "Union"])) == [
        ConstraintRule.at_least(0.8, [(0, 0, 0), (0, 1, 0)]),
        ConstraintRule.at_least(0.8, [(0, 0, 1), (0, 1, 1)]),
    ]
    assert list(glossary.rules(["Europäische", "und", "Union"], ["European", "Union"])) == []
    assert list(glossary.rules(["EU"], ["European"])) == []


def test_phrases_of_a_glossary_are_linked():
    pairs = [(["a", "b", "c"], ["x", "y", "z"])] * 6 + [(["c", "d"], ["z", "w"])] * 6
    crossed = Glossary([("a b", "y z")])
    options = {"slack": 0.01, "evaluations": 300, "tolerance": 0.01, "threads": 1}
    links = Aligner(**options).fit(pairs, constraints=crossed).align(pairs)[0].links
    assert {j for i, j in links if i in (0, 1)} == {1, 2}


@pytest.mark.parametrize("strength", [0, -0.1, 1.01, float("nan")])
def test_a_strength_that_is_no_probability_is_refused(strength):
    with pytest.raises(UsageError, match="must lie above 0 and be at most 1"):
        Glossary([], strength)


PAIRS = [(s.lower().split(), t.lower().split()) for s, t in zip(SOURCE, TARGET, strict=True)]


def unlinked_entry(aligner: Aligner) -> tuple[str, str, list[tuple[int, tuple[int, int]]]]:
    """Two words, each once in every pair that has both, that the aligner never links; and where they are."""
    links = [set(alignment.links) for alignment in aligner.align(PAIRS)]
    places: dict[tuple[str, str], list[tuple[int, tuple[int, int]]]] = {}
    for n, (source, target) in enumerate(PAIRS):
        for i, s in enumerate(source):
            for j, t in enumerate(target):
                places.setdefault((s, t), []).append((n, (i, j)))
    for (s, t), found in sorted(places.items()):
        once = len({n for n, _ in found}) == len(found)
        if once and len(found) > 2 and not any(link in links[n] for n, link in found):
            return s, t, found
    raise AssertionError("no such words in the sample")


@pytest.mark.parametrize("constraint", ["none", "agreement", "symmetric", "bijective"])
@pytest.mark.parametrize("projection", ["none", "symmetric", "bijective"])
def test_constraints_change_the_links_that_they_speak_of(constraint, projection):
    options = {"threads": 1, "rounds": 2, "constraint": constraint, "projection": projection}
    plain = Aligner(**options, evaluations=100).fit(PAIRS)
    source, target, places = unlinked_entry(plain)
    told = Aligner(**options, evaluations=100).fit(PAIRS, constraints=Glossary([(source, target)]))
    answers = told.align(PAIRS)
    assert all(link in answers[n].links for n, link in places)
    # The model has learnt it, too: without the rules it believes more in these links than before.
    entry = [plain.posteriors(PAIRS)[n][link] for n, link in places]
    told.constraints = None
    assert np.mean([told.posteriors(PAIRS)[n][link] for n, link in places]) > np.mean(entry)


@pytest.mark.parametrize("projection", ["none", "symmetric", "bijective"])
def test_posteriors_obey_the_rules_when_aligning(projection):
    aligner = Aligner(
        threads=1, rounds=2, projection=projection, slack=0.001, tolerance=0.001, evaluations=500
    )
    aligner.fit(PAIRS)
    source, target, places = unlinked_entry(aligner)
    aligner.constraints = Glossary([(source, target)], strength=0.8)
    matrices = aligner.posteriors(PAIRS, directions=True)
    for n, (i, j) in places:
        assert matrices[n][:, i, j].min() > 0.797


@pytest.mark.parametrize("projection", ["symmetric", "bijective"])
def test_a_glossary_word_that_occurs_twice_gives_probabilities(projection):
    pairs = [(["die", "katze"], ["the", "cat"]), (["katze"], ["the", "cat", "the"])] * 10
    aligner = Aligner(threads=1, rounds=2, projection=projection, evaluations=100)
    aligner.fit(pairs, constraints=Glossary([("die", "the"), ("katze", "the")]))
    for matrix in aligner.posteriors(pairs, directions=True):
        assert np.isfinite(matrix).all()


def test_a_set_that_lists_nothing_changes_no_bit_of_a_constrained_model():
    # As patient and strict as with rules of one's own.
    options = {"threads": 1, "rounds": 2, "constraint": "symmetric", "evaluations": 100, "slack": 0.3}
    plain = Aligner(**options).fit(PAIRS)
    told = Aligner(**options).fit(PAIRS, constraints=Listed([]))
    np.testing.assert_array_equal(told.model.lexicon.table, plain.model.lexicon.table)
    assert told.align(PAIRS) == plain.align(PAIRS)


@pytest.mark.parametrize("constraint", ["none", "agreement", "symmetric", "bijective"])
@pytest.mark.parametrize("projection", ["none", "symmetric", "bijective"])
def test_a_glossary_that_never_matches_changes_no_bit(constraint, projection):
    for entries in ([], [("xyzzy", "plugh"), ("xyz zy", "plugh")]):
        options = {"rounds": 2, "constraint": constraint, "projection": projection}
        plain = Aligner(threads=1, **options).fit(PAIRS)
        for threads in (1, 3):
            told = Aligner(threads=threads, **options).fit(PAIRS, constraints=Glossary(entries))
            np.testing.assert_array_equal(told.model.lexicon.table, plain.model.lexicon.table)
            np.testing.assert_array_equal(told.model.weights, plain.model.weights)
            for there, back in zip(told.model.jumps, plain.model.jumps, strict=True):
                np.testing.assert_array_equal(there, back)
            assert told.align(PAIRS) == plain.align(PAIRS)


@cache
def fitted() -> Model:
    return Aligner(threads=1, rounds=2).fit(PAIRS).model


class Sometimes:
    """Rules for the pairs whose source begins with one of these words."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = set(words)

    def rules(self, source: Sequence[str], target: Sequence[str]) -> Iterable[ConstraintRule]:
        if source and target and source[0] in self.words:
            yield ConstraintRule.at_least(0.9, [(0, 0, len(target) - 1)])


@pytest.mark.parametrize("projection", ["none", "symmetric", "bijective"])
@given(st.sets(st.sampled_from(sorted({source[0] for source, _ in PAIRS}))), st.sampled_from([1, 3]))
def test_pairs_without_rules_are_aligned_as_without_a_set(projection, words, threads):
    model = fitted()
    options = replace(model.options, projection=projection)
    aligner = Aligner.of_model(model.with_options(options), threads)
    plain, links = aligner.posteriors(PAIRS), aligner.align(PAIRS)
    aligner.constraints = Sometimes(words)
    told, new_links = aligner.posteriors(PAIRS), aligner.align(PAIRS)
    changed = 0
    for n, (source, _) in enumerate(PAIRS):
        if source[0] in words:
            changed += not np.array_equal(told[n], plain[n])
        else:
            np.testing.assert_array_equal(told[n], plain[n])
            assert new_links[n] == links[n]
    assert changed > 0 or not words


def test_a_glossary_that_was_used_is_pickled_to_the_same_bytes():
    glossary = Glossary([("a", "x"), ("a b", "x y"), ("c", "z")])
    before = pickle.dumps(glossary)
    give(glossary, [(["A", "b"], ["x", "Y"])])
    assert glossary.asked
    assert glossary.found == {("a", "x"), ("a b", "x y")}
    assert glossary.size == 3
    assert pickle.dumps(glossary) == before


def test_threads_do_not_change_a_bit_of_a_model_with_rules():
    fits = [Aligner(threads=n, rounds=2).fit(PAIRS * 3, constraints=Fertility(1.2)) for n in (1, 3)]
    np.testing.assert_array_equal(fits[0].model.lexicon.table, fits[1].model.lexicon.table)


def test_the_glossary_of_the_command_is_that_of_the_library(tmp_path, capsys):
    files = list(write_bitext(tmp_path))
    fast = ["--rounds", "2", "--quiet", "--threads", "1"]
    source, target, places = unlinked_entry(Aligner(threads=1, rounds=2).fit(PAIRS))
    path = write_lines(tmp_path / "glossary", [f"{source}\t{target}"])
    assert run(["align", *files, "--glossary", path, *fast]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all("{}-{}".format(*link) in lines[n].split() for n, link in places)
    library = Aligner(threads=1, rounds=2).fit(PAIRS, constraints=Glossary([(source, target)]))
    expected = [{f"{i}-{j}" for i, j in answer.links} for answer in library.align(PAIRS)]
    assert [set(line.split()) for line in lines] == expected


def test_a_glossary_holds_for_a_saved_model_that_knew_none(tmp_path, capsys):
    files = list(write_bitext(tmp_path))
    fast = ["--rounds", "2", "--quiet", "--threads", "1"]
    source, target, places = unlinked_entry(Aligner(threads=1, rounds=2).fit(PAIRS))
    path = write_lines(tmp_path / "glossary", [f"{source}\t{target}"])
    model = str(tmp_path / "model")
    assert run(["train", *files, model, *fast]) == 0
    assert run(["align", *files, "--model", model, *fast[2:]]) == 0
    plain = capsys.readouterr().out.splitlines()
    assert run(["align", *files, "--model", model, "--glossary", path, *fast[2:]]) == 0
    told = capsys.readouterr().out.splitlines()
    assert all("{}-{}".format(*link) not in plain[n].split() for n, link in places)
    assert all("{}-{}".format(*link) in told[n].split() for n, link in places)


def test_a_bad_glossary_is_bad_data_with_its_line(tmp_path, capsys):
    files = list(write_bitext(tmp_path))
    path = write_lines(tmp_path / "glossary", ["das\tthe", "das Haus"])
    for verb in (["align", *files], ["train", *files, str(tmp_path / "model")]):
        assert run([*verb, "--glossary", path, "--quiet"]) == 1
        assert f"{path}:2: no tab on the line 'das Haus'; write a source word" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()
    assert run(["align", *files, "--glossary", str(tmp_path / "none"), "--quiet"]) == 1
    assert str(tmp_path / "none") in capsys.readouterr().err


def test_a_glossary_is_split_into_tokens_as_the_text_is(tmp_path, capsys):
    source = write_lines(tmp_path / "source", ["Das Haus, groß.", "Ein Haus."] * 3)
    target = write_lines(tmp_path / "target", ["The house, big.", "A house."] * 3)
    path = write_lines(tmp_path / "glossary", ["haus\thouse", "haus,\thouse,"])
    command = ["align", source, target, "-o", str(tmp_path / "links"), "--glossary", path, "--rounds", "1"]
    assert run(command) == 0
    assert "glossary: 1 of 2 entries occurs" in capsys.readouterr().err
    assert run([*command, "--tokenize", "simple"]) == 0
    assert "glossary: 2 of 2 entries occur in" in capsys.readouterr().err


def test_the_command_says_how_many_entries_occur(tmp_path, capsys):
    files = list(write_bitext(tmp_path))
    s, t = PAIRS[0][0][0], PAIRS[0][1][0]
    fast = ["--rounds", "1", "--threads", "2"]
    out = ["-o", str(tmp_path / "links")]

    def told(*lines: str) -> str:
        path = write_lines(tmp_path / "glossary", list(lines))
        assert run(["align", *files, *out, "--glossary", path, *fast]) == 0
        return capsys.readouterr().err

    assert "glossary: 1 of 2 entries occurs in the text" in told(f"{s}\t{t}", "xyzzy\tplugh", f"{s}\t{t}")
    assert "no entry of the glossary occurs in the text" in told("xyzzy\tplugh")
    assert "the glossary has no entries" in told("")


def test_options_of_the_mixture_reach_the_kernels():
    plain = Aligner(threads=1, rounds=2, slack=0.001, tolerance=0.001).fit(PAIRS)
    mixed = Aligner.of_model(plain.model.with_options(replace(plain.options, mixture=True)), 1)
    there, back = (np.concatenate([m.ravel() for m in a.posteriors(PAIRS)]) for a in (plain, mixed))
    assert np.abs(there - back).max() > 0.01


def test_constraints_where_they_would_be_ignored_are_refused():
    with pytest.raises(UsageError, match='model="ibm2" has no chain'):
        Aligner(threads=1, model="ibm2").fit(PAIRS, constraints=Listed([]))
    aligner = Aligner(threads=1, rounds=1, decoder="viterbi").fit(PAIRS, constraints=Listed([]))
    with pytest.raises(UsageError, match="viterbi decoder looks at no constraints"):
        aligner.align(PAIRS)
