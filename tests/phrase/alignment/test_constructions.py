"""The constructions of DeNero & Klein 2008, §3, against brute force."""

from __future__ import annotations

import math
import random

import pytest
from tests.oracles import phrase as oracle

from dualign import DataError, Infeasible, UsageError
from dualign.phrase import align, decide, matching_pair, satisfiability_pair, total

pytestmark = pytest.mark.kernel


def test_sat_is_satisfiable_iff_there_is_an_alignment_of_score_1():
    draw = random.Random(1)
    seen = {True: 0, False: 0}
    for _ in range(400):
        variables = draw.randint(1, 4)
        clauses = [
            [draw.choice([-1, 1]) * draw.randint(1, variables) for _ in range(draw.randint(1, 3))]
            for _ in range(draw.randint(0, 9))
        ]
        expected = oracle.satisfiable(clauses, variables)
        seen[expected] += 1
        pair = satisfiability_pair(clauses, variables)
        assert decide(*pair) == expected
        try:
            assert align(*pair).score == 0.0
            assert expected
        except Infeasible:
            assert not expected
    assert min(seen.values()) > 50


def test_literal_in_no_clause_gets_a_word():
    # As printed, both words of this pair's source would go to the clauses, none to the variable.
    assert align(*satisfiability_pair([[1], [1]], 1)).score == 0.0


def test_empty_clause_cannot_be_satisfied():
    with pytest.raises(Infeasible):
        align(*satisfiability_pair([[1], []], 1))


def test_sum_is_the_number_of_perfect_matchings():
    draw = random.Random(2)
    for _ in range(60):
        size = draw.randint(0, 6)
        matrix = [[int(draw.random() < 0.6) for _ in range(size)] for _ in range(size)]
        edges = [(i, j) for i in range(size) for j in range(size) if matrix[i][j]]
        count = oracle.permanent(matrix)
        if count:
            assert math.exp(total(*matching_pair(edges, size))) == pytest.approx(count, rel=1e-9)
        else:
            with pytest.raises(Infeasible):
                total(*matching_pair(edges, size))


def test_wrong_constructions_are_named():
    with pytest.raises(DataError, match="literal 3"):
        satisfiability_pair([[3]], 2)
    with pytest.raises(DataError, match="literal 0"):
        satisfiability_pair([[0]], 2)
    with pytest.raises(DataError, match="edge"):
        matching_pair([(0, 2)], 2)
    with pytest.raises(UsageError):
        matching_pair([], -1)
    with pytest.raises(UsageError):
        satisfiability_pair([], -1)
