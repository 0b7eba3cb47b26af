"""Training from files: `train`, and the first half of `align`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import UsageError
from dualign._core.files.container import refuse_other_files
from dualign._core.files.streams import text_size
from dualign._core.memory import Workspace
from dualign._core.progress import Clock, in_words, phase
from dualign._core.threads import ordered_map
from dualign.aligner import Aligner
from dualign.engines.dask.engine import check_model
from dualign.hmm.model import Model
from dualign.hmm.posteriors import LONGEST_IN_STEP
from dualign.hmm.training import NothingToLearn, usable
from dualign.jobs.before_work import (
    can_read_again,
    check_device,
    check_places,
    compile_for,
    computing,
    look_at,
    note_device,
    note_idle,
)
from dualign.jobs.chunked_alignment import note_raw, note_unknown
from dualign.jobs.gold_tuning import Tuning, as_tuning, linked, tune_by
from dualign.jobs.knowledge import Knowledge
from dualign.jobs.link_output import Outputs
from dualign.jobs.plain_files import names_of
from dualign.jobs.running import SILENT, Run, job
from dualign.jobs.warming import WORD_ALIGNER, compile_kernels
from dualign.options import Options
from dualign.text.blocks import Pair, TextBlock, read_blocks
from dualign.text.checks import number_of
from dualign.text.corpus import Bitext, Numbered
from dualign.text.gold import Gold
from dualign.text.numbering import LINES, encode_text
from dualign.text.sampling import as_count, sampled
from dualign.text.similarities import SIMILARITY_WEIGHT
from dualign.text.text_files import TextFiles
from dualign.text.tokenizing import SAMPLE, Cutting

LITTLE_TEXT = 200
"""Fewer pairs are worth a note: on them, links are less certain than their probabilities say."""

LEAST_TO_TUNE = 20
"""Pairs with pinned links, at least, to tune by them, too: what is best for a few is worse for the text."""


class TrainingText(NamedTuple):
    """The files of a text to learn from: both sides, or one with both; how many pairs to draw, if not all."""

    source: str
    target: str | None
    sample: int | None = None
    seed: int = 0


@job
def train(
    source: str,
    target: str | None,
    output: str,
    *,
    tuning: str | Tuning | None = None,
    glossary: str | Knowledge | None = None,
    sample: int | str | None = None,
    seed: int = 0,
    run: Run = SILENT,
    **options: Any,
) -> Aligner:
    """Train a model on a bitext and save it as `output`; returns the aligner. Keywords as for `align`.

    With a `sample`, learn from that many pairs, such as 500000 or "2.5M", drawn at random from the whole text
    by a generator with this `seed`.
    """
    clock = Clock()
    tuning, known = as_tuning(tuning), Knowledge.of(glossary)
    outputs = Outputs(model=output)
    size = None if sample is None else as_count(sample)
    # The profile has standard output for itself: there are no links.
    beside = [] if run.profile == "-" else [run.profile]
    check_places(outputs, source, target, None, tuning, known, beside)
    refuse_other_files(output, "name the model with output=MODEL")
    workspace = run.workspace()
    if size is not None and known.similarity:
        raise UsageError(
            "similarities are those of the first pairs, but a sample is drawn; train on all pairs"
        )
    if size is not None and tuning is not None and tuning.pin:
        raise UsageError("a sample has other lines than the text that was corrected; train on all of it")
    if size is not None and tuning is not None and tuning.on_input and not can_read_again(source, target):
        raise UsageError(
            "a sample reads the whole text, and tuning its first lines once more; name files for both sides"
        )
    note_idle(Options.of(options), options, run, outputs, only_training=True)
    if seed and size is None:
        run.note(f"note: seed={seed} has no effect without a sample")
    check_device(run)
    look_at(source, target, tuning, known, run)
    compile_for(run, *WORD_ALIGNER, *(("cutting",) if "tokenize" in options else ()))
    text = TrainingText(source, target, size, seed)
    numbered_text, aligner = learn(text, options, tuning, known, run, workspace)
    aligner.save(output)
    known.note_found(aligner.constraints, run)
    run.note(f"learnt from {number_of(len(numbered_text), 'pairs')} in {in_words(clock.seconds)}: {output}")
    return aligner


def learn(
    given: TrainingText,
    options: dict[str, Any],
    tuning: Tuning | None,
    known: Knowledge,
    run: Run,
    workspace: Workspace,
    positions: str | None = None,
) -> tuple[Numbered, Aligner]:
    """Train an aligner, tuned if there is gold; returns the bitext, numbered, and the aligner.

    `positions`: what links will be on, if any are to be written.
    """
    prior = known.read_prior(run)
    if prior is not None and prior.begin is not None:
        options = prior.begin.options.as_dict() | options
    aligner = Aligner(**computing(run), **options)
    constraints = known.read_glossary(run, aligner.cutting)
    if run.crew is not None:
        check_model(aligner.options.model)
        if known.similarity is not None:
            raise UsageError("a cluster does not know similarities; train on one machine")
    pin = tuning is not None and tuning.pin
    note_device(aligner, constraints, run, pinned=pin, similar=known.similarity is not None)
    gold = None if tuning is None else tuning.read_gold(run.errors)
    text, labelled = _texts(given, aligner, gold, tuning, run, workspace)
    other, times = _background(text, known, aligner, run, workspace)
    about: dict[str, Any] = {"constraints": constraints, "workspace": workspace, "prior": prior}

    def together(part: Numbered) -> Numbered:
        return part if other is None else part.with_background(other, times, workspace)

    def learn_from(part: Numbered) -> Model:
        trial = Aligner(**computing(run), **aligner.options.as_dict())
        return trial.fit(together(part), **about).model

    if known.similarity is not None:
        text = _with_similarities(text, known, labelled, gold, learn_from, run, aligner.threads)
    learnt = together(text)
    judge = None
    if tuning is not None and gold is not None and tuning.early_stop:
        judge = _AreaJudge(labelled.of(text), gold, aligner.threads)
    if max(int(side.lengths.max(initial=0)) for side in (learnt.source, learnt.target)) > LONGEST_IN_STEP:
        compile_kernels(run.note, "long")
    sides = (text.source.tokens, text.source_words), (text.target.tokens, text.target_words)
    note_raw(lambda side: sides[side], aligner.cutting, positions, run)
    used = usable(learnt, aligner.options.max_length, aligner.threads)
    # Each pair once: those of the text stand `times` times before the background.
    different = int(used[: len(text)].sum()) + int(used[times * len(text) :].sum())
    if 0 < different < LITTLE_TEXT and prior is None and constraints is None:
        run.note(
            f"note: the text has only {number_of(different, 'pairs')} to learn from, so links are less "
            "certain than they seem; more text, a prior, a glossary or a model of other text helps"
        )
    if prior is not None and prior.begin is not None:
        _note_other(prior.begin, aligner.options, text, run)
    run.progress(0, "train")
    pinned = None
    if pin and gold is not None:
        again = [line + n * len(text) for n in range(times) for line in gold.lines]
        pinned = dict(zip(again, times * gold.links, strict=True))
    try:
        aligner.fit(learnt, report=run.round, judge=judge, gold=pinned, client=run.crew, **about)
    except NothingToLearn:
        place = names_of(given.source, given.target)
        raise NothingToLearn(len(text), place) from None  # without the background
    _note_empty(text, given.sample is None, run)
    _note_unused(text, used, times, aligner.options.max_length, run)
    if judge is not None:
        run.note(judge.kept(aligner))
    if pinned is not None and gold is not None and (count := linked(gold)) < LEAST_TO_TUNE:
        run.note(
            f"note: training keeps to the gold links, but nothing is tuned by them: {count} of the pairs "
            f"have any, and it takes {LEAST_TO_TUNE}"
        )
    elif gold is not None:
        tune_by(aligner, labelled.of(text), gold.links, run)
    return text, aligner


class _AreaJudge:
    """Judges a model by the area under the precision-recall curve of pairs with gold links."""

    def __init__(self, pairs: Sequence[Pair] | Numbered, gold: Gold, threads: int) -> None:
        from dualign.jobs.tuning import area_judge

        self._area: Callable[[Model], float] = area_judge(pairs, gold.links, threads)
        self._areas: list[float] = []

    def __call__(self, model: Model) -> float:
        self._areas.append(self._area(model))
        return self._areas[-1]

    def kept(self, aligner: Aligner) -> str:
        """Which round early stopping has kept."""
        areas, options = self._areas, aligner.options
        if not areas:
            return (
                f"note: early_stop=True has no effect with model={options.model} and rounds={options.rounds}"
            )
        best = areas.index(max(areas))
        number = aligner.history[len(aligner.history) - len(areas) + best].number
        return f"early stop: kept round {number} of {options.rounds}, area under the curve {areas[best]:.4f}"


def _texts(
    given: TrainingText,
    aligner: Aligner,
    gold: Gold | None,
    tuning: Tuning | None,
    run: Run,
    workspace: Workspace,
) -> tuple[Numbered, Labelled]:
    """The numbered text, and which of its pairs, or which others, have gold links."""
    if tuning is None or gold is None:
        return _read(given, aligner, 0, run, workspace)[1], Labelled([])
    first = gold.lines[-1] + 1 if tuning.on_input else 0
    begin, text = _read(given, aligner, first, run, workspace)
    pairs = tuning.pairs(begin, gold, run.errors, aligner.cutting)
    return text, Labelled(pairs, np.isin(np.arange(len(text)), gold.lines) if tuning.on_input else None)


class Labelled(NamedTuple):
    """Pairs with gold links; `mine`: which pairs of the text they are, bool, if they are of it."""

    pairs: Sequence[Pair]
    mine: Array | None = None

    def of(self, text: Numbered) -> Sequence[Pair] | Numbered:
        """The same pairs, with the similarities that the text has for them."""
        return self.pairs if self.mine is None or len(text.similar.begin) == 0 else text.chosen(self.mine)


def _background(
    text: Numbered, known: Knowledge, aligner: Aligner, run: Run, workspace: Workspace
) -> tuple[Numbered | None, int]:
    """Other text to learn from, if there is any, and how often the text is repeated beside it."""
    if known.background is None:
        return None, 1
    files = TextFiles(*known.background, errors=run.errors, cutting=aligner.cutting)
    other = _encoded(files, read_blocks(files, LINES), aligner, workspace)
    times = known.times or text.times_over(other)
    counts = "" if times == 1 else f"; each of the text's counts like {times} of it"
    run.note(f"background: {number_of(len(other), 'pairs')}{counts}")
    return other, times


def _with_similarities(
    text: Numbered,
    known: Knowledge,
    labelled: Labelled,
    gold: Gold | None,
    learn_from: Callable[[Numbered], Model],
    run: Run,
    threads: int,
) -> Numbered:
    """The text with its similarities; without a weight, that of most use for the gold links, if there are."""
    matrices: Iterable[tuple[str, Any]] = known.read_similarities(run)
    weight = known.similarity_weight
    if weight is None and gold is not None and linked(gold) >= LEAST_TO_TUNE:
        from dualign.jobs.similarity_weight import tuned_weight

        kept = list(matrices)

        def weighted(trial: float) -> tuple[Numbered, Sequence[Pair] | Numbered]:
            similar = known.with_similarities(text, kept, trial, SILENT)
            return similar, labelled.of(similar)

        weight, matrices = tuned_weight(weighted, kept, gold.links, learn_from, run, threads), kept
    return known.with_similarities(text, matrices, SIMILARITY_WEIGHT if weight is None else weight, run)


def _read(
    given: TrainingText, aligner: Aligner, first: int, run: Run, workspace: Workspace
) -> tuple[list[Pair], Numbered]:
    """The first pairs of a text, as many as are wanted, and the numbered text, or a sample of it."""
    files = TextFiles(given.source, given.target, errors=run.errors, cutting=aligner.cutting)
    begin: list[Pair] = []

    def blocks() -> Iterator[TextBlock]:
        for block in read_blocks(files, LINES):
            if len(begin) < first:
                begin.extend(islice(block.pairs(), first - len(begin)))
            yield block

    if given.sample is None:
        _check_disk(files, workspace)
        return begin, _encoded(files, blocks(), aligner, workspace)
    tokens = ordered_map(TextBlock.tokens, blocks(), aligner.threads)
    with sampled(tokens, given.sample, given.seed, workspace.folder) as sample:
        if sample.size < given.sample:
            run.note(
                f"note: the text has only {number_of(sample.lines, 'pairs')}; the sample is the whole text"
            )
        cut = Cutting(ascii=aligner.cutting.ascii)
        drawn = TextFiles(sample.source, sample.target, errors=run.errors, cutting=cut)
        return begin, _encoded(drawn, read_blocks(drawn, LINES), aligner, workspace)


def _check_disk(text: TextFiles, workspace: Workspace) -> None:
    """Refuse, before the work, a text that needs more scratch files than there is room for on the disk.

    The arrays of a text that can lie there, in training, are about twice as large as its files.
    """
    size = sum(map(text_size, text.files))
    workspace.expect(max(0, 2 * size - workspace.memory // 2))


def _encoded(
    text: TextFiles, blocks: Iterable[TextBlock], aligner: Aligner, workspace: Workspace
) -> Numbered:
    """Number the words of a text."""
    lowercase, threads = aligner.options.lowercase, aligner.threads
    with phase("reading"):
        return encode_text(text, blocks, lowercase, threads=threads, workspace=workspace)


def _note_other(model: Model, options: Options, text: Numbered, run: Run) -> None:
    """Tell where a text is not like that of the model which training goes on with."""
    if options.lowercase != model.options.lowercase:
        ours, its = ("is", "is not") if options.lowercase else ("is not", "is")
        run.note(f"note: the text {ours} put in lower case, but that of the model {its}")
    if options.tokenize != model.options.tokenize:
        run.note(
            f"note: the text is cut by tokenize={options.tokenize}, but that of the model was by "
            f"tokenize={model.options.tokenize}"
        )
    for name, side, words, vocabulary in (
        ("source", text.source, text.source_words, model.source),
        ("target", text.target, text.target_words, model.target),
    ):
        first = side.tokens[:SAMPLE].tolist()
        note_unknown(name, sum(words[token] not in vocabulary.numbers for token in first), len(first), run)


def _note_empty(text: Bitext, whole: bool, run: Run) -> None:
    """Tell how many pairs have an empty side, and of a `whole` text, which is the first."""
    empty = np.flatnonzero((text.source.lengths == 0) | (text.target.lengths == 0))
    if len(empty):
        have = "has" if len(empty) == 1 else "have"
        first = f"{'' if len(empty) == 1 else 'the first is '}pair {empty[0] + 1:,}" if whole else ""
        run.note(
            f"note: {len(empty):,} of {len(text):,} pairs {have} an empty side{first and f' ({first})'}; "
            "skipped in training, no links"
        )


def _note_unused(text: Bitext, used: Array, times: int, limit: int, run: Run) -> None:
    """Tell how many pairs took no part in training, and why; `used`: which did, of the text, repeated `times`
    times, and the background."""
    most = number_of(limit, "words")
    lengths, widths = text.source.lengths, text.target.lengths
    long = ((lengths > limit) | (widths > limit)) & (lengths > 0) & (widths > 0)
    if (long & used[: len(text)]).any():
        run.note(f"note: every pair has more than {most} per side; they are used for training anyway")
    elif count := int(long.sum()):
        run.note(
            f"note: {count:,} {'pair has' if count == 1 else 'pairs have'} more than {most} per side; "
            "aligned, but not used for training"
        )
    if lost := int((~used[times * len(text) :]).sum()):
        run.note(
            f"note: {number_of(lost, 'pairs')} of the background not learnt from: an empty side, or more "
            f"than {most}"
        )
