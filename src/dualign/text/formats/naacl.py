"""The links of the shared task of NAACL 2003: a line `sentence source target [S or P] [confidence]` for each.

All numbers count from 1. Probabilities of sure links are kept, where a missing one is 1 (as in the shared
task); those of possible links are dropped. The file does not mention sentences without links.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby, pairwise, repeat
from operator import itemgetter

from dualign._core.errors import DataError, refusing
from dualign.text.checks import plausible_number
from dualign.text.formats import NUMBER, REAL, LinkFormat, probability_of, quoted
from dualign.text.formats.pharaoh import sorted_links
from dualign.text.links import Alignment, Link, Links, in_blocks
from dualign.text.utf8 import parsed, read_lines

_LINE = re.compile(rf"\s*0*({NUMBER})\s+({NUMBER})\s+({NUMBER})(?:\s+([SP]))?(?:\s+({REAL}))?\s*")
_SENTENCE = re.compile(rf"\s*0*({NUMBER})\s")

_Entry = tuple[int, Link | None, str, float | None]
"""One NAACL line: sentence, link (None for a link to null), `S` or `P`, confidence."""


def _read(path: str, lines: Iterator[str], pairs: int | None, size: int) -> Iterator[Links]:
    return in_blocks(_alignments(path, lines, pairs), size)


def _alignments(path: str, lines: Iterator[str], pairs: int | None) -> Iterator[Alignment]:
    entries: Iterable[_Entry] = filter(None, parsed(path, lines, partial(_entry, pairs)))
    if not _in_order(path):
        entries = sorted(entries, key=itemgetter(0))
    done = 0
    for known, (sentence, group) in enumerate(groupby(entries, key=itemgetter(0)), 1):
        if pairs is None:
            with refusing(DataError, place=path):
                plausible_number(sentence, known)
        yield from repeat(Alignment(), sentence - done - 1)
        yield _alignment(group)
        done = sentence
    if pairs is not None:
        yield from repeat(Alignment(), pairs - done)


def _entry(pairs: int | None, line: str) -> _Entry | None:
    match = _LINE.fullmatch(line)
    if match is None:
        if not line.strip():
            return None
        raise DataError(
            f"{quoted(line)} is not a NAACL link; expected `sentence source target [S or P] [confidence]`"
        )
    sentence, source, target = int(match[1]), int(match[2]), int(match[3])
    if sentence < 1:
        raise DataError("sentence number 0; NAACL files count sentences from 1")
    if pairs is not None and sentence > pairs:
        raise DataError(f"sentence number {sentence}, but there are {pairs} sentence pairs")
    confidence = None if match[5] is None else probability_of(match[5])
    link = (source - 1, target - 1) if source and target else None
    return sentence, link, match[4] or "S", confidence


def _alignment(entries: Iterable[_Entry]) -> Alignment:
    links = [(link, mark, confidence) for _, link, mark, confidence in entries if link is not None]
    sure = {link: confidence for link, mark, confidence in links if mark == "S"}
    if any(confidence is not None for confidence in sure.values()):
        sure = {link: 1.0 if confidence is None else confidence for link, confidence in sure.items()}
    return Alignment(*sorted_links(sure, (link for link, mark, _ in links if mark == "P")))


def _in_order(path: str) -> bool:
    """Whether a NAACL file's sentence numbers never fall; False for a pipe, which can be read only once."""
    if path == "-" or not os.path.isfile(path):
        return False
    # The pass that reads the links will say what is wrong with the file, if anything.
    matches = map(_SENTENCE.match, read_lines(path, errors="replace"))
    return all(one <= other for one, other in pairwise(int(match[1]) for match in matches if match))


def _write(links: Links, number: int) -> str:
    return "".join(
        f"{n} {i + 1} {j + 1} {'S' if sure else 'P'}{'' if p is None else f' {p!r}'}\n"
        for n, alignment in enumerate(links, number)
        for i, j, sure, p in alignment.marked()
    )


NAACL = LinkFormat(
    "naacl",
    "lines `sentence source target [S or P] [confidence]`",
    1,
    "`P`",
    _read,
    _write,
    named=re.compile(r"\.naacl\Z"),
    sniff=re.compile(rf"\A{_LINE.pattern}\Z"),
)
