"""From links to rules: Hiero extraction, relative frequencies, lexical weights.

| feature | log of |
|---|---|
| `EgivenF`, `FgivenE` | relative frequency of the target side given the source side, and the reverse |
| `LexEgivenF`, `LexFgivenE` | Π over the words of one side of the mean probability given the words they are
linked to |
| `Rules` | e for each rule |
| `Hiero` | e for each rule with non-terminals |
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dualign._core.arrays import Array
from dualign._core.fields import check_value
from dualign.text.checks import links_inside, same_length
from dualign.text.corpus import GrowingVocabulary, encode
from dualign.text.links import Alignment, Links
from dualign.translate.rules.grammar import Rule, Symbol, is_markup
from dualign.translate.rules.hiero_counts import RuleLimits, RuleLinks, RuleSeen, RuleTable, count_rules

FEATURES = ("EgivenF", "FgivenE", "LexEgivenF", "LexFgivenE", "Rules", "Hiero")

COUNTERS = 1 << 26


@dataclass(frozen=True, slots=True)
class Extraction:
    """Settings: longest initial phrase, symbols of a source side, words behind a non-terminal, least count
    of a rule unless it is nothing but `always` words or fewer, most target sides for one source side."""

    longest: int = 10
    symbols: int = 5
    gap: int = 2
    least: int = 2
    always: int = 3
    limit: int = 20

    def __post_init__(self) -> None:
        for name, most in (("longest", 30), ("symbols", 10), ("gap", 30), ("least", 255)):
            check_value(name, getattr(self, name), least=1, most=most)
        check_value("limit", self.limit, least=1)
        check_value("always", self.always, least=0)


def extract(
    pairs: Sequence[tuple[Sequence[str], Sequence[str]]],
    alignments: Sequence[Alignment],
    settings: Extraction | None = None,
) -> Iterator[Rule]:
    """Return the rules of linked sentence pairs, sorted by source side, the most frequent target sides
    first."""
    settings = settings or Extraction()
    links, source_words, target_words = linked_text(pairs, alignments)
    # A counter table far larger than the rules there can be is only slow to clear.
    size = 1 << 16
    while size < min(64 * len(links.source) + 1, COUNTERS):
        size *= 2
    limits = RuleLimits(settings.longest, settings.symbols, settings.gap, settings.least, settings.always)
    seen = RuleSeen(np.zeros(size, np.uint8), np.zeros(size, np.int32))
    return _rules(count_rules(links, limits, seen), source_words, target_words, settings)


def linked_text(
    pairs: Sequence[tuple[Sequence[str], Sequence[str]]], alignments: Sequence[Alignment]
) -> tuple[RuleLinks, list[str], list[str]]:
    """Number the words of linked pairs and weigh them; also return the words of both sides."""
    same_length(("the text", len(pairs)), ("the list of links", len(alignments)), unit="sentence pairs")
    source_words, target_words = GrowingVocabulary(), GrowingVocabulary()
    bitext = encode(pairs, source_words, target_words, lowercase=False)
    links = Links.of(alignments).sure()
    pair = links.pair
    outside = (links.source >= bitext.source.lengths[pair]) | (links.target >= bitext.target.lengths[pair])
    if outside.any():
        at = int(pair[np.flatnonzero(outside)[0]])
        links_inside(alignments[at].links, len(pairs[at][0]), len(pairs[at][1]), f"pair {at + 1}")
    left = bitext.source.offsets[pair] + links.source
    right = bitext.target.offsets[pair] + links.target
    source, target = bitext.source.tokens, bitext.target.tokens
    weights = _lexical_weights(source, target, left, right), _lexical_weights(target, source, right, left)
    linked = RuleLinks(
        source, bitext.source.offsets, target, bitext.target.offsets,
        links.offsets, np.stack((links.source, links.target), axis=1, dtype=np.int64), *weights,
    )  # fmt: skip
    return linked, list(source_words), list(target_words)


def _lexical_weights(words: Array, others: Array, left: Array, right: Array) -> Array:
    """Return for each word log of the mean of p(word | other) over the words it is linked to, or p(word |
    nothing)."""
    linked = np.bincount(left, minlength=len(words))
    pair = words[left].astype(np.int64) * (int(others.max(initial=0)) + 1) + others[right]
    _, inverse, count = np.unique(pair, return_inverse=True, return_counts=True)
    p = count[inverse] / np.bincount(others[right], minlength=int(others.max(initial=0)) + 1)[others[right]]
    mean = np.bincount(left, p, len(words)) / np.maximum(linked, 1)
    alone = words[linked == 0]
    null = np.bincount(alone, minlength=int(words.max(initial=0)) + 1) / max(len(alone), 1)
    return np.log(np.where(linked > 0, mean, null[words]))


def _rules(
    table: RuleTable, source_words: list[str], target_words: list[str], settings: Extraction
) -> Iterator[Rule]:
    pool, begin, middle = table.pool.tolist(), table.begin.tolist(), table.middle.tolist()
    sources = (tuple(pool[a:b]) for a, b in zip(begin[:-1], middle, strict=True))
    targets = (tuple(pool[a:b]) for a, b in zip(middle, begin[1:], strict=True))
    markup = [
        {n for n, word in enumerate(words) if is_markup(word)} for words in (source_words, target_words)
    ]
    for r, *frequencies in ranked(sources, targets, table.counts, settings.limit):
        codes, right = pool[begin[r] : middle[r]], pool[middle[r] : begin[r + 1]]
        hierarchical = any(code < 0 for code in codes)
        if table.counts[r] < settings.least and (hierarchical or len(codes) > settings.always):
            continue
        if markup[0].intersection(codes) or markup[1].intersection(right):
            continue
        source = tuple("[X]" if code < 0 else source_words[code] for code in codes)
        target: list[Symbol] = [-1 - c if c < 0 else target_words[c] for c in right]
        lexical = float(table.forward[r]), float(table.backward[r])
        yield rule_of("X", source, tuple(target), (*frequencies, *lexical), hierarchical)


def ranked(
    sources: Iterable[Hashable], targets: Iterable[Hashable], counts: Array, limit: int
) -> Iterator[tuple[int, float, float]]:
    """Return rules, given by their sides and counts, in the order of their source sides: the `limit` most
    frequent of each, by number, with the logs of `EgivenF` and `FgivenE`."""
    source, target = _numbered(sources), _numbered(targets)
    forward, backward = (np.log(counts / np.bincount(side, counts)[side]) for side in (source, target))
    order = np.lexsort((-counts, source))
    # How many rules with the same source side come before.
    before = np.arange(len(order)) - np.searchsorted(source[order], source[order])
    for r in order[before < limit].tolist():
        yield r, float(forward[r]), float(backward[r])


def _numbered(sides: Iterable[Hashable]) -> Array:
    seen: dict[Hashable, int] = {}
    return np.array([seen.setdefault(side, len(seen)) for side in sides], np.int64)


def rule_of(
    left: str, source: tuple[str, ...], target: tuple[Symbol, ...], logs: Sequence[float], hierarchical: bool
) -> Rule:
    """Return a rule with the features above; `logs`: the first four."""
    values = (*logs, 1.0, float(hierarchical))
    return Rule(left, source, target, dict(zip(FEATURES, values, strict=True)))
