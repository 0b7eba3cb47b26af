"""What `test_card.py` runs in a process of its own, in which numba simulates a card: prints JSON."""

from __future__ import annotations

import json
import random
import sys

import numpy as np

from dualign import Aligner
from dualign.text.bitext import numbered


def text(pairs: int, longest: int, seed: int) -> list[tuple[list[str], list[str]]]:
    """Sentence pairs of invented words, some turned round, some with words left out."""
    draw = random.Random(seed)
    made = []
    for _ in range(pairs):
        source = [f"s{draw.randint(0, 12)}" for _ in range(draw.randint(1, longest))]
        target = ["t" + word[1:] for word in source if draw.random() < 0.8] or ["t0"]
        if draw.random() < 0.4:
            target.reverse()
        made.append((source, target))
    return made


def difference(one: Aligner, other: Aligner) -> dict[str, float]:
    """How far apart two models are."""
    a, b = one.model, other.model
    likelihoods = [[each.likelihood for each in aligner.history] for aligner in (one, other)]
    evaluations = [[each.evaluations for each in aligner.history] for aligner in (one, other)]
    return {
        "likelihood": float(np.max(np.abs(np.subtract(*likelihoods) / likelihoods[0]))),
        "evaluations": float(np.abs(np.subtract(*evaluations)).max()),
        "table": float(np.abs(a.lexicon.table - b.lexicon.table).max()),
        "null": float(np.abs(a.lexicon.null_target - b.lexicon.null_target).max()),
        "jumps": float(np.abs(a.jumps.weight / b.jumps.weight - 1).max()),
        "weights": float(np.abs(a.weights - b.weights).max()),
    }  # fmt: skip


def links(aligner: Aligner, pairs: list[tuple[list[str], list[str]]]) -> str:
    """Links with their probabilities, and likelihoods, rounded, in print: some are not numbers."""
    found = [
        [(i, j, round(p, 2)) for (i, j), p in zip(each.links, each.probabilities, strict=True)]
        for each in aligner.align(pairs)
    ]
    return json.dumps([found, [[round(x, 2) for x in score[:2]] for score in aligner.score(pairs)]])


def main() -> None:
    pairs = text(70, 7, seed=3)
    # Not learnt from: an empty side, unknown words, and a sentence that is too long for the card.
    more = [*text(9, 9, seed=4), (["s1"], []), (["new", "s2"], ["t2", "strange"]), (["s3"] * 120, ["t3"] * 3)]
    numbers = numbered(pairs, lowercase=True)
    results = {}
    for constraint in sys.argv[1:]:
        options = {"threads": 1, "constraint": constraint, "jump_words": 3, "rounds": 2}
        plain = Aligner(**options).fit(numbers)
        cards = [Aligner(device="cuda", **options).fit(numbers) for _ in range(2)]
        small = Aligner(device="cuda", device_memory="500K", **options).fit(numbers)
        results[constraint] = {
            "difference": difference(plain, cards[0]),
            "again": difference(*cards),
            "in pieces": difference(cards[0], small),
            "kept": sorted(cards[0].card._kept),
            "links": links(plain, more) == (found := links(cards[0], more)),
            "links in pieces": found == links(small, more),
        }
    print(json.dumps(results))


if __name__ == "__main__":
    main()
