"""`dualign evaluate`: links compared with gold links, and two systems with each other."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar

from dualign._core.certified import html_text
from dualign._core.errors import DataError, UsageError, refusing
from dualign._core.fields import OptionRecord, arg, bundle, opt
from dualign.commands.bundles import Computing, ReportFile, check_beside, gold_format, link_format
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.options import RARE
from dualign.text.checks import same_ids, same_length

if TYPE_CHECKING:
    from dualign.measure import links as quality
    from dualign.measure.bootstrap import Comparison, Interval
    from dualign.measure.links import Breakdown
    from dualign.text.links import Alignment

SUSPICIOUS = 0.1
"""How much better AER must be with source and target exchanged for a warning."""


@dataclass(frozen=True, slots=True)
class LinkFile:
    """A file of links and its format, which is guessed from name and content if None."""

    path: str
    format: str | None = None
    swap: bool = False
    """Exchange source and target."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", os.fspath(self.path))

    def read(self, errors: str, count: int | None = None) -> Iterator[Alignment]:
        """The links; with `count`, a NAACL file is filled up to that number of sentence pairs."""
        from dualign.text.link_formats import read_links
        from dualign.text.links import Alignment

        found = read_links(self.path, self.format, errors, count=count)
        return map(Alignment.transposed, found) if self.swap else found


def _file(file: str | LinkFile, format: str | None = None, swap: bool = False) -> LinkFile:
    return file if isinstance(file, LinkFile) else LinkFile(file, format, swap)


@dataclass(frozen=True, slots=True)
class Words(OptionRecord):
    """The text that links belong to, all its lines; a word is rare if it occurs at most `rare` times."""

    source: str | None = opt(
        None, "Source text of LINKS, or bitext, all lines; rare words are counted here.",
        metavar="FILE", file="in",
    )  # fmt: skip
    target: str | None = opt(
        None, "Target text of LINKS, all its lines.", metavar="FILE", file="in", needs="source"
    )
    rare: int = opt(RARE, "The most occurrences of a rare word.", metavar="N", least=0, needs="source")


@dataclass(frozen=True, slots=True)
class Report:
    """What was measured; `interval` and `breakdown` are None where they were not asked for."""

    evaluation: quality.Evaluation
    interval: Interval | None = None
    breakdown: Breakdown | None = None
    rare: int = RARE
    """A word of the breakdown is rare if it occurs at most this often."""

    def as_json(self) -> str:
        """One JSON object; rates are fractions, and what was not asked for is null."""
        from dualign.measure.bootstrap import signature

        content: dict[str, Any] = self.evaluation.as_dict()
        content["interval"] = None if self.interval is None else asdict(self.interval)
        content["breakdown"] = (
            None if self.breakdown is None else {"rare_at_most": self.rare, **asdict(self.breakdown)}
        )
        content["signature"] = signature(self.evaluation, self.interval)
        return json.dumps(content, allow_nan=False)

    def _repr_html_(self) -> str:
        return html_text(self.as_text())

    def as_text(self) -> str:
        """Lines for people; rates are per cent."""
        from dualign.measure.bootstrap import signature

        whole = self.evaluation
        lines = [f"AER        {_percent(whole.aer)}{self._interval()}"]
        lines += [
            f"{name:10s} {_percent(rate)}"
            for name, rate in (("precision", whole.precision), ("recall", whole.recall), ("F1", whole.f1))
        ]
        if self.breakdown is not None:
            lines += ["", *self._breakdown(self.breakdown)]
        return "\n".join([*lines, "", signature(whole, self.interval)])

    def _interval(self) -> str:
        if self.interval is None:
            return ""
        low, high = _percent(self.interval.low).strip(), _percent(self.interval.high).strip()
        return f"  {100 * self.interval.level:g} % interval {low} to {high}"

    def _breakdown(self, breakdown: Breakdown) -> list[str]:
        rows = [
            (f"source word rare (at most {self.rare})", breakdown.source.rare),
            ("source word common", breakdown.source.common),
            (f"target word rare (at most {self.rare})", breakdown.target.rare),
            ("target word common", breakdown.target.common),
        ]
        width = max(len(name) for name, _ in rows)
        head = f"{'':{width}s}     AER  precision  recall      F1    links     sure"
        return [head] + [
            f"{name:{width}s}  {_percent(part.aer)}     {_percent(part.precision)}  {_percent(part.recall)}  "
            f"{_percent(part.f1)}  {part.links:7d}  {part.sure:7d}"
            for name, part in rows
        ]


@dataclass(frozen=True, slots=True)
class PairedReport:
    """Two systems on the same sentence pairs; `comparison` is None where it was not asked for."""

    names: tuple[str, str]
    first: quality.Evaluation
    second: quality.Evaluation
    comparison: Comparison | None = None

    def as_json(self) -> str:
        """One JSON object; rates are fractions."""
        compared = None if self.comparison is None else asdict(self.comparison)
        systems = {"first": self.first.as_dict(), "second": self.second.as_dict()}
        return json.dumps({"names": self.names, **systems, "comparison": compared}, allow_nan=False)

    def _repr_html_(self) -> str:
        return html_text(self.as_text())

    def as_text(self) -> str:
        """Lines for people; rates are per cent."""
        lines = [f"first   {self.names[0]}", f"second  {self.names[1]}", ""]
        lines.append(f"{'':10s}  {'first':>6s}  {'second':>6s}  difference")
        for name in ("aer", "precision", "recall", "f1"):
            one, two = getattr(self.first, name), getattr(self.second, name)
            shown = {"aer": "AER", "f1": "F1"}.get(name, name)
            lines.append(f"{shown:10s}  {_percent(one)}  {_percent(two)}      {100 * (two - one):+6.2f}")
        if self.comparison is not None:
            c = self.comparison
            lines += [
                "",
                f"AER differs by {100 * c.difference:+.2f}, {100 * c.level:g} % interval "
                f"{100 * c.low:+.2f} to {100 * c.high:+.2f}, p = {c.p:.3g}",
                f"(paired bootstrap over {self.first.pairs} pairs, {c.samples} resamples, seed {c.seed})",
            ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Evaluate(Command):
    """Compare links with gold links: AER, precision, recall and F1.

    The interval around AER holds 95 % of its values when the sentence pairs are resampled. With the texts,
    links of rare words and links of common words are scored apart as well. With two files of links, the
    difference between them gets an interval, and p: how likely it would be by chance.
    """

    usage: ClassVar[str] = "LINKS GOLD, or LINKS OTHER GOLD to compare two"

    links: str | Any = arg("File of links.", file="in")
    other: str | Any | None = arg("Another file of links, to compare the two.", None, file="in")
    gold: str | Any = arg("Gold links, sure and possible.", file="in", kw_only=True)
    shown: ReportFile = bundle(ReportFile)
    format: str | None = link_format()
    gold_format: str | None = gold_format()
    swap: bool = opt(False, "LINKS are written target word first.")
    first: bool = opt(False, "GOLD is for the first lines of LINKS; ignore the rest.")
    bootstrap: int = opt(1000, "Resamples for AER's interval; 0 for none.", metavar="N", least=0)
    seed: int = opt(1, "Seed of the resampling.", metavar="N", least=0)
    words: Words = bundle(Words)
    computing: Computing = bundle(Computing, "errors")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.other is not None and self.words.source is not None:
            raise UsageError(
                "rare words are counted for one file of links; leave out {source=} and {target=}",
                source=..., target=...,
            )  # fmt: skip
        if self.other is not None and _file(self.gold).path == "-":
            raise UsageError("the gold links are read twice; name a file instead of -")

    def run(self, tell: Reporter) -> Report | PairedReport:
        """Read all links, and measure."""
        links = _file(self.links, self.format, self.swap)
        gold = _file(self.gold, self.gold_format)
        if self.other is not None:
            return self._compare(links, _file(self.other, self.format), gold, tell)
        check_beside(self.words.source, self.words.target)
        return self._report(links, gold, self.words, tell)

    def show(self, result: Report | PairedReport, tell: Reporter) -> None:
        """Write the report."""
        self.shown.write(result.as_text(), result.as_json())

    def _report(self, links: LinkFile, gold: LinkFile, words: Words, tell: Reporter) -> Report:
        from dualign.measure import links as quality
        from dualign.measure.bootstrap import confidence_interval

        compared = _read_with_gold(links, gold, self.first, self.computing.errors, tell)
        evaluation = quality.evaluate(compared.links, compared.gold)
        turned = quality.evaluate([each.transposed() for each in compared.links], compared.gold)
        if turned.aer < evaluation.aer - SUSPICIOUS:
            advice = "leave out {swap=}" if links.swap else "set {swap=}"
            tell.warn(
                "source and target of {file} seem to be exchanged: AER is {aer:.2f}, and {turned:.2f} the "
                f"other way round; if so, {advice}",
                file=links.path, aer=100 * evaluation.aer, turned=100 * turned.aer, swap=True,
            )  # fmt: skip
        interval = breakdown = None
        if self.bootstrap:
            about: Any = {"samples": self.bootstrap, "seed": self.seed}
            interval = confidence_interval(compared.links, compared.gold, **about)
        if words.source is not None:
            breakdown = _by_frequency(compared, links.path, words, self.computing.errors)
        return Report(evaluation, interval, breakdown, words.rare)

    def _compare(self, first: LinkFile, second: LinkFile, gold: LinkFile, tell: Reporter) -> PairedReport:
        """Compare two files of links, and say whether the difference may be chance."""
        from dualign.measure import links as quality
        from dualign.measure.bootstrap import compare

        errors = self.computing.errors
        one, two = (_read_with_gold(each, gold, self.first, errors, tell) for each in (first, second))
        paths = (first.path, len(one.gold)), (second.path, len(two.gold))
        same_length(*paths, unit="sentence pairs", remedy="both must be of the same pairs")
        same_ids((first.path, _ids(one.links)), (second.path, _ids(two.links)))
        paired = None
        if self.bootstrap:
            paired = compare(one.links, two.links, one.gold, samples=self.bootstrap, seed=self.seed)
        evaluations = quality.evaluate(one.links, one.gold), quality.evaluate(two.links, two.gold)
        return PairedReport((first.path, second.path), *evaluations, paired)


@dataclass(frozen=True, slots=True)
class _Compared:
    """The sentence pairs that have gold."""

    links: list[Alignment]
    gold: list[Alignment]
    numbers: Sequence[int]
    """Their lines in the file of links, from 0."""
    lines: int
    """Sentence pairs of the whole file of links, those beyond the gold included."""


def _read_with_gold(links: LinkFile, gold: LinkFile, first: bool, errors: str, tell: Reporter) -> _Compared:
    """Read links and gold of the same sentence pairs; the files must have the same number.

    With `first`, gold is for the first sentence pairs of `links`, and no more of them are held in memory. A
    NAACL file does not mention pairs without links: where it is shorter than the other file, the missing
    pairs count as pairs without links. If it is the gold, a note says so. Gold of chosen lines is compared
    with the links of exactly these lines.
    """
    from dualign.text.gold import read_gold

    rest = links.read(errors)
    begin = list(islice(rest, 1))
    if begin and begin[0].id is not None:
        begin += rest
    rest = chain(begin, rest)
    known = read_gold(gold.path, gold.format, errors, ids=_ids(begin))
    references = known.links
    if known.chosen:
        answers = known.of(rest, links.path)
        return _Compared(answers, references, known.lines, known.lines[-1] + 1 + sum(1 for _ in rest))
    answers = list(islice(rest, len(references)))
    if first:
        lines = len(answers) + sum(1 for _ in rest)
    else:
        answers += rest
        lines = len(answers)
    for path, count in ((links.path, lines), (gold.path, len(references))):
        if count == 0:
            raise DataError(f"{path}: no links at all, the file is empty; was it written to the end?")
    named, remedy = len(references), "both must be of the same pairs, the links first, then the gold links"
    if lines < named:
        answers = _filled(links, named, errors) or answers
    elif lines > named and not first:
        remedy += ", or use --first if gold is for the first lines only"
        if filled := _filled(gold, lines, errors):
            references = filled
            tell.note(
                "note: {file} mentions no sentence pair after {named}; the other {others} count as pairs "
                "without gold links (set {first=} if gold is for the first pairs only)",
                file=gold.path, named=named, others=lines - named, first=True,
            )  # fmt: skip
    counts = (links.path, len(answers)), (gold.path, len(references))
    same_length(*counts, unit="sentence pairs", remedy=remedy)
    same_ids((links.path, _ids(answers)), (gold.path, _ids(references)))
    return _Compared(answers, references, range(len(references)), max(lines, named))


def _ids(alignments: Sequence[Alignment]) -> list[str | None]:
    return [each.id for each in alignments]


def _filled(file: LinkFile, count: int, errors: str) -> list[Alignment]:
    """Read a file again that had too few sentence pairs: if it is NAACL, the reader can add empty ones.

    Empty for a pipe, which cannot be read twice, and for a file of any other format.
    """
    if os.path.isfile(file.path):
        # The file could be read a moment ago, so an error can only be about the count.
        with suppress(DataError):
            return list(file.read(errors, count))
    return []


def _by_frequency(compared: _Compared, links: str, words: Words, errors: str) -> Breakdown:
    """Split by the frequencies in the whole texts; of their sentences, those with gold are kept in memory."""
    from dualign.measure.links import by_frequency
    from dualign.text.blocks import read_pairs

    assert words.source is not None
    frequencies: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    sentences: tuple[list[Sequence[str]], list[Sequence[str]]] = [], []
    lines, wanted = 0, set(compared.numbers)
    for lines, pair in enumerate(read_pairs(words.source, words.target, errors=errors), 1):
        for side, counts, kept in zip(pair, frequencies, sentences, strict=True):
            counts.update(side)
            if lines - 1 in wanted:
                kept.append(side)
    text = words.source if words.target is None else f"{words.source} with {words.target}"
    remedy = "give the whole text that was aligned"
    same_length((text, lines), (links, compared.lines), unit="sentence pairs", remedy=remedy)
    counted: dict[str, Any] = {"source_frequencies": frequencies[0], "target_frequencies": frequencies[1]}
    with refusing(DataError, place=f"{links} with the words of {text}"):
        return by_frequency(compared.links, compared.gold, *sentences, **counted, rare=words.rare)


def _percent(rate: float) -> str:
    return f"{100 * rate:6.2f}"
