"""Matching decoders by enumeration and from their definitions; slow twins of `dualign.decode.matchings`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product

Links = frozenset[tuple[int, int]]
Matrix = Sequence[Sequence[float]]


def worth(scores: Matrix, links: Links, alpha: float, weights: tuple[float, float]) -> float:
    """u Σ_rows (Σ s)^α + v Σ_columns (Σ s)^α."""
    total = 0.0
    for side, weight in enumerate(weights):
        sums: dict[int, float] = {}
        for link in sorted(links):
            sums[link[side]] = sums.get(link[side], 0.0) + scores[link[0]][link[1]]
        total += weight * sum(x**alpha for x in sums.values() if x > 0)
    return total


def within(links: Links, row_limits: Sequence[int], column_limits: Sequence[int]) -> bool:
    rows, columns = [i for i, _ in links], [j for _, j in links]
    return all(rows.count(i) <= row_limits[i] for i in rows) and all(
        columns.count(j) <= column_limits[j] for j in columns
    )


def every_set(scores: Matrix) -> Iterator[Links]:
    cells = [(i, j) for i, row in enumerate(scores) for j, s in enumerate(row) if s > 0]
    for size in range(len(cells) + 1):
        for links in combinations(cells, size):
            yield frozenset(links)


def optimum(
    scores: Matrix,
    alpha: float,
    weights: tuple[float, float],
    row_limits: Sequence[int],
    column_limits: Sequence[int],
) -> float:
    return max(
        worth(scores, links, alpha, weights)
        for links in every_set(scores)
        if within(links, row_limits, column_limits)
    )


def optimum_of_one_a_column(scores: Matrix, alpha: float) -> float:
    """The optimum with concave rows where every column has at most one link: every choice of every column."""
    rows = len(scores)
    best = 0.0
    for places in product(range(rows + 1), repeat=len(scores[0])):
        links = frozenset((i, j) for j, i in enumerate(places) if i < rows)
        best = max(best, worth(scores, links, alpha, (1.0, 0.0)))
    return best


def best_matching(scores: Matrix) -> float:
    """Every way to give the words of the shorter side different partners, less the links that cost."""
    rows, columns = len(scores), len(scores[0]) if scores else 0
    if rows > columns:
        scores = [[scores[i][j] for i in range(rows)] for j in range(columns)]
        rows, columns = columns, rows
    return max(
        sum(max(0.0, scores[i][j]) for i, j in enumerate(places))
        for places in permutations(range(columns), rows)
    )


def best_penalized(
    scores: Matrix,
    row_costs: Sequence[Sequence[float]],
    column_costs: Sequence[Sequence[float]],
    link_cost: float,
) -> float:
    """Every set of links; a word's links beyond the first cost what its levels say."""

    def value(links: Links) -> float:
        total = sum(scores[i][j] - link_cost for i, j in links)
        for side, costs in ((0, row_costs), (1, column_costs)):
            for word, levels in enumerate(costs):
                further = max(0, sum(link[side] == word for link in links) - 1)
                if further > len(levels):
                    return -float("inf")
                total -= sum(levels[:further])
        return total

    return max(map(value, every_set(scores)))
