"""Training from files: `Trainer`, for `train` and the first half of `align`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError
from dualign._core.files.streams import text_size
from dualign._core.threads import ordered_map
from dualign.aligner import Aligner
from dualign.commands.bundles import Computing, Evidence, Tuning
from dualign.commands.console import SILENT, Reporter
from dualign.commands.outputs import note_raw, note_unknown
from dualign.hmm.model import Model
from dualign.hmm.training import NothingToLearn
from dualign.options import Options
from dualign.text.blocks import BEGINNING, Pair, Position, TextBlock, TextFiles, read_blocks
from dualign.text.checks import number_of
from dualign.text.corpus import SIMILARITY_WEIGHT, Bitext, Numbered, Similarities
from dualign.text.gold import Gold
from dualign.text.numbering import LINES, encode_text
from dualign.text.sampling import sampled
from dualign.text.score_matrices import emission_factors
from dualign.text.tokenizing import SAMPLE, Cutting

if TYPE_CHECKING:
    from dualign.hmm.priors import Prior

LITTLE_TEXT = 200
"""Fewer pairs are worth a note: on them, links are less certain than their probabilities say."""

LEAST_TO_TUNE = 20
"""Pairs with pinned links, at least, to tune by them, too: what is best for a few is worse for the text."""


class Learnt(NamedTuple):
    """A text that was learnt from, numbered, its pairs, their ids if they have any, and the aligner."""

    text: Numbered
    pairs: int
    ids: Sequence[str]
    aligner: Aligner


class Labelled(NamedTuple):
    """Pairs with gold links; `mine`: which pairs of the text they are, bool, if they are of it."""

    pairs: Sequence[Pair]
    mine: Array | None = None

    def of(self, text: Numbered) -> Sequence[Pair] | Numbered:
        """Return the same pairs, with the similarities that the text has for them."""
        return self.pairs if self.mine is None or len(text.similar.begin) == 0 else text.chosen(self.mine)


class Trainer:
    """Trains on texts in files, with what is known, where the command computes."""

    def __init__(
        self, computing: Computing, crew: Any, evidence: Evidence, tuning: Tuning, tell: Reporter
    ) -> None:
        self.computing, self.crew, self.evidence, self.tuning = computing, crew, evidence, tuning
        self.tell, self.errors = tell, computing.errors
        self.workspace = computing.workspace()

    def learn(
        self,
        files: TextFiles,
        options: dict[str, Any],
        positions: str | None = None,
        sample: int | None = None,
        seed: int = 0,
    ) -> Learnt:
        """Train an aligner on a text, or a sample of so many pairs, and tune it if there is gold.

        `positions`: what links will be on, if any are to be written.
        """
        tell, evidence, tuning = self.tell, self.evidence, self.tuning
        prior = read_prior(evidence, self.errors, tell)
        begin = None if prior is None else prior.begin
        if begin is not None:
            options = begin.options.as_dict() | options
        keywords = self.computing.aligner_keywords()
        aligner = Aligner(**keywords, **options)
        files = replace(files, cutting=aligner.cutting)
        constraints = evidence.read_glossary(self.errors, aligner.cutting)
        similar = evidence.similarity is not None
        if self.crew is not None:
            from dualign.engines.dask.engine import check_learnable

            check_learnable(aligner.options.model, similarities=similar)
        self.computing.note_device(aligner, constraints, tell, pinned=tuning.pin, similar=similar)
        gold = self._gold(files)
        first = gold.lines[-1] + 1 if gold is not None and tuning.on_input else 0
        pairs, ids, text = self._read(files, aligner, first, sample, seed)
        labelled = self._labelled(gold, pairs, len(text), aligner.cutting)
        other, times = self._background(text, aligner)
        about: dict[str, Any] = {"constraints": constraints, "workspace": self.workspace, "prior": prior}

        def together(part: Numbered) -> Numbered:
            return part if other is None else part.with_background(other, times, self.workspace)

        def learn_from(part: Numbered) -> Model:
            trial = Aligner(**keywords, **aligner.options.as_dict())
            return trial.fit(together(part), **about).model

        if similar:
            text = self._with_similarities(text, labelled, gold, learn_from, aligner.threads)
        learnt = together(text)
        judge = None
        if gold is not None and tuning.early_stop:
            judge = _AreaJudge(labelled.of(text), gold, aligner.threads)
        sides = (text.source.tokens, text.source_words), (text.target.tokens, text.target_words)
        if not tell.is_quiet:
            note_raw(sides, aligner.cutting, positions, tell)
        used = aligner.usable(learnt)
        if prior is None and constraints is None:
            _note_little(text, used, times, tell)
        if begin is not None:
            _note_other(begin, aligner.options, text, tell)
        tell.progress(0, "train")
        pinned = None
        if tuning.pin and gold is not None:
            again = [line + n * len(text) for n in range(times) for line in gold.lines]
            pinned = dict(zip(again, times * gold.links, strict=True))
        try:
            aligner.fit(learnt, report=tell.round, judge=judge, gold=pinned, client=self.crew, **about)
        except NothingToLearn:
            raise NothingToLearn(len(text), files.name) from None  # without the background
        _note_empty(text, sample is None, tell)
        _note_unused(text, used, times, aligner.options.max_length, tell)
        if judge is not None:
            judge.note_kept(aligner, tell)
        if gold is not None:
            self._tune(aligner, labelled.of(text), gold)
        return Learnt(text, len(text), ids, aligner)

    def _gold(self, files: TextFiles) -> Gold | None:
        if not self.tuning.is_wanted:
            return None
        from dualign.commands.tuning import gold_of

        return gold_of(self.tuning, files)

    def _labelled(self, gold: Gold | None, begin: Sequence[Pair], size: int, cutting: Cutting) -> Labelled:
        """Return the pairs with gold links; `begin`: the first pairs of a text of so many."""
        if gold is None:
            return Labelled([])
        from dualign.commands.tuning import pairs_with_gold

        mine = np.isin(np.arange(size), gold.lines) if self.tuning.on_input else None
        return Labelled(pairs_with_gold(self.tuning, begin, gold, self.errors, cutting), mine)

    def _tune(self, aligner: Aligner, pairs: Sequence[Pair] | Numbered, gold: Gold) -> None:
        from dualign.commands.tuning import linked, tune_by

        if self.tuning.pin and (count := linked(gold)) < LEAST_TO_TUNE:
            self.tell.note(
                f"note: training keeps to the gold links, but nothing is tuned by them: {count} of the pairs "
                f"have any, and it takes {LEAST_TO_TUNE}"
            )
        else:
            tune_by(aligner, pairs, gold.links, self.tell)

    def _background(self, text: Numbered, aligner: Aligner) -> tuple[Numbered | None, int]:
        """Return other text to learn from, if there is any, and how often the text is repeated beside it."""
        if self.evidence.background is None:
            return None, 1
        files = TextFiles(*self.evidence.background, errors=self.errors, cutting=aligner.cutting)
        other = self._number(files, read_blocks(files, LINES), aligner)
        times = self.evidence.times or text.times_over(other)
        counts = "" if times == 1 else f"; each of the text's counts like {times} of it"
        self.tell.note(f"background: {number_of(len(other), 'pairs')}{counts}")
        return other, times

    def _with_similarities(
        self,
        text: Numbered,
        labelled: Labelled,
        gold: Gold | None,
        learn_from: Callable[[Numbered], Model],
        threads: int,
    ) -> Numbered:
        """Return the text with its similarities; without a weight, that of most use for the gold links."""
        from dualign.commands.tuning import linked, tuned_weight
        from dualign.text.score_matrices import read_matrices

        path, weight = str(self.evidence.similarity), self.evidence.similarity_weight
        matrices: Iterable[tuple[str, Any]] = read_matrices(path, self.errors)
        if weight is None and gold is not None and linked(gold) >= LEAST_TO_TUNE:
            kept = list(matrices)

            def weighted(trial: float) -> tuple[Numbered, Sequence[Pair] | Numbered]:
                similar = with_similarities(text, kept, trial, path, SILENT)
                return similar, labelled.of(similar)

            weight, matrices = tuned_weight(weighted, kept, gold.links, learn_from, self.tell, threads), kept
        weight = SIMILARITY_WEIGHT if weight is None else weight
        return with_similarities(text, matrices, weight, path, self.tell)

    def _read(
        self, files: TextFiles, aligner: Aligner, first: int, size: int | None, seed: int
    ) -> tuple[list[Pair], list[str], Numbered]:
        """Return the first pairs of a text, as many as are wanted, all ids, and the text, or a sample."""
        workspace = self.workspace
        begin: list[Pair] = []
        ids: list[str] = []

        def blocks() -> Iterator[TextBlock]:
            for block in read_blocks(files, LINES):
                if len(begin) < first:
                    begin.extend(islice(block.pairs(), first - len(begin)))
                ids.extend(block.ids)
                yield block

        if size is None:
            # The arrays of a text that can lie on the disk are about twice as large as its files.
            on_disk = 2 * sum(map(text_size, files.files)) - workspace.memory // 2
            if on_disk > 0:
                workspace.expect(on_disk)
            every = blocks() if first or files.has_ids else read_blocks(files, LINES)
            return begin, ids, self._number(files, every, aligner)
        tokens = ordered_map(TextBlock.tokens, blocks(), aligner.threads)
        with sampled(tokens, size, seed, workspace.folder) as sample:
            if sample.size < size:
                lines = number_of(sample.lines, "pairs")
                self.tell.note(f"note: the text has only {lines}; the sample is the whole text")
            # Lines that are known to be good, and cut into tokens.
            drawn = TextFiles("sample", "sample", cutting=Cutting(ascii=aligner.cutting.ascii))
            ends = ((Position(source.count(b"\n")), source, target) for source, target in sample.blocks)
            read = (TextBlock(BEGINNING, *block, drawn) for block in ends)
            return begin, ids, self._number(drawn, read, aligner)

    def _number(self, text: TextFiles, blocks: Iterable[TextBlock], aligner: Aligner) -> Numbered:
        """Number the words of a text."""
        about: Any = {"threads": aligner.threads, "workspace": self.workspace}
        return encode_text(text, blocks, aligner.options.lowercase, **about)


class _AreaJudge:
    """Judges a model by the area under the precision-recall curve of pairs with gold links."""

    def __init__(self, pairs: Sequence[Pair] | Numbered, gold: Gold, threads: int) -> None:
        from dualign.commands.tuning import area_judge

        self._area: Callable[[Model], float] = area_judge(pairs, gold.links, threads)
        self._areas: list[float] = []

    def __call__(self, model: Model) -> float:
        self._areas.append(self._area(model))
        return self._areas[-1]

    def note_kept(self, aligner: Aligner, tell: Reporter) -> None:
        """Tell which round early stopping has kept."""
        areas, options = self._areas, aligner.options
        if not areas:
            values: dict[str, Any] = {"early_stop": True, "model": options.model, "rounds": options.rounds}
            tell.note("note: {early_stop=} has no effect with {model=} and {rounds=}", **values)
            return
        best = areas.index(max(areas))
        number = aligner.history[len(aligner.history) - len(areas) + best].number
        kept, area = f"kept round {number} of {options.rounds}", f"{areas[best]:.4f}"
        tell.note(f"early stop: {kept}, area under the curve {area}")


def read_prior(evidence: Evidence, errors: str, tell: Reporter) -> Prior | None:
    """Return the prior, if there is one; notes say what of it is not used."""
    if evidence.model is None and evidence.prior is None:
        return None
    from dualign._core.files.container import is_model_file
    from dualign.hmm.priors import Prior
    from dualign.text.priors import read_word_pairs

    if evidence.model is not None:
        return Prior.of_model(Model.load(evidence.model), begin=True)
    path = str(evidence.prior)
    if is_model_file(path):
        return Prior.of_model(Model.load(path)).scaled(evidence.weight)
    pairs = read_word_pairs(path, errors)
    phrases = "with several words on a side passed over; a glossary can have phrases"
    others = "on jumps and fertilities passed over"
    for count, units, what in ((pairs.phrases, "entries", phrases), (pairs.others, "lines", others)):
        if count:
            tell.note(f"note: {{file}}: {{count}} {what}", file=path, count=number_of(count, units))
    return Prior.of_pairs(pairs.source, pairs.target, pairs.weight).scaled(evidence.weight)


def with_similarities(
    text: Numbered, matrices: Iterable[tuple[str, Any]], weight: float, path: str, tell: Reporter
) -> Numbered:
    """Return the text with the similarities of its pairs, by these matrices, which `path` has."""
    lengths = text.source.lengths, text.target.lengths
    known = Similarities.of(len(text), emission_factors(lengths, matrices, weight))
    found = int((known.begin[1:] > known.begin[:-1]).sum())
    if not found:
        raise DataError("no matrix for any pair; was it written to the end?", place=path)
    tell.note(f"similarities: of {found:,} of {number_of(len(text), 'pairs')}")
    return replace(text, similar=known)


def _note_other(model: Model, options: Options, text: Numbered, tell: Reporter) -> None:
    """Tell where a text is not like that of the model which training goes on with."""
    if options.lowercase != model.options.lowercase:
        ours, its = ("is", "is not") if options.lowercase else ("is not", "is")
        tell.note(f"note: the text {ours} put in lower case, but that of the model {its}")
    if options.tokenize != model.options.tokenize:
        tell.note(
            "note: the text is cut by {tokenize=}, but that of the model was by {other}",
            tokenize=options.tokenize, other=tell.spell("tokenize", model.options.tokenize),
        )  # fmt: skip
    for name, side, words, vocabulary in (
        ("source", text.source, text.source_words, model.source),
        ("target", text.target, text.target_words, model.target),
    ):
        first = side.tokens[:SAMPLE].tolist()
        note_unknown(name, sum(words[token] not in vocabulary.numbers for token in first), len(first), tell)


def _note_empty(text: Bitext, whole: bool, tell: Reporter) -> None:
    """Tell how many pairs have an empty side, and of a `whole` text, which is the first."""
    empty = np.flatnonzero((text.source.lengths == 0) | (text.target.lengths == 0))
    if len(empty):
        have = "has" if len(empty) == 1 else "have"
        first = f"{'' if len(empty) == 1 else 'the first is '}pair {empty[0] + 1:,}" if whole else ""
        tell.note(
            f"note: {len(empty):,} of {len(text):,} pairs {have} an empty side{first and f' ({first})'}; "
            "skipped in training, no links"
        )


def _note_little(text: Bitext, used: Array, times: int, tell: Reporter) -> None:
    """Tell if there are few pairs to learn from; `used`: as for `_note_unused`."""
    # Each pair once: those of the text stand `times` times before the background.
    different = int(used[: len(text)].sum()) + int(used[times * len(text) :].sum())
    if 0 < different < LITTLE_TEXT:
        tell.note(
            f"note: the text has only {number_of(different, 'pairs')} to learn from, so links are less "
            "certain than they seem; more text, a prior, a glossary or a model of other text helps"
        )


def _note_unused(text: Bitext, used: Array, times: int, limit: int, tell: Reporter) -> None:
    """Tell how many pairs took no part in training, and why; `used`: which did, of the text, repeated `times`
    times, and the background."""
    lengths, widths = text.source.lengths, text.target.lengths
    long = ((lengths > limit) | (widths > limit)) & (lengths > 0) & (widths > 0)
    if (long & used[: len(text)]).any():
        most = number_of(limit, "words")
        tell.note(f"note: every pair has more than {most} per side; they are used for training anyway")
    elif count := int(long.sum()):
        tell.note(
            f"note: {count:,} {'pair has' if count == 1 else 'pairs have'} more than "
            f"{number_of(limit, 'words')} per side; "
            "aligned, but not used for training"
        )
    if lost := int((~used[times * len(text) :]).sum()):
        tell.note(
            f"note: {number_of(lost, 'pairs')} of the background not learnt from: an empty side, or more "
            f"than {number_of(limit, 'words')}"
        )
