"""`dualign transfer`: annotation carried from a source to its translation.

Files are read sentence by sentence, and one pair is in memory at a time, on a cluster some.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dualign._core.errors import DataError, UsageError, refusing
from dualign._core.fields import arg, bundle, check, opt
from dualign._core.files.streams import open_output
from dualign.commands.bundles import Computing, ReportFile, link_format, output, pairs, report_file
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.text.blocks import is_conllu
from dualign.text.checks import in_step, links_inside, number_of
from dualign.text.conllu import FORM, Sentence, format_sentence, read_sentences
from dualign.text.link_formats import read_links
from dualign.text.tables import is_json
from dualign.text.utf8 import read_lines, tokenize
from dualign.transfer.markup import parse_markup, place_markup
from dualign.transfer.sentences import (
    COLUMNS,
    as_column,
    carry_record,
    links_between,
    pos,
    read_annotated,
    read_plain,
    read_tags,
    surface,
    threshold,
    transfer_tree,
    weighted,
    write_tags,
)
from dualign.transfer.sentences import Settings as TransferSettings
from dualign.transfer.spans import DISCONTINUOUS, GAP
from dualign.transfer.tags import carry_bio, vote
from dualign.transfer.tokens import Interval, locate

if TYPE_CHECKING:
    from dualign.measure.transfer import SpanReport, TreeReport

SHARD = 1024
"""Sentence pairs of a task on a cluster."""

LINKS = "Links, perhaps with probabilities, as `dualign align --probabilities` writes them."
TARGET = "Target: CoNLL-U, or text with one tokenised sentence per line."

Carried = tuple[str, Counter[str]]
"""The output for a pair, and the counts of what happened."""


def discontinuous() -> Any:
    """Declare what becomes of a span in several pieces."""
    return opt("largest", "What to keep of a span in several pieces.", choices=DISCONTINUOUS)


def gap() -> Any:
    """Declare how many words without links a span may bridge."""
    return opt(GAP, "Words without links that a span may bridge.", metavar="N", least=0)


def _file_format(side: str) -> Any:
    text = f"Format of {side}, if its name does not tell."
    return opt(None, text, choices=("conllu", "text"))


def _is_conllu(path: str, format: str | None) -> bool:
    return is_conllu(path) if format is None else format == "conllu"


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

    def items(self) -> Iterator[tuple[Any, ...]]:
        """Read both sides of each pair, its links, and what else belongs to it."""
        raise NotImplementedError

    def carry(self, item: tuple[int, tuple[Any, ...]]) -> Carried:
        """Return the output for a pair, which comes with its number, and its counts."""
        raise NotImplementedError

    def place(self, number: int) -> str:
        """Return how messages name the links of one pair; formats other than Pharaoh have no line per
        pair."""
        return f"{self.links}, sentence pair {number}"

    def run(self, tell: Reporter) -> Counter[str]:
        """Write results as they come, with their counts to the report; return the sum of the counts."""
        total: Counter[str] = Counter()
        number = 0
        # Where the results go makes no other work of it, which a cluster has perhaps done already.
        carry = replace(self, output="-", report=None, computing=Computing()).carry
        with self.computing.crew(tell) as crew, ExitStack() as stack:
            items = enumerate(self.items(), 1)
            results: Iterable[Carried] = map(carry, items)
            if crew is not None:
                from dualign.engines.dask.mapping import mapped

                results = mapped(crew, "transfer", carry, items, size=SHARD)
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
        if self.settings.pos != "any" and not _is_conllu(self.target, self.target_format):
            raise UsageError(
                "{pos=} needs the parts of speech of the target: give it as CoNLL-U", pos=self.settings.pos
            )

    def items(self) -> Iterator[tuple[Any, ...]]:
        """Read sentences; those of the source have trees."""
        return _sentences(self, _is_conllu(self.target, self.target_format))

    def carry(self, item: tuple[int, tuple[Any, ...]]) -> Carried:
        """Return a target sentence with its tree."""
        number, (source, target, alignment) = item
        links = links_between(source, target, alignment, self.settings, self.place(number))
        if not _is_conllu(self.target, self.target_format):
            _identify(target, source, number)
        counts = transfer_tree(source, target, links, self.settings.complete)
        return format_sentence(target), counts


@dataclass(frozen=True, slots=True)
class TagSettings:
    """How tags are carried."""

    column: str = opt(
        "upos", "CoNLL-U's column: upos, xpos, lemma, feats, or an attribute in MISC such as NER.",
        metavar="NAME",
    )  # fmt: skip
    bio: bool = opt(False, "Tags are BIO (B-PER I-PER O): carry whole spans.")
    discontinuous: str = discontinuous()
    gap: int = gap()
    default: str = opt("_", "Tag of words that get none (without --bio).", metavar="TAG")

    def __post_init__(self) -> None:
        check(self)
        if self.default.split() != [self.default]:
            raise UsageError("{default=} is not a tag: it is empty or has blanks", default=self.default)

    def carried(
        self, given: list[str], length: int, links: Any
    ) -> tuple[list[str], list[float], Counter[str]]:
        """Return the tags of the target words, their confidence, and what happened."""
        if self.bio:
            carried = carry_bio(given, length, links, self.discontinuous, self.gap)
            counts = Counter(carried.statuses)
            counts["words"] = length
            return carried.tags, carried.confidence, counts
        result, confidence = vote(given, length, links)
        untagged = result.count("_")
        counts = Counter(tagged=length - untagged, untagged=untagged, words=length)
        return [self.default if tag == "_" else tag for tag in result], confidence, counts


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
        is_conllu = self.conllu()
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

    def conllu(self) -> tuple[bool, bool]:
        """Return whether source and target are CoNLL-U."""
        return _is_conllu(self.source, self.source_format), _is_conllu(self.target, self.target_format)

    def items(self) -> Iterator[tuple[Any, ...]]:
        """Read sentences; lines of tags are sentences with these forms."""
        source_is_conllu, target_is_conllu = self.conllu()
        column, errors = as_column(self.tags.column), self.computing.errors
        source = _tagged_sentences(self.source, source_is_conllu, errors)
        if source_is_conllu and column not in COLUMNS:
            source = _having(column, source, self.source)
        if source_is_conllu:
            target = read_sentences(self.target, target_is_conllu, errors)
        else:
            target = _tagged_sentences(self.target, target_is_conllu, errors)
        return _linked(self, source, target)

    def carry(self, item: tuple[int, tuple[Any, ...]]) -> Carried:
        """Return a target sentence with tags, or the tags alone."""
        source_is_conllu, target_is_conllu = self.conllu()
        column = as_column(self.tags.column)
        number, (source, target, alignment) = item
        given = read_tags(source, column) if source_is_conllu else source.column(FORM)
        links = links_between(source, target, alignment, self.settings, self.place(number))
        # A line of tags is its own place; a CoNLL-U sentence begins at its first word.
        with refusing(DataError, place=f"{self.source}:{source.line or number}"):
            result, confidence, counts = self.tags.carried(given, len(target), links)
            if not (source_is_conllu or target_is_conllu):
                return " ".join(result) + "\n", counts
            write_tags(target, column, result, confidence)
        if not target_is_conllu:
            _identify(target, source if source_is_conllu else None, number)
        return format_sentence(target), counts


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
    threshold: float = threshold()

    def items(self) -> Iterator[tuple[Any, ...]]:
        """Read records."""
        return _records(self, is_json(self.target))

    def carry(self, item: tuple[int, tuple[Any, ...]]) -> Carried:
        """Return a line of JSON: the target's text with the spans of the source's."""
        number, (source, target, alignment) = item
        links_inside(alignment.links, len(source.tokens), len(target.tokens), self.place(number))
        links = weighted(alignment, self.threshold)
        content, statuses = carry_record(source, target, links, self.discontinuous, self.gap)
        what, place = "a span has a number too large for JSON", f"{self.source}, pair {number}"
        with refusing(ValueError, what=what, place=place):
            line = json.dumps(content, ensure_ascii=False, allow_nan=False)
        return line + "\n", Counter(statuses)


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
    threshold: float = threshold()

    def items(self) -> Iterator[tuple[Any, ...]]:
        """Read lines, and their tokens where these are in files."""
        files = self.source, self.target, self.source_tokens, self.target_tokens
        source, target, *tokens = [(path, read_lines(path, self.computing.errors)) for path in files if path]
        return _linked(self, source[1], target[1], *tokens)

    def carry(self, item: tuple[int, tuple[Any, ...]]) -> Carried:
        """Return a target line with the tags of the source line."""
        number, (line, text, alignment, *tokens) = item
        place = f"{self.source}:{number}"
        with refusing(DataError, place=place):
            source = parse_markup(line)
        rest = iter(tokens)
        left = _words(source.text, self.source_tokens, place, rest, number)
        right = _words(text, self.target_tokens, f"{self.target}:{number}", rest, number)
        links_inside(alignment.links, len(left), len(right), self.place(number))
        placed = place_markup(source, left, text, right, weighted(alignment, self.threshold), self.gap)
        return placed.text + "\n", Counter(placed.statuses)


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
        spans = self.discontinuous, self.gap
        if is_json(self.source):
            return span_report(_records(self, True), thresholds, *spans, self.links)
        settings = TransferSettings(pos=self.pos, surface=self.surface)
        return tree_report(_sentences(self, True), thresholds, settings, self.links, self.at, *spans)

    def show(self, result: SpanReport | TreeReport, tell: Reporter) -> None:
        """Write the report."""
        self.shown.write(result.as_text(), json.dumps(result.as_dict()))


Verb = Transfer | EvaluateTransfer


def _linked(
    verb: Verb, source: Iterable[Any], target: Iterable[Any], *more: tuple[str, Iterable[Any]]
) -> Iterator[tuple[Any, ...]]:
    """Return the items of both sides, the links, and the items of `more` named streams, in step."""
    links = read_links(verb.links, verb.format, verb.computing.errors, count=verb.pairs)
    streams = (verb.source, source), (verb.target, target), (verb.links, links), *more
    return in_step(*streams, unit="sentences")


def _sentences(verb: Verb, target_is_conllu: bool) -> Iterator[tuple[Any, ...]]:
    """Return source sentences, which are CoNLL-U, target sentences and their links."""
    errors = verb.computing.errors
    target = read_sentences(verb.target, target_is_conllu, errors)
    return _linked(verb, read_sentences(verb.source, True, errors), target)


def _records(verb: Verb, target_is_json: bool) -> Iterator[tuple[Any, ...]]:
    """Return source and target records and their links; a target that is not JSON is text, one record per
    line."""
    errors, read_target = verb.computing.errors, read_annotated if target_is_json else read_plain
    return _linked(verb, read_annotated(verb.source, errors), read_target(verb.target, errors))


def _having(column: str, sentences: Iterable[Sentence], name: str) -> Iterator[Sentence]:
    """Pass sentences on; an error in the end if none has a word with this attribute."""
    missing = False
    for number, sentence in enumerate(sentences):
        missing = (missing or not number) and set(read_tags(sentence, column)) <= {"_"}
        yield sentence
    if missing:
        raise UsageError(
            f"no word has `{column}`, which is neither one of the columns {', '.join(COLUMNS)} "
            "nor an attribute in MISC",
            place=name,
        )


def _words(text: str, path: str | None, place: str, tokens: Iterator[str], number: int) -> list[Interval]:
    if path is None:
        return locate(tokenize(text), text, (place, "its text"))
    return locate(tokenize(next(tokens)), text, (f"{path}:{number}", f"{place} without tags"))


def _tagged_sentences(path: str, conllu: bool, errors: str) -> Iterator[Sentence]:
    """Return sentences of CoNLL-U; or lines of tags, which may be empty, as sentences with these forms."""
    if conllu:
        return read_sentences(path, True, errors)
    return (Sentence.of_tokens(tokenize(line), place=path) for line in read_lines(path, errors))


def _identify(target: Sentence, source: Sentence | None, number: int) -> None:
    """Give a sentence that comes from plain text the name of its source sentence, or its number."""
    name = source.comment("sent_id") if source is not None else None
    target.comments.insert(0, f"# sent_id = {name or number}")
