"""Sentences of numbered words: the flat arrays that kernels read, and the words behind the numbers.

Texts are copied in part, and renumbered, by spans of sentences in parallel. How the work is cut does not
depend on the number of threads, and each thread writes to a part of the result of its own.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import compress, count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualign._core.arrays import Array
from dualign._core.fields import check_value
from dualign._core.jit import kernel
from dualign._core.memory import Workspace, boundless
from dualign._core.threads import ordered_map, spans
from dualign.text.links import Alignment, Links

if TYPE_CHECKING:
    from dualign.text.blocks import Pair

Ints = npt.NDArray[Any]

_NO_LIMIT = int(np.iinfo(np.int64).max)

SPAN = 1 << 16
"""Sentences of a piece of work; sixteen times as many tokens."""

SIMILARITY_WEIGHT = 4.0
"""What similarities of words are multiplied by, by default."""

TIMES = 4
"""Pairs of background text of another kind that a pair to be aligned counts like."""

STRANGE = 0.2
"""A background is of another kind if on both sides it lacks more than this share of the text's words."""


class GrowingVocabulary(dict[str, int]):
    """Gives each new word the next number."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class _Lowered(dict[str, int]):
    """Numbers of words by their lower-case form, which is made once for each word, not for each token."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        super().__init__()
        self.vocabulary = vocabulary

    def __missing__(self, word: str) -> int:
        number = self[word] = self.vocabulary[word.lower()]
        return number


@dataclass(frozen=True, slots=True)
class Sentences:
    """`tokens` int32, all sentences end to end; sentence n is `tokens[offsets[n] : offsets[n + 1]]`."""

    tokens: Ints
    offsets: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ints:
        """Number of tokens of each sentence."""
        # Asked for again and again; `np.diff` takes twice as long for a few thousand.
        lengths: Ints = self.offsets[1:] - self.offsets[:-1]
        return lengths

    def without(self, dropped: npt.NDArray[np.bool_]) -> Sentences:
        """All sentences, the dropped ones empty."""
        return self.only(np.repeat(~dropped, self.lengths)) if dropped.any() else self

    def some(self, kept: npt.NDArray[np.bool_]) -> Sentences:
        """The sentences that are marked."""
        lengths = self.lengths
        offsets = np.concatenate(([0], np.cumsum(lengths[kept])))
        return Sentences(self.tokens[np.repeat(kept, lengths)], offsets)

    def only(self, kept: npt.NDArray[np.bool_]) -> Sentences:
        """All sentences, with those tokens alone that are marked."""
        return Sentences(self.tokens[kept], np.concatenate(([0], np.cumsum(kept)))[self.offsets])

    def slice(self, begin: int, end: int) -> Sentences:
        """Sentences begin..end; the tokens are a view."""
        offsets = self.offsets[begin : end + 1]
        return Sentences(self.tokens[offsets[0] : offsets[-1]], offsets - offsets[0])


class Pins(NamedTuple):
    """Known links of some pairs of a text.

    `pinned` bool (pairs); pair n has the links `begin[n]` … `begin[n + 1]` of `source` and `target` int32
    (positions) and `sure` bool. A text of which nothing is known has empty arrays.
    """

    pinned: Ints
    begin: Ints
    source: Ints
    target: Ints
    sure: Ints

    @classmethod
    def of(cls, pairs: int, links: Mapping[int, Alignment]) -> Pins:
        """The pins of a text of that many pairs, by the number of the pair."""
        pinned, counts = np.zeros(pairs, np.bool_), np.zeros(pairs, np.int64)
        numbers = sorted(links)
        known = Links.of(links[number] for number in numbers)
        pinned[numbers], counts[numbers] = True, known.counts
        sure = np.ones(len(known.source), np.bool_) if known.possible is None else ~known.possible
        return cls(pinned, np.concatenate(([0], np.cumsum(counts))), known.source, known.target, sure)

    def slice(self, begin: int, end: int) -> Pins:
        """Those of the pairs begin..end."""
        if len(self.pinned) == 0:
            return self
        a, b = self.begin[begin], self.begin[end]
        bounds = self.begin[begin : end + 1] - a
        return Pins(self.pinned[begin:end], bounds, self.source[a:b], self.target[a:b], self.sure[a:b])

    def chosen(self, pairs: npt.NDArray[np.bool_]) -> Pins:
        """Those of the chosen pairs only."""
        if len(self.pinned) == 0:
            return self
        counts = np.diff(self.begin)
        kept = np.repeat(pairs, counts)
        begin = np.concatenate(([0], np.cumsum(counts[pairs])))
        return Pins(self.pinned[pairs], begin, self.source[kept], self.target[kept], self.sure[kept])


UNPINNED = Pins(
    np.zeros(0, np.bool_), np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32),
    np.zeros(0, np.bool_),
)  # fmt: skip


class Similarities(NamedTuple):
    """What the emissions of some pairs are multiplied by, because their words are known to be similar.

    Pair n has the `factor`s `begin[n]` … `begin[n + 1]`, float32, one for each cell, row by row, or none. A
    text of which nothing is known has empty arrays.
    """

    begin: Ints
    factor: npt.NDArray[Any]

    @classmethod
    def of(cls, pairs: int, factors: Iterable[npt.NDArray[np.float32]]) -> Similarities:
        """Return those of a text of that many pairs, by matrices (source words, target words) of its first
        pairs."""
        flat = [np.ravel(matrix) for matrix in factors]
        begin = np.zeros(pairs + 1, np.int64)
        begin[1 : len(flat) + 1] = [len(each) for each in flat]
        return cls(np.cumsum(begin), np.concatenate([np.zeros(0, np.float32), *flat]))

    def slice(self, begin: int, end: int) -> Similarities:
        """Return those of the pairs begin..end."""
        if len(self.begin) == 0:
            return self
        a, b = self.begin[begin], self.begin[end]
        return Similarities(self.begin[begin : end + 1] - a, self.factor[a:b])

    def chosen(self, pairs: npt.NDArray[np.bool_]) -> Similarities:
        """Return those of the chosen pairs only."""
        if len(self.begin) == 0:
            return self
        sizes = np.diff(self.begin)
        begin = np.concatenate(([0], np.cumsum(sizes[pairs])))
        return Similarities(begin, self.factor[np.repeat(pairs, sizes)])

    def repeated(self, times: int, more: int) -> Similarities:
        """Return those of a text repeated `times` times, then of `more` pairs of which nothing is known."""
        if len(self.begin) == 0:
            return self
        sizes = np.concatenate((np.tile(np.diff(self.begin), times), np.zeros(more, np.int64)))
        return Similarities(np.concatenate(([0], np.cumsum(sizes))), np.tile(self.factor, times))


NO_SIMILARITIES = Similarities(np.zeros(0, np.int64), np.zeros(0, np.float32))


@dataclass(frozen=True, slots=True)
class Bitext:
    """Parallel sentences of numbered words; of some pairs the links may be known, for training, or how
    similar their words are."""

    source: Sentences
    target: Sentences
    pins: Pins = field(default=UNPINNED, kw_only=True)
    similar: Similarities = field(default=NO_SIMILARITIES, kw_only=True)

    def __len__(self) -> int:
        return len(self.source)

    def slice(self, begin: int, end: int) -> Bitext:
        """Pairs begin..end; the tokens are views."""
        sides = self.source.slice(begin, end), self.target.slice(begin, end)
        return Bitext(*sides, pins=self.pins.slice(begin, end), similar=self.similar.slice(begin, end))

    def some(self, kept: npt.NDArray[np.bool_]) -> Bitext:
        """The pairs that are marked, and no others."""
        return Bitext(self.source.some(kept), self.target.some(kept), pins=self.pins.chosen(kept))

    def without(self, dropped: npt.NDArray[np.bool_]) -> Bitext:
        """All pairs, the dropped ones with empty sides."""
        return Bitext(self.source.without(dropped), self.target.without(dropped), similar=self.similar)

    def fitting(self, longest: int = _NO_LIMIT, cells: int = _NO_LIMIT) -> npt.NDArray[np.bool_]:
        """Which pairs have words on both sides, at most `longest`, and at most `cells` pairs of words."""
        result = np.empty(len(self), np.bool_)
        for begin, end in spans(len(self), SPAN):
            I, J = (np.diff(side.offsets[begin : end + 1]) for side in (self.source, self.target))
            result[begin:end] = (I > 0) & (J > 0) & (np.maximum(I, J) <= longest) & (cells >= I * J)
        return result


@dataclass(frozen=True, slots=True)
class Numbered(Bitext):
    """A bitext with the words of each side, in the order of their numbers."""

    source_words: list[str]
    target_words: list[str]

    def renumbered(
        self,
        source: npt.ArrayLike,
        target: npt.ArrayLike,
        threads: int = 1,
        workspace: Workspace | None = None,
        *,
        in_place: bool = False,
    ) -> Bitext:
        """The same sentences, with the numbers that these lists have in place of 0, 1, …

        A side whose numbers stay what they are is not copied. With `in_place`, none is: the numbers of this
        text are overwritten.
        """
        left, right = (
            _renumbered(side, np.asarray(numbers, np.int32), threads, workspace, in_place)
            for side, numbers in ((self.source, source), (self.target, target))
        )
        return Bitext(left, right, similar=self.similar)

    def lowered(
        self, threads: int = 1, workspace: Workspace | None = None, *, in_place: bool = False
    ) -> Numbered:
        """The same sentences in lower case; for the parameters see `renumbered`."""
        # Asked of all words at once, which takes a tenth of the time.
        texts = "\n".join(self.source_words), "\n".join(self.target_words)
        if all(text.lower() == text for text in texts):
            return self
        words, numbers = [], []
        for side in (self.source_words, self.target_words):
            lowered = list(map(str.lower, side))
            words.append(list(dict.fromkeys(lowered)))
            number = dict(zip(words[-1], count()))
            numbers.append(list(map(number.__getitem__, lowered)))
        bitext = self.renumbered(numbers[0], numbers[1], threads, workspace, in_place=in_place)
        sides = bitext.source, bitext.target
        return Numbered(*sides, *words, pins=self.pins, similar=self.similar)

    def with_similarities(self, matrices: Iterable[Any], weight: float = SIMILARITY_WEIGHT) -> Numbered:
        """This text with the similarities s of the words of its first pairs, a matrix (source words, target
        words) for each: emissions are multiplied by exp(weight · s), in training and when it is aligned."""
        from dualign.text.score_matrices import emission_factors

        placed = ((f"matrix {number}", matrix) for number, matrix in enumerate(matrices))
        lengths = self.source.lengths, self.target.lengths
        return replace(self, similar=Similarities.of(len(self), emission_factors(lengths, placed, weight)))

    def times_over(self, background: Numbered) -> int:
        """How many pairs of a background each of these pairs should count like: 1, or `TIMES` if it is text
        of another kind, in which these would drown."""
        if not len(background):
            return 1
        shares = []
        for side, words, others in (
            (self.source, self.source_words, background.source_words),
            (self.target, self.target_words, background.target_words),
        ):
            known = set(others)
            lacks = np.array([word not in known for word in words], np.bool_)
            shares.append(lacks[side.tokens].mean() if len(side.tokens) else 0.0)
        return TIMES if min(shares) > STRANGE else 1

    def with_background(
        self, background: Numbered, times: int, workspace: Workspace | None = None
    ) -> Numbered:
        """This text `times` times, then the background: a text to learn from in which each pair of this one
        counts like `times` pairs of the other. Numbers of words stay; those of the background's own follow.
        """
        check_value("times", times, least=1)
        sides, words = [], []
        for side, known, other, more in (
            (self.source, self.source_words, background.source, background.source_words),
            (self.target, self.target_words, background.target, background.target_words),
        ):
            vocabulary = GrowingVocabulary((word, number) for number, word in enumerate(known))
            numbers = np.array([vocabulary[word] for word in more], np.int32)
            tokens = (workspace or boundless()).empty(times * len(side.tokens) + len(other.tokens), np.int32)
            own = times * len(side.tokens)
            for begin in range(0, own, max(1, len(side.tokens))):
                tokens[begin : begin + len(side.tokens)] = side.tokens
            np.take(numbers, other.tokens, out=tokens[own:], mode="clip")
            lengths = np.concatenate((np.tile(side.lengths, times), other.lengths))
            sides.append(Sentences(tokens, np.concatenate(([0], np.cumsum(lengths)))))
            words.append(list(vocabulary))
        return Numbered(sides[0], sides[1], *words, similar=self.similar.repeated(times, len(background)))

    def without_words(self, words: Collection[str]) -> Numbered:
        """The same sentences without some words."""
        left, right = (
            side.only(~np.isin(side.tokens, [n for n, word in enumerate(known) if word in words]))
            for side, known in ((self.source, self.source_words), (self.target, self.target_words))
        )
        text = Numbered(left, right, self.source_words, self.target_words)
        return text.chosen(np.ones(len(self), np.bool_))

    def chosen(
        self, pairs: npt.NDArray[np.bool_], threads: int = 1, workspace: Workspace | None = None
    ) -> Numbered:
        """The chosen pairs only, and of the words only those that occur in them, in the same order.

        What stays as it is is not copied.
        """
        left, source_words = _chosen(self.source, self.source_words, pairs, threads, workspace)
        right, target_words = _chosen(self.target, self.target_words, pairs, threads, workspace)
        if left is self.source and right is self.target:
            return self
        pins, similar = self.pins.chosen(pairs), self.similar.chosen(pairs)
        return Numbered(left, right, source_words, target_words, pins=pins, similar=similar)


def _renumbered(
    side: Sentences, number: npt.NDArray[np.int32], threads: int, workspace: Workspace | None, in_place: bool
) -> Sentences:
    if (number == np.arange(len(number), dtype=np.int32)).all():
        return side
    result = side.tokens if in_place else (workspace or boundless()).empty(len(side.tokens), np.int32)

    def replace(span: tuple[int, int]) -> None:
        replace_tokens(side.tokens[slice(*span)], number, result[slice(*span)])

    for _ in ordered_map(replace, spans(len(result), 16 * SPAN), threads):
        pass
    return Sentences(result, side.offsets)


def _chosen(
    side: Sentences, words: list[str], pairs: npt.NDArray[np.bool_], threads: int, workspace: Workspace | None
) -> tuple[Sentences, list[str]]:
    """The chosen sentences of a side, and the words that occur in them."""
    kept, room = np.flatnonzero(pairs), workspace or boundless()
    pieces = spans(len(kept), SPAN)

    def look(span: tuple[int, int]) -> Array:
        seen = np.zeros(len(words), np.bool_)
        mark_words(side.tokens, side.offsets, kept[slice(*span)], seen)
        return seen

    seen: Array = np.zeros(len(words), np.bool_)
    for each in ordered_map(look, pieces, threads):
        seen |= each
    if seen.all() and pairs.all():
        return side, words
    number = np.cumsum(seen, dtype=np.int32) - np.int32(1)
    offsets = room.empty(len(kept) + 1, np.int64)
    offsets[0] = 0
    np.cumsum(side.lengths[kept], out=offsets[1:])
    tokens = room.empty(int(offsets[-1]), np.int32)

    def take(span: tuple[int, int]) -> None:
        begin, end = offsets[span[0]], offsets[span[1]]
        take_sentences(side.tokens, side.offsets, kept[slice(*span)], number, tokens[begin:end])

    for _ in ordered_map(take, pieces, threads):
        pass
    return Sentences(tokens, offsets), list(compress(words, seen.tolist()))


def numbered(pairs: Iterable[Pair], lowercase: bool) -> Numbered:
    """Number the words of both sides in order of first occurrence."""
    source, target = GrowingVocabulary(), GrowingVocabulary()
    bitext = encode(pairs, source, target, lowercase)
    return Numbered(bitext.source, bitext.target, list(source), list(target))


def encode(pairs: Iterable[Pair], source: dict[str, int], target: dict[str, int], lowercase: bool) -> Bitext:
    """Number the words of both sides; `source` and `target` say how to treat a new word (`__missing__`)."""
    numbers = (_Lowered(source), _Lowered(target)) if lowercase else (source, target)
    sides = tuple((array("i"), array("q", [0]), number.__getitem__) for number in numbers)
    for pair in pairs:
        for words, (tokens, offsets, number) in zip(pair, sides, strict=True):
            tokens.extend(map(number, words))
            offsets.append(len(tokens))
    left, right = (
        Sentences(np.frombuffer(tokens, np.int32), np.frombuffer(offsets, np.int64))
        for tokens, offsets, _ in sides
    )
    return Bitext(left, right)


@kernel
def replace_tokens(tokens: Array, number: Array, result: Array) -> None:
    """Write `number[token]` for each token."""
    for k in range(len(tokens)):
        result[k] = number[tokens[k]]


@kernel
def mark_words(tokens: Array, offsets: Array, kept: Array, seen: Array) -> None:
    """Mark the words of some sentences."""
    for n in kept:
        for k in range(offsets[n], offsets[n + 1]):
            seen[tokens[k]] = True


@kernel
def take_sentences(tokens: Array, offsets: Array, kept: Array, number: Array, result: Array) -> None:
    """Write `number[token]` for each token of some sentences."""
    filled = 0
    for n in kept:
        for k in range(offsets[n], offsets[n + 1]):
            result[filled] = number[tokens[k]]
            filled += 1
