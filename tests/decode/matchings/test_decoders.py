"""Matching decoders: guarantees, bounds and exactness against enumeration, and what they refuse."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decode.matchings.instances import FEW, FINE, Instance, instances
from tests.oracles import matching as oracle

import dualign
from dualign import Certified, DataError, UsageError
from dualign._core.jit import kernel
from dualign.decode import matching, penalized, submodular
from dualign.decode.matchings.api import as_limits, as_scores, rule_of
from dualign.decode.matchings.blocks import decode_matrices
from dualign.decode.matchings.greedy import MatchingMatrix, compiled_value, tangent_bound

compiled_tangent_bound = kernel(tangent_bound)

pytestmark = pytest.mark.kernel

CLOSE = 1e-9

# Ties, and scores that a matching leaves out.
SIGNED = st.sampled_from([-1.0, -0.25, 0.0, 0.25, 1.0])


@given(instances())
def test_greedy_has_its_share_of_the_optimum_and_its_bound_holds(case: Instance) -> None:
    found = submodular(case.scores, **case.keywords)
    best = oracle.optimum(case.scores.tolist(), case.alpha, case.weights, case.row_limits, case.column_limits)
    assert found.score >= best / (case.matroids + 1) * (1 - CLOSE)
    assert found.bound >= best * (1 - CLOSE)
    assert found.score <= best * (1 + CLOSE)
    if found.certified:
        assert found.score == pytest.approx(best, rel=1e-6)


@given(instances(), st.data())
def test_every_tangent_is_a_bound_and_the_one_at_the_links_sums_touches(case, data) -> None:
    S, rule = as_scores(case.scores), rule_of(case.alpha, case.concave)
    rows, columns = case.scores.shape
    limits = as_limits(case.row_limits, rows, columns, ""), as_limits(case.column_limits, columns, rows, "")
    best = oracle.optimum(S.tolist(), case.alpha, case.weights, case.row_limits, case.column_limits)
    sums = st.floats(1e-3, 1e3)
    x = np.array(data.draw(st.lists(sums, min_size=rows, max_size=rows)))
    y = np.array(data.draw(st.lists(sums, min_size=columns, max_size=columns)))
    taken = np.zeros((rows, columns), np.uint8)
    assert compiled_tangent_bound(MatchingMatrix(S, *limits, taken), rule, x, y, taken) >= best * (1 - CLOSE)
    # Without limits all links are best, and at their sums the tangent is f itself.
    free = as_limits(None, rows, columns, ""), as_limits(None, columns, rows, "")
    bound = compiled_tangent_bound(MatchingMatrix(S, *free, taken), rule, S.sum(axis=1), S.sum(axis=0), taken)
    everything = frozenset((int(i), int(j)) for i, j in np.argwhere(S))
    assert bound == pytest.approx(oracle.worth(S.tolist(), everything, case.alpha, case.weights), rel=1e-9)


@given(instances(most_cells=150, longest=25))
def test_lazy_greedy_is_plain_greedy_with_fewer_evaluations(case: Instance) -> None:
    lazy = submodular(case.scores, **case.keywords)
    plain = submodular(case.scores, **case.keywords, method="plain")
    assert lazy.solution == plain.solution
    assert lazy.score == plain.score
    assert lazy.iterations <= max(plain.iterations, np.count_nonzero(case.scores))


@given(instances(most_cells=100, longest=20))
def test_limits_are_kept_and_the_score_is_that_of_the_links(case: Instance) -> None:
    found = submodular(case.scores, **case.keywords)
    links = frozenset(found.solution)
    assert oracle.within(links, case.row_limits, case.column_limits)
    assert all(case.scores[link] > 0 for link in links)
    expected = oracle.worth(case.scores.tolist(), links, case.alpha, case.weights)
    assert found.score == pytest.approx(expected, rel=1e-12)
    assert found.gap >= 0


@given(instances(most_cells=40, longest=8))
def test_no_link_that_the_limits_allow_is_left_out(case: Instance) -> None:
    links = submodular(case.scores, **case.keywords).solution
    for link in {(int(i), int(j)) for i, j in np.argwhere(case.scores)} - links:
        assert not oracle.within(frozenset(links | {link}), case.row_limits, case.column_limits)


@given(instances(score=FINE), st.data())
def test_the_objective_is_monotone_and_submodular(case: Instance, data: st.DataObject) -> None:
    cells = [(int(i), int(j)) for i, j in np.ndindex(case.scores.shape)]
    large = data.draw(st.sets(st.sampled_from(cells)))
    small = data.draw(st.sets(st.sampled_from(sorted(large)))) if large else set()
    extra = data.draw(st.sampled_from(cells))

    def kernel_value(links: set[tuple[int, int]]) -> float:
        chosen = np.zeros(case.scores.shape, np.uint8)
        for link in links:
            chosen[link] = 1
        return compiled_value(as_scores(case.scores), chosen, rule_of(case.alpha, case.concave))

    expected = oracle.worth(case.scores.tolist(), frozenset(large), case.alpha, case.weights)
    assert kernel_value(large) == pytest.approx(expected, rel=1e-12)
    assert kernel_value(small) <= kernel_value(large) + 1e-12
    if extra not in large:
        gain_small = kernel_value(small | {extra}) - kernel_value(small)
        gain_large = kernel_value(large | {extra}) - kernel_value(large)
        assert gain_small >= gain_large - 1e-12


@given(instances(most_cells=60, longest=8))
def test_rows_and_columns_are_interchangeable(case: Instance) -> None:
    turned = {"rows": "columns", "columns": "rows", "both": "both"}[case.concave]
    there = submodular(case.scores, **case.keywords)
    back = submodular(
        case.scores.T,
        alpha=case.alpha,
        concave=turned,
        row_limits=case.column_limits,
        column_limits=case.row_limits,
    )
    ties = len(set(case.scores[case.scores > 0].tolist())) < np.count_nonzero(case.scores)
    # With both sides, gains of different links may be equal although their scores differ.
    if not ties and case.concave != "both":
        assert {(i, j) for j, i in back.solution} == there.solution
    assert back.bound >= there.score * (1 - CLOSE)


@given(instances(most_cells=40, longest=8))
def test_one_side_of_limits_and_a_sum_is_certified(case: Instance) -> None:
    found = submodular(case.scores, alpha=1, column_limits=case.column_limits)
    assert found.certified
    # Rows with limits of their own do not compete.
    assert submodular(case.scores, alpha=case.alpha, row_limits=case.row_limits).certified


@settings(max_examples=40)
@given(instances(most_cells=10, longest=5, score=st.one_of(FEW, FINE)))
def test_the_integer_program_finds_the_optimum(case: Instance) -> None:
    found = submodular(case.scores, **case.keywords, method="exact")
    best = oracle.optimum(case.scores.tolist(), case.alpha, case.weights, case.row_limits, case.column_limits)
    assert found.certified
    assert found.score == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert oracle.within(frozenset(found.solution), case.row_limits, case.column_limits)


def test_the_integer_program_finds_what_greedy_misses() -> None:
    missed = 0
    for seed in range(12):
        scores = np.random.default_rng(seed).random((5, 5)) ** 3
        best = oracle.optimum_of_one_a_column(scores.tolist(), 0.5)
        found = submodular(scores, column_limits=1, method="exact")
        assert found.certified
        assert found.score == pytest.approx(best, rel=1e-6)
        greedy = submodular(scores, column_limits=1)
        assert best / 2 <= greedy.score <= best * (1 + CLOSE)
        assert best <= greedy.bound * (1 + CLOSE)
        missed += greedy.score < best * (1 - 1e-6)
    assert missed > 0


@pytest.mark.parametrize("size", [1.0, 1e-12, 1e-60, 1e60])
def test_certificates_do_not_depend_on_the_size_of_scores(size: float) -> None:
    scores = size * np.array([[1.0, 0.9], [0.9, 0.0]])
    greedy = submodular(scores, alpha=1, row_limits=1, column_limits=1)
    assert greedy.score == pytest.approx(size)
    assert greedy.bound >= 1.8 * size * (1 - CLOSE)
    assert not greedy.certified
    for best in (
        submodular(scores, alpha=1, row_limits=1, column_limits=1, method="exact"),
        matching(scores),
        penalized(scores, row_costs=[], column_costs=[]),
    ):
        assert best.score == pytest.approx(1.8 * size)
        assert best.certified
    found = decode_matrices([scores], 1, alpha=1.0, row_limit=1, column_limit=1)
    assert [each.certified for each in found] == [False]


def test_scores_that_limits_exclude_do_not_matter_to_the_integer_program() -> None:
    scores = [[1e9, 1e9, 1e9], [0.0, 1.0, 0.9], [0.0, 0.9, 0.0]]
    found = submodular(
        scores, alpha=1, row_limits=[0, 1, 1], column_limits=[1, 1, 1], concave="both", method="exact"
    )
    assert found.certified
    assert found.solution == {(1, 2), (2, 1)}


def test_an_integer_program_out_of_time_keeps_greedys_answer_and_bound() -> None:
    scores = np.random.default_rng(1).random((30, 30))
    greedy = submodular(scores, column_limits=2, row_limits=2)
    found = submodular(scores, column_limits=2, row_limits=2, method="exact", time_limit=1e-3)
    assert found.score >= greedy.score
    assert found.bound <= greedy.bound


@given(instances(most_cells=36) | instances(most_cells=36, score=st.one_of(SIGNED, st.floats(-1, 1))))
def test_a_matching_has_the_largest_sum_there_is(case: Instance) -> None:
    found = matching(case.scores)
    assert found.certified
    assert found.score == pytest.approx(oracle.best_matching(case.scores.tolist()), rel=CLOSE)
    assert oracle.within(frozenset(found.solution), [1] * case.scores.shape[0], [1] * case.scores.shape[1])
    assert all(case.scores[link] > 0 for link in found.solution)


def test_a_matching_of_negative_scores_is_empty_and_certified() -> None:
    found = matching([[-1.0, -np.inf], [-0.5, 0.0]])
    assert (found.solution, found.score, found.bound, found.certified) == (set(), 0.0, 0.0, True)


@pytest.mark.parametrize("shape", [(30, 30), (12, 40), (40, 12)])
def test_large_matchings_agree_with_scipy(shape: tuple[int, int]) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    scores = np.random.default_rng(3).random(shape) ** 6
    scores[::3] = scores[:, ::4] = 0
    rows, columns = optimize.linear_sum_assignment(scores, maximize=True)
    found = matching(scores)
    assert found.certified
    assert found.score == pytest.approx(scores[rows, columns].sum(), rel=1e-12)


costs = st.lists(st.floats(0, 1), max_size=2).map(sorted)


@settings(max_examples=40)
@given(
    instances(most_cells=9, longest=4, score=st.one_of(FEW, FINE)),
    costs,
    costs,
    st.sampled_from([0.0, 0.1, -0.1]),
)
def test_the_penalised_program_finds_its_optimum(case, row_levels, column_levels, link_cost) -> None:
    rows, columns = case.scores.shape
    # A link with score 0 is worth having where links are paid for, but is none to us.
    scores = np.where(case.scores == 0, 0.01, case.scores)
    found = penalized(scores, row_costs=row_levels, column_costs=column_levels, link_cost=link_cost)
    best = oracle.best_penalized(scores.tolist(), [row_levels] * rows, [column_levels] * columns, link_cost)
    assert found.certified
    assert found.score == pytest.approx(best, rel=1e-6, abs=1e-6)


def test_the_example_of_the_paper() -> None:
    """Lin & Bilmes 2011, §4: `the` takes `le` and leaves `de` to `of`."""
    scores = [[0.68, 0.60], [0.0, 0.44]]
    assert submodular(scores, alpha=1, column_limits=1).solution == {(0, 0), (0, 1)}
    found = submodular(scores, column_limits=1)
    assert found.solution == {(0, 0), (1, 1)}
    assert found.score == pytest.approx(1.49, abs=0.005)
    assert isinstance(found, Certified)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 2)])
def test_nothing_to_link_gives_no_links_and_a_proof(shape: tuple[int, int]) -> None:
    scores = np.zeros(shape)
    decoders = (
        lambda: submodular(scores),
        lambda: submodular(scores, method="plain"),
        lambda: submodular(scores, method="exact"),
        lambda: matching(scores),
        lambda: penalized(scores, row_costs=[0.1], column_costs=[]),
    )
    for decode in decoders:
        found = decode()
        assert (found.solution, found.score, found.bound, found.certified) == (set(), 0, 0, True)


def test_arrays_of_any_kind_are_read() -> None:
    scores = np.array([[3, 1], [1, 3]])
    expected = {(0, 0), (1, 1)}
    for form in (scores, scores.tolist(), scores.astype(np.float32), np.asfortranarray(scores), scores > 2):
        assert submodular(form, column_limits=1).solution == expected
        assert matching(form).solution == expected
    limits = np.array([1, 1], np.int64)
    assert submodular(scores, column_limits=limits, row_limits=(1, 1)).solution == expected


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[0.1, -0.2]], "scores[0, 1] is -0.2; scores are numbers and not negative"),
        ([[0.1], [float("nan")]], "scores[1, 0] is nan"),
        ([[float("inf")]], "scores[0, 0] is inf; scores are at most 1e+100"),
        ([[-float("inf")]], "scores[0, 0] is -inf"),
        ([[0.1, 0.2], [0.3]], "row 1 has 1 score, but row 0 has 2"),
        ([[0.1, "x"]], "[0, 1] is not a number: 'x'"),
        ([[0.1, None]], "[0, 1] is not a number: None"),
        ([[0.1], 3], "row 1 is not a list"),
        ([0.1, 0.2], "scores has 1 axes"),
        (np.zeros((2, 2, 2)), "scores has 3 axes"),
        (0.5, "scores has 0 axes"),
        (None, "scores: not a matrix of numbers"),
        ("0-0", "scores: not a matrix of numbers"),
        (np.zeros((2, 2), complex), "scores: "),
    ],
)
def test_bad_scores_are_refused_with_their_place(scores: object, message: str) -> None:
    for decode in (submodular, matching, lambda S: penalized(S, row_costs=[], column_costs=[])):
        if decode is matching and " is -" in message:
            continue
        with pytest.raises(DataError, match=re.escape(message)):
            decode(scores)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"alpha": 0}, "alpha=0 must be over 0 and at most 1"),
        ({"alpha": 1.01}, "alpha=1.01"),
        ({"alpha": -1.0}, "alpha=-1.0"),
        ({"alpha": float("nan")}, "alpha=nan"),
        ({"alpha": "0.5"}, 'alpha="0.5" must be a number'),
        ({"alpha": True}, "alpha=True"),
        ({"concave": "row"}, 'concave="row" is not one of rows, columns, both'),
        ({"method": "fast"}, 'method="fast" is not one of lazy, plain, exact'),
        ({"time_limit": 1.0}, "time_limit is for"),
        ({"method": "exact", "time_limit": 0.0}, "time_limit=0.0"),
    ],
)
def test_bad_options_are_refused_by_name(keywords: dict, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        submodular([[0.6, 0.5], [0.7, 0.1]], column_limits=1, **keywords)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (-1, "=-1 is negative"),
        ([1, -2], "[1]=-2 is negative"),
        ([1], "has shape (1,), but there are 2 words"),
        ([1, 2, 3], "has shape (3,)"),
        (1.5, "=1.5 must be a whole number"),
        ([1.0, 2.0], "must be a whole number"),
        ("1", "must be a whole number"),
        ([[1, 1]], "has shape (1, 2)"),
        ([[1], [1, 2]], "must be a whole number"),
    ],
)
@pytest.mark.parametrize("side", ["row_limits", "column_limits"])
def test_bad_limits_are_refused_with_their_place(side: str, limits: object, message: str) -> None:
    with pytest.raises(DataError, match=f"^{side}.*{re.escape(message)}"):
        submodular([[0.6, 0.5], [0.7, 0.1]], **{side: limits})


@pytest.mark.parametrize("costs", [[-0.1], [0.2, 0.1], [float("nan")], [[0.1]], "x", [[[0.1]]]])
def test_bad_costs_are_refused(costs: object) -> None:
    with pytest.raises(DataError, match="row_costs"):
        penalized([[0.6, 0.5], [0.7, 0.1]], row_costs=costs, column_costs=[])


def test_the_room_is_light_until_a_decoder_is_called() -> None:
    script = "import sys, dualign, dualign.decode; dualign.decode; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"numpy", "numba", "scipy", "highspy"} & set(done.stdout.split())
    assert dualign.decode.submodular is submodular
    assert dir(dualign.decode) == dualign.decode.__all__ == sorted(dualign.decode.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        dualign.decode.nonsense  # noqa: B018


def test_greedy_loads_no_solver() -> None:
    script = (
        "import sys, dualign; dualign.decode.submodular([[0.5]]); dualign.decode.matching([[0.5]]); "
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    # SciPy is not ours to keep out: Numba imports it where it is installed.
    assert "highspy" not in done.stdout.split()
