"""Integer programs on HiGHS against enumeration."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from math import copysign, inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualign._search.highs import TOLERANCE, Program

small = st.integers(-5, 5)
CLOSE = 2 * TOLERANCE


@st.composite
def programs(draw: st.DrawFn):
    """Costs, rows of coefficients, and what they may add up to."""
    variables, rows = draw(st.integers(1, 6)), draw(st.integers(0, 4))
    costs = draw(st.lists(small, min_size=variables, max_size=variables))
    A = [draw(st.lists(small, min_size=variables, max_size=variables)) for _ in range(rows)]
    limits = [sorted(draw(st.tuples(small, small))) for _ in range(rows)]
    return costs, A, limits


def enumerated(costs, A, limits) -> float:
    """The best over all 0/1 vectors; −inf if none is feasible."""
    best = -inf
    for x in product((0, 1), repeat=len(costs)):
        sums = [np.dot(row, x) for row in A]
        if all(low <= total <= high for total, (low, high) in zip(sums, limits, strict=True)):
            best = max(best, np.dot(costs, x))
    return best


def program_of(costs, A, limits) -> Program:
    program = Program()
    names = program.add_variables(costs, whole=True)
    rows = program.add_constraints([low for low, _ in limits], [high for _, high in limits])
    for row, coefficients in zip(rows, A, strict=True):
        program.add_entries(np.full(len(names), row), names, np.array(coefficients, float))
    return program


@given(programs())
@settings(max_examples=60)
def test_the_optimum_is_that_of_enumeration(case):
    costs, A, limits = case
    best, found = enumerated(*case), program_of(*case).solve()
    assert found.ended
    if best == -inf:
        assert found.values is None
        assert found.bound == -inf
        return
    x = np.round(found.values)
    assert found.values == pytest.approx(x, abs=1e-6)
    assert np.dot(costs, x) == pytest.approx(best)
    assert best <= found.bound <= best + CLOSE
    for row, (low, high) in zip(A, limits, strict=True):
        assert low <= np.dot(row, x) <= high


@given(programs(), st.integers(0, 3))
@settings(max_examples=40)
def test_constraints_may_be_added_before_and_after_the_first_solution(case, limit):
    costs, A, limits = case
    program = program_of(*case)
    everything = np.arange(len(costs))
    for count in (len(costs), limit, max(0, limit - 1)):
        program.at_most(float(count), everything, np.ones(len(costs)))
        A, limits = [*A, [1] * len(costs)], [*limits, [0, count]]
        found, best = program.solve(), enumerated(costs, A, limits)
        assert best <= found.bound <= max(best, best + CLOSE)


@given(programs(), st.integers(-40, 20), st.sampled_from([0.0, 1e-8, 1e-7, 1e-6]), st.integers(0, 99))
@settings(max_examples=200)
def test_no_bound_is_below_the_optimum_however_small_the_numbers_and_their_differences(
    case, exponent, apart, seed
):
    costs, A, limits = case
    costs = 2.0**exponent * (np.array(costs) + apart * np.random.default_rng(seed).random(len(costs)))
    best, found = enumerated(costs, A, limits), program_of(costs, A, limits).solve()
    if best == -inf:
        assert found.bound == -inf
        return
    assert found.bound >= best - 1e-15 * np.abs(costs).sum()
    assert np.dot(costs, np.round(found.values)) >= best - CLOSE * max(1.0, 2.0**exponent)


def test_variables_that_are_not_whole_give_the_linear_optimum():
    program = Program()
    names = program.add_variables([5.0, 4.0])
    program.at_most(4.0, names, np.array([3.0, 3.0]))
    found = program.solve()
    assert found.ended
    assert found.bound == pytest.approx(5 + 4 / 3)
    free = Program()
    free.at_most(7.0, free.add_variables([1.0], upper=inf), np.ones(1))
    assert free.solve().bound == pytest.approx(7.0)


def test_without_time_there_is_no_claim():
    random = np.random.default_rng(0)
    n = 60
    program = Program()
    names = program.add_variables(random.random(n), whole=True)
    weights = random.random((20, n))
    for row in weights:
        program.at_most(float(row.sum() / 3), names, row)
    found = program.solve(seconds=0.0)
    assert not found.ended
    full = program.solve(seconds=2.0)
    assert found.bound >= full.bound - 1e-6
    if found.values is not None:
        assert (weights @ np.round(found.values) <= weights.sum(axis=1) / 3 + 1e-6).all()


def test_an_empty_program_is_worth_nothing():
    program = Program()
    program.add_variables([], whole=True)
    assert program.solve().bound == 0.0


def test_a_program_without_variables_may_be_infeasible():
    program = Program()
    program.add_constraints([1.0], [1.0])
    assert program.solve().bound == -inf
    assert Program().solve().bound == 0.0


def test_numerical_trouble_proves_nothing():
    program = Program()
    names = program.add_variables([-1e30, -1.5e30], whole=True)
    (row,) = program.add_constraints([1.0], [1.0])
    program.add_entries(np.full(2, row), names, 1.0)
    found = program.solve()
    assert found.bound >= -1e30


def test_a_bound_of_zero_is_not_negative_zero():
    program = Program()
    name = program.add_variables([0.0], whole=True)
    row = program.add_constraints([1.0], [1.0])
    program.add_entries(row, name, 1.0)
    assert copysign(1.0, program.solve().bound) == 1.0


def test_one_large_cost_does_not_hide_many_small_ones():
    """HiGHS takes costs as small as its tolerance for 0, one by one."""
    for whole in (False, True):
        program = Program()
        program.add_variables([1.0, *[5e-8] * 100], whole=whole)
        found = program.solve()
        assert found.bound >= 1 + 5e-6
        assert found.bound == pytest.approx(1 + 5e-6, abs=1e-9)


@given(programs(), st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_with_a_time_limit_the_answer_is_the_same(case, limit):
    costs, A, limits = case
    program = program_of(*case)
    for count in (len(costs), limit):
        program.at_most(float(count), np.arange(len(costs)), np.ones(len(costs)))
        A, limits = [*A, [1] * len(costs)], [*limits, [0, count]]
        found, best = program.solve(600.0), enumerated(costs, A, limits)
        assert found.ended
        assert best <= found.bound <= best + CLOSE
        assert (found.values is None) == (best == -inf)


HARD = """
import sys
import numpy as np
from dualign._core.progress import Clock
from dualign._search.highs import Program

random = np.random.default_rng(0)
program = Program()
columns = program.add_variables(random.integers(50, 100, 300), whole=True)
rows = program.add_constraints(np.full(60, -np.inf), np.full(60, 3000.0))
for row in rows:
    program.add_entries(np.full(300, row), columns, random.integers(1, 100, 300).astype(float))
for seconds in (float(limit) for limit in sys.argv[1:]):
    clock = Clock()
    found = program.solve(seconds)
    print(found.ended, found.values is not None, found.bound, clock.seconds)
"""


def test_a_time_limit_holds_and_what_was_found_by_then_is_kept():
    """HiGHS left to a thread outlived its limit, and the program died of it when it ended."""
    done = subprocess.run([sys.executable, "-c", HARD, "3", "0.2", "3"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    bounds = []
    for line, limit in zip(done.stdout.splitlines(), (3, 0.2, 3), strict=True):
        ended, found, bound, seconds = line.split()
        assert ended == "False"
        assert float(seconds) < limit + 2  # of a busy machine; 0.1 on an idle one
        bounds.append(float(bound))
        assert found == "True" or limit < 1
    assert all(0 < bound < np.inf for bound in bounds[::2])


def test_a_process_that_was_killed_is_replaced():
    program = program_of([1, 2], [[1, 1]], [(0, 1)])
    assert program.solve(600.0).ended
    program._solver._child._process.kill()
    lost = program.solve(600.0)
    assert not lost.ended
    assert lost.bound == inf
    found = program.solve(600.0)
    assert found.ended
    assert found.values == pytest.approx([0, 1])
