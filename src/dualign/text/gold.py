"""Gold links of a text: of its first lines, or of chosen lines, which are then numbered.

Who corrects links looks at some pairs only. Their links are written as `LINE<TAB>links`, in Pharaoh form,
with lines counted from 1, in any order; nothing after the tab says that the pair has no links. Such a file is
told from others by its first line that is not empty. A number is a pair's id instead if the
links that are compared have the same ids in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple, TypeVar

from dualign.core.errors import DataError
from dualign.text.alignment import Alignment
from dualign.text.checks import number_of, same_length
from dualign.text.formats import NUMBER, chosen_line, links_from, parse_pharaoh, quoted
from dualign.text.lines import parsed, read_lines

Item = TypeVar("Item")
_CHOSEN = re.compile(rf"({NUMBER})\t(.*)")


class Gold(NamedTuple):
    """Gold links of the lines `lines`, counted from 0 and rising; `chosen` if the file has their numbers."""

    path: str
    lines: Sequence[int]
    links: list[Alignment]
    chosen: bool

    def of(self, items: Iterable[Item], place: str) -> list[Item]:
        """Of what stands on each line of a text, at `place`, that of the lines with gold; read no further."""
        wanted = iter(self.lines)
        line = next(wanted, None)
        found, number = [], -1
        for number, item in enumerate(islice(items, self.lines[-1] + 1 if self.lines else 0)):
            if number == line:
                found.append(item)
                line = next(wanted, None)
        if line is not None and self.chosen:
            raise DataError(
                f"{self.path}: links of line {line + 1}, but {place} has {number_of(number + 1, 'lines')}; "
                "give the text that was corrected"
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
        if begin and chosen_line(begin[-1]):
            content = list(lines)
            if [line.partition("\t")[0] for line in content] != list(ids[: len(content)]):
                return _numbers_only(_of_chosen_lines(path, iter(content)), ids)
            lines = iter(content)
    links = list(links_from(path, format, lines, None))
    return Gold(path, range(len(links)), links, False)


def _numbers_only(gold: Gold, ids: Sequence[str | None]) -> Gold:
    """Refuse gold whose numbers of lines are ids of other lines."""
    places = {id: line for line, id in enumerate(ids)}
    for line in gold.lines:
        if places.get(str(line + 1), line) != line:
            raise DataError(
                f"{gold.path}: is {line + 1} a line, or the id that line {places[str(line + 1)] + 1} "
                "of the links has? Give gold links with the same ids in the same order, or remove the ids"
            )
    return gold


def _of_chosen_lines(path: str, lines: Iterator[str]) -> Gold:
    found: dict[int, Alignment] = {}

    def entry(line: str) -> None:
        match = _CHOSEN.fullmatch(line)
        if match is None:
            if line.strip():
                raise DataError(f"{quoted(line)} is not a line number, a tab and links, as in the first line")
            return
        number = int(match[1])
        if number < 1:
            raise DataError("line number 0; lines are counted from 1")
        if number - 1 in found:
            raise DataError(f"line {number} occurs twice; keep one of them")
        found[number - 1] = parse_pharaoh(match[2])

    for _ in parsed(path, lines, entry):
        pass
    order = sorted(found)
    return Gold(path, order, [found[line] for line in order], True)
