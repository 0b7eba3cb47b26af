"""Gold links of a text: of its first lines, or of chosen lines, which are then numbered.

Who corrects links looks at some pairs only. Their links are written as `LINE<TAB>links`, in Pharaoh form,
with lines counted from 1, in any order; nothing after the tab says that the pair has no links. Such a file is
told from others by its first line that is not empty. Where the pairs of the text have ids, these may stand
in the place of the numbers; numbers that could be either, and mean different pairs, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple, TypeVar

from dualign._core.errors import DataError
from dualign.text.checks import number_of, same_length
from dualign.text.formats import NUMBER, quoted
from dualign.text.formats.pharaoh import parse_pharaoh
from dualign.text.link_formats import blocks_from
from dualign.text.links import Alignment
from dualign.text.utf8 import parsed, read_lines

Item = TypeVar("Item")
_NUMBER = re.compile(NUMBER)
_CHOSEN_LINE = re.compile(rf"{NUMBER}\t\s*(?:[0-9]+[-?p][0-9]+(?:\s.*)?)?")


class Gold(NamedTuple):
    """Gold links of the lines `lines`, counted from 0 and rising; `chosen` if the file has their numbers."""

    path: str
    lines: Sequence[int]
    links: list[Alignment]
    chosen: bool

    def of(self, items: Iterable[Item], place: str) -> list[Item]:
        """Of what stands on each line of a text, at `place`, that of the lines with gold; read no further."""
        wanted, found, number = set(self.lines), [], -1
        for number, item in enumerate(islice(items, self.lines[-1] + 1 if self.lines else 0)):
            if number in wanted:
                found.append(item)
        if len(found) < len(self.lines) and self.chosen:
            has = number_of(number + 1, "lines")
            raise DataError(
                f"links of line {self.lines[len(found)] + 1}, but {place} has {has}",
                place=self.path,
                remedy="give the text that was corrected",
            )
        counts = (self.path, len(self.links)), (place, len(found))
        same_length(*counts, unit="pairs", remedy="give the gold links of this text")
        return found


def read_gold(
    path: str, format: str | None = None, errors: str = "strict", *, ids: Sequence[str | None] = ()
) -> Gold:
    """Read gold links of either kind; for `format` see `read_links`. `ids` are those of the text, if any."""
    lines = read_lines(path, errors)
    if format is None:
        begin = []
        for line in lines:
            begin.append(line)
            if line.strip():
                break
        lines = chain(begin, lines)
        places = {id: line for line, id in enumerate(ids) if id is not None}
        if begin and (_CHOSEN_LINE.fullmatch(begin[-1]) or begin[-1].partition("\t")[0] in places):
            content = list(lines)
            if [line.partition("\t")[0] for line in content] != list(ids[: len(content)]):
                return _of_chosen_lines(path, content, places)
            lines = iter(content)
    links = list(chain.from_iterable(blocks_from(path, format, lines, None)))
    return Gold(path, range(len(links)), links, False)


def _of_chosen_lines(path: str, content: Sequence[str], places: Mapping[str, int]) -> Gold:
    """Gold of pairs by their ids, whose lines are `places`, if every line has one; else by line number."""
    keys = [line.partition("\t")[0] for line in content if line.strip()]
    by_id = all(key in places for key in keys)
    _refuse_ambiguous(path, keys, places, by_id)
    found: dict[int, Alignment] = {}

    def entry(line: str) -> None:
        if not line.strip():
            return
        key, tab, links = line.partition("\t")
        if not tab or not (by_id or _NUMBER.fullmatch(key)):
            what = "an id of the text" if by_id else "a line number"
            raise DataError(f"{quoted(line)} is not {what}, a tab and links, as in the first line")
        place = places[key] if by_id else int(key) - 1
        if place < 0:
            raise DataError("line number 0; lines are counted from 1")
        if place in found:
            raise DataError(f"{'id' if by_id else 'line'} {key} occurs twice; keep one of them")
        found[place] = parse_pharaoh(links)

    for _ in parsed(path, iter(content), entry):
        pass
    order = sorted(found)
    return Gold(path, order, [found[line] for line in order], True)


def _refuse_ambiguous(path: str, keys: Sequence[str], places: Mapping[str, int], by_id: bool) -> None:
    """Refuse numbers that may be those of lines, and are also ids of other lines."""
    lines = [int(key) - 1 if _NUMBER.fullmatch(key) else -1 for key in keys]
    if by_id and not all(0 <= line < len(places) for line in lines):
        return
    for key, line in zip(keys, lines, strict=True):
        if places.get(key, line) != line:
            raise DataError(
                f"{path}: is {key} a line, or the id that line {places[key] + 1} of the text has? "
                "Give gold links with the ids of all pairs in their order, or remove the ids"
            )
