"""Files of links rewritten: `convert`, `symmetrize` and `remap`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from dualign._core.errors import DataError, UsageError
from dualign._core.files.places import in_place
from dualign._core.files.streams import open_output, plain_name
from dualign.jobs.running import SILENT, Run, job, one_standard_input
from dualign.text.checks import in_step, same_ids
from dualign.text.link_formats import FORMATS, read_links, write_links
from dualign.text.links import Alignment
from dualign.transfer.remapping import Remapping, remapped
from dualign.transfer.remapping import Side as Side

LEAST_LINKS = 20
"""With fewer links, nothing is suspected."""

CHUNK = 4096
"""Sentence pairs in memory at a time; a few megabytes."""


@job
def convert(
    links: str,
    output: str,
    *,
    from_format: str | None = None,
    to_format: str | None = None,
    pairs: int | None = None,
    swap: bool = False,
    run: Run = SILENT,
) -> None:
    """Rewrite a file of links in another format, which may be given by the suffix of `output`.

    `swap` exchanges source and target. `pairs` is the number of sentence pairs where a NAACL file does not
    tell. `output` may be `links`.
    """
    to_format = to_format or _by_suffix(output)
    found = read_links(links, from_format, run.errors, count=pairs)
    if (first := next(found, None)) is not None:
        found = chain([first], found)
        if first.id is not None:
            run.note(f"note: the ids, or line numbers, before the tabs of {links} are left out")
    if swap:
        found = map(Alignment.transposed, found)
    tail = _Tail()
    with in_place():  # nothing is lost, the links are the same
        write_links(run.counted(tail.of(found), "convert"), output, to_format)
    if to_format == "naacl" and tail.unlinked:
        pairs_have = "the last pair has" if tail.unlinked == 1 else f"the last {tail.unlinked:,} pairs have"
        run.note(
            f"note: {pairs_have} no links, so the NAACL file does not mention them; where it is read, say "
            f"pairs={tail.pairs}"
        )


class _Tail:
    """Counts pairs, and those without links at the end, as they pass."""

    def __init__(self) -> None:
        self.pairs = self.unlinked = 0

    def of(self, alignments: Iterable[Alignment]) -> Iterator[Alignment]:
        """The same alignments."""
        for alignment in alignments:
            self.pairs += 1
            self.unlinked = 0 if alignment.links or alignment.possible else self.unlinked + 1
            yield alignment


def _by_suffix(path: str) -> str:
    name, _, suffix = plain_name(path).rpartition(".")
    if not name or suffix not in FORMATS:
        raise UsageError(
            f"cannot tell the format to write from the name {path}; say it, as in to_format=pharaoh"
        )
    return suffix


@job
def symmetrize(
    forward: str,
    backward: str,
    output: str = "-",
    *,
    method: str = "grow-diag-final-and",
    format: str | None = None,
    pairs: int | None = None,
    swap: bool = False,
    run: Run = SILENT,
) -> None:
    """Combine the links of the two directions, both written source word first, into one set.

    With `swap`, `backward` is written target word first. GIZA files have their words: that of the other
    direction is turned by itself, and two of the same direction are refused. Writes a line of Pharaoh links
    for each sentence pair. Memory does not grow with their number.
    """
    one_standard_input(forward, backward)
    both = in_step(
        (forward, read_links(forward, format, run.errors, count=pairs)),
        (backward, read_links(backward, format, run.errors, count=pairs)),
        unit="sentence pairs",
        remedy="give both directions of the same text (--pairs N for NAACL files without the last pairs)",
    )
    together = _turned(both, swap, (forward, backward), run)
    combined = _combined(together, method, f"{forward} and {backward}")
    write_links(run.counted(combined, "symmetrize"), output)


def _turned(
    both: Iterable[tuple[Alignment, Alignment]], swap: bool, names: tuple[str, str], run: Run
) -> Iterator[tuple[Alignment, Alignment]]:
    """The links of both directions with those of the second turned where they are written target first."""
    seen = Counter[str]()
    for number, (there, back) in enumerate(both, 1):
        if there.id != back.id:
            same_ids((f"{names[0]}:{number}", [there.id]), (f"{names[1]}:{number}", [back.id]))
        if there.words is not None and back.words is not None:
            if back.words == there.words != there.words[::-1]:
                raise DataError(
                    f"{names[0]} and {names[1]} are GIZA files of the same direction: sentence pair {number} "
                    "has the same words in both; give one file of each direction"
                )
            if back.words != there.words[::-1]:
                raise DataError(
                    f"{names[0]} and {names[1]}: the words of sentence pair {number} differ; "
                    "give GIZA files of the same text, one of each direction"
                )
            back = back.transposed()
        elif swap:
            back = back.transposed()
        elif number <= CHUNK:
            seen["kept"] += len({*there.links} & {*back.links})
            seen["turned"] += len({*there.links} & {*back.transposed().links})
        if number == CHUNK:
            _suspect(seen, names, run)
        yield there, back
    if sum(seen.values()) and number < CHUNK:
        _suspect(seen, names, run)


def _suspect(seen: Counter[str], names: tuple[str, str], run: Run) -> None:
    """Warn where the directions have more links in common if one is turned."""
    if seen["turned"] > 1.5 * seen["kept"] and seen["turned"] > LEAST_LINKS:
        run.warn(
            f"{names[0]} and {names[1]} share {seen['kept']:,} links, but {seen['turned']:,} if one of them "
            "is written target word first; if so, set swap=True"
        )


def _combined(both: Iterator[tuple[Alignment, Alignment]], method: str, place: str) -> Iterator[Alignment]:
    from dualign.decode.symmetrize import symmetrize

    symmetrize([], [], method)  # a wrong method is an error for empty files too
    begin = 1
    while chunk := list(islice(both, CHUNK)):
        there, back = zip(*chunk, strict=True)
        try:
            yield from symmetrize(there, back, method)
        except DataError as error:
            # The library counts the pairs that it was given, as `forward[7]`.
            raise DataError(f"{place}, where [0] is line {begin}: {error}") from None
        begin += len(chunk)


@job
def remap(work: Remapping, output: str = "-", *, skip: bool = False, run: Run = SILENT) -> int:
    """Carry links between words, subwords and character offsets; returns the number of lines skipped.

    Where tokens and text differ, `skip` writes an empty line and a note, and goes on.
    """
    one_standard_input(work.links, work.source.given, work.source.new, work.target.given, work.target.new)
    skipped = 0
    lines = remapped(work, run.warn, run.errors)
    with open_output(output) as stream:
        for line, problem in run.counted(lines, "remap"):
            if problem is not None:
                if not skip:
                    raise problem
                skipped += 1
                run.note(f"skipped: {problem}")
            stream.write(line + "\n")
    if skipped:
        run.note(
            f"{skipped:,} {'line was' if skipped == 1 else 'lines were'} left empty: tokens and text differ"
        )
    return skipped
