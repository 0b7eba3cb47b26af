"""Objects that functions of `dualign.jobs` take: `Run`, and options of a verb that belong together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from dualign._core.fields import OptionRecord, arg, settings
from dualign.commands.bench import PAIRS
from dualign.commands.bundles import Computing
from dualign.commands.console import Reporter
from dualign.text.blocks import is_conllu

if TYPE_CHECKING:
    from dualign.hmm.training import Progress

OPTIONS = {
    "AnnotatedFiles": "source target links source_format target_format format=link_format pairs",
    "CutOffs": "least_count=times least_probability=probability relative",
    "Remapping": "links from_=given to=new source_from=source.given source_to=source.new "
    "target_from=target.given target_to=target.new format pairs",
}
"""The options that objects stand for whose fields do not declare them, and their attributes where these have
other names."""


def attributes_of(kind: type, prefix: str = "") -> dict[str, str]:
    """Return the options that objects of a class stand for, whose names begin with a prefix, and where they
    are."""
    if (words := OPTIONS.get(kind.__name__)) is None:
        return {prefix + name: each.path[0] for name, each in settings(kind).items()}
    pairs = (word.partition("=") for word in words.split())
    return {prefix + name: attribute or name for name, _, attribute in pairs}


def options_of(record: Any, known: Collection[str], prefix: str = "") -> dict[str, Any]:
    """Return the options of an object that are set, by name; those `known` are the verb's."""
    usual = {} if type(record).__name__ in OPTIONS else {f.name: f.default for f in fields(record)}
    found = {name: (at, attrgetter(at)(record)) for name, at in attributes_of(type(record), prefix).items()}
    return {
        name: value
        for name, (at, value) in found.items()
        # A verb need not know what its files always are.
        if value != usual.get(at) and (name in known or value != "conllu")
    }


def _ignore(*_: object) -> None:
    pass


@dataclass(frozen=True, repr=False)
class Run(Computing):
    """Where and how to compute, and callbacks. These do nothing unless given, except `warn`, which logs."""

    note: Callable[[str], None] = _ignore
    """Called with each message for the user."""
    progress: Callable[[int, str], None] = _ignore
    """Called as `progress(done, what)` after each line, or several; `done` is 0 when the work begins."""
    round: Callable[[Progress], None] = _ignore
    """Called after each round of training."""
    warn: Callable[[str], None] = logging.getLogger("dualign").warning
    """Called when the result is probably not what was wanted."""
    tasks: Callable[[str, int, int, int], None] = _ignore
    """Called as `tasks(what, done, all, bytes written)` while a cluster works."""

    @property
    def reporter(self) -> Reporter:
        """What tells the callbacks."""
        return Reporter(self.note, self.progress, self.round, self.warn, self.tasks)


SILENT = Run()
"""The default settings, without callbacks."""

_FORMATS = {None: None, True: "conllu", False: "text"}


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

    @property
    def source_format(self) -> str | None:
        """The source's format, if it is told."""
        return _FORMATS[self.source_is_conllu]

    @property
    def target_format(self) -> str | None:
        """The target's format, if it is told."""
        return _FORMATS[self.target_is_conllu]

    def conllu(self) -> tuple[bool, bool]:
        """Return whether source and target are CoNLL-U."""
        source, target = self.source_is_conllu, self.target_is_conllu
        return (
            is_conllu(self.source) if source is None else source,
            is_conllu(self.target) if target is None else target,
        )


@dataclass(frozen=True)
class DictionaryText(OptionRecord):
    """The text behind a dictionary."""

    source: str = arg("Source text, or both sides on each line.")
    target: str | None = arg("Target text.", None)


@dataclass(frozen=True)
class Directions(OptionRecord):
    """Where to write the links of each direction, their scores, and the model; None for what is not wanted.

    A score is the mean cost of a word, −log p(target given source) or −log p(source given target), in nats.
    With `after_links`, it follows the links, as the log-probability of the sentence: `0-0 1-1 ||| -7.3`.
    """

    forward: str | None = arg("Links; at most one per target word.", None)
    backward: str | None = arg("Links; at most one per source word.", None)
    model: str | None = arg("The model.", None, name="save")
    forward_scores: str | None = arg("Cost of a target word, given the source.", None)
    backward_scores: str | None = arg("Cost of a source word, given the target.", None)
    after_links: bool = arg("Write `links ||| log-probability`.", False)


@dataclass(frozen=True)
class LinkedText(OptionRecord):
    """Two parallel files, or one with both sides and None, and the links of each line."""

    source: str = arg("Source text, or both sides.")
    target: str | None = arg("Target text, or None.")
    links: str = arg("Links of each line.")
    format: str | None = arg("Their format.", None)


@dataclass(frozen=True)
class TableText(OptionRecord):
    """A Moses phrase table, and a text to align with it."""

    table: str = arg("The phrase table.")
    source: str = arg("Source text, or both sides on each line.")
    target: str | None = arg("Target text.", None)
    features: str | None = arg("Weights of the scores; if not given, as in `phrases align`.", None)
    max_length: int = arg("The most words of a phrase.", 10)


@dataclass(frozen=True)
class PhraseAnswer(OptionRecord):
    """Links, whose phrase pairs are extracted, and gold links to compare them with."""

    path: str = arg("Links, or phrase links.", name="answer")
    gold: str = arg("Gold links.")
    phrases: bool = arg("The file has phrase links `i:j-k:l`, which are taken as they are.", False)
    format: str | None = arg("The format of the links.", None)
    gold_format: str | None = arg("The format of the gold links.", None)
    first: bool = arg("Gold is for the first lines; the rest of the answer is ignored.", False)


@dataclass(frozen=True)
class ParallelText(OptionRecord):
    """Two parallel files, or one with both sides; for tree-to-string rules the trees of the source; and links
    of the words, where they are not to be found by dualign."""

    source: str = arg("Source text, or both sides on each line.")
    target: str | None = arg("Target text, or None.")
    trees: str | None = arg("Trees of the source, one on each line.", None, name="source_trees")
    links: str | None = arg("Links of the words.", None)


@dataclass(frozen=True)
class Synthetic(OptionRecord):
    """Seeded synthetic text to measure on."""

    pairs: int = arg("Pairs to train on, and as many others to align.", PAIRS)
    seed: int = arg("The seed.", 0)


@dataclass(frozen=True)
class Own(OptionRecord):
    """A text of the user, to train on and to align."""

    source: str = arg("Source text.")
    target: str = arg("Target text.")
    gold: str | None = arg("Gold links, perhaps of its first lines only.", None)
