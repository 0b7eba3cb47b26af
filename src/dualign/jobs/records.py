"""Objects that functions of `dualign.jobs` take: options of a verb that belong together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NamedTuple

from dualign.commands.annotated import AnnotatedFiles
from dualign.commands.bench import PAIRS
from dualign.phrase.word_entries import CutOffs
from dualign.transfer.remapping import Remapping, Side


class Directions(NamedTuple):
    """Where to write the links of each direction, their scores, and the model; None for what is not wanted.

    A score is the mean cost of a word, −log p(target given source) or −log p(source given target), in nats.
    With `after_links`, it follows the links, as the log-probability of the sentence: `0-0 1-1 ||| -7.3`.
    """

    forward: str | None = None
    backward: str | None = None
    model: str | None = None
    forward_scores: str | None = None
    backward_scores: str | None = None
    after_links: bool = False


@dataclass(frozen=True, slots=True)
class DictionaryText:
    """The text behind a dictionary: two files, or one with both sides on each line."""

    source: str
    target: str | None = None


@dataclass(frozen=True, slots=True)
class LinkedText:
    """Two parallel files, or one with both sides and None, and the links of each line."""

    source: str
    target: str | None
    links: str
    format: str | None = None


@dataclass(frozen=True, slots=True)
class TableText:
    """A Moses phrase table, and a text to align with it."""

    table: str
    source: str
    target: str | None = None
    """None if `source` has both sides on each line."""
    features: str | None = None
    """Weights of the table's scores, with commas between; without, the third score alone, or the only one."""
    max_length: int = 10
    """The most words of a phrase."""


@dataclass(frozen=True, slots=True)
class PhraseAnswer:
    """Links, whose phrase pairs are extracted, and gold links to compare them with."""

    path: str
    gold: str
    phrases: bool = False
    """The file has phrase links `i:j-k:l`, which are taken as they are."""
    format: str | None = None
    gold_format: str | None = None
    first: bool = False
    """Gold is for the first lines; the rest of the answer is ignored."""


@dataclass(frozen=True, slots=True)
class ParallelText:
    """Two parallel files, or one with both sides; for tree-to-string rules the trees of the source, one on
    each line; and links of the words, where they are not to be found by dualign."""

    source: str
    target: str | None
    trees: str | None = None
    links: str | None = None


@dataclass(frozen=True, slots=True)
class Synthetic:
    """Seeded synthetic text to measure on: `pairs` to train on, and as many others to align."""

    pairs: int = PAIRS
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Own:
    """A text of the user, to train on and to align; `gold` may be for its first lines only."""

    source: str
    target: str
    gold: str | None = None


OTHER_NAMES: dict[type, dict[str, str]] = {
    CutOffs: {"times": "least_count", "probability": "least_probability"},
    ParallelText: {"trees": "source_trees"},
    PhraseAnswer: {"path": "answer"},
    Directions: {"model": "save"},
    Remapping: {"given": "from_", "new": "to", "source": "source_", "target": "target_"},
    AnnotatedFiles: {
        "source_is_conllu": "source_format",
        "target_is_conllu": "target_format",
        "link_format": "format",
    },
    Side: {"given": "from", "new": "to"},
}
"""Fields that are not called like the option; of an object within another, the option begins so."""

CONLLU = {True: "conllu", False: "text"}


def options_of(record: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Return the options that an object stands for; their names begin with a prefix."""
    others = OTHER_NAMES.get(type(record), {})
    rules: dict[str, Any] = (
        {f.name: (f.metadata, f.default) for f in fields(record)} if is_dataclass(record) else {}
    )
    for name in rules or record._fields:
        value, option = getattr(record, name), others.get(name, name)
        value = CONLLU[value] if option.endswith("_format") and isinstance(value, bool) else value
        metadata, usual = rules.get(name, ({}, None))
        if isinstance(value, Side):
            yield from options_of(value, option)
        elif "help" not in metadata or value != usual:
            yield prefix + metadata.get("name", option), value


def names_of(kind: type, prefix: str = "") -> set[str]:
    """Return the names of these options."""
    others = OTHER_NAMES.get(kind, {})
    if not is_dataclass(kind):
        return {others.get(name, name) for name in kind._fields}  # type: ignore[attr-defined]
    names = {f.metadata.get("name", others.get(f.name, f.name)) for f in fields(kind)}
    sides = {f"{side}_{name}" for side in ("source", "target") for name in ("from", "to")}
    return sides | names if kind is Remapping else {prefix + name for name in names}
