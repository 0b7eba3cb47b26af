"""The decoders of similarities, cell by cell."""

from __future__ import annotations

import math

Matrix = list[list[float]]
Links = set[tuple[int, int]]


def best(scores: list[float]) -> int:
    """The first of the greatest."""
    return min(range(len(scores)), key=lambda k: (-scores[k], k))


def argmax(S: Matrix) -> Links:
    rows = [best(row) for row in S]
    columns = [best([row[j] for row in S]) for j in range(len(S[0]))] if S else []
    return {(i, j) for i, j in enumerate(rows) if columns[j] == i}


def itermax(S: Matrix, rounds: int) -> Links:
    found = argmax(S)
    if min(len(S), len(S[0])) <= 2:
        return found
    for _ in range(rounds - 1):
        sources, targets = {i for i, _ in found}, {j for _, j in found}
        if len(sources) == len(S) or len(targets) == len(S[0]):
            return found
        left = [
            [
                -math.inf
                if i in sources and j in targets
                else s - 0.1 * abs(s)
                if i in sources or j in targets
                else s
                for j, s in enumerate(row)
            ]
            for i, row in enumerate(S)
        ]
        more = {(i, j) for i, j in argmax(left) if left[i][j] > -math.inf}
        found |= more
    return found


def softmax(S: Matrix, threshold: float) -> Links:
    def share(scores: list[float], k: int) -> float:
        top = max(scores)
        return math.exp(scores[k] - top) / sum(math.exp(s - top) for s in scores)

    return {
        (i, j)
        for i, row in enumerate(S)
        for j in range(len(row))
        if share(row, j) > threshold and share([other[j] for other in S], i) > threshold
    }
