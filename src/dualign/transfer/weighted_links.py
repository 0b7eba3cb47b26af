"""Links with weights, over which annotation is transferred; and filters by part of speech."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dualign._core.errors import UsageError
from dualign.text.links import Alignment

WeightedLink = tuple[int, int, float]
"""Source position, target position, probability."""

COMPATIBLE = ("any", "class", "same")
"""Which words may be linked, by their part of speech: see `compatible`."""

CLASSES = {
    "nominal": ("NOUN", "NUM", "PRON", "PROPN"),
    "verbal": ("AUX", "VERB"),
    "modifier": ("ADJ", "ADV", "DET", "NUM"),
    "function": ("ADP", "CCONJ", "PART", "SCONJ"),
    "mark": ("PUNCT", "SYM"),
}
"""Parts of speech (UPOS) that often translate into each other; NUM is in two classes."""

_FREE = ("X", "_", "INTJ")  # nothing known, or nothing to compare with


def weighted(alignment: Alignment, threshold: float = 0.0) -> list[WeightedLink]:
    """Return the sure links more probable than `threshold`; a link without a probability has 1."""
    known = alignment.probabilities or (1.0,) * len(alignment.links)
    return [(i, j, p) for (i, j), p in zip(alignment.links, known, strict=True) if p > threshold]


def check_threshold(threshold: float) -> None:
    """Refuse a threshold that is not a probability, or that no link can exceed."""
    if not 0 <= threshold < 1:
        raise UsageError("{threshold=} must be at least 0 and below 1", threshold=threshold)


def expand(
    links: Iterable[WeightedLink], source: Sequence[Iterable[int]], target: Sequence[Iterable[int]]
) -> list[WeightedLink]:
    """Return links of units as links of all their words; `source[k]` and `target[k]` are the words of unit
    k."""
    return [(i, j, p) for k, l, p in links for i in source[k] for j in target[l]]


def compatible(
    links: Iterable[WeightedLink], source: Sequence[str], target: Sequence[str], how: str
) -> list[WeightedLink]:
    """Return links between words of compatible parts of speech (Graça et al. 2010, §5.2).

    `how` is `any` for all links, `same` for equal tags, `class` for tags that share a class of `CLASSES`.
    Unknown tags (`_`, X) and interjections are compatible with every tag.
    """
    if how not in COMPATIBLE:
        raise UsageError(f"`{how}` is not one of {', '.join(COMPATIBLE)}")
    classes = CLASSES.values() if how == "class" else ()

    def fit(left: str, right: str) -> bool:
        if left == right or left in _FREE or right in _FREE:
            return True
        return any(left in tags and right in tags for tags in classes)

    return [(i, j, p) for i, j, p in links if how == "any" or fit(source[i], target[j])]
