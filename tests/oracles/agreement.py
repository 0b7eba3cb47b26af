"""Joint alignments of two chains, by enumeration of all pairs (a, b)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations, product
from math import inf
from typing import NamedTuple

Scores = Sequence[Sequence[Sequence[float]]]
Chain = tuple[int, ...]


def chain_score(theta: Scores, path: Sequence[int]) -> float:
    """Σ_i θ(a_{i−1}, i, a_i), a_0 = 0."""
    total, before = 0.0, 0
    for row, choice in zip(theta, path, strict=True):
        total += row[before][choice]
        before = choice
    return total


def link_costs(path: Sequence[int], other: Sequence[int], alpha: float, gamma: float) -> float:
    """What the links of `path` cost: 0 where `other` has the same link, α where it is one off, else γ."""
    total = 0.0
    for place, choice in enumerate(path, 1):
        if choice:
            found = other[choice - 1]
            if found == 0 or abs(found - place) > 1:
                total += gamma
            elif found != place:
                total += alpha
    return total


def joint_score(
    theta: Scores, omega: Scores, alpha: float, gamma: float, a: Sequence[int], b: Sequence[int]
) -> float:
    """The objective; −inf where it forbids."""
    return (
        chain_score(theta, a)
        + chain_score(omega, b)
        + link_costs(a, b, alpha, gamma)
        + link_costs(b, a, alpha, gamma)
    )


def chains(scores: Scores) -> Iterator[tuple[float, Chain]]:
    """All chains that their own scores do not forbid, with those scores."""
    for path in product(range(len(scores[0])), repeat=len(scores)):
        if (value := chain_score(scores, path)) > -inf:
            yield value, path


class Best(NamedTuple):
    """The highest score (−inf if none is possible) and all alignments that have it, up to 1e-9."""

    score: float
    alignments: list[tuple[Chain, Chain]]


def enumerate_alignments(theta: Scores, omega: Scores, alpha: float, gamma: float) -> Best:
    """O((J + 1)^I (I + 1)^J)."""
    best, found = -inf, []
    back = list(chains(omega))
    for there_value, a in chains(theta):
        for back_value, b in back:
            if there_value + back_value < best - 1e-9:
                continue
            value = there_value + back_value + link_costs(a, b, alpha, gamma) + link_costs(b, a, alpha, gamma)
            if value > -inf and value >= best - 1e-9:
                best = max(best, value)
                found.append((value, a, b))
    return Best(best, [(a, b) for value, a, b in found if value >= best - 1e-9])


def shortest_path(start: Sequence[float], distances: Sequence[Sequence[float]]) -> float:
    """Length of the shortest way from the start through all cities, each once."""
    cities = range(len(start))
    return min(
        start[order[0]] + sum(distances[p][q] for p, q in pairwise(order)) for order in permutations(cities)
    )
