"""Phrase alignments by enumeration, from the definition; slow twins of the room `dualign.phrase`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import permutations, product

Link = tuple[int, int, int, int]
Weights = dict[Link, float]


def alignments(weights: Weights, source_length: int, target_length: int) -> Iterator[tuple[Link, ...]]:
    """Every set of links that covers each word of both sides exactly once."""
    starting: dict[int, list[Link]] = {}
    for link, weight in weights.items():
        if weight > -math.inf:
            starting.setdefault(link[0], []).append(link)

    def extend(position: int, free: frozenset[int]) -> Iterator[tuple[Link, ...]]:
        if position == source_length:
            if not free:
                yield ()
            return
        for link in starting.get(position, []):
            columns = set(range(*link[2:]))
            if columns <= free:
                for rest in extend(link[1], free - columns):
                    yield (link, *rest)

    return extend(0, frozenset(range(target_length)))


def score(weights: Weights, alignment: tuple[Link, ...]) -> float:
    return math.fsum(weights[link] for link in alignment)


def is_alignment(links: tuple[Link, ...], source_length: int, target_length: int) -> bool:
    rows = sorted(x for i, j, _, _ in links for x in range(i, j))
    columns = sorted(y for _, _, k, l in links for y in range(k, l))
    return rows == list(range(source_length)) and columns == list(range(target_length))


def answers(
    weights: Weights, source_length: int, target_length: int
) -> tuple[float, float, dict[Link, float]] | None:
    """The best score, the sum of φ and each link's share of it; None if there is no alignment."""
    best, total = -math.inf, 0.0
    shares = dict.fromkeys(weights, 0.0)
    for alignment in alignments(weights, source_length, target_length):
        value = score(weights, alignment)
        best = max(best, value)
        total += math.exp(value)
        for link in alignment:
            shares[link] += math.exp(value)
    if best == -math.inf:
        return None
    return best, total, {link: share / total for link, share in shares.items()}


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
