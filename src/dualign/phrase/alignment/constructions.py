"""Weighted sentence pairs that are hard by construction (DeNero & Klein 2008, §3), for tests and studies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index

from dualign.core.errors import DataError, UsageError
from dualign.phrase.alignment.weighted import PhraseLink

Constructed = tuple[dict[PhraseLink, float], int, int]
"""Weights, source length, target length: the arguments of `dualign.phrase.align`."""


def satisfiability_pair(clauses: Sequence[Iterable[int]], variables: int) -> Constructed:
    """A sentence pair that has a phrase alignment, all of them with score log 1 = 0, iff SAT has a solution.

    Variable v (1..variables) is the literal `v`, its negation `−v`; a clause is a set of literals.

    The target has a word for each clause and one for each variable. The source has for each variable as many
    words as clauses with v, then as many as clauses with −v, at least one of each (as printed, §3.1 has none
    for a literal that is in no clause, and then may lack a word for the variable). A clause links to one word
    of one of its literals; the word of a variable links to all words of one literal, which is made false, and
    any number of its negation's that border on them.
    """
    if variables < 0:
        raise UsageError("{variables=} is negative", variables=variables)
    sets = [_clause(clause, n, variables) for n, clause in enumerate(clauses)]
    weights: dict[PhraseLink, float] = {}
    begin = 0
    for v in range(1, variables + 1):
        true, false = (max(1, sum(literal in clause for clause in sets)) for literal in (v, -v))
        middle, end = begin + true, begin + true + false
        for n, clause in enumerate(sets):
            for literal, words in ((v, range(begin, middle)), (-v, range(middle, end))):
                if literal in clause:
                    weights |= {(i, i + 1, n, n + 1): 0.0 for i in words}
        column = len(sets) + v - 1
        weights |= {(begin, j, column, column + 1): 0.0 for j in range(middle, end + 1)}
        weights |= {(i, end, column, column + 1): 0.0 for i in range(begin, middle + 1)}
        begin = end
    return weights, begin, len(sets) + variables


def matching_pair(edges: Iterable[tuple[int, int]], size: int) -> Constructed:
    """A sentence pair whose sum is the number of perfect matchings of a graph of twice `size` vertices."""
    if size < 0:
        raise UsageError("{size=} is negative", size=size)
    weights: dict[PhraseLink, float] = {}
    for left, right in edges:
        if not (0 <= left < size and 0 <= right < size):
            raise DataError(f"edge ({left}, {right}) is outside a graph of {size} and {size} vertices")
        weights[left, left + 1, right, right + 1] = 0.0
    return weights, size, size


def _clause(clause: Iterable[int], number: int, variables: int) -> set[int]:
    literals = {index(literal) for literal in clause}
    for literal in literals:
        if not 1 <= abs(literal) <= variables:
            raise DataError(f"clause {number} has the literal {literal}; there are ±1 to ±{variables}")
    return literals
