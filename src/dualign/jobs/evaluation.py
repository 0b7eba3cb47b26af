"""Links compared with gold links, from files: `evaluate`."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import Any

from dualign._core.certified import html_text
from dualign._core.errors import DataError, UsageError
from dualign.jobs.running import SILENT, Run, job, one_standard_input
from dualign.measure import links as quality
from dualign.measure.bootstrap import Comparison, Interval, confidence_interval
from dualign.measure.bootstrap import compare as paired_bootstrap
from dualign.measure.links import Breakdown, by_frequency
from dualign.measure.signature import signature
from dualign.options import RARE
from dualign.text.blocks import read_pairs
from dualign.text.checks import same_ids, same_length
from dualign.text.gold import read_gold
from dualign.text.link_formats import read_links
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

    def read(self, errors: str, count: int | None = None) -> Iterator[Alignment]:
        """The links; with `count`, a NAACL file is filled up to that number of sentence pairs."""
        found = read_links(self.path, self.format, errors, count=count)
        return map(Alignment.transposed, found) if self.swap else found


@dataclass(frozen=True, slots=True)
class Words:
    """The text that links belong to, all its lines; a word is rare if it occurs at most `rare` times."""

    source: str
    target: str | None = None
    """None if `source` has both sides on each line."""
    rare: int = RARE


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


@job
def evaluate(
    links: str | LinkFile,
    gold: str | LinkFile,
    *,
    first: bool = False,
    bootstrap: int = 1000,
    seed: int = 1,
    words: Words | None = None,
    run: Run = SILENT,
) -> Report:
    """Compare a file of links with gold links: AER, precision, recall and F1.

    `first`: gold is for the first lines of the links only. `bootstrap` is the number of resamples for AER's
    interval, 0 for none. With `words`, links of rare and of common words are scored separately as well.
    """
    links = links if isinstance(links, LinkFile) else LinkFile(links)
    gold = gold if isinstance(gold, LinkFile) else LinkFile(gold)
    text = (None, None) if words is None else (words.source, words.target)
    one_standard_input(links.path, gold.path, *text)
    compared = _read_with_gold(links, gold, first, run)
    evaluation = quality.evaluate(compared.links, compared.gold)
    turned = quality.evaluate([each.transposed() for each in compared.links], compared.gold)
    if turned.aer < evaluation.aer - SUSPICIOUS:
        remedy = "leave out swap=True" if links.swap else "set swap=True"
        run.warn(
            f"source and target of {links.path} seem to be exchanged: AER is {100 * evaluation.aer:.2f}, and "
            f"{100 * turned.aer:.2f} the other way round; if so, {remedy}"
        )
    interval = breakdown = None
    if bootstrap:
        interval = confidence_interval(compared.links, compared.gold, samples=bootstrap, seed=seed)
    if words is not None:
        breakdown = _by_frequency(compared, links.path, words, run.errors)
    return Report(evaluation, interval, breakdown, RARE if words is None else words.rare)


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


@job
def compare(
    first: str | LinkFile,
    second: str | LinkFile,
    gold: str | LinkFile,
    *,
    only_first: bool = False,
    bootstrap: int = 1000,
    seed: int = 1,
    run: Run = SILENT,
) -> PairedReport:
    """Compare two files of links with the same gold links, and say whether the difference may be chance.

    `only_first`: gold is for the first lines of the links. `bootstrap`: the number of resamples, 0 for none.
    """
    given = [each if isinstance(each, LinkFile) else LinkFile(each) for each in (first, second, gold)]
    one_standard_input(*(each.path for each in given))
    if given[2].path == "-":
        raise UsageError("the gold links are read twice; name a file instead of -")
    one, two = (_read_with_gold(each, given[2], only_first, run) for each in given[:2])
    paths = (given[0].path, len(one.gold)), (given[1].path, len(two.gold))
    same_length(*paths, unit="sentence pairs", remedy="both must be of the same pairs")
    same_ids((given[0].path, _ids(one.links)), (given[1].path, _ids(two.links)))
    paired = None
    if bootstrap:
        paired = paired_bootstrap(one.links, two.links, one.gold, samples=bootstrap, seed=seed)
    evaluations = quality.evaluate(one.links, one.gold), quality.evaluate(two.links, two.gold)
    return PairedReport((given[0].path, given[1].path), *evaluations, paired)


@dataclass(frozen=True, slots=True)
class _Compared:
    """The sentence pairs that have gold."""

    links: list[Alignment]
    gold: list[Alignment]
    numbers: Sequence[int]
    """Their lines in the file of links, from 0."""
    lines: int
    """Sentence pairs of the whole file of links, those beyond the gold included."""


def _read_with_gold(links: LinkFile, gold: LinkFile, first: bool, run: Run) -> _Compared:
    """Read links and gold of the same sentence pairs; the files must have the same number.

    With `first`, gold is for the first sentence pairs of `links`, and no more of them are held in memory. A
    NAACL file does not mention pairs without links: where it is shorter than the other file, the missing
    pairs count as pairs without links. If it is the gold, a note says so. Gold of chosen lines is compared
    with the links of exactly these lines.
    """
    rest = links.read(run.errors)
    begin = list(islice(rest, 1))
    if begin and begin[0].id is not None:
        begin += rest
    rest = chain(begin, rest)
    known = read_gold(gold.path, gold.format, run.errors, ids=_ids(begin))
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
        answers = _filled(links, named, run) or answers
    elif lines > named and not first:
        remedy += ", or use --first if gold is for the first lines only"
        if filled := _filled(gold, lines, run):
            references = filled
            run.note(
                f"note: {gold.path} mentions no sentence pair after {named}; the other {lines - named} count "
                "as pairs without gold links (set first=True if gold is for the first pairs only)"
            )
    counts = (links.path, len(answers)), (gold.path, len(references))
    same_length(*counts, unit="sentence pairs", remedy=remedy)
    same_ids((links.path, _ids(answers)), (gold.path, _ids(references)))
    return _Compared(answers, references, range(len(references)), max(lines, named))


def _ids(alignments: Sequence[Alignment]) -> list[str | None]:
    return [each.id for each in alignments]


def _filled(file: LinkFile, count: int, run: Run) -> list[Alignment]:
    """Read a file again that had too few sentence pairs: if it is NAACL, the reader can add empty ones.

    Empty for a pipe, which cannot be read twice, and for a file of any other format.
    """
    if os.path.isfile(file.path):
        # The file could be read a moment ago, so an error can only be about the count.
        with suppress(DataError):
            return list(file.read(run.errors, count))
    return []


def _by_frequency(compared: _Compared, links: str, words: Words, errors: str) -> Breakdown:
    """Split by the frequencies in the whole texts; of their sentences, those with gold are kept in memory."""
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
    try:
        return by_frequency(
            compared.links,
            compared.gold,
            *sentences,
            source_frequencies=frequencies[0],
            target_frequencies=frequencies[1],
            rare=words.rare,
        )
    except DataError as error:
        raise DataError(f"{links} with the words of {text}: {error}") from None


def _percent(rate: float) -> str:
    return f"{100 * rate:6.2f}"
