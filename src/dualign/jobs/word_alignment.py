"""Word alignment from files to files: `align` and `train`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from dualign.aligner import Aligner
from dualign.cluster.engines import check_model
from dualign.core.advancing import advance
from dualign.core.arrays import Array
from dualign.core.cards import card_of
from dualign.core.clocks import Clock, in_words
from dualign.core.errors import DataError, UsageError
from dualign.core.phases import phase
from dualign.core.threads import ordered_map
from dualign.core.workspace import Workspace
from dualign.infer.posteriors import LONGEST_IN_STEP
from dualign.jobs.chunked_alignment import (
    Chunk,
    align_chunks,
    chunks_of_files,
    chunks_of_text,
    note_raw,
    note_unknown,
)
from dualign.jobs.gold_tuning import Tuning, as_tuning, check_gold, linked
from dualign.jobs.knowledge import Knowledge
from dualign.jobs.link_output import Counts, Ids, Outputs, Piece, note_counts, write, write_page, write_pieces
from dualign.jobs.resuming import Resumable, about_run, check_resumable, extra_places
from dualign.jobs.running import SILENT, Run, job, one_standard_input, separate_outputs
from dualign.jobs.warming import DECODERS, WORD_ALIGNER, compile_kernels, load_kernels
from dualign.learn.training import NothingToLearn, usable
from dualign.model.model import Model
from dualign.model.options import Options
from dualign.model.storage import checked_path, refuse_other_files
from dualign.text.alignment import Alignment
from dualign.text.bitext import Bitext, Numbered, numbered
from dualign.text.checks import number_of
from dualign.text.cutting import Cutting
from dualign.text.line_blocks import BEGINNING, Place
from dualign.text.lines import read_lines, tokenize
from dualign.text.numbering import encode_blocks, encode_files
from dualign.text.pair_blocks import TextFiles
from dualign.text.pairs import Pair, check_separator
from dualign.text.places import refuse_inputs
from dualign.text.raw_signs import SAMPLE
from dualign.text.remote_files import is_remote
from dualign.text.sampling import as_count, sampled
from dualign.text.streams import check_input, check_output, is_regular, open_output, text_size

READ_LINES = 1 << 14
"""Lines that are read together when a sample is drawn, or a file has both sides."""

LITTLE_TEXT = 200
"""Fewer pairs are worth a note: on them, links are less certain than their probabilities say."""

LEAST_TO_TUNE = 20
"""Pairs with pinned links, at least, to tune by them, too: what is best for a few is worse for the text."""


@job
def align(
    source: str,
    target: str | None = None,
    output: str | Outputs = "-",
    *,
    load: str | None = None,
    tuning: str | Tuning | None = None,
    glossary: str | Knowledge | None = None,
    resume: bool = False,
    run: Run = SILENT,
    **options: Any,
) -> Aligner:
    """Align a bitext with the saved model `load`, or learn one from it first; returns the aligner.

    Without `target`, each line of `source` has both sides. `output` is the file of links, or all files to
    write. `tuning` chooses threshold and decoder parameters by gold links. `glossary` is a file of known
    translations, or all that is known. With `resume`, a run that was stopped goes on where it was (see
    `dualign.jobs.resuming`). For `options` see `dualign.Options`.
    """
    clock = Clock()
    outputs = output if isinstance(output, Outputs) else Outputs(output)
    tuning, known = as_tuning(tuning), Knowledge.of(glossary)
    ids = None if outputs.ids is None else Ids(outputs.ids)
    _check_outputs(source, target, outputs, load, resume, run)
    beside = [*(extra_places(outputs) if resume else []), run.profile]
    _check_places(outputs, source, target, load, tuning, known, beside)
    if outputs.model is not None:
        refuse_other_files(outputs.model, "name another file")
    if known.similarity and outputs.reads_lines:
        raise UsageError(
            "similarities are those of tokens; leave out the tokens, and positions other than tokens"
        )
    workspace = run.workspace()
    if load is None:
        chosen = Options.of(options)
        _note_idle(chosen, options, run, outputs)
        check_gold(tuning, outputs, chosen)
    _check_device(run)
    others = [*(["cutting"] if outputs.reads_lines or "tokenize" in options else [])]
    others += ["lines"] if load is not None or target is None else []
    loaded = None if load is None else _loaded(load, tuning, known, run).set_options(**options)
    _look_at(source, target, tuning, known, run, waits=outputs.at_once)
    _compile(run, *DECODERS.get(options.get("decoder", ""), WORD_ALIGNER), *others)
    bad = _BadLines(run)
    if loaded is not None:
        aligner = loaded
        _note_idle(aligner.options, options, run, outputs)
        check_gold(tuning, outputs, aligner.options)
        aligner.constraints = known.read_glossary(run)
        tell = bad.tell if outputs.at_once else None
        files = TextFiles(source, target, run.errors, aligner.cutting, tell)
        if outputs.at_once:
            aligner.threads = 1  # several would read ahead, and so wait for lines before answering
            aligner.card = None
        else:
            _note_device(aligner, aligner.constraints, run, learns=False)
        chunks, whole = _ready(aligner, files, tuning, run, outputs), Place(0, text_size(source))
    else:
        try:
            text, aligner = _learn(_Text(source, target), options, tuning, known, run, workspace)
        except NothingToLearn as error:
            if error.pairs == 0 or outputs.model or outputs.page or outputs.scores or outputs.posteriors:
                raise
            run.warn(f"{error}: all {error.pairs} lines of the output are empty")
            with open_output(outputs.links) as out:
                out.write("\n" * error.pairs)
            return Aligner(**_computing(run), **options)

        whole = Place(len(text))

        def chunks(begin: Place) -> Iterator[Chunk]:
            if outputs.reads_lines:
                files = TextFiles(source, target, run.errors, aligner.cutting)
                return chunks_of_files(aligner.model, files, keep=True, size=aligner.chunk)
            return chunks_of_text(aligner.model, text, aligner.chunk)

    if outputs.model is not None:
        aligner.save(outputs.model)
    if run.crew is not None:
        from dualign.jobs.cluster_alignment import align_on

        files = TextFiles(source, target, run.errors, aligner.cutting)
        counts = align_on(run.crew, aligner, files, outputs, run, learnt=load is None)
    elif resume:
        read = {"source": source, "target": target, "model": load, "glossary": known.glossary}
        about = about_run(read, aligner.options.as_dict(), outputs, run.errors)
        counts = _go_on(Resumable(outputs, about), aligner, chunks, whole, outputs, run)
    else:
        pieces = align_chunks(aligner, chunks(BEGINNING), outputs, run, ids)
        counts, kept = write(_advancing(pieces, whole), outputs, run)
        if outputs.page is not None:
            pairs = TextFiles(source, target, run.errors, aligner.cutting).pairs()
            named = {
                "source": source,
                "target": target,
                "model": load or outputs.model,
                "links": outputs.links,
            }
            write_page(outputs.page, list(pairs), kept, aligner, named)
    note_counts(counts, aligner, clock.seconds, run)
    if bad.count:
        raise DataError(f"no links for {number_of(bad.count, 'bad lines')}; see the warnings")
    return aligner


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
    _check_places(outputs, source, target, None, tuning, known, beside)
    refuse_other_files(output, "name the model with output=MODEL")
    workspace = run.workspace()
    if size is not None and known.similarity:
        raise UsageError(
            "similarities are those of the first pairs, but a sample is drawn; train on all pairs"
        )
    if size is not None and tuning is not None and tuning.pin:
        raise UsageError("a sample has other lines than the text that was corrected; train on all of it")
    if size is not None and tuning is not None and tuning.on_input and not _can_read_again(source, target):
        raise UsageError(
            "a sample reads the whole text, and tuning its first lines once more; name files for both sides"
        )
    _note_idle(Options.of(options), options, run, outputs, only_training=True)
    if seed and size is None:
        run.note(f"note: seed={seed} has no effect without a sample")
    _check_device(run)
    _look_at(source, target, tuning, known, run)
    _compile(run, *WORD_ALIGNER, *(("cutting",) if "tokenize" in options else ()))
    text = _Text(source, target, size, seed)
    numbered_text, aligner = _learn(text, options, tuning, known, run, workspace)
    aligner.save(output)
    run.note(f"learnt from {number_of(len(numbered_text), 'pairs')} in {in_words(clock.seconds)}: {output}")
    return aligner


def _loaded(load: str, tuning: Tuning | None, known: Knowledge, run: Run) -> Aligner:
    """The aligner with a saved model, unless something was asked that only training can do."""
    for what, given in (("a prior", known.prior or known.model), ("background text", known.background)):
        if given:
            raise UsageError(f"{what} is for training, but a saved model is given; train with it first")
    if known.similarity:
        raise UsageError("similarities are for the text that is learnt from; leave the saved model out")
    if tuning is not None and (tuning.early_stop or tuning.pin):
        what = "gold links are pinned" if tuning.pin else "early stopping is for"
        raise UsageError(f"{what} {'in ' * tuning.pin}training, but a saved model is given")
    return Aligner.load(load, **_computing(run))


def _look_at(
    source: str, target: str | None, tuning: Tuning | None, known: Knowledge, run: Run, *, waits: bool = False
) -> None:
    """Refuse, before kernels are compiled, files that do not exist, and one file that has not both sides on
    its first line; not if the run `waits` for lines as they come."""
    labelled = () if tuning is None else (tuning.gold, tuning.source, tuning.target)
    for path in (source, target, *labelled, *known.inputs()):
        if path is not None:
            check_input(path)
    if target is None and is_regular(source) and not waits:
        for number, line in enumerate(read_lines(source, run.errors), 1):
            if tokenize(line):
                check_separator(line, f"{source}:{number}")
                return


def _computing(run: Run) -> dict[str, Any]:
    """The keywords of an `Aligner` that say where it computes."""
    return {"threads": run.threads, "device": run.device, "device_memory": run.device_memory}


def _check_device(run: Run) -> None:
    """Refuse a card that cannot be used before the work."""
    if run.device != "auto":
        card_of(run.device, run.device_memory)


def _note_device(
    aligner: Aligner,
    constraints: object,
    run: Run,
    *,
    learns: bool = True,
    pinned: bool = False,
    similar: bool = False,
) -> None:
    """Tell what a card leaves to the processor."""
    if aligner.card is None:
        return
    from dualign.device.card_candidates import why_not_align
    from dualign.device.card_posteriors import why_not

    if learns and (reason := why_not(aligner.options, constraints, pinned, similar)) is not None:
        run.note(f"note: the card does not do {reason}; training runs on the processor")
    if (reason := why_not_align(aligner.options, constraints)) is not None:
        run.note(f"note: the card does not do {reason}; links are chosen on the processor")


class _BadLines:
    """Lines that could not be read, but do not end the work: somebody waits for the next answer."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.count = 0

    def tell(self, message: str) -> None:
        self.count += 1
        self._run.warn(message)


def _advancing(pieces: Iterable[Piece], whole: Place) -> Iterator[Piece]:
    """Tell how much of the text, of so many bytes or lines, is done; nothing if that is not known."""
    for piece in pieces:
        if whole.source:
            advance(piece.end.source / whole.source)
        elif whole.line:
            advance(piece.end.line / whole.line)
        yield piece


def _go_on(
    parts: Resumable,
    aligner: Aligner,
    chunks: Callable[[Place], Iterable[Chunk]],
    whole: Place,
    outputs: Outputs,
    run: Run,
) -> Counts:
    """Align what an earlier run has left."""
    with parts.opened():
        if parts.place.line:
            run.note(f"going on after {number_of(parts.place.line, 'pairs')}")
        if not parts.is_complete:
            pieces = align_chunks(aligner, chunks(parts.place), outputs, run)
            write_pieces(_advancing(pieces, whole), parts, parts.counts, run)
    return parts.counts


class _Text(NamedTuple):
    """The files of a text to learn from: both sides, or one with both; how many pairs to draw, if not all."""

    source: str
    target: str | None
    sample: int | None = None
    seed: int = 0


def _compile(run: Run, *names: str) -> None:
    """Compile kernels, and let the workers of a cluster load theirs while the text is read."""
    if run.crew is None:
        compile_kernels(run.note, *names)
    else:
        compile_kernels(run.note, *names, "lines", "cluster")
        run.crew.prepare(load_kernels)


def _learn(
    given: _Text,
    options: dict[str, Any],
    tuning: Tuning | None,
    known: Knowledge,
    run: Run,
    workspace: Workspace,
) -> tuple[Numbered, Aligner]:
    """Train an aligner, tuned if there is gold; returns the bitext, numbered, and the aligner."""
    prior, constraints = known.read_prior(run), known.read_glossary(run)
    if prior is not None and prior.begin is not None:
        options = prior.begin.options.as_dict() | options
    aligner = Aligner(**_computing(run), **options)
    if run.crew is not None:
        check_model(aligner.options.model)
    pin = tuning is not None and tuning.pin
    _note_device(aligner, constraints, run, pinned=pin, similar=known.similarity is not None)
    gold = None if tuning is None else tuning.read_gold(run.errors)
    first = gold.lines[-1] + 1 if tuning is not None and gold is not None and tuning.on_input else 0
    begin, text = _read(given, aligner, first, run, workspace)
    labelled: Sequence[Pair] | Numbered = (
        [] if tuning is None or gold is None else tuning.pairs(begin, gold, run.errors, aligner.cutting)
    )
    text = known.with_similarities(text, run)
    if known.similarity is not None and tuning is not None and gold is not None and tuning.on_input:
        labelled = text.chosen(np.isin(np.arange(len(text)), gold.lines))
    areas: list[float] = []
    judge = None
    if tuning is not None and gold is not None and tuning.early_stop:
        from dualign.jobs.tuning import area_judge

        area = area_judge(labelled, gold.links, aligner.threads)

        def judge(model: Model) -> float:
            areas.append(area(model))
            return areas[-1]

    learnt, times = text, 1
    if known.background is not None:
        other = _encode_files(*known.background, aligner, run, workspace, aligner.cutting)
        times = known.times or text.times_over(other)
        learnt = text.with_background(other, times, workspace)
        counts = "" if times == 1 else f"; each of the text's counts like {times} of it"
        run.note(f"background: {number_of(len(other), 'pairs')}{counts}")
    if max(int(side.lengths.max(initial=0)) for side in (learnt.source, learnt.target)) > LONGEST_IN_STEP:
        compile_kernels(run.note, "long")
    sides = (text.source.tokens, text.source_words), (text.target.tokens, text.target_words)
    note_raw(lambda side: sides[side], aligner.cutting, run)
    if len(learnt) < LITTLE_TEXT and prior is None and constraints is None:
        run.note(
            f"note: the text has only {number_of(len(text), 'pairs')} to learn from, so links are less "
            "certain than they seem; more text, a prior, a glossary or a model of other text helps"
        )
    if prior is not None and prior.begin is not None:
        _note_other(prior.begin, aligner.options, text, run)
    run.progress(0, "train")
    pinned = None
    if tuning is not None and gold is not None and tuning.pin:
        again = [line + n * len(text) for n in range(times) for line in gold.lines]
        pinned = dict(zip(again, times * gold.links, strict=True))
    try:
        aligner.fit(
            learnt,
            report=run.round,
            judge=judge,
            constraints=constraints,
            workspace=workspace,
            gold=pinned,
            prior=prior,
            client=run.crew,
        )
    except NothingToLearn:
        raise NothingToLearn(len(text)) from None  # without the background
    limit = aligner.options.max_length
    used = usable(learnt, limit)
    _note_unused(text, used[: len(text)], limit, run)
    if lost := int((~used[times * len(text) :]).sum()):
        run.note(
            f"note: {number_of(lost, 'pairs')} of the background not learnt from: an empty side, or more "
            f"than {limit} words"
        )
    if judge is not None:
        numbers = [progress.number for progress in aligner.history][len(aligner.history) - len(areas) :]
        run.note(_kept_round(areas, numbers, aligner.options))
    if pinned is not None and gold is not None and (count := linked(gold)) < LEAST_TO_TUNE:
        run.note(
            f"note: training keeps to the gold links, but nothing is tuned by them: {count} of the pairs "
            f"have any, and it takes {LEAST_TO_TUNE}"
        )
    elif gold is not None:
        _tune(aligner, labelled, gold.links, run)
    return text, aligner


def _read(
    given: _Text, aligner: Aligner, first: int, run: Run, workspace: Workspace
) -> tuple[list[Pair], Numbered]:
    """The first pairs of a text, as many as are wanted, and the numbered text, or a sample of it."""
    source, target, size, seed = given
    lowercase, threads, cutting = aligner.options.lowercase, aligner.threads, aligner.cutting
    files = TextFiles(source, target, run.errors, cutting)
    begin: list[Pair] = []
    if first and not _can_read_again(source, target):
        pairs = files.pairs()
        begin = list(islice(pairs, first))
        return begin, numbered(chain(begin, pairs), lowercase)
    if first:
        begin = list(islice(files.pairs(), first))
    if size is None:
        _check_disk((source, target), workspace)
    if target is not None and size is None:
        return begin, _encode_files(source, target, aligner, run, workspace, cutting)
    plain = ordered_map(files.tokens, files.blocks(READ_LINES), threads)
    if size is None:
        with phase("reading"):
            text = encode_blocks(plain, lowercase, ascii=cutting.ascii, threads=threads, workspace=workspace)
        return begin, text
    with sampled(plain, size, seed, workspace.folder) as sample:
        if sample.size < size:
            run.note(
                f"note: the text has only {number_of(sample.lines, 'pairs')}; the sample is the whole text"
            )
        cut = Cutting(ascii=cutting.ascii)
        return begin, _encode_files(sample.source, sample.target, aligner, run, workspace, cut)


def _check_disk(paths: tuple[str | None, ...], workspace: Workspace) -> None:
    """Refuse, before the work, a text that needs more scratch files than there is room for on the disk.

    The arrays of a text that can lie there, in training, are about twice as large as its files.
    """
    size = sum(map(text_size, paths))
    workspace.expect(max(0, 2 * size - workspace.memory // 2))


def _encode_files(
    source: str, target: str, aligner: Aligner, run: Run, workspace: Workspace, cutting: Cutting
) -> Numbered:
    """Number the words of two files."""
    with phase("reading"):
        return encode_files(
            source,
            target,
            aligner.options.lowercase,
            errors=run.errors,
            cutting=cutting,
            threads=aligner.threads,
            workspace=workspace,
        )


def _ready(
    aligner: Aligner, files: TextFiles, tuning: Tuning | None, run: Run, outputs: Outputs
) -> Callable[[Place], Iterator[Chunk]]:
    """The chunks, from a place on, of a text to align by a saved model, which is tuned first."""
    if tuning is not None:
        gold = tuning.read_gold(run.errors)
        pairs = files.pairs()
        begin = list(islice(pairs, gold.lines[-1] + 1)) if tuning.on_input else []
        _tune(aligner, tuning.pairs(begin, gold, run.errors, files.cutting), gold.links, run)
        if tuning.on_input and not _can_read_again(files.source, files.target):
            if outputs.reads_lines:
                raise UsageError(
                    "tuning on the input reads it a second time; name files instead of - and pipes"
                )
            return lambda _: chunks_of_text(aligner.model, chain(begin, pairs), aligner.chunk)
    return lambda place: chunks_of_files(
        aligner.model, files, place, keep=outputs.reads_lines, size=aligner.chunk
    )


def _can_read_again(source: str, target: str | None) -> bool:
    return is_regular(source) and (target is None or is_regular(target))


def _tune(aligner: Aligner, pairs: Sequence[Pair] | Numbered, gold: Sequence[Alignment], run: Run) -> None:
    from dualign.jobs.tuning import tune

    chosen = ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in tune(aligner, pairs, gold).items()
    )
    run.note(f"tuned on {number_of(len(gold), 'pairs')}: {chosen}")


def _kept_round(areas: Sequence[float], numbers: Sequence[int], options: Options) -> str:
    """Which round early stopping has kept, by the areas under the curve after the rounds that it judged."""
    if not areas:
        return f"note: early_stop=True has no effect with model={options.model} and rounds={options.rounds}"
    kept = areas.index(max(areas))
    return (
        f"early stop: kept round {numbers[kept]} of {options.rounds}, area under the curve {areas[kept]:.4f}"
    )


def _note_idle(
    options: Options, given: dict[str, Any], run: Run, outputs: Outputs, *, only_training: bool = False
) -> None:
    """Tell which of the given options have no effect on what is written.

    With `only_training`, that is a model: it keeps the options that wait for another decoder.
    """
    # The score of viterbi's links, which reports have, is relative to the threshold.
    scored = options.decoder == "viterbi" and (outputs.report or outputs.page)
    for name, other in options.idle([name for name in given if not (scored and name == "threshold")]):
        if other == "model" or not only_training:
            run.note(f"note: {name}={given[name]} has no effect with {other}={getattr(options, other)}")


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


def _note_unused(text: Bitext, used: Array, limit: int, run: Run) -> None:
    """Tell how many pairs took no part in training, and why; `used`: those that did."""
    lengths, widths = text.source.lengths, text.target.lengths
    if empty := int(((lengths == 0) | (widths == 0)).sum()):
        have = "has" if empty == 1 else "have"
        run.note(
            f"note: {empty:,} of {len(text):,} pairs {have} an empty side; skipped in training, no links"
        )
    long = ((lengths > limit) | (widths > limit)) & (lengths > 0) & (widths > 0)
    if (long & used).any():
        run.note(f"note: every pair has more than {limit} words per side; they are used for training anyway")
    elif count := int(long.sum()):
        run.note(
            f"note: {count:,} {'pair has' if count == 1 else 'pairs have'} more than {limit} words per side; "
            "aligned, but not used for training"
        )


def _check_outputs(
    source: str, target: str | None, outputs: Outputs, load: str | None, resume: bool, run: Run
) -> None:
    """Refuse what cannot be written from such a text, or not in such a way, before the work."""
    if outputs.page is not None and "-" in (source, target):
        raise UsageError("the page about the run reads the text a second time; name files instead of -")
    if outputs.reads_lines and load is None and not _can_read_again(source, target):
        raise UsageError(
            "what is written about the words reads the text a second time, after training; "
            "name files instead of - and pipes, or align with a saved model"
        )
    if outputs.at_once and load is None:
        raise UsageError("line_buffered=True needs a saved model: training needs the whole text")
    if run.crew is not None:
        from dualign.jobs.cluster_alignment import refuse_outputs

        refuse_outputs(outputs, resume)
        if not _can_read_again(source, target):
            raise UsageError("a cluster reads the text again when it goes on; name files instead of -")
    if resume and outputs.ids is not None:
        raise UsageError("resume=True cannot write ids; leave them out")
    if outputs.posteriors is not None and not outputs.posteriors.endswith(".npz"):
        raise UsageError(f"posteriors={outputs.posteriors}: an archive of matrices; name it FILE.npz")
    if resume:
        check_resumable(outputs, load, source, target)


def _check_places(
    outputs: Outputs,
    source: str,
    target: str | None,
    model: str | None,
    tuning: Tuning | None,
    known: Knowledge,
    beside: Sequence[str | None] = (),
) -> None:
    """Refuse before the work what could not be written after it: two outputs in one place, or in that of an
    input, or in a folder that does not exist. `beside` are further files that will be written, or None."""
    labelled = (None, None, None) if tuning is None else (tuning.gold, tuning.source, tuning.target)
    one_standard_input(source, target, *labelled, *known.inputs())
    if outputs.model is not None:
        checked_path(outputs.model)
    places = [*outputs.places(), *(os.fspath(place) for place in beside if place is not None)]
    refuse_inputs(places, (source, target, model, *labelled, *known.inputs()))
    separate_outputs(*places)
    for place in places:
        if is_remote(place):
            continue
        if place != "-" and not os.path.isdir(folder := os.path.dirname(os.path.realpath(place))):
            raise DataError(f"{place}: there is no folder {folder} to write to; make it first")
        if place != "-" and os.path.isdir(place):
            raise DataError(f"{place}: a directory; name a file to write")
        check_output(place)
