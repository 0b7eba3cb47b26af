"""Which gold links an aligner misses: by shape, by rarity, and at the end of the sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from benchmarks.corpora import Frequencies, Pair
from dualign.text.links import Alignment

SHAPES = ("one to one", "many to one", "many to many")
FINAL = frozenset(".?!;:…。？！।")


def misses(
    pairs: Sequence[Pair], found: Sequence[Alignment], gold: Sequence[Alignment], frequencies: Frequencies
) -> dict[str, tuple[int, int]]:
    """For each group of sure links: how many there are, and how many of them were not found."""
    total: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for (source, target), links, truth in zip(pairs, found, gold, strict=True):
        own = set(links.links)
        by_source = Counter(i for i, _ in truth.links)
        by_target = Counter(j for _, j in truth.links)
        for i, j in truth.links:
            groups = [SHAPES[(by_source[i] > 1) + (by_target[j] > 1)]]
            groups.append(frequencies.rarity(source[i], target[j]))
            ends = i == len(source) - 1 and j == len(target) - 1
            if ends and source[i] in FINAL and target[j] in FINAL:
                groups.append("final mark")
            for group in groups:
                total[group] += 1
                missed[group] += (i, j) not in own
    return {group: (total[group], missed[group]) for group in sorted(total)}
