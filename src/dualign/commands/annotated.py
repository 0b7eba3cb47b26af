"""Annotated files, sentence by sentence: streams in, a stream out, and counts of what happened.

Each function takes its inputs as `AnnotatedFiles`, yields the text of the output for each sentence pair
together with the counts of that pair, and holds one pair in memory at a time; `spread` is `map`, or does the
same on a cluster.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from dualign._core.errors import DataError, UsageError
from dualign._core.fields import check, opt
from dualign.text.checks import in_step, links_inside
from dualign.text.conllu import FORM, Sentence, format_sentence, is_conllu, read_sentences
from dualign.text.link_formats import read_links
from dualign.text.links import Alignment, WeightedLink
from dualign.text.tables import is_json
from dualign.text.utf8 import read_lines, tokenize
from dualign.transfer.markup import parse_markup, place_markup
from dualign.transfer.sentences import (
    COLUMNS,
    AnnotatedText,
    Settings,
    carry_record,
    links_between,
    read_annotated,
    read_plain,
    read_tags,
    transfer_tree,
    weighted,
    write_tags,
)
from dualign.transfer.spans import DISCONTINUOUS, GAP
from dualign.transfer.tags import carry_bio, vote
from dualign.transfer.tokens import Interval, locate

Counts = Counter[str]
Carried = tuple[str, Counts]
Spread = Callable[[Callable[[tuple[int, Any]], Carried], Iterable[tuple[int, Any]]], Iterable[Carried]]


def discontinuous() -> Any:
    """Declare what becomes of a span in several pieces."""
    return opt("largest", "What to keep of a span in several pieces.", choices=DISCONTINUOUS)


def gap() -> Any:
    """Declare how many words without links a span may bridge."""
    return opt(GAP, "Words without links that a span may bridge.", metavar="N", least=0)


@dataclass(frozen=True, slots=True)
class AnnotatedFiles:
    """What is read; a side is CoNLL-U, or else text or lines of tags, as told or by its name if None."""

    source: str
    target: str
    links: str
    source_is_conllu: bool | None = None
    target_is_conllu: bool | None = None
    link_format: str | None = None
    pairs: int | None = None
    """The number of sentence pairs, which a NAACL file does not tell."""

    def conllu(self) -> tuple[bool, bool]:
        """Return whether source and target are CoNLL-U."""
        source, target = self.source_is_conllu, self.target_is_conllu
        return (
            is_conllu(self.source) if source is None else source,
            is_conllu(self.target) if target is None else target,
        )

    def with_links(
        self, source: Iterable[Any], target: Iterable[Any], *more: tuple[str, Iterable[Any]], errors: str
    ) -> Iterator[tuple[Any, ...]]:
        """Return the items of both sides, the links, and the items of `more` named streams, in step."""
        links = read_links(self.links, self.link_format, errors, count=self.pairs)
        streams = (self.source, source), (self.target, target), (self.links, links), *more
        return in_step(*streams, unit="sentences")

    def place(self, number: int) -> str:
        """Return how messages name the links of one pair; formats other than Pharaoh have no line per
        pair."""
        return f"{self.links}, sentence pair {number}"


def sentence_pairs(
    files: AnnotatedFiles, target_is_conllu: bool, errors: str
) -> Iterator[tuple[Sentence, Sentence, Alignment]]:
    """Return source sentences, which are CoNLL-U, target sentences and their links."""
    source = read_sentences(files.source, True, errors)
    target = read_sentences(files.target, target_is_conllu, errors)
    return files.with_links(source, target, errors=errors)


def record_pairs(
    files: AnnotatedFiles, target_is_json: bool, errors: str
) -> Iterator[tuple[AnnotatedText, AnnotatedText, Alignment]]:
    """Return source and target records and their links; a target that is not JSON is text, one record per
    line."""
    read_target = read_annotated if target_is_json else read_plain
    source, target = read_annotated(files.source, errors), read_target(files.target, errors)
    return files.with_links(source, target, errors=errors)


def trees(files: AnnotatedFiles, settings: Settings, errors: str, spread: Spread = map) -> Iterable[Carried]:
    """Return target sentences with the trees of the source sentences."""
    _, target_is_conllu = files.conllu()
    pairs = sentence_pairs(files, target_is_conllu, errors)
    return spread(partial(_carry_tree, files, settings), enumerate(pairs, 1))


def _carry_tree(
    files: AnnotatedFiles, settings: Settings, item: tuple[int, tuple[Sentence, Sentence, Alignment]]
) -> Carried:
    number, (source, target, alignment) = item
    links = links_between(source, target, alignment, settings, files.place(number))
    if not files.conllu()[1]:
        _identify(target, source, number)
    counts = transfer_tree(source, target, links, settings.complete)
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


def tags(
    files: AnnotatedFiles, settings: Settings, how: TagSettings, errors: str, spread: Spread = map
) -> Iterable[Carried]:
    """Return tags of the target words: CoNLL-U sentences if either side is CoNLL-U, otherwise lists of
    tags."""
    source_is_conllu, target_is_conllu = files.conllu()
    source_stream = _tagged_sentences(files.source, source_is_conllu, errors)
    if any(files.conllu()):
        target_stream = read_sentences(files.target, target_is_conllu, errors)
    else:
        target_stream = _tagged_sentences(files.target, False, errors)
    if source_is_conllu and how.column not in COLUMNS:
        source_stream = _having(how.column, source_stream, files.source)
    pairs = files.with_links(source_stream, target_stream, errors=errors)
    return spread(partial(_carry_sentence, files, settings, how), enumerate(pairs, 1))


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


def _carry_sentence(
    files: AnnotatedFiles,
    settings: Settings,
    how: TagSettings,
    item: tuple[int, tuple[Sentence, Sentence, Alignment]],
) -> Carried:
    """Return the tags of one sentence pair."""
    source_is_conllu, target_is_conllu = files.conllu()
    number, (source, target, alignment) = item
    given = read_tags(source, how.column) if source_is_conllu else source.column(FORM)
    links = links_between(source, target, alignment, settings, files.place(number))
    try:
        result, confidence, counts = _carry_tags(given, len(target), links, how)
        if not (source_is_conllu or target_is_conllu):
            return " ".join(result) + "\n", counts
        write_tags(target, how.column, result, confidence)
    except DataError as error:
        # A line of tags is its own place; a CoNLL-U sentence begins at its first word.
        raise DataError(f"{files.source}:{source.line or number}: {error}") from None
    if not target_is_conllu:
        _identify(target, source if source_is_conllu else None, number)
    return format_sentence(target), counts


def _carry_tags(
    given: list[str], length: int, links: list[WeightedLink], how: TagSettings
) -> tuple[list[str], list[float], Counts]:
    """Return the tags of the target words, their confidence, and what happened."""
    if how.bio:
        carried = carry_bio(given, length, links, how.discontinuous, how.gap)
        counts = Counter(carried.statuses)
        counts["words"] = length
        return carried.tags, carried.confidence, counts
    result, confidence = vote(given, length, links)
    untagged = result.count("_")
    counts = Counter(tagged=length - untagged, untagged=untagged, words=length)
    return [how.default if tag == "_" else tag for tag in result], confidence, counts


def spans(
    files: AnnotatedFiles, discontinuous: str, gap: int, threshold: float, errors: str, spread: Spread = map
) -> Iterable[Carried]:
    """Return lines of JSON: the target's text with the spans of the source's."""
    pairs = record_pairs(files, is_json(files.target), errors)
    return spread(partial(_carry_spans, files, (discontinuous, gap), threshold), enumerate(pairs, 1))


def _carry_spans(
    files: AnnotatedFiles,
    how: tuple[str, int],
    threshold: float,
    item: tuple[int, tuple[AnnotatedText, AnnotatedText, Alignment]],
) -> Carried:
    number, (source, target, alignment) = item
    links_inside(alignment.links, len(source.tokens), len(target.tokens), files.place(number))
    content, statuses = carry_record(source, target, weighted(alignment, threshold), *how)
    try:
        line = json.dumps(content, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise DataError(f"{files.source}, pair {number}: a span has a number too large for JSON") from None
    return line + "\n", Counter(statuses)


def markup(
    files: AnnotatedFiles,
    tokens_of: tuple[str | None, str | None],
    gap: int,
    threshold: float,
    errors: str,
    spread: Spread = map,
) -> Iterable[Carried]:
    """Return target lines with the tags of the source lines.

    Links are about the words in the files of tokens, where these are given, otherwise about those of the
    lines without tags, split at white space.
    """
    source_lines, target_lines = (read_lines(path, errors) for path in (files.source, files.target))
    more = [(path, read_lines(path, errors)) for path in tokens_of if path]
    lines = files.with_links(source_lines, target_lines, *more, errors=errors)
    return spread(partial(_carry_markup, files, tokens_of, gap, threshold), enumerate(lines, 1))


def _carry_markup(
    files: AnnotatedFiles,
    tokens_of: tuple[str | None, str | None],
    gap: int,
    threshold: float,
    item: tuple[int, tuple[Any, ...]],
) -> Carried:
    number, (line, text, alignment, *tokens) = item
    place = f"{files.source}:{number}"
    try:
        source = parse_markup(line)
    except DataError as error:
        raise DataError(f"{place}: {error}") from None
    rest = iter(tokens)
    left = _words(source.text, tokens_of[0], place, rest, number)
    right = _words(text, tokens_of[1], f"{files.target}:{number}", rest, number)
    links_inside(alignment.links, len(left), len(right), files.place(number))
    placed = place_markup(source, left, text, right, weighted(alignment, threshold), gap)
    return placed.text + "\n", Counter(placed.statuses)


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
