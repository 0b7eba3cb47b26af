"""Files of links: each format is a module of `dualign.text.formats` and an entry of `FORMATS`.

`docs/formats.md` has the table of them. Pharaoh, TALP and NAACL name the source position first.

**Guessing.** Without a format, `read_links` goes by the file name, ignoring a compression suffix: `.talp` is
TALP, `.naacl` NAACL, `.A3.final…` GIZA. For any other name, `.wa` included, the first line that is not empty
decides: `# Sentence pair (…` is GIZA, three to five fields that start with three numbers are NAACL, a line
that contains a link is Pharaoh; anything else is an error. TALP looks like Pharaoh and is therefore never
guessed from content. A file of empty lines only is NAACL if it is called `.wa`, otherwise Pharaoh.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain

from dualign._core.errors import DataError, UsageError
from dualign._core.files.streams import FilePath, open_output, plain_name
from dualign.text.checks import same_length
from dualign.text.formats import LARGEST, LinkFormat, quoted
from dualign.text.formats.giza import GIZA
from dualign.text.formats.naacl import NAACL
from dualign.text.formats.pharaoh import PHARAOH, TALP
from dualign.text.links import BLOCK, Alignment, Links, in_blocks
from dualign.text.utf8 import read_lines

FORMATS = {format.name: format for format in (GIZA, NAACL, PHARAOH, TALP)}
"""The link formats, in the order in which they are asked whether a file is theirs."""

WRITABLE = tuple(name for name, format in FORMATS.items() if format.write is not None)
"""The names of those that can be written."""


def read_links(
    path: FilePath, format: str | None = None, errors: str = "strict", *, count: int | None = None
) -> Iterator[Alignment]:
    """Yield the alignment of each sentence pair of `path`.

    Without `format` it is guessed (see the module's text). `count` is the number of sentence pairs, if the
    caller knows it; a file with another number is an error. NAACL files do not mention sentences without
    links, so without `count` those at the end are missed. `errors` as in `read_lines`. Memory is bounded,
    except for a NAACL file that is not sorted by sentence or comes through a pipe: it is held and sorted.
    """
    return chain.from_iterable(link_blocks(path, format, errors, count=count))


def link_blocks(
    path: FilePath,
    format: str | None = None,
    errors: str = "strict",
    *,
    count: int | None = None,
    size: int = BLOCK,
) -> Iterator[Links]:
    """Yield what `read_links` does as `Links` of `size` pairs; what comes before an error may have fewer."""
    path = os.fspath(path)
    if count is not None and count < 0:
        raise UsageError("{count=} is negative", count=count)
    return blocks_from(path, format, read_lines(path, errors), count, size)


def blocks_from(
    path: str, format: str | None, lines: Iterator[str], pairs: int | None, size: int = BLOCK
) -> Iterator[Links]:
    """Yield the links of lines that are read already."""
    if format is not None and format not in FORMATS:
        raise UsageError(f"unknown link format {quoted(format)}; known are {', '.join(FORMATS)}")
    return _blocks(path, format, lines, pairs, size)


def _blocks(
    path: str, format: str | None, lines: Iterator[str], pairs: int | None, size: int
) -> Iterator[Links]:
    entry, lines = (FORMATS[format], lines) if format is not None else _guess(path, lines)
    found, remedy = 0, "each pair needs one alignment"
    for block in entry.read(path, lines, pairs, size):
        if found == 0 and block.ids is not None and (block.ids[0] or "").isdecimal():
            remedy += "; if these are corrected links of chosen lines, they serve as gold"
        wanted = len(block) if pairs is None else min(len(block), pairs - found)
        if wanted > 0:
            yield block.slice(0, wanted)
        found += len(block)
    if pairs is not None:
        same_length((path, found), ("the text", pairs), unit="sentence pairs", remedy=remedy)


def _guess(path: str, lines: Iterator[str]) -> tuple[LinkFormat, Iterator[str]]:
    """The format by name or content, and all the lines again."""
    name = plain_name(path)
    for format in FORMATS.values():
        if format.named and format.named.search(name):
            return format, lines
    seen = []
    for number, line in enumerate(lines, 1):
        seen.append(line)
        if not line.strip() or line.endswith("\t"):  # nothing, or an id
            continue
        for format in FORMATS.values():
            if format.sniff and format.sniff.search(line):
                return format, chain(seen, lines)
        raise DataError(
            f"{path}:{number}: cannot tell the link format from {quoted(line)}; "
            f"name it, one of {', '.join(FORMATS)}"
        )
    return NAACL if name.endswith(".wa") else PHARAOH, iter(seen)


def write_links(alignments: Iterable[Alignment], path: FilePath, format: str = "pharaoh") -> None:
    """Write alignments to `path`, whole or not at all; GIZA files cannot be written."""
    with link_writer(path, format) as write:
        for block in in_blocks(alignments):
            write(block)


@contextmanager
def link_writer(path: FilePath, format: str = "pharaoh") -> Iterator[Callable[[Links], None]]:
    """Give what writes the links of consecutive pairs, to a file that appears when all is written."""
    if format == "giza":
        raise UsageError(
            "GIZA files cannot be written: they repeat the sentences, which a file of links does not have"
        )
    printed = FORMATS[format].write if format in WRITABLE else None
    if printed is None:
        raise UsageError(f"unknown link format {quoted(format)}; can be written: {', '.join(WRITABLE)}")
    done = 1

    def write(links: Links) -> None:
        nonlocal done
        _small_enough(links, done, FORMATS[format])
        stream.write(printed(links, done))
        done += len(links)

    with open_output(path) as stream:
        yield write


def _small_enough(links: Links, number: int, format: LinkFormat) -> None:
    """Refuse a position that the reader would refuse."""
    most = LARGEST - format.first
    beyond = ((links.source > most) | (links.target > most)).nonzero()[0]
    if len(beyond):
        k = beyond[0]
        raise DataError(
            f"pair {number + links.pair[k]}: link {links.source[k]}-{links.target[k]} cannot be written as "
            f"{format.name}, whose numbers have up to nine digits; correct the link"
        )
