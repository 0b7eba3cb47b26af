"""Pharaoh's links, `0-0 1-2` on a line for each pair, and TALP's, which count from 1.

A line may begin with the pair's id and a tab. A sure link may carry its probability, `0-0:0.87`: then all
sure links of the line have one. They are read, and not written: readers elsewhere expect bare links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise, repeat
from typing import Any, TypeVar

from dualign._core.errors import DataError
from dualign.text.formats import NUMBER, REAL, LinkFormat, probability_of, quoted
from dualign.text.links import Alignment, Link, Links, chunks, in_blocks
from dualign.text.utf8 import parsed

L = TypeVar("L", bound=tuple[Any, ...])

_BARE_LINKS = re.compile(rf"(?:{NUMBER}+-{NUMBER}+(?: |\Z))*+")
_BARE_LINES = re.compile(rf"(?:{NUMBER}+-{NUMBER}+(?:[ \n]|\Z)|\n)*+")
_SCORED_LINES = re.compile(rf"(?:{NUMBER}+-{NUMBER}+:[01]\.?[0-9]*(?:[ \n]|\Z)|\n)*+")
_LINK = re.compile(rf"({NUMBER})([-?p])({NUMBER})(?::({REAL}))?")
_EXPECTED = "`i-j`, `i?j`, `ipj` or `i-j:probability` with numbers i and j of up to nine digits"
_LIKE_A_LINK = re.compile(r"[0-9]+[-?p][0-9]+")


def pharaoh(alignment: Alignment) -> str:
    """One line of Pharaoh links, with probabilities if they are known."""
    return " ".join(
        f"{i}{'-' if sure else '?'}{j}{'' if p is None else f':{p:.6f}'}"
        for i, j, sure, p in alignment.marked()
    )


def like_links(text: str) -> bool:
    """Whether a text could be links and nothing else."""
    return all(map(_LIKE_A_LINK.match, text.split()))


def parse_pharaoh(line: str) -> Alignment:
    """Read one line of Pharaoh links."""
    return _parse_line(0, line)


def _parse_line(first: int, line: str) -> Alignment:
    """Read links whose positions count from `first`; before a tab, there may be the pair's id."""
    id, links = _without_id(line)
    if first == 0 and _BARE_LINKS.fullmatch(links):  # most lines: a third of the time
        numbers = list(map(int, links.replace("-", " ").split()))
        return Alignment(tuple(sorted(set(zip(numbers[::2], numbers[1::2], strict=True)))), id=id)

    def link_of(source: str, target: str) -> Link:
        link = int(source) - first, int(target) - first
        if min(link) < 0:
            raise DataError("position 0, but TALP counts from 1; is the file Pharaoh?")
        return link

    return Alignment(*parse_marked(links, _LINK, link_of, _EXPECTED), id=id)


def _without_id(line: str) -> tuple[str | None, str]:
    id, tab, rest = line.partition("\t")
    return (id, rest) if tab and not like_links(id) else (None, line)


def parse_marked(
    line: str, pattern: re.Pattern[str], link_of: Callable[[str, str], L], expected: str
) -> tuple[tuple[L, ...], tuple[L, ...], tuple[float, ...] | None]:
    """Sure links, possible links and probabilities of a line of links separated by white space.

    `pattern` has the groups source, mark, target and probability; `link_of` makes a link of the two sides.
    """
    sure: dict[L, float | None] = {}
    possible: list[L] = []
    written: dict[L, str] = {}
    for token in line.split():
        match = pattern.fullmatch(token)
        if match is None:
            raise DataError(f"{quoted(token)} is not a link; expected {expected}")
        source, mark, target, probability = match.groups()
        try:
            link = link_of(source, target)
            if mark == "-":
                sure[link] = None if probability is None else probability_of(probability)
                written[link] = token
            elif probability is None:
                possible.append(link)
            else:
                raise DataError("only a sure link can carry a probability")
        except DataError as error:
            raise DataError(f"{quoted(token)}: {error}") from None
    bare = [link for link, probability in sure.items() if probability is None]
    if 0 < len(bare) < len(sure):
        raise DataError(
            f"some links have a probability but {len(bare)} of {len(sure)} sure links have none, "
            f"the first {quoted(written[bare[0]])}; give one to all or to none"
        )
    return sorted_links(sure, possible)


def sorted_links(
    sure: dict[L, float | None], possible: Iterable[L]
) -> tuple[tuple[L, ...], tuple[L, ...], tuple[float, ...] | None]:
    """Sort sure links, which have probabilities or have none, and possible links that are not sure."""
    links = tuple(sorted(sure))
    given = tuple(p for link in links if (p := sure[link]) is not None)
    return links, tuple(sorted(set(possible) - sure.keys())), given or None


def _read(first: int, path: str, lines: Iterator[str], pairs: int | None, size: int) -> Iterator[Links]:
    number = 1
    for block in chunks(lines, size):
        if first == 0 and (plain := _plain_links(block)) is not None:
            yield plain
        else:
            yield from in_blocks(parsed(path, block, partial(_parse_line, first), number), size)
        number += len(block)


def _plain_links(block: list[str]) -> Links | None:
    """Read lines at once that are as programs write them, all of them bare or scored; None for others."""
    ids = None
    if any("\t" in line for line in block):
        both = list(map(_without_id, block))
        ids, block = [id for id, _ in both], [line for _, line in both]
    text = "\n".join(block)
    counts = [line.count("-") for line in block]
    if _BARE_LINES.fullmatch(text):
        flat = list(map(int, text.replace("-", " ").split()))
        return Links.of_columns(counts, flat[::2], flat[1::2], ids=ids)
    if not _SCORED_LINES.fullmatch(text):
        return None
    parts = text.replace("-", " ").replace(":", " ").split()
    scores = list(map(float, parts[2::3]))
    found = Links.of_columns(counts, list(map(int, parts[::3])), list(map(int, parts[1::3])), scores, ids=ids)
    # Of a link that occurs twice, the last score counts.
    return found if max(scores) <= 1 and len(found.source) == len(scores) else None


def _write(first: int, mark: str, links: Links, number: int) -> str:
    source, target = (links.source + first).tolist(), (links.target + first).tolist()
    marks = repeat("-") if links.possible is None else [mark if p else "-" for p in links.possible.tolist()]
    printed = [f"{i}{mark}{j}" for i, mark, j in zip(source, marks, target, strict=False)]
    return "".join(" ".join(printed[a:b]) + "\n" for a, b in pairwise(links.offsets.tolist()))


PHARAOH = LinkFormat(
    "pharaoh",
    "a line `0-0 1-2`; a link may carry its probability, `0-0:0.87`",
    0,
    "`1?2` or `1p2`",
    partial(_read, 0),
    partial(_write, 0, "?"),
    sniff=re.compile(r"(?:\A|\s)[0-9]+[-?p][0-9]+"),  # if another part is not a link, the reader will say so
)
TALP = LinkFormat(
    "talp",
    "a line `1-1 2-3`, otherwise like Pharaoh",
    1,
    "`2p3` or `2?3`",
    partial(_read, 1),
    partial(_write, 1, "p"),
    named=re.compile(r"\.talp\Z"),
)
