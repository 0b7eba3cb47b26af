"""`dualign transfer`: annotation carried from a source to its translation."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dualign._core.errors import UsageError
from dualign._core.fields import arg, bundle, opt
from dualign._core.files.streams import open_output
from dualign.commands import annotated
from dualign.commands.annotated import AnnotatedFiles, Carried, Spread, TagSettings, discontinuous, gap
from dualign.commands.bundles import Computing, ReportFile, link_format, output, pairs, report_file
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.text.checks import number_of
from dualign.text.tables import is_json
from dualign.transfer.sentences import Settings as TransferSettings
from dualign.transfer.sentences import as_column, pos, surface

if TYPE_CHECKING:
    from dualign.measure.transfer import SpanReport, TreeReport

SHARD = 1024
"""Sentence pairs of a task on a cluster."""

LINKS = "Links, perhaps with probabilities, as `dualign align --probabilities` writes them."
TARGET = "Target: CoNLL-U, or text with one tokenised sentence per line."
_IS_CONLLU = {None: None, "conllu": True, "text": False}


def _file_format(side: str, **rules: Any) -> Any:
    text = f"Format of {side}, if its name does not tell."
    return opt(None, text, choices=("conllu", "text"), **rules)


def _threshold() -> Any:
    return opt(0.0, "Use links more probable than this.", metavar="P", least=0, below=1)


@dataclass(frozen=True)
class Transfer(Command):
    """Carry something from a source to its translation."""

    source: str = arg("", file="in")
    target: str = arg(TARGET, file="in")
    links: str = arg(LINKS, file="in")
    output: str = output()
    report: str | None = report_file("Also write a JSON object for each pair: what happened.")
    format: str | None = link_format()
    pairs: int | None = pairs()
    computing: Computing = bundle(Computing, "cluster work errors")

    def annotated(self, source: str | None = None, target: str | None = None) -> AnnotatedFiles:
        """Return what is read; a side is CoNLL-U as told, or by its name if None."""
        kinds = _IS_CONLLU[source], _IS_CONLLU[target]
        return AnnotatedFiles(self.source, self.target, self.links, *kinds, self.format, self.pairs)

    def carried(self, spread: Spread) -> Iterable[Carried]:
        """Return the output for each pair, and its counts."""
        raise NotImplementedError

    def run(self, tell: Reporter) -> Counter[str]:
        """Write results as they come, with their counts to the report; return the sum of the counts."""
        total: Counter[str] = Counter()
        number = 0
        with self.computing.crew(tell) as crew, ExitStack() as stack:
            spread: Spread = map
            if crew is not None:
                from dualign.engines.dask.mapping import mapped

                spread = partial(mapped, crew, "transfer", size=SHARD)
            results = self.carried(spread)
            stream = stack.enter_context(open_output(self.output))
            records = stack.enter_context(open_output(self.report)) if self.report is not None else None
            for number, (result, counts) in enumerate(tell.counted(results, "transfer"), 1):
                stream.write(result)
                total.update(counts)
                if records is not None:
                    records.write(json.dumps({"line": number, **counts}) + "\n")
        found = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in total.items())
        tell.note(number_of(number, "sentence pairs") + (f": {found}" if found else ""))
        return total


@dataclass(frozen=True)
class TransferTree(Transfer):
    """Carry dependency trees from a source to its translation.

    An edge is kept if both its ends are aligned. The output is CoNLL-U; a word without a head has `_`
    there, and the confidence of an edge is `Projection` in MISC.
    """

    source: str = arg("CoNLL-U with trees.", file="in")
    settings: TransferSettings = bundle(TransferSettings)
    target_format: str | None = _file_format("TARGET")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.settings.pos != "any" and not self.annotated("conllu", self.target_format).conllu()[1]:
            raise UsageError(
                "{pos=} needs the parts of speech of the target: give it as CoNLL-U", pos=self.settings.pos
            )

    def carried(self, spread: Spread) -> Iterable[Carried]:
        """Return target sentences with trees."""
        files = self.annotated("conllu", self.target_format)
        return annotated.trees(files, self.settings, self.computing.errors, spread)


@dataclass(frozen=True)
class TransferTags(Transfer):
    """Carry the tags of words from a source to its translation.

    A word gets the tag that most of its links, by probability, stand for. The output is CoNLL-U if SOURCE or
    TARGET is, otherwise a line of tags for each line.
    """

    source: str = arg("CoNLL-U, or lines of tags, one for each word.", file="in")
    tags: TagSettings = bundle(TagSettings)
    settings: TransferSettings = bundle(TransferSettings, "threshold pos surface")
    source_format: str | None = _file_format("SOURCE")
    target_format: str | None = _file_format("TARGET")

    def __post_init__(self) -> None:
        super().__post_init__()
        is_conllu = self.annotated(self.source_format, self.target_format).conllu()
        if self.settings.pos != "any" and not all(is_conllu):
            raise UsageError(
                "{pos=} compares parts of speech, which only CoNLL-U has; give both sides as such",
                pos=self.settings.pos,
            )
        column = as_column(self.tags.column)
        if self.tags.bio and any(is_conllu) and column == "upos":
            raise UsageError(
                "BIO tags are not parts of speech; name their column in CoNLL-U, as in {column=}",
                column="NER",
            )

    def carried(self, spread: Spread) -> Iterable[Carried]:
        """Return target sentences with tags, or the tags alone."""
        files = self.annotated(self.source_format, self.target_format)
        tags = replace(self.tags, column=as_column(self.tags.column))
        return annotated.tags(files, self.settings, tags, self.computing.errors, spread)


@dataclass(frozen=True)
class TransferSpans(Transfer):
    """Carry spans, given by character offsets, to a translation.

    Links are about the words of "tokens", a list of strings in the JSON object, or else of the text split at
    white space. The output is JSON lines with "text", "spans" and "lost".
    """

    source: str = arg('JSON lines: {"text": …, "spans": [{"start": 0, "end": 4, "label": …}]}.', file="in")
    target: str = arg(
        'Text, one sentence per line; or JSON lines with "text", if it is called .jsonl.', file="in"
    )
    discontinuous: str = discontinuous()
    gap: int = gap()
    threshold: float = _threshold()

    def carried(self, spread: Spread) -> Iterable[Carried]:
        """Return lines of JSON."""
        how = self.discontinuous, self.gap, self.threshold
        return annotated.spans(self.annotated(), *how, self.computing.errors, spread)


@dataclass(frozen=True)
class TransferMarkup(Transfer):
    """Insert the inline tags of a source into its translation.

    Every tag of a line is in the output line once, and tags nest as they do in the source. Tags around
    words that have no counterpart stand empty.
    """

    source: str = arg("Text with XML or HTML tags, one segment per line.", file="in")
    target: str = arg("Its translation, without tags.", file="in")
    source_tokens: str | None = opt(
        None, "SOURCE tokenised, without tags; if not given, split at white space.",
        metavar="FILE", file="in",
    )  # fmt: skip
    target_tokens: str | None = opt(None, "The same for TARGET.", metavar="FILE", file="in")
    gap: int = gap()
    threshold: float = _threshold()

    def carried(self, spread: Spread) -> Iterable[Carried]:
        """Return target lines with tags."""
        tokens = self.source_tokens, self.target_tokens
        errors = self.computing.errors
        return annotated.markup(self.annotated(), tokens, self.gap, self.threshold, errors, spread)


@dataclass(frozen=True)
class EvaluateTransfer(Command):
    """Carry annotation across and compare it with the target's own.

    Of CoNLL-U, edges, words with the right head (UAS, LAS), parts of speech and nominal phrases are compared,
    at several thresholds on the links' probabilities; of JSON lines, spans with their labels.
    """

    source: str = arg("Annotated source: CoNLL-U, or .jsonl with spans.", file="in")
    target: str = arg("Its translation, with annotation of its own.", file="in")
    links: str = arg(LINKS, file="in")
    threshold: tuple[float, ...] = opt(
        (), "Thresholds on links; repeat for several.", metavar="P", least=0, below=1
    )
    at: float = opt(0.5, "Also give the accuracy at this share.", metavar="SHARE", over=0, most=1)
    pos: str = pos()
    surface: bool = surface()
    discontinuous: str = discontinuous()
    gap: int = gap()
    shown: ReportFile = bundle(ReportFile)
    format: str | None = link_format()
    pairs: int | None = pairs()
    computing: Computing = bundle(Computing, "errors")

    def __post_init__(self) -> None:
        super().__post_init__()
        if is_json(self.source) != is_json(self.target):
            raise UsageError("SOURCE and TARGET must both be CoNLL-U, or both be called .jsonl")

    def run(self, tell: Reporter) -> SpanReport | TreeReport:
        """Compare at each of the thresholds."""
        from dualign.measure.transfer import THRESHOLDS, span_report, tree_report

        thresholds = sorted(self.threshold) or THRESHOLDS
        files = AnnotatedFiles(self.source, self.target, self.links, None, None, self.format, self.pairs)
        spans = self.discontinuous, self.gap
        if is_json(self.source):
            records = annotated.record_pairs(files, True, self.computing.errors)
            return span_report(records, thresholds, *spans, self.links)
        pairs = annotated.sentence_pairs(files, True, self.computing.errors)
        settings = TransferSettings(pos=self.pos, surface=self.surface)
        return tree_report(pairs, thresholds, settings, self.links, self.at, *spans)

    def show(self, result: SpanReport | TreeReport, tell: Reporter) -> None:
        """Write the report."""
        self.shown.write(result.as_text(), json.dumps(result.as_dict()))
