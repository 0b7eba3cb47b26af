"""Phrase alignments by enumeration, from the definition; slow twins of the room `dualign.phrase`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import permutations, product

Link = tuple[int, int, int, int]
Weights = dict[Link, float]


def alignments(weights: Weights, source_length: int, target_length: int) -> Iterator[tuple[Link, ...]]:
    """Every set of links that covers each word of both sides exactly once."""

    def extend(position: int, free: frozenset[int]) -> Iterator[tuple[Link, ...]]:
        if position == source_length:
            if not free:
                yield ()
            return
        for link in weights:
            i, j, k, l = link
            columns = set(range(k, l))
            if i == position and columns <= free and weights[link] > -math.inf:
                for rest in extend(j, free - columns):
                    yield (link, *rest)

    return extend(0, frozenset(range(target_length)))


def score(weights: Weights, alignment: tuple[Link, ...]) -> float:
    return math.fsum(weights[link] for link in alignment)


def best(weights: Weights, source_length: int, target_length: int) -> float | None:
    """The highest score, None if there is no alignment."""
    scores = [score(weights, a) for a in alignments(weights, source_length, target_length)]
    return max(scores, default=None)


def total(weights: Weights, source_length: int, target_length: int) -> float:
    """The sum of φ over all alignments, not its logarithm."""
    return math.fsum(math.exp(score(weights, a)) for a in alignments(weights, source_length, target_length))


def expectations(weights: Weights, source_length: int, target_length: int) -> dict[Link, float]:
    """The share of the sum that alignments with each link have."""
    whole = total(weights, source_length, target_length)
    every = list(alignments(weights, source_length, target_length))
    return {
        link: math.fsum(math.exp(score(weights, a)) for a in every if link in a) / whole for link in weights
    }


def satisfiable(clauses: list[list[int]], variables: int) -> bool:
    """Whether some assignment makes a literal of each clause true; literal v is `v`, its negation `-v`."""
    return any(
        all(any(truth[abs(x) - 1] == (x > 0) for x in clause) for clause in clauses)
        for truth in product([False, True], repeat=variables)
    )


def permanent(matrix: list[list[int]]) -> int:
    n = len(matrix)
    return sum(math.prod(matrix[i][p[i]] for i in range(n)) for p in permutations(range(n)))


def consistent_pairs(
    links: set[tuple[int, int]], source_length: int, target_length: int, max_length: int
) -> set[Link]:
    """Phrase pairs with a link inside and none that leaves: Koehn, Och & Marcu 2003, §2."""
    pairs = set()
    for i in range(source_length):
        for j in range(i + 1, min(i + max_length, source_length) + 1):
            for k in range(target_length):
                for l in range(k + 1, min(k + max_length, target_length) + 1):
                    inside = [(i <= s < j, k <= t < l) for s, t in links]
                    if any(a and b for a, b in inside) and all(a == b for a, b in inside):
                        pairs.add((i, j, k, l))
    return pairs
