"""Links as annotation travels over them: with weights, on the right tokens, inside both sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dualign.core.errors import DataError, UsageError
from dualign.text.alignment import Alignment

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
"""Parts of speech (UPOS) that stand for one another in translation; NUM is a noun and a modifier."""

_CLASSES_OF = {
    tag: frozenset(name for name, tags in CLASSES.items() if tag in tags)
    for tags in CLASSES.values()
    for tag in tags
}
_FREE = ("X", "_", "INTJ")  # nothing known, or nothing to compare with


def weighted(alignment: Alignment, threshold: float = 0.0) -> list[WeightedLink]:
    """The sure links with a probability above `threshold`, below 1; without one a link has probability 1."""
    if alignment.probabilities is None:
        return [(i, j, 1.0) for i, j in alignment.links]
    return [
        (i, j, p) for (i, j), p in zip(alignment.links, alignment.probabilities, strict=True) if p > threshold
    ]


def check_threshold(threshold: float) -> None:
    """Refuse a threshold that no link can pass, or that is none."""
    if not 0 <= threshold < 1:
        raise UsageError(f"threshold={threshold} must be at least 0 and below 1")


def check(links: Iterable[Sequence[float]], source_length: int, target_length: int, place: str) -> None:
    """Refuse links outside their sentences; messages begin with `place`."""
    for link in links:
        i, j = link[0], link[1]
        if i >= source_length or j >= target_length:
            side, length = ("source", source_length) if i >= source_length else ("target", target_length)
            tokens = f"{length} tokens, 0 to {length - 1}" if length else "no tokens"
            raise DataError(
                f"{place}: link {i}-{j}, but the {side} sentence has {tokens}; "
                "give the links of exactly these tokens"
            )


def expand(
    links: Iterable[WeightedLink], source: Sequence[Iterable[int]], target: Sequence[Iterable[int]]
) -> list[WeightedLink]:
    """Links of units as links of all their words; `source[k]` and `target[k]` are the words of unit k."""
    return [(i, j, p) for k, l, p in links for i in source[k] for j in target[l]]


def compatible(
    links: Iterable[WeightedLink], source: Sequence[str], target: Sequence[str], how: str
) -> list[WeightedLink]:
    """Links between words whose parts of speech go together (Graça et al. 2010, §5.2).

    `how` is `any` for all links, `same` for equal tags, `class` for tags that share a class of `CLASSES`.
    A tag that says nothing (`_`, X) and interjections go with all.
    """
    if how not in COMPATIBLE:
        raise UsageError(f"`{how}` is not one of {', '.join(COMPATIBLE)}")
    if how == "any":
        return list(links)
    kept = []
    for i, j, p in links:
        left, right = source[i], target[j]
        if (
            left == right
            or left in _FREE
            or right in _FREE
            or (how == "class" and _CLASSES_OF.get(left, frozenset()) & _CLASSES_OF.get(right, frozenset()))
        ):
            kept.append((i, j, p))
    return kept
