"""The entries of a phrase table that occur in a text, and the links they give each of its sentence pairs.

A phrase of the text has a number: its node in a trie of all spans up to a length. A table is read once, and
of its entries those are kept whose phrases both occur; memory goes with the text, not with the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError, UsageError
from dualign._core.fields import check_value
from dualign._core.files.streams import FilePath
from dualign._core.jit import kernel, part
from dualign._core.kernel_arrays import EMPTY, doubled, new_slots, place_of, refilled, slot_of
from dualign._core.threads import spans
from dualign.phrase.weights import WeightedPair
from dualign.text.checks import number_of
from dualign.text.corpus import GrowingVocabulary, Sentences, encode
from dualign.text.phrase_table import TableLine, escape, read_table

_BATCH = 1 << 16  # table entries at a time


class Phrases:
    """The spans of one side of a text, as nodes of a trie; node 0 is the empty phrase."""

    def __init__(self, sentences: Sentences, words: dict[str, int], longest: int) -> None:
        self.sentences = sentences
        self.longest = longest
        self._words = words
        self._hashes = self._all_hashes()
        self._trie = _grow_trie(sentences.tokens, sentences.offsets, longest)
        self.count = len(self._trie.keys)

    def numbers(self, phrases: Iterable[str]) -> Array:
        """Return the nodes of phrases, −1 for those that do not occur in the text; int64."""
        tokens: list[int] = []
        offsets = [0]
        words = self._words
        for phrase in phrases:
            tokens += [words.get(word, -1) for word in phrase.split()]
            offsets.append(len(tokens))
        return _find_phrases(self._trie, np.array(tokens, np.int64), np.array(offsets))

    def names(self) -> list[str]:
        """Return the phrase of each node."""
        words, names = list(self._words), [""]
        for parent, word in self._trie.keys[1:].tolist():
            names.append(f"{names[parent]} {words[word]}" if parent else words[word])
        return names

    def likely(self, phrases: Sequence[str]) -> Array:
        """Return whether phrases occur in the text, by their hashes: never wrong if False; a quick sieve."""
        hashes = np.fromiter(map(hash, phrases), np.int64, len(phrases))
        at = np.searchsorted(self._hashes, hashes)
        return self._hashes[np.minimum(at, len(self._hashes) - 1)] == hashes

    def _all_hashes(self) -> Array:
        names = list(self._words)
        hashes: list[Array] = [np.zeros(1, np.int64)]
        for begin, end in spans(len(self.sentences), 1024):
            part = self.sentences.slice(begin, end)
            words = [names[token] for token in part.tokens.tolist()]
            offsets = part.offsets.tolist()
            phrases = {
                " ".join(words[i:j])
                for first, last in pairwise(offsets)
                for i in range(first, last)
                for j in range(i + 1, min(i + self.longest, last) + 1)
            }
            hashes.append(np.fromiter(map(hash, phrases), np.int64, len(phrases)))
        return np.unique(np.concatenate(hashes))

    def spans(self, number: int) -> Array:
        """Return spans of a sentence, int64 [spans, 3]: begin, end, node."""
        begin, end = self.sentences.offsets[number : number + 2].tolist()
        return _spans(self._trie, self.sentences.tokens[begin:end], self.longest)


class Occurrences:
    """Table entries that occur in a text: pairs of phrases with a weight, sorted by phrase numbers."""

    def __init__(self, pairs: Iterable[tuple[Sequence[str], Sequence[str]]], longest: int = 10) -> None:
        check_value("longest", longest, least=1)
        words = GrowingVocabulary(), GrowingVocabulary()
        escaped = (([escape(word) for word in side] for side in pair) for pair in pairs)
        text = encode(((list(s), list(t)) for s, t in escaped), *words, False)
        self.source = Phrases(text.source, dict(words[0]), longest)
        self.target = Phrases(text.target, dict(words[1]), longest)
        self.too_long = 0
        """Entries of the table that were left out because a phrase is longer than `longest`."""
        self._begin = np.zeros(self.source.count + 1, np.int64)
        self._targets = np.empty(0, np.int64)
        self.scores = np.empty((0, 0))
        """Scores of the entries as the table has them, [entries, scores]."""

    def __len__(self) -> int:
        return len(self.source.sentences)

    def read(self, path: FilePath, errors: str = "strict") -> Occurrences:
        """Take the entries of a table that occur in the text; of equal ones the last counts."""
        parts = []
        lines = read_table(path, errors, wanted=self._likely)
        while batch := list(islice(lines, _BATCH)):
            parts.append(self._occurring(batch))
        if not parts:
            return self
        nodes = np.concatenate([part for part, _ in parts])
        scores = np.concatenate([part for _, part in parts])
        return self._take(nodes, scores)

    def add_entries(self, entries: Iterable[tuple[str, str, Sequence[float]]]) -> Occurrences:
        """Take entries `(source, target, scores)` that are in memory, as `read` does."""
        lines = [TableLine(n, s, t, list(scores)) for n, (s, t, scores) in enumerate(entries, 1)]
        for line in lines:
            if len(line.scores) != len(lines[0].scores):
                raise DataError(
                    f"{line.source} ||| {line.target}: there are {len(line.scores)} scores, but the first "
                    f"entry has {len(lines[0].scores)}"
                )
            if not all(0 <= score < math.inf for score in line.scores):
                raise DataError(
                    f"{line.source} ||| {line.target}: scores {line.scores} are not all numbers ≥ 0"
                )
        return self._take(*self._occurring(lines)) if lines else self

    def _likely(self, sources: Sequence[str], targets: Sequence[str]) -> list[bool]:
        at = np.flatnonzero(self.source.likely(sources))
        blanks = self.source.longest
        self.too_long += sum(
            s.count(" ") >= blanks or t.count(" ") >= blanks for s, t in zip(sources, targets, strict=True)
        )
        chosen = np.zeros(len(sources), np.bool_)
        chosen[at] = self.target.likely([targets[n] for n in at.tolist()])
        return chosen.tolist()

    def _occurring(self, lines: list[TableLine]) -> tuple[Array, Array]:
        """Return nodes [entries, 2] and scores of the lines whose phrases both occur."""
        source = self.source.numbers(line.source for line in lines)
        at = np.flatnonzero(source >= 0)
        target = self.target.numbers(lines[n].target for n in at)
        at, target = at[target >= 0], target[target >= 0]
        scores = np.array([lines[n].scores for n in at]).reshape(len(at), len(lines[0].scores))
        return np.column_stack((source[at], target)), scores

    def _take(self, nodes: Array, scores: Array) -> Occurrences:
        order = np.lexsort((nodes[:, 1], nodes[:, 0]))
        nodes, scores = nodes[order], scores[order]
        last = np.append((nodes[1:] != nodes[:-1]).any(axis=1), True)[: len(nodes)]
        nodes, self.scores = nodes[last], scores[last]
        self._begin = np.searchsorted(nodes[:, 0], np.arange(self.source.count + 1))
        self._targets = np.ascontiguousarray(nodes[:, 1])
        return self

    def weights(self, features: Sequence[float]) -> Array:
        """Return `log φ = Σ_n features[n] · log score[n]` of each entry, −∞ where a score that counts is
        0."""
        if not np.isfinite(features).all():
            raise UsageError(f"feature weights {list(features)} are not all numbers")
        if len(features) != self.scores.shape[1]:
            raise UsageError(
                f"{number_of(len(features), 'feature weights')} for "
                f"{number_of(self.scores.shape[1], 'scores')}; give one for each"
            )
        total = np.zeros(len(self.scores))
        with np.errstate(divide="ignore"):
            for feature, column in zip(features, self.scores.T, strict=True):
                if feature:
                    total += feature * np.log(column)
        return np.where(np.isposinf(total), -np.inf, total)

    def links(self, number: int) -> tuple[Array, Array]:
        """Return spans int64 [links, 4] of a sentence pair, sorted, and the number of the entry behind
        each."""
        return _links(self.source.spans(number), self.target.spans(number), self._begin, self._targets)

    def weighted(self, number: int, weights: Array) -> tuple[WeightedPair, Array]:
        """Return a sentence pair by entry weights (−∞: impossible), and the entry of each link."""
        spans, entries = self.links(number)
        values = weights[entries]
        possible = values > -np.inf
        lengths = self.lengths(number)
        return WeightedPair(spans[possible], values[possible], *lengths), entries[possible]

    def lengths(self, number: int) -> tuple[int, int]:
        """Return words of both sides of a sentence pair."""
        source, target = self.source.sentences.offsets, self.target.sentences.offsets
        return int(source[number + 1] - source[number]), int(target[number + 1] - target[number])

    def sources(self) -> Array:
        """Return the number of each entry's source phrase, int64."""
        return np.repeat(np.arange(self.source.count), np.diff(self._begin))

    def entries(self) -> Iterator[tuple[str, str]]:
        """Return the source and the target phrase of each entry."""
        names = self.source.names(), self.target.names()
        for source, target in zip(self.sources().tolist(), self._targets.tolist(), strict=True):
            yield names[0][source], names[1][target]


class PhraseTrie(NamedTuple):
    """Nodes of a trie: `keys` int32 [nodes, 2] has their parents and last words, −1 for the root, node 0.

    `slots` is the hash table of `keys`.
    """

    keys: Array
    slots: Array


@part(allocates=False)
def _child(trie: PhraseTrie, node: int, word: int, key: Array) -> int:
    """Return the node that a word leads to, or `EMPTY`; `key` int32 [2] is room to work in."""
    key[0], key[1] = node, word
    return int(trie.slots[slot_of(trie.slots, trie.keys, key)])


@kernel
def _grow_trie(tokens: Array, offsets: Array, longest: int) -> PhraseTrie:
    """Return a node for each span of up to `longest` words."""
    keys = np.full((1024, 2), EMPTY, np.int32)
    slots = new_slots(len(keys))
    key = np.empty(2, np.int32)
    count = 1
    for n in range(len(offsets) - 1):
        for i in range(offsets[n], offsets[n + 1]):
            node = 0
            for j in range(i, min(i + longest, offsets[n + 1])):
                key[0], key[1] = node, tokens[j]
                slot = slot_of(slots, keys, key)
                if slots[slot] == EMPTY:
                    if count == len(keys):
                        keys = doubled(keys)
                        slots = refilled(keys, count, len(keys))
                        slot = slot_of(slots, keys, key)
                    keys[count, 0], keys[count, 1] = key[0], key[1]
                    slots[slot] = count
                    count += 1
                node = slots[slot]
    return PhraseTrie(keys[:count], slots)


@kernel
def _find_phrases(trie: PhraseTrie, tokens: Array, offsets: Array) -> Array:
    key = np.empty(2, np.int32)
    found = np.zeros(len(offsets) - 1, np.int64)
    for n in range(len(found)):
        for at in range(offsets[n], offsets[n + 1]):
            if found[n] != EMPTY:
                found[n] = _child(trie, found[n], tokens[at], key)
    return found


@kernel
def _spans(trie: PhraseTrie, tokens: Array, longest: int) -> Array:
    length = len(tokens)
    key = np.empty(2, np.int32)
    spans = np.empty((length * min(longest, length), 3), np.int64)
    used = 0
    for i in range(length):
        node = 0
        for j in range(i, min(i + longest, length)):
            node = _child(trie, node, tokens[j], key)
            spans[used, 0], spans[used, 1], spans[used, 2] = i, j + 1, node
            used += 1
    return spans[:used]


@kernel
def _links(source: Array, target: Array, begin: Array, targets: Array) -> tuple[Array, Array]:
    """Return links of spans whose phrases are an entry; sorted because the spans are."""
    spans = np.empty((256, 4), np.int64)
    entries = np.empty(256, np.int64)
    used = 0
    for a in range(len(source)):
        first, last = begin[source[a, 2]], begin[source[a, 2] + 1]
        if first == last:
            continue
        for b in range(len(target)):
            low = place_of(target[b, 2], targets, first, last)
            if low == last or targets[low] != target[b, 2]:
                continue
            if used == len(entries):
                spans, entries = doubled(spans), doubled(entries)
            spans[used, :2] = source[a, :2]
            spans[used, 2:] = target[b, :2]
            entries[used] = low
            used += 1
    return spans[:used], entries[:used]
