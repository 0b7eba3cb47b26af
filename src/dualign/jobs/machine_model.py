"""An aligner as a word-alignment model of SIL's `machine` (the package sil-machine, which must be installed).

    from dualign.jobs.machine_model import DualignModel

    model = DualignModel("model", rounds=4)
    with model.create_trainer(corpus.tokenize(LatinWordTokenizer())) as trainer:
        trainer.train()
        trainer.save()
    model.align(source_segment, target_segment)

Words are numbered as machine expects it, with 0 for null. Translation scores are p(target | source). A word
pair's alignment score is the probability of its link.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dualign._core.errors import UsageError, refusing
from dualign.aligner import Aligner
from dualign.hmm.model import Vocabulary
from dualign.hmm.training import Progress

MISSING = "this adapter needs SIL's machine ({cause}); install it with: pip install sil-machine"
with refusing(ImportError, by=UsageError, what=MISSING):
    from machine.corpora import AlignedWordPair, ParallelTextCorpus
    from machine.translation import Trainer, TrainStats, WordAlignmentMatrix, WordAlignmentModel
    from machine.translation.word_vocabulary import WordVocabulary
    from machine.utils.progress_status import ProgressStatus

Segment = Sequence[str]
NULL = "NULL"


class _Words(WordVocabulary):  # type: ignore[misc]
    """The words of one side, after null; `index` of an unknown word is 0."""

    def __init__(self, vocabulary: Vocabulary, lowercase: bool) -> None:
        self._vocabulary, self._lowercase = vocabulary, lowercase

    def index(self, word: str | None, *_: int) -> int:  # type: ignore[override, unused-ignore]
        if word is None:
            return 0
        return self._vocabulary.numbers.get(word.lower() if self._lowercase else word, -1) + 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [NULL, *self._vocabulary.words][index]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        return NULL if index == 0 else self._vocabulary.words[index - 1]

    def __len__(self) -> int:
        return 1 + len(self._vocabulary)

    def __iter__(self) -> Iterator[str]:
        return iter([NULL, *self._vocabulary.words])

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and (word == NULL or self.index(word) > 0)


class DualignModel(WordAlignmentModel):  # type: ignore[misc]
    """A model at `path`, loaded if the file is there; `options` as for `dualign.Aligner`."""

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, threads: int | None = None, **options: Any
    ) -> None:
        self.path = path
        self.aligner = Aligner(threads=threads, **options)
        if path is not None and os.path.exists(path):
            self.aligner = Aligner.load(path, threads=threads).set_options(**options)

    @property
    def source_words(self) -> Any:
        """The source words, after null."""
        return _Words(self.aligner.model.source, self.aligner.options.lowercase)

    @property
    def target_words(self) -> Any:
        """The target words, after null."""
        return _Words(self.aligner.model.target, self.aligner.options.lowercase)

    @property
    def special_symbol_indices(self) -> Collection[int]:
        """The number of null."""
        return {0}

    def create_trainer(self, corpus: ParallelTextCorpus) -> DualignTrainer:
        """What trains this model on a corpus whose segments are lists of words."""
        return DualignTrainer(self, corpus)

    def get_translations(
        self, source_word: str | int | None, threshold: float = 0
    ) -> Iterable[tuple[int, float]]:
        """Numbers of target words with p(target | source) over the threshold; of null for None or 0."""
        model, number = self.aligner.model, self._number(source_word, self.source_words)
        if number is None:
            return []
        if number == 0:
            words, values = np.arange(len(model.target)), model.lexicon.null_target
        else:
            row = slice(*model.lexicon.rows[number - 1 : number + 1])
            words, values = model.lexicon.columns[row], model.distributions[row, 0]
        pairs = zip((words + 1).tolist(), values.tolist(), strict=True)
        return [(word, value) for word, value in pairs if value > threshold]

    def get_translation_score(self, source_word: str | int | None, target_word: str | int | None) -> float:
        """p(target | source); null is None or 0. 0 for a word that the model does not know."""
        target = self._number(target_word, self.target_words)
        if not target:
            return 0.0
        return dict(self.get_translations(source_word)).get(target, 0.0)

    def align(self, source_segment: Segment, target_segment: Segment) -> WordAlignmentMatrix:
        """The links of a pair."""
        return self.align_batch([(source_segment, target_segment)])[0]

    def align_batch(self, segments: Sequence[Sequence[Segment]]) -> list[WordAlignmentMatrix]:
        """The links of several pairs."""
        pairs = [(list(source), list(target)) for source, target in segments]
        return [
            WordAlignmentMatrix.from_word_pairs(len(source), len(target), found.links)
            for (source, target), found in zip(pairs, self.aligner.align(pairs), strict=True)
        ]

    def compute_aligned_word_pair_scores(
        self, source_segment: Segment, target_segment: Segment, word_pairs: Collection[AlignedWordPair]
    ) -> None:
        """Set the scores of word pairs: p(target | source), and the probability of the link."""
        posterior = self.aligner.posteriors([(list(source_segment), list(target_segment))])[0]
        for pair in word_pairs:
            i, j = pair.source_index, pair.target_index
            words = None if i < 0 else source_segment[i], None if j < 0 else target_segment[j]
            pair.translation_score = self.get_translation_score(*words)
            if i >= 0 and j >= 0:
                pair.alignment_score = float(posterior[i, j])
            else:  # what is left for null
                rest = posterior[:, j].sum() if i < 0 else posterior[i].sum()
                pair.alignment_score = max(0.0, 1.0 - float(rest))

    @staticmethod
    def _number(word: str | int | None, words: Any) -> int | None:
        """The number of a word; None if there is no such word."""
        if word is None:
            return 0
        if isinstance(word, str):
            return words.index(word) or None
        return word if 0 <= word < len(words) else None


class DualignTrainer(Trainer):  # type: ignore[misc]
    """Trains a `DualignModel`, which has the result at once, and its file after `save`."""

    def __init__(self, model: DualignModel, corpus: ParallelTextCorpus) -> None:
        self._model, self._corpus = model, corpus
        self._stats = TrainStats()

    def train(
        self,
        progress: Callable[[ProgressStatus], None] | None = None,
        check_canceled: Callable[[], None] | None = None,
    ) -> None:
        """Train on all pairs of the corpus; `check_canceled` may raise after each round."""
        aligner = self._model.aligner
        pairs = [(list(row.source_segment), list(row.target_segment)) for row in self._corpus]
        steps = aligner.options.ibm1_rounds + aligner.options.rounds
        done: list[Progress] = []

        def report(finished: Progress) -> None:
            done.append(finished)
            if check_canceled is not None:
                check_canceled()
            if progress is not None:
                progress(ProgressStatus.from_step(min(len(done), steps), steps))

        aligner.fit(pairs, report=report)
        self._stats.train_corpus_size = done[-1].pairs
        self._stats.metrics["bits_per_word"] = done[-1].bits

    def save(self) -> None:
        """Write the model's file."""
        if self._model.path is None:
            raise UsageError("the model has no file; give DualignModel a path")
        self._model.aligner.save(self._model.path)

    @property
    def stats(self) -> TrainStats:
        """How many pairs it has learnt from, and how well the model fits them."""
        return self._stats
