"""Do these files belong together? The one check of lengths, and the one check of link positions.

Every message names the files or the place, the numbers that disagree, and a remedy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from math import inf
from typing import Any

from dualign._core.errors import DataError

_END: Any = object()

MOST_SKIPPED = 1_000_000
"""Sentences in a row that a file may leave out, plus a thousand for each that it has."""

SAME_SENTENCES = "give the same sentences in the same order"


def number_of(count: int, units: str) -> str:
    """`2 lines`, but `1 line`, and `1 entry`."""
    if count != 1:
        return f"{count:,} {units}"
    return f"1 {units[:-3]}y" if units.endswith("ies") else f"1 {units.removesuffix('s')}"


def is_list(value: Any) -> bool:
    """Whether a value has items by number, like a list or an array; a string and a mapping are none."""
    if isinstance(value, str | Mapping) or not hasattr(value, "__getitem__"):
        return False
    try:
        return len(value) >= 0
    except TypeError:  # such as an array without axes
        return False


def same_length(*counts: tuple[str, int], unit: str = "lines", remedy: str = SAME_SENTENCES) -> None:
    """Refuse files, or lists, of different length; each is given as its name and its number of `unit`."""
    if len({number for _, number in counts}) > 1:
        (first, number), *others = counts
        found = [
            f"{first} has {number_of(number, unit).replace(',', '')}",
            *(f"{name} has {number}" for name, number in others),
        ]
        raise DataError(f"{(' but ' if len(found) == 2 else ', ').join(found)}; {remedy}")


def in_step(
    *streams: tuple[str, Iterable[Any]], unit: str = "lines", remedy: str = SAME_SENTENCES
) -> Iterator[tuple[Any, ...]]:
    """Yield the items of all streams together; each is given with its name, for messages.

    Nothing is held in memory. Where one ends before another, the others are read to their end, so that the
    message of `same_length` has all the numbers.
    """
    iterators = [iter(items) for _, items in streams]
    for done, items in enumerate(zip_longest(*iterators, fillvalue=_END)):
        # The outer two first, which is fast; more than two streams are rare.
        if items[0] is _END or items[-1] is _END or (len(items) > 2 and any(item is _END for item in items)):
            counts = [
                done if item is _END else done + 1 + sum(1 for _ in rest)
                for item, rest in zip(items, iterators, strict=True)
            ]
            names = (name for name, _ in streams)
            same_length(*zip(names, counts, strict=True), unit=unit, remedy=remedy)
        yield items


def same_ids(first: tuple[str, Sequence[str | None]], second: tuple[str, Sequence[str | None]]) -> None:
    """Refuse files of the same length whose pairs, where both have ids, have different ones."""
    for number, (one, two) in enumerate(zip(first[1], second[1], strict=True), 1):
        if one is not None and two is not None and one != two:
            raise DataError(
                f"{first[0]} and {second[0]}: the ids of pair {number} are `{one}` and `{two}`; "
                f"{SAME_SENTENCES}"
            )


def plausible_number(number: int, known: int) -> None:
    """Refuse the number of a sentence that would fill memory with the sentences before it.

    `known`: how many entries the file has up to there. Files that name sentences need not name them all, but
    one that leaves out millions has a wrong number in it.
    """
    if number > MOST_SKIPPED + 1000 * known:
        raise DataError(
            f"entry {known:,} is about sentence {number:,}; a file may leave out {MOST_SKIPPED:,} sentences "
            "and 1,000 for each entry, not more: correct the number"
        )


def links_inside(
    links: Iterable[Sequence[Any]], source_length: int | None, target_length: int | None, place: str = ""
) -> None:
    """Refuse a link outside its sentence pair; the message begins with `place`, best `FILE:LINE`.

    A link begins with its source and target position, counted from 0; whatever follows is ignored. A length
    of None is unknown and not checked.
    """
    rows = inf if source_length is None else source_length
    columns = inf if target_length is None else target_length
    for link in links:
        i, j = link[0], link[1]
        if not (0 <= i < rows and 0 <= j < columns):
            where = f"{place}: " if place else ""
            sides = ((source_length, "source"), (target_length, "target"))
            known = " and ".join(f"{length} {side}" for length, side in sides if length is not None)
            turned = 0 <= j < rows and 0 <= i < columns
            swap = " (if the target stands first, turn it: `dualign convert --swap`)" if turned else ""
            raise DataError(
                f"{where}link {i}-{j} is outside the pair, which has {known} words; "
                "give the links of exactly these words (`align --tokens` writes those that it has cut, "
                "`align --positions words` counts uncut words), "
                f"source first, counted from 0{swap}"
            )
