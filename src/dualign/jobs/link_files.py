"""Files of links rewritten: `convert`, `symmetrize` and `remap`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

from dualign.core.errors import DataError, UsageError
from dualign.jobs.running import SILENT, Run, job, one_standard_input
from dualign.text.alignment import Alignment
from dualign.text.checks import in_step
from dualign.text.formats import FORMATS, read_links, write_links
from dualign.text.places import in_place
from dualign.text.streams import open_output
from dualign.transfer.remap_files import Remapping, remapped
from dualign.transfer.remap_files import Side as Side

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
    run: Run = SILENT,
) -> None:
    """Rewrite a file of links in another format, which may be given by the suffix of `output`.

    `pairs` is the number of sentence pairs where a NAACL file does not tell. `output` may be `links`.
    """
    found = read_links(links, from_format, run.errors, count=pairs)
    with in_place():  # nothing is lost, the links are the same
        write_links(run.counted(found, "convert"), output, to_format or _by_suffix(output))


def _by_suffix(path: str) -> str:
    name, suffix = os.path.splitext(path)
    if suffix in (".gz", ".xz", ".zst"):
        suffix = os.path.splitext(name)[1]
    if suffix[1:] not in FORMATS:
        raise UsageError(
            f"cannot tell the format to write from the name {path}; say it, as in to_format=pharaoh"
        )
    return suffix[1:]


@job
def symmetrize(
    forward: str,
    backward: str,
    output: str = "-",
    *,
    method: str = "grow-diag-final-and",
    format: str | None = None,
    pairs: int | None = None,
    run: Run = SILENT,
) -> None:
    """Combine the links of the two directions, both written source word first, into one set.

    Writes a line of Pharaoh links for each sentence pair. Memory does not grow with their number.
    """
    one_standard_input(forward, backward)
    both = in_step(
        (forward, read_links(forward, format, run.errors, count=pairs)),
        (backward, read_links(backward, format, run.errors, count=pairs)),
        unit="sentence pairs",
        remedy="give both directions of the same text (--pairs N for NAACL files without the last pairs)",
    )
    combined = _combined(both, method, f"{forward} and {backward}")
    write_links(run.counted(combined, "symmetrize"), output)


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
    lines = remapped(work, lambda message: run.note(f"warning: {message}"), run.errors)
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
