"""`Aligner`: learn from a bitext, align, save, load. The Python face of the word-alignment rooms."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dualign.core.arrays import Array
from dualign.core.errors import DataError, UsageError
from dualign.core.threads import available, spans
from dualign.decode.links import (
    CHUNK,
    Links,
    Prepared,
    align_bitext,
    chunks,
    encode_chunk,
    posteriors_of_bitext,
)
from dualign.infer.constraints import ConstraintSet
from dualign.learn.training import Progress, train, usable
from dualign.model.model import Model
from dualign.model.options import DECODING, Options
from dualign.text.alignment import Alignment
from dualign.text.bitext import Bitext, Sentences, numbered
from dualign.text.lines import tokenize

Sentence = str | Sequence[str]
Pairs = Iterable[tuple[Sentence, Sentence]]
Columns = tuple[list[Sentence], list[Sentence]]


def align(
    source: Sequence[Sentence], target: Sequence[Sentence], *, threads: int | None = None, **options: Any
) -> list[Alignment]:
    """Learn a model of two parallel lists of sentences and align them, one `Alignment` for each pair.

    A sentence is a list of tokens, or a string to be split at white space. For `options` see
    `dualign.Options`.
    """
    for side, name in ((source, "source"), (target, "target")):
        if isinstance(side, str):
            raise DataError(f"{name} is one string; give a list of sentences")
    bitext = as_pairs((list(source), list(target)))
    aligner = Aligner(threads=threads, **options)
    return aligner.fit(bitext).align(bitext)


class Aligner:
    """A word aligner: `fit` it, or `load` one; then `align` any text, in pieces of any size, alike.

    A bitext is an iterable of pairs `(source, target)`, or a tuple of two parallel lists; a sentence is a
    list of tokens, or a string to be split at white space. For the keywords see `dualign.Options`.
    """

    def __init__(self, *, threads: int | None = None, **options: Any) -> None:
        self.options = Options.of(options)
        self.threads = available(threads)
        self.constraints: ConstraintSet | None = None
        self.history: list[Progress] = []
        """The rounds of training, in order; empty for a loaded model."""
        self._model: Model | None = None
        self._strange: list[list[str]] = [[], []]

    @property
    def model(self) -> Model:
        """The parameters, with the options in force."""
        if self._model is None:
            raise UsageError("this aligner has no model yet; call fit(bitext), or Aligner.load(path)")
        return self._model

    def fit(
        self,
        bitext: Pairs | Columns,
        *,
        report: Callable[[Progress], None] = lambda progress: None,
        judge: Callable[[Model], float] | None = None,
        constraints: ConstraintSet | None = None,
    ) -> Aligner:
        """Learn from a bitext; `report` hears of each round.

        For `judge` and `constraints` see `dualign.learn.training.train`; constraints hold when aligning, too.
        """
        text = numbered(as_pairs(bitext), self.options.lowercase)
        self.fit_encoded(*text, report=report, judge=judge, constraints=constraints)
        return self

    def fit_encoded(
        self,
        encoded: Bitext,
        source: list[str],
        target: list[str],
        *,
        report: Callable[[Progress], None] = lambda progress: None,
        judge: Callable[[Model], float] | None = None,
        constraints: ConstraintSet | None = None,
    ) -> Bitext:
        """Learn from sentences of numbered words; returns them with the model's numbers, for `links_of`."""
        self.constraints = constraints
        self.history = []

        def hear(progress: Progress) -> None:
            self.history.append(progress)
            report(progress)

        # Words of the pairs that are left out of training come last: they are unknown to the model.
        chosen = usable(encoded, self.options.max_length)
        left, source_words, self._strange[0] = known_first(encoded.source, source, chosen)
        right, target_words, self._strange[1] = known_first(encoded.target, target, chosen)
        encoded = Bitext(left, right)
        self._model = train(
            encoded, source_words, target_words, self.options, self.threads, hear, judge, constraints
        )
        return encoded

    def set_options(self, **changes: Any) -> Aligner:
        """Change options; once there is a model, only those for aligning, such as threshold and decoder."""
        now = self.options.as_dict()
        options = Options.of(now | changes)
        fixed = [name for name, value in changes.items() if name not in DECODING and now.get(name) != value]
        if fixed and self._model is not None:
            raise UsageError(f"a trained model cannot change {', '.join(fixed)}; train one with that setting")
        self.options = options
        if self._model is not None:
            self._model = self._model.with_options(self.options)
        return self

    def align(self, bitext: Pairs | Columns) -> list[Alignment]:
        """The links of each pair, with their probabilities."""
        pairs = as_pairs(bitext)
        found = (alignment for links in self.align_stream(pairs) for alignment in alignments(links))
        return [replace(alignment, words=pair) for alignment, pair in zip(found, pairs, strict=True)]

    def align_stream(self, pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Iterator[Links]:
        """Links of a stream of token-list pairs, chunk by chunk, in memory for one chunk."""
        for chunk in chunks(pairs):
            encoded, source, target = encode_chunk(self.model, chunk)
            yield align_bitext(self.model, encoded, (source.new, target.new), self.threads, self.constraints)

    def links_of(self, encoded: Bitext) -> Iterator[Links]:
        """Links of the bitext that `fit_encoded` returned, chunk by chunk."""
        strange = self._strange[0], self._strange[1]
        for begin, end in spans(len(encoded), CHUNK):
            part = Bitext(encoded.source.slice(begin, end), encoded.target.slice(begin, end))
            yield align_bitext(self.model, part, strange, self.threads, self.constraints)

    def decoder_of(self, bitext: Pairs | Columns) -> Callable[[Options], list[Alignment]]:
        """A function that aligns this bitext by any decoder and its parameters.

        The posteriors are computed once, projected as the options in force now say.
        """
        encoded, source, target = encode_chunk(self.model, as_pairs(bitext))
        prepared = Prepared(self.model, encoded, (source.new, target.new), self.threads, self.constraints)
        return lambda options: list(alignments(prepared.links(options)))

    def posteriors(self, bitext: Pairs | Columns, *, directions: bool = False) -> list[Array]:
        """The probability of every link: for each pair a float32 array (source words, target words).

        With `directions`, an array (2, source words, target words): first the posteriors of the direction
        in which target words choose, then those in which source words do; their mean is the probability.
        """
        matrices: list[Array] = []
        for chunk in chunks(as_pairs(bitext)):
            encoded, source, target = encode_chunk(self.model, chunk)
            matrices += posteriors_of_bitext(
                self.model, encoded, (source.new, target.new), self.threads, self.constraints
            )
        return matrices if directions else [np.minimum(matrix.mean(axis=0), 1) for matrix in matrices]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all."""
        self.model.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, threads: int | None = None) -> Aligner:
        """Read a model that `save` wrote."""
        return cls.of_model(Model.load(path), threads)

    @classmethod
    def of_model(cls, model: Model, threads: int | None = None) -> Aligner:
        """An aligner of given parameters."""
        aligner = cls(threads=threads)
        aligner._model = model
        aligner.options = model.options
        return aligner


def known_first(side: Sentences, words: list[str], chosen: Array) -> tuple[Sentences, list[str], list[str]]:
    """Renumber words so that those of the chosen sentences come first; these words, and the others."""
    seen = np.bincount(side.select(chosen).tokens, minlength=len(words)) > 0
    order = np.concatenate((np.flatnonzero(seen), np.flatnonzero(~seen)))
    number = np.empty(len(words), np.int32)
    number[order] = np.arange(len(words), dtype=np.int32)
    known = int(seen.sum())
    names = [words[old] for old in order]
    return Sentences(number[side.tokens], side.offsets), names[:known], names[known:]


def alignments(links: Links) -> Iterator[Alignment]:
    """The links of each pair as an `Alignment`."""
    source, target = links.source.tolist(), links.target.tolist()
    probability = links.probability.tolist()
    for begin, count in zip(links.begin.tolist(), links.count.tolist(), strict=True):
        end = begin + count
        pairs = tuple(zip(source[begin:end], target[begin:end], strict=True))
        yield Alignment(pairs, probabilities=tuple(probability[begin:end]))


def as_pairs(bitext: Pairs | Columns) -> list[tuple[Sequence[str], Sequence[str]]]:
    """Check a bitext given by a user and split its strings into tokens."""
    if isinstance(bitext, tuple) and len(bitext) == 2 and all(isinstance(side, list) for side in bitext):
        sources, targets = bitext
        if len(sources) != len(targets):
            raise DataError(
                f"{len(sources)} source sentences but {len(targets)} target sentences; "
                "each pair needs one of either"
            )
        return [
            (as_tokens(source, "source", n), as_tokens(target, "target", n))
            for n, (source, target) in enumerate(zip(sources, targets, strict=True))
        ]
    if isinstance(bitext, str):
        raise DataError("a bitext is an iterable of (source, target) pairs, not one string")
    pairs = []
    for n, pair in enumerate(bitext):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise DataError(f"item {n} of the bitext is not a pair (source, target): {pair!r:.60}")
        pairs.append((as_tokens(pair[0], "source", n), as_tokens(pair[1], "target", n)))
    return pairs


def as_tokens(sentence: Sentence, side: str, number: int) -> Sequence[str]:
    """A sentence as a list of tokens."""
    if isinstance(sentence, str):
        return tokenize(sentence)
    if not isinstance(sentence, Sequence):
        raise DataError(
            f"{side} sentence {number} is neither a string nor a list of tokens: {sentence!r:.60}"
        )
    for token in sentence:
        if not isinstance(token, str) or "\n" in token:
            raise DataError(f"{side} sentence {number} has a token that is not a word: {token!r:.60}")
    return sentence
