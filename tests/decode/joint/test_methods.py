"""Every method under the one interface: feasible, honest, bounded, and right where it says so."""

from __future__ import annotations

from math import inf
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decode.joint.instances import (
    AGREEMENTS,
    NAMES,
    Instance,
    hmm_like,
    random_instance,
    travelling_salesman,
)
from tests.oracles.agreement import shortest_path

import dualign
from dualign._core.progress import Clock
from dualign.decode.joint import constrain
from dualign.decode.joint import exact as exact_joint
from dualign.decode.joint import model as objective
from dualign.decode.joint.api import METHODS, bidirectional, problem_of, solve
from dualign.decode.joint.bound import WORK, rounds_at_once

pytestmark = pytest.mark.kernel

EXACT = ("exact", "ilp")
CLOSE = 1e-5
kinds = pytest.mark.parametrize("kind", AGREEMENTS, ids=NAMES)
methods = pytest.mark.parametrize("method", METHODS)


def assert_honest(instance: Instance, method: str, best: float) -> dualign.Certified:
    """Decode, and hold the answer against the optimum."""
    answer = bidirectional(instance.theta, instance.omega, method=method, **instance.options)
    a, b = answer.solution
    I, J = len(instance.theta), len(instance.omega)
    assert a.shape == (I,)
    assert b.shape == (J,)
    assert ((a >= 0) & (a <= J)).all()
    assert ((b >= 0) & (b <= I)).all()
    assert answer.bound >= best - CLOSE
    assert all(bound >= best - CLOSE for bound, _ in answer.trace)
    assert all(score <= best + CLOSE for _, score in answer.trace)
    assert answer.score <= answer.bound
    if answer.score > -inf:
        assert answer.score == pytest.approx(instance.score(a, b), abs=1e-7)
    if answer.certified:
        assert answer.score == pytest.approx(best, abs=CLOSE)
    if method in EXACT:
        assert answer.certified
    return answer


@kinds
def test_all_methods_against_enumeration(kind):
    for seed in range(45):
        instance = random_instance(seed, kind)
        best = instance.best().score
        for method in METHODS:
            try:
                assert_honest(instance, method, best)
            except dualign.Infeasible:
                assert best == -inf, (seed, method)


@methods
@pytest.mark.parametrize("scale", [1e-12, 1e-10, 1e-8, 1e-7, 1e-6, 1e-3, 1e3, 1e6])
def test_bounds_hold_at_any_scale(method, scale):
    for seed, kind in enumerate(AGREEMENTS * 3):
        plain = random_instance(seed, kind)
        costs = (cost if np.isinf(cost) else cost * scale for cost in (plain.alpha, plain.gamma))
        instance = Instance(plain.theta * scale, plain.omega * scale, plain.agreement, *costs)
        if (best := instance.best().score) == -inf:
            continue
        answer = bidirectional(instance.theta, instance.omega, method=method, **instance.options)
        rounding = 1e-12 * scale
        assert answer.bound >= best - rounding, seed
        assert all(bound >= best - rounding for bound, _ in answer.trace), seed
        assert answer.score <= best + rounding, seed
        if method in EXACT:
            assert answer.certified, seed
        if answer.certified:
            assert answer.score >= best - 1e-3 * scale, seed


@methods
@kinds
@pytest.mark.parametrize(("I", "J"), [(3, 0), (0, 2), (0, 0)])
def test_where_a_side_has_no_words_the_other_is_null(method, kind, I, J):
    random = np.random.default_rng(I + J)
    theta, omega = random.normal(size=(I, J + 1, J + 1)), random.normal(size=(J, I + 1, I + 1))
    instance = Instance(theta, omega, *kind)
    answer = bidirectional(theta, omega, method=method, **instance.options)
    assert [chain.tolist() for chain in answer.solution] == [[0] * I, [0] * J]
    assert answer.score == pytest.approx(theta[:, 0, 0].sum() + omega[:, 0, 0].sum())
    assert answer.bound == answer.score
    assert answer.certified
    if I + J:
        (theta if I else omega)[-1] = -inf
        with pytest.raises(dualign.Infeasible):
            bidirectional(theta, omega, method=method, **instance.options)


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(AGREEMENTS))
@settings(max_examples=120)
def test_exact_is_exact(seed, kind):
    instance = random_instance(seed, kind)
    best = instance.best().score
    if best == -inf:
        with pytest.raises(dualign.Infeasible):
            bidirectional(instance.theta, instance.omega, **instance.options)
    else:
        assert_honest(instance, "exact", best)


def test_a_bound_is_one_also_where_scores_differ_by_less_than_the_tolerance():
    for seed in range(150):
        random = np.random.default_rng(seed)
        I, J = random.integers(1, 4, 2)
        theta, omega = (
            random.integers(-2, 3, shape) + 1e-7 * random.integers(-5, 6, shape)
            for shape in ((I, J + 1, J + 1), (J, I + 1, I + 1))
        )
        instance = Instance(theta, omega, *AGREEMENTS[seed % len(AGREEMENTS)])
        answer = bidirectional(theta, omega, **instance.options)
        assert answer.certified
        assert answer.bound >= instance.best().score - 1e-9


@pytest.mark.parametrize("method", ["exact", "constrain"])
def test_rounding_of_large_scores_prunes_no_optimum(method):
    for seed in range(150):
        random = np.random.default_rng(seed)
        I, J = random.integers(1, 4, 2)
        theta, omega = (
            random.integers(-3, 4, shape) * 0.1 * 10.0 ** random.integers(9, 13)
            for shape in ((I, J + 1, J + 1), (J, I + 1, I + 1))
        )
        instance = Instance(theta, omega, *AGREEMENTS[seed % len(AGREEMENTS)])
        best = instance.best().score
        answer = bidirectional(theta, omega, method=method, **instance.options)
        assert answer.bound >= best - 1
        assert all(bound >= best - 1 for bound, _ in answer.trace)


@kinds
def test_exact_agrees_with_the_integer_program_on_longer_pairs(kind):
    for seed, (I, J) in enumerate([(8, 8), (9, 12), (12, 10)]):
        instance = hmm_like(seed, I, J, kind)
        program = solve(instance.problem, "ilp")
        assert program.certified
        for method in METHODS:
            if method != "ilp":
                assert_honest(instance, method, program.score)


@pytest.mark.parametrize("cities", range(2, 10))
def test_alignments_of_a_travelling_salesman_are_shortest_ways(cities):
    instance, start, distances = travelling_salesman(cities, cities)
    answer = assert_honest(instance, "exact", -shortest_path(start, distances))
    assert sorted(answer.solution[1].tolist()) == list(range(1, cities + 1))


def test_relaxations_bound_a_travelling_salesman():
    instance, start, distances = travelling_salesman(0, 6)
    best = -shortest_path(start, distances)
    for method in METHODS:
        assert_honest(instance, method, best)


def test_constraints_put_back_close_gaps_that_the_relaxation_leaves():
    better = closed = added = 0
    for seed in range(12):
        for kind in (AGREEMENTS[0], AGREEMENTS[1], AGREEMENTS[3]):
            problem = hmm_like(seed, 7, 7, kind, noise=3.0).problem
            optimum = solve(problem, "exact").score
            plain = solve(problem, "relax")
            outcome = constrain.search(problem, 1e-6, Clock())
            assert outcome.bound >= optimum - CLOSE
            added += outcome.constraints
            if not plain.certified:
                better += outcome.bound < plain.bound - CLOSE
                closed += outcome.bound <= optimum + CLOSE
    assert added > 0
    assert better > 0
    assert closed > 0


def test_a_lattice_that_may_not_grow_still_bounds(monkeypatch):
    instance, start, distances = travelling_salesman(0, 6)
    best = -shortest_path(start, distances)
    for room in (10, 1500):
        monkeypatch.setattr(constrain, "MOST_EDGES", room)
        outcome = constrain.search(instance.problem, 1e-6, Clock())
        assert outcome.rounds > 400
        assert outcome.bound >= best - CLOSE
        assert all(bound >= best - CLOSE for bound, _ in outcome.trace)


@kinds
@methods
def test_one_word_on_a_side(kind, method):
    for I, J in ((1, 1), (1, 4), (4, 1)):
        random = np.random.default_rng(10 * I + J)
        theta, omega = random.normal(size=(I, J + 1, J + 1)), random.normal(size=(J, I + 1, I + 1))
        instance = Instance(theta, omega, *kind)
        assert_honest(instance, method, instance.best().score)


@kinds
@methods
def test_no_links_where_none_pays(kind, method):
    theta, omega = np.full((3, 5, 5), -9.0), np.full((4, 4, 4), -9.0)
    theta[:, :, 0] = omega[:, :, 0] = -0.1
    answer = assert_honest(Instance(theta, omega, *kind), method, -0.7)
    assert answer.certified
    assert not answer.solution[0].any()
    assert not answer.solution[1].any()


@pytest.mark.parametrize("method", EXACT)
@kinds
def test_the_impossible_is_said_to_be(kind, method):
    theta, omega = np.zeros((2, 3, 3)), np.zeros((2, 3, 3))
    theta[1] = -inf
    with pytest.raises(dualign.Infeasible):
        bidirectional(theta, omega, method=method, **Instance(theta, omega, *kind).options)


@methods
def test_what_only_agreement_forbids_is_never_certified(method):
    # Both rows must pick column 1, which must pick row 3: too far from row 1.
    theta, omega = np.full((3, 2, 2), -inf), np.full((1, 4, 4), -inf)
    theta[0, 0, 1] = theta[1, 1, 1] = theta[2, 1, 1] = 0.0
    omega[0, 0, 3] = 0.0
    try:
        answer = bidirectional(theta, omega, method=method)
    except dualign.Infeasible:
        return
    assert method not in EXACT
    assert answer.score == -inf
    assert not answer.certified


@methods
def test_the_score_is_that_of_the_solution_also_where_the_method_found_none(method):
    """No links at all are possible, but the chains' best paths cannot be repaired to that."""
    found = 0
    for seed in range(400):
        instance = random_instance(seed, AGREEMENTS[1 + seed % 3], most=3, forbidden=0.45)
        try:
            answer = bidirectional(instance.theta, instance.omega, method=method, **instance.options)
        except dualign.Infeasible:
            continue
        score = instance.score(*answer.solution)
        assert answer.score == pytest.approx(score, abs=1e-7) or answer.score == score
        found += not answer.certified
    assert found > 0 or method in EXACT


@methods
def test_out_of_time_there_is_still_an_answer_and_a_bound(method):
    instance = hmm_like(1, 14, 13, AGREEMENTS[1], noise=3.0)
    optimum = solve(instance.problem, "exact").score
    answer = bidirectional(instance.theta, instance.omega, method=method, time_limit=1e-9, **instance.options)
    assert answer.score <= optimum + CLOSE
    assert answer.bound >= optimum - CLOSE
    assert answer.score == pytest.approx(instance.score(*answer.solution), abs=1e-7)
    assert answer.certified == (answer.bound - answer.score <= 1e-6 * max(1, abs(answer.score)))


@methods
@pytest.mark.parametrize("limit", [inf, 1e10])
def test_an_endless_time_limit_is_none(method, limit):
    instance = hmm_like(1, 4, 5, AGREEMENTS[1])
    free = bidirectional(instance.theta, instance.omega, method=method, **instance.options)
    answer = bidirectional(
        instance.theta, instance.omega, method=method, time_limit=limit, **instance.options
    )
    assert (answer.score, answer.bound, answer.trace) == (free.score, free.bound, free.trace)


def test_the_clock_is_looked_at_more_often_where_rounds_take_longer():
    steps = [I * J * (I + J) * rounds_at_once(I, J) for I, J in ((1, 1), (60, 60), (120, 120), (1, 2000))]
    assert max(steps) <= WORK
    assert rounds_at_once(60, 60) == 25
    assert rounds_at_once(1000, 1000) == 1


def test_a_search_that_is_cut_short_does_not_claim_to_be_exact():
    instance, *_ = travelling_salesman(5, 12)
    answer = solve(instance.problem, "exact", 1e-9)
    assert not answer.certified
    assert answer.gap > 0


@methods
def test_the_same_question_has_the_same_answer(method):
    problem = hmm_like(3, 9, 8, AGREEMENTS[3]).problem
    first, second = solve(problem, method), solve(problem, method)
    assert first.score == second.score
    assert first.bound == second.bound
    assert first.trace == second.trace


def test_two_free_chains_are_two_viterbi_decodings():
    instance = random_instance(5, ("soft", 0.0, 0.0))
    answer = bidirectional(instance.theta, instance.omega, **instance.options)
    assert answer.certified
    assert answer.score == pytest.approx(instance.best().score)


def test_soft_agreement_without_mercy_is_adjacent():
    for seed in range(1, 20, 2):
        theta, omega, *_ = random_instance(seed, AGREEMENTS[1], forbidden=0.0)
        soft = bidirectional(theta, omega, agreement="soft", penalty=-1.0, unsupported=-inf)
        assert soft.score == pytest.approx(bidirectional(theta, omega, penalty=-1.0).score)


def test_inputs_are_left_alone():
    instance = random_instance(2, AGREEMENTS[1])
    theta, omega = instance.theta.copy(), instance.omega.copy()
    for method in METHODS:
        bidirectional(theta, omega, method=method)
    assert (theta == instance.theta).all()
    assert (omega == instance.omega).all()


@methods
@pytest.mark.parametrize("limit", [0.02, 0.3])
def test_time_limit_holds_with_an_answer_and_a_bound(method, limit):
    draw = np.random.default_rng(1)
    small, large = (np.log(draw.random((n, n + 1, n + 1))) for n in (5, 60))
    bidirectional(small, small, method=method, time_limit=9)  # compiles
    bidirectional(large[:9, :10, :10], large[:9, :10, :10], method=method, time_limit=0.5)
    began = process_time()
    answer = bidirectional(large, large, method=method, time_limit=limit)
    # A busy machine may take a multiple of the limit; without one, `exact` takes half a minute and more.
    assert process_time() - began < limit + 2
    assert -inf < answer.score <= answer.bound < inf


@pytest.mark.slow
def test_work_is_limited_at_the_same_place_every_time(monkeypatch):
    draw = np.random.default_rng(3)
    scores = np.log(draw.random((12, 13, 13)))
    problem = problem_of(scores, scores[::-1].copy(), "adjacent", -1.0, None)
    free = exact_joint.search(problem, 1e-6, Clock(), 10**6)
    monkeypatch.setattr(exact_joint, "MOST_STEPS", 150 * 12 * 12 * 24)
    first, again = (exact_joint.search(problem, 1e-6, Clock(), 10**6) for _ in range(2))
    assert first.rounds < free.rounds
    assert (first.rounds, first.bound, first.nodes) == (again.rounds, again.bound, again.nodes)
    assert first.bound > free.bound
    assert (
        exact_joint.search(problem, 1e-6, Clock()).rounds == free.rounds
    )  # no limit on nodes, none on steps


def test_whole_numbers_need_no_kernels_of_their_own(monkeypatch):
    made = []

    def record(*parts):
        made.append(parts)
        return objective.JointProblem(*parts)

    monkeypatch.setattr(exact_joint, "JointProblem", record)
    chosen = {"decoder": "bidirectional", "agreement": "soft", "penalty": -1, "unsupported": -2}
    aligner = dualign.Aligner(threads=1, rounds=1, **chosen)
    pairs = [(["a", "b"], ["x", "y"])] * 3
    aligner.fit(pairs).align(pairs)
    assert {type(part) for parts in made for part in parts[2:]} == {float}
