"""The duals bound the optimum at any multipliers; max-marginals and pruning lose nothing that is optimal."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.decode.joint.instances import AGREEMENTS, NAMES, Instance, random_instance

from dualign._core.jit import kernel
from dualign._search.dual import IMPOSSIBLE, new_record
from dualign.decode.joint import relax
from dualign.decode.joint.bound import Multipliers, descend, new_pair, prepare, prune_by_chains
from dualign.decode.joint.constrain import best_path, intersect, prune_edges
from dualign.decode.joint.decomposition import directed
from dualign.decode.joint.feasible import new_incumbent
from dualign.decode.joint.lattice import Constrained, lattice_of, new_terms, weigh_terms
from dualign.decode.joint.model import all_allowed, compiled_propagate, copied
from dualign.decode.joint.tied_chain import backward, cell_values, forward, link_values

compiled_backward = kernel(backward)
compiled_best_path = kernel(best_path)
compiled_cell_values = kernel(cell_values)
compiled_directed = kernel(directed)
compiled_forward = kernel(forward)
compiled_link_values = kernel(link_values)
compiled_prepare = kernel(prepare)
compiled_prune_edges = kernel(prune_edges)
compiled_slope = kernel(relax.slope)
compiled_value_of = kernel(relax.value_of)
compiled_weigh_terms = kernel(weigh_terms)

pytestmark = pytest.mark.kernel

kinds = pytest.mark.parametrize("kind", AGREEMENTS, ids=NAMES)
instances = st.builds(random_instance, st.integers(0, 2**32 - 1), st.sampled_from(AGREEMENTS))
seeds = st.integers(0, 2**32 - 1)


def size(instance: Instance) -> tuple[int, int]:
    return len(instance.theta), len(instance.omega)


def relaxation_of(instance: Instance) -> relax.JointRelaxation:
    return relax.new_relaxation(
        instance.problem, all_allowed(*size(instance)), new_incumbent(*size(instance))
    )


def constrained(relaxation: relax.JointRelaxation, room: int) -> Constrained:
    """The relaxation, just evaluated, as a lattice, with room for so many constraints."""
    I, J = relaxation.y.shape[0] - 1, relaxation.y.shape[1] - 1
    terms = new_terms(I, J, room)
    lattice = lattice_of(relaxation, terms, 100_000)
    return Constrained(relaxation, lattice, terms, np.empty(lattice.size[1]))


def random_multipliers(seed: int, I: int, J: int) -> Multipliers:
    random = np.random.default_rng(seed)
    multipliers = Multipliers(*np.zeros((4, I + 1, J + 1)))
    multipliers.x[:] = random.choice([0.0, 0.5, 3.0]) * random.normal(size=(I + 1, J + 1))
    multipliers.y[:] = random.choice([0.0, 0.5, 3.0]) * random.normal(size=(I + 1, J + 1))
    return multipliers


def two_sided(instance: Instance, multipliers: Multipliers) -> float:
    """L(λ, μ)."""
    pair = new_pair(instance.problem)._replace(multipliers=multipliers)
    compiled_prepare(pair)
    return sum(
        compiled_forward(chain, scores)[0]
        for chain, scores in ((pair.rows, pair.problem.theta), (pair.columns, pair.problem.omega))
    )


@given(instance=instances, seed=seeds)
def test_the_two_sided_dual_bounds_at_any_multipliers(instance, seed):
    best = instance.best().score
    for k in range(5):
        assert two_sided(instance, random_multipliers(seed + k, *size(instance))) >= best - 1e-9


def test_what_two_neighbours_insist_on_is_paid_once():
    # a = (1, 0, 1) and b = (2) are the only chains: rows 1 and 3 lean on y(2, 1), which row 2 does not see.
    theta, omega = np.full((3, 2, 2), -inf), np.full((1, 4, 4), -inf)
    theta[0, 0, 1] = theta[1, 1, 0] = theta[2, 0, 1] = omega[0, 0, 2] = 0.0
    instance = Instance(theta, omega, "soft", -1.0, -5.0)
    assert instance.best().score == -7.0
    multipliers = Multipliers(*np.zeros((4, 4, 2)))
    multipliers.x[1:, 1] = -10.0, 10.0, -10.0
    multipliers.y[1:, 1] = -10.0, 0.0, -10.0
    assert two_sided(instance, multipliers) >= -7.0


@given(instance=instances, seed=seeds)
def test_the_relaxation_bounds_at_any_multipliers(instance, seed):
    random = np.random.default_rng(seed)
    best = instance.best().score
    relaxation = relaxation_of(instance)
    for _ in range(5):
        value = compiled_value_of(relaxation)
        assert value >= best - 1e-9
        relaxation.multipliers[:] += random.choice([0.1, 1.0, 5.0]) * random.normal(
            size=relaxation.multipliers.shape
        )


@given(seed=seeds, kind=st.sampled_from(AGREEMENTS))
def test_the_relaxation_begins_at_the_sum_of_both_chains(seed, kind):
    instance = random_instance(seed, kind, forbidden=0.0)
    problem, I, J = instance.problem, *size(instance)
    plain = prune_by_chains(problem, all_allowed(I, J), new_incumbent(I, J), 1e-6)
    assert compiled_value_of(relaxation_of(instance)) <= plain + 1e-9


@given(instance=instances, seed=seeds)
def test_dual_decomposition_bounds_at_any_multipliers(instance, seed):
    problem, (I, J) = instance.problem, size(instance)
    random = np.random.default_rng(seed)
    best = instance.best().score
    a, b = np.zeros(I + 1, np.int64), np.zeros(J + 1, np.int64)
    there, back = np.zeros((I + 1, J + 1), np.uint8), np.zeros((J + 1, I + 1), np.uint8)
    for spread in (0.0, 0.5, 3.0):
        u = spread * random.normal(size=(I + 1, J + 1))
        value = compiled_directed(problem.theta, problem.alpha, problem.gamma, u, a, there)
        turned = np.ascontiguousarray(-u.T)
        value += compiled_directed(problem.omega, problem.alpha, problem.gamma, turned, b, back)
        assert value >= best - 1e-9


@given(instance=instances, seed=seeds)
def test_the_lattice_is_the_relaxation_and_constraints_only_tighten_it(instance, seed):
    I, J = size(instance)
    best = instance.best()
    assume(best.score > -inf)
    random = np.random.default_rng(seed)
    relaxation = relaxation_of(instance)
    relaxation.multipliers[:] += random.normal(size=relaxation.multipliers.shape)
    value = compiled_value_of(relaxation)
    state = constrained(relaxation, 12)
    for _ in range(12):
        compiled_weigh_terms(state.terms, relaxation)
        found = compiled_best_path(state)
        if state.terms.number[0] == 0:
            assert found == pytest.approx(value, abs=1e-9)
        assert best.score - 1e-9 <= found <= value + 1e-9
        column, row = int(random.integers(J)), int(random.integers(I + 1))
        if relaxation.active[column, row] or (column == 0 and row > 0):
            continue
        tighter = intersect(state, column, row, 100_000)
        assert tighter is not None or state.lattice.size[0] > 100_000 / 9
        state = tighter or state
        value = found


def strict(instance: Instance) -> bool:
    return instance.agreement != "soft"


@given(seed=seeds, kind=st.sampled_from(AGREEMENTS[:4]))
@settings(max_examples=40)
def test_with_all_constraints_the_lattice_is_the_problem(seed, kind):
    instance = random_instance(seed, kind, most=3)
    I, J = size(instance)
    best = instance.best()
    assume(best.score > -inf)
    relaxation = relaxation_of(instance)
    compiled_value_of(relaxation)
    state = constrained(relaxation, (I + 1) * J)
    for column in range(J):
        for row in range(I + 1 if column else 1):
            state = intersect(state, column, row, 10**7) or state
    compiled_weigh_terms(state.terms, relaxation)
    found = compiled_best_path(state)
    if strict(instance):
        assert found == pytest.approx(best.score, abs=1e-9)
        assert compiled_slope(relaxation) == 0
    assert found >= best.score - 1e-9


@given(instance=instances, seed=seeds)
def test_pruned_lattices_keep_the_optimum(instance, seed):
    I, J = size(instance)
    best = instance.best()
    assume(best.score > -inf)
    random = np.random.default_rng(seed)
    relaxation = relaxation_of(instance)
    compiled_value_of(relaxation)
    state = constrained(relaxation, 6)
    for column, row in ((1, 0), (0, 0), (1, 1), (2, 0), (2, 1), (2, 2)):
        if column >= J or row > I:
            continue
        for _ in range(3):
            compiled_weigh_terms(state.terms, relaxation)
            assert compiled_best_path(state) >= best.score - 1e-9
            compiled_prune_edges(state, best.score - 1e-6)
            relaxation.multipliers[:] += random.normal(size=relaxation.multipliers.shape)
        state = intersect(state, column, row, 10**7) or state
    for a, b in best.alignments:
        for j, (before, i) in enumerate(zip((0, *b), b, strict=False)):
            assert relaxation.arcs[j, before, i] or relaxation.active[j, before], (a, b)


@given(instance=instances, seed=seeds)
def test_max_marginals_are_those_of_the_restricted_chain(instance, seed):
    problem, (I, J) = instance.problem, size(instance)
    pair = new_pair(problem)._replace(multipliers=random_multipliers(seed, I, J))
    gamma = 0.5 * problem.gamma
    compiled_prepare(pair)
    value, _ = compiled_forward(pair.rows, problem.theta)
    assume(value > IMPOSSIBLE)
    compiled_backward(pair.rows, problem.theta)
    cells, links = compiled_cell_values(pair.rows), compiled_link_values(pair.rows, value, gamma)
    assert cells[1:].max(axis=1) == pytest.approx(value)
    for i in range(1, I + 1):
        for j in range(J + 1):
            masks = all_allowed(I, J)
            masks.x[i] = 0
            masks.x[i, j] = 1
            compiled_prepare(pair._replace(masks=masks))
            restricted, _ = compiled_forward(pair.rows, problem.theta)
            if strict(instance):
                assert max(cells[i, j], IMPOSSIBLE) == pytest.approx(max(restricted, IMPOSSIBLE))
            assert cells[i, j] >= restricted - 1e-9
            if j > 0:
                masks = all_allowed(I, J)
                masks.y[:, j] = 0
                masks.y[i, j] = 1
                if compiled_propagate(masks, strict(instance)):
                    compiled_prepare(pair._replace(masks=masks))
                    assert links[i, j] >= compiled_forward(pair.rows, problem.theta)[0] - 1e-9


@given(instance=instances, seed=seeds)
def test_max_marginals_bound_every_alignment(instance, seed):
    problem, (I, J) = instance.problem, size(instance)
    best = instance.best()
    assume(best.score > -inf)
    pair = new_pair(problem)._replace(multipliers=random_multipliers(seed, I, J))
    compiled_prepare(pair)
    gamma = 0.5 * problem.gamma
    values = []
    for chain, scores in ((pair.rows, problem.theta), (pair.columns, problem.omega)):
        value, _ = compiled_forward(chain, scores)
        compiled_backward(chain, scores)
        values.append((value, compiled_cell_values(chain), compiled_link_values(chain, value, gamma)))
    (rows, x_rows, y_rows), (columns, y_columns, x_columns) = values
    for a, b in best.alignments:
        for i, j in enumerate(a, 1):
            assert x_rows[i, j] + (x_columns[j, i] if j else columns) >= best.score - 1e-9
        for j, i in enumerate(b, 1):
            assert y_columns[j, i] + (y_rows[i, j] if i else rows) >= best.score - 1e-9


def assert_kept(masks, best) -> None:
    for a, b in best.alignments:
        assert all(masks.x[i, j] for i, j in enumerate(a, 1)), (a, b)
        assert all(masks.y[i, j] for j, i in enumerate(b, 1)), (a, b)


@given(instance=instances, first=st.booleans(), rounds=st.sampled_from([1, 3, 10, 40]))
def test_pruning_keeps_all_that_is_optimal(instance, first, rounds):
    problem, (I, J) = instance.problem, size(instance)
    best = instance.best()
    assume(best.score > -inf)
    for method in ("exact", "constrain"):
        masks, incumbent = all_allowed(I, J), new_incumbent(I, J)
        prune_by_chains(problem, masks if first else copied(masks), incumbent, 1e-6)
        assert compiled_propagate(masks, strict(instance))
        assert_kept(masks, best)
        record = new_record(rounds)
        if method == "exact":
            pair = new_pair(problem)._replace(masks=masks, incumbent=incumbent)
            descend(pair, record, rounds, 1e-6)
        else:
            relaxation = relax.new_relaxation(problem, masks, incumbent)
            relax.descend_and_prune(relaxation, record, rounds, 1e-6)
            for _, b in best.alignments:
                steps = zip((0, *b), b, strict=False)
                assert all(relaxation.arcs[j, before, i] for j, (before, i) in enumerate(steps))
        assert_kept(masks, best)
        assert record.numbers[0] >= best.score - 1e-6


@kinds
def test_ties_are_all_kept(kind):
    instance = Instance(np.zeros((3, 4, 4)), np.zeros((3, 4, 4)), *kind)
    best = instance.best()
    assert len(best.alignments) > 1
    pair = new_pair(instance.problem)
    prune_by_chains(pair.problem, pair.masks, pair.incumbent, 1e-6)
    descend(pair, new_record(), 20, 1e-6)
    assert_kept(pair.masks, best)
