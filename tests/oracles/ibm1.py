"""IBM Model 1 with dictionaries, from uniform probabilities; the slow twin of `train.ibm1`.

Every word of `chosen` sentences picks a word of the `given` sentence or null, all with the same prior.
"""

from __future__ import annotations

import math
from collections import defaultdict
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
