"""`Dataset`: a bitext with everything that is shown about it, read from `Files` and checked.

Every mistake is found before a page opens: files of different length, links outside their sentence pair,
reports about lines that do not exist.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING

from dualign._core.errors import DataError, UsageError
from dualign._core.fields import OptionRecord, arg, opt
from dualign._core.files.streams import base_name, named
from dualign.text.checks import links_inside, number_of, same_ids, same_length
from dualign.text.gold import read_gold
from dualign.text.link_formats import FORMATS, read_links
from dualign.text.links import Alignment, Link
from dualign.text.reports import read_records, record_of
from dualign.text.utf8 import read_lines

if TYPE_CHECKING:
    from dualign.text.blocks import Pair, TextFiles

_SOURCE, _TARGET = itemgetter(0), itemgetter(1)
_LINES = 1 << 12


@dataclass(frozen=True, slots=True)
class Files(OptionRecord):
    """Where everything is.

    `links`, `probabilities` and `reports` may be written `NAME=FILE`; the first of each belong to the first
    system, and so on. With `first`, gold may end before the text does. `ids` has the id of each pair.
    """

    source: str = arg("Source text, one sentence per line; or both sides: see TARGET.", file="in")
    target: str | None = arg(
        "Target text. Without it, SOURCE has lines `source ||| target` or `source<TAB>target`.",
        None,
        file="in",
    )
    links: tuple[str, ...] = opt(
        (), "Links of a system; repeat for others.",
        short="-l", metavar="[NAME=]FILE", file="in", named=True,
    )  # fmt: skip
    probabilities: tuple[str, ...] = opt(
        (), "Links as `i-j:probability`, of the --links in the same place, or a system.",
        metavar="[NAME=]FILE", file="in", named=True,
    )  # fmt: skip
    reports: tuple[str, ...] = opt(
        (), "What `align --report` wrote, of the --links in the same place.",
        flag="--report", metavar="FILE", file="in", named=True,
    )  # fmt: skip
    gold: str | None = opt(None, "Gold links, sure and possible.", metavar="FILE", file="in")
    format: str | None = opt(
        None,
        f"Link format: {', '.join(FORMATS)}. Guessed from name and content if not given.",
        metavar="FORMAT",
    )
    gold_format: str | None = opt(None, "Format of the gold links.", metavar="FORMAT")
    first: bool = opt(False, "Gold is for the first lines of the text.")
    ids: str | None = opt(None, "A file with the id of each pair.", metavar="FILE", file="in")


@dataclass(frozen=True, slots=True)
class System:
    """The links of one aligner for every pair, and if known, probabilities and reports.

    `cells[n]` has probabilities of links of pair n, also of links that were not chosen; `records[n]` is the
    line of the report about it.
    """

    name: str
    links: Sequence[Alignment]
    cells: Sequence[dict[Link, float]] | None = None
    records: Sequence[str | None] | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """Sentence pairs, systems, and gold links (None for a pair that has no gold)."""

    pairs: Sequence[Pair]
    systems: Sequence[System] = ()
    gold: Sequence[Alignment | None] | None = None
    names: tuple[str, str] = field(default=("source", "target"))
    ids: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.pairs)


def read_dataset(files: Files, errors: str = "strict", text: TextFiles | None = None) -> Dataset:
    """Read and check all files; raises `DataError` naming file, line and remedy.

    `text`: how the text is read, where that is a table, or cut by a tokeniser; it then has no name.
    """
    from dualign.text.blocks import TextFiles, read_blocks
    from dualign.text.tokenizing import PLAIN

    text = text or TextFiles(files.source, files.target, errors=errors)
    pairs: list[Pair] = []
    ids: list[str] | None = [] if text.has_ids else None
    for block in read_blocks(text, _LINES):
        pairs += block.pairs()
        if ids is not None:
            ids += block.ids
    if not pairs:
        raise DataError(f"{files.source}: no sentence pair, nothing to show; was it written to the end?")
    if ids is None and files.ids is not None:
        ids = list(read_lines(files.ids, errors))
        same_length((files.ids, len(ids)), ("the text", len(pairs)), remedy="give the id of each pair")
    systems = systems_of(files, pairs, ids, errors)
    known: Sequence[str | None] = ids or [each.id for system in systems[:1] for each in system.links]
    gold = None if files.gold is None else _read_gold(files, files.gold, pairs, known, errors)
    is_plain = text.columns is None and text.cutting == PLAIN
    named = base_name(files.source), base_name(files.target or files.source)
    return Dataset(pairs, systems, gold, named if is_plain else ("source", "target"), ids)


def systems_of(files: Files, pairs: Sequence[Pair], ids: Sequence[str] | None, errors: str) -> list[System]:
    """Read the links of every system, with their probabilities and reports; all have the ids of the text."""
    systems = list(_systems(files, pairs, errors))
    known: Sequence[str | None] = ids or [each.id for system in systems[:1] for each in system.links]
    for system in systems:
        same_ids(("the text", known), (system.name, [each.id for each in system.links]))
    return systems


def _systems(files: Files, pairs: Sequence[Pair], errors: str) -> Iterator[System]:
    count = max(len(files.links), len(files.probabilities))
    if len(files.reports) > count:
        raise UsageError(
            f"{number_of(len(files.reports), 'reports')} for {number_of(count, 'systems')}; "
            "give the links of each, too"
        )
    taken: set[str] = set()
    for k in range(count):
        name, links, cells = "", None, None
        if k < len(files.links):
            name, path = named(files.links[k])
            links = _read_aligned(path, files.format, errors, pairs)
        if k < len(files.probabilities):
            other, path = named(files.probabilities[k])
            scored = _read_aligned(path, None, errors, pairs)
            if all(alignment.probabilities is None for alignment in scored) and any(scored):
                raise DataError(
                    f"{path}: links without probabilities; write them as `i-j:probability`, "
                    "as `dualign align --probabilities` does"
                )
            name, links, cells = name or other, links or scored, cells_of(scored)
        assert links is not None
        if cells is None and any(alignment.probabilities for alignment in links):
            cells = cells_of(links)
        records = None
        if k < len(files.reports):
            path = named(files.reports[k])[1]
            records = read_records(path, len(pairs), errors)
            _check_records(path, records, links)
        while name in taken:
            name += "′"
        taken.add(name)
        yield System(name, links, cells, records)


def _check_records(path: str, records: Sequence[str | None], alignments: Sequence[Alignment]) -> None:
    """Refuse a report that counts other links than there are."""
    for number, (line, alignment) in enumerate(zip(records, alignments, strict=True), 1):
        count = None if line is None else record_of(line).get("links")
        if isinstance(count, int) and count != len(alignment.links):
            raise DataError(
                f"{path}: a report of {number_of(count, 'links')} of pair {number}, "
                f"which has {len(alignment.links)}; "
                "give the report that was written with these links"
            )


def cells_of(alignments: Iterable[Alignment]) -> list[dict[Link, float]]:
    """Return the probabilities of the links of each pair, where they have any."""
    return [dict(zip(a.links, a.probabilities or (), strict=False)) for a in alignments]


def _read_aligned(path: str, format: str | None, errors: str, pairs: Sequence[Pair]) -> list[Alignment]:
    alignments = list(read_links(path, format, errors, count=len(pairs)))
    _check_links(path, alignments, pairs)
    return alignments


def _read_gold(
    files: Files, path: str, pairs: Sequence[Pair], ids: Sequence[str | None], errors: str
) -> list[Alignment | None]:
    format = files.gold_format
    if format is None and os.path.isfile(path) and (known := read_gold(path, format, errors, ids=ids)).chosen:
        chosen: list[Alignment | None] = [None] * len(pairs)
        for line, (s, t), links in zip(known.lines, known.of(pairs, "the text"), known.links, strict=True):
            links_inside(links.links + links.possible, len(s), len(t), f"{path}, line {line + 1}")
            chosen[line] = links
        return chosen
    if not files.first:
        try:
            gold = _read_aligned(path, format, errors, pairs)
            same_ids(("the text", ids or [None] * len(gold)), (path, [each.id for each in gold]))
            return list(gold)
        except DataError as error:
            # A pipe cannot be read twice; with any other mistake than the length this raises it again.
            if os.path.isfile(path) and sum(1 for _ in read_links(path, format, errors)) < len(pairs):
                raise DataError(f"{error} (use --first if gold is for the first lines only)") from None
            raise
    stream = read_links(path, format, errors)
    gold = list(islice(stream, len(pairs)))
    if more := sum(1 for _ in stream):
        counts = (path, len(gold) + more), ("the text", len(pairs))
        same_length(*counts, unit="sentence pairs", remedy="give the text that was annotated")
    _check_links(path, gold, pairs)
    return [*gold, *[None] * (len(pairs) - len(gold))]


def _check_links(path: str, alignments: Iterable[Alignment], pairs: Iterable[Pair]) -> None:
    """Refuse links outside their sentence pair; the message is about the first and counts the pairs."""
    first, wrong = None, 0
    for number, (alignment, (source, target)) in enumerate(zip(alignments, pairs, strict=False), 1):
        every = alignment.links + alignment.possible
        if every and (max(map(_SOURCE, every)) >= len(source) or max(map(_TARGET, every)) >= len(target)):
            first, wrong = first or (every, len(source), len(target), number), wrong + 1
    if first is not None:
        try:
            links_inside(*first[:3], f"{path}, sentence pair {first[3]}")
        except DataError as error:
            others = number_of(wrong - 1, "other pairs") + (" has" if wrong == 2 else " have")
            others = f" ({others} such links, too)" if wrong > 1 else ""
            raise DataError(f"{error}{others}") from None
