"""IBM Model 1 with dictionaries, from uniform probabilities; the slow twin of `train.ibm1`.

Every word of `chosen` sentences picks a word of the `given` sentence or null, all with the same prior.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

NULL = "null"


def train(
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]], rounds: int
) -> tuple[dict[tuple[int | str, int], float], list[float]]:
    """`t[given, chosen]` = p(chosen | given) after `rounds` of EM on pairs `(given, chosen)`.

    `t[NULL, chosen]` is that of null. Also each round's log-likelihood before its update; in the first, where
    all words are alike, p(chosen | given) is 1 instead of one over the size of the vocabulary.
    """
    t: dict[tuple[int | str, int], float] = defaultdict(lambda: 1.0)
    likelihoods = []
    for _ in range(rounds):
        counts: dict[tuple[int | str, int], float] = defaultdict(float)
        likelihood = 0.0
        for given, chosen in pairs:
            origins = [NULL, *given]
            for word in chosen:
                total = sum(t[origin, word] for origin in origins)
                likelihood += math.log(total / len(origins))
                for origin in origins:
                    counts[origin, word] += t[origin, word] / total
        sums: dict[int | str, float] = defaultdict(float)
        for (origin, _), count in counts.items():
            sums[origin] += count
        t = {(origin, word): count / sums[origin] for (origin, word), count in counts.items()}
        likelihoods.append(likelihood)
    return t, likelihoods


def together(pairs: list[tuple[list[int], list[int]]]) -> Counter[tuple[int, int]]:
    """How often each source word and target word occur in the same pair, token by token."""
    return Counter((v, w) for source, target in pairs for v in source for w in target)


def lifted(
    table: dict[tuple[int, int], tuple[float, float]],
    source: Sequence[float],
    target: Sequence[float],
    power: float,
) -> dict[tuple[int, int], tuple[float, float]]:
    """Probabilities times (√(p(w | v) / p(w) · p(v | w) / p(v)))^power, normalised again."""
    raised = {}
    for (v, w), (p, q) in table.items():
        lift = math.sqrt(p / target[w] * q / source[v]) ** power
        raised[v, w] = p * lift, q * lift
    rows, columns = Counter(), Counter()
    for (v, w), (p, q) in raised.items():
        rows[v] += p
        columns[w] += q
    return {(v, w): (p / rows[v], q / columns[w]) for (v, w), (p, q) in raised.items()}
