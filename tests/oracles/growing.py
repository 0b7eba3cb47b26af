"""The style `full`, by its definition: words without links join those of their neighbours."""

from __future__ import annotations


def grown(links: set[tuple[int, int]], posteriors, least: float) -> list[tuple[int, int]]:
    """The links and those that join them, in order; `posteriors[d][i][j]`, target words choose in 0."""
    I, J = len(posteriors[0]), len(posteriors[0][0])
    joining = set()
    for i in range(I):
        for j in range(J):
            free_target = all(link[1] != j for link in links)
            free_source = all(link[0] != i for link in links)
            if free_target and posteriors[0][i][j] > least and {(i, j - 1), (i, j + 1)} & links:
                joining.add((i, j))
            if free_source and posteriors[1][i][j] > least and {(i - 1, j), (i + 1, j)} & links:
                joining.add((i, j))
    return sorted(links | joining)
