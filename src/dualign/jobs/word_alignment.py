"""Word alignment from files to files: `align`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NamedTuple

from dualign._core.errors import DataError, UsageError
from dualign._core.files.container import refuse_other_files
from dualign._core.files.streams import check_input, text_size
from dualign._core.progress import Clock, advance
from dualign.aligner import Aligner
from dualign.decode.decoders import no_links
from dualign.hmm.training import NothingToLearn
from dualign.jobs.before_work import (
    can_read_again,
    check_device,
    check_outputs,
    check_places,
    compile_for,
    computing,
    look_at,
    note_cut,
    note_device,
    note_idle,
)
from dualign.jobs.chunked_alignment import CHUNK_MEMORY, Chunk, align_chunks, chunks_of_files, chunks_of_text
from dualign.jobs.gold_tuning import Tuning, as_tuning, check_gold, tune_by
from dualign.jobs.knowledge import Knowledge
from dualign.jobs.learning import TrainingText, learn
from dualign.jobs.link_output import (
    Ids,
    Outputs,
    PairTotals,
    Piece,
    Printed,
    note_counts,
    printed,
    write,
    write_page,
    write_pieces,
)
from dualign.jobs.resuming import Resumable, about_run, extra_places
from dualign.jobs.running import SILENT, Run, job
from dualign.jobs.warming import DECODERS, WORD_ALIGNER
from dualign.options import Options
from dualign.text.blocks import BEGINNING, Position, TextFiles
from dualign.text.checks import number_of
from dualign.text.corpus import Numbered


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
    check_outputs(source, target, outputs, load, resume, run)
    beside = [*(extra_places(outputs) if resume else []), run.profile]
    check_places(outputs, source, target, load, tuning, known, beside)
    if outputs.model is not None:
        refuse_other_files(outputs.model, "name another file")
    if known.similarity and outputs.reads_lines:
        raise UsageError(
            "similarities are those of tokens; leave out the tokens, and positions other than tokens"
        )
    if outputs.ids is not None:
        check_input(outputs.ids)
    workspace = run.workspace()
    if load is None:
        chosen = Options.of(options)
        note_idle(chosen, options, run, outputs)
        check_gold(tuning, outputs, chosen)
    check_device(run)
    others = [*(["cutting"] if outputs.reads_lines or "tokenize" in options else [])]
    others += ["lines"] if load is not None or target is None else []
    loaded = None if load is None else _loaded(load, tuning, known, run).set_options(**options)
    look_at(source, target, tuning, known, run, waits=outputs.at_once)
    names = DECODERS.get(options.get("decoder", ""), WORD_ALIGNER)
    compile_for(run, *names, *others)
    bad = _BadLines(run)
    files = TextFiles(source, target, run.errors, tell=bad.tell if outputs.at_once else None)
    if loaded is not None:
        aligner, files = loaded, files._replace(cutting=loaded.cutting)
        note_idle(aligner.options, options, run, outputs)
        check_gold(tuning, outputs, aligner.options)
        aligner.constraints = known.read_glossary(run, aligner.cutting)
        workspace.reserve(sum(array.nbytes for array in aligner.model.lexicon))
        text = _for_saved(aligner, files, tuning, outputs, run)
    else:
        try:
            learnt, aligner = learn(
                TrainingText(source, target), options, tuning, known, run, workspace, outputs.positions
            )
        except NothingToLearn as error:
            aligner = Aligner(**computing(run), **options)
            _write_nothing(error, files._replace(cutting=aligner.cutting), outputs, run)
            return aligner
        files = files._replace(cutting=aligner.cutting)
        text = _for_learnt(aligner, files, learnt, outputs)
    note_cut(files.cutting, aligner.options, outputs, run)
    if outputs.model is not None:
        aligner.save(outputs.model)
    run = replace(run, threads=workspace.at_once(aligner.threads, CHUNK_MEMORY))
    if run.crew is not None:
        from dualign.jobs.cluster_alignment import align_on

        counts = align_on(run.crew, aligner, files, outputs, run, learnt=load is None)
    elif resume:
        read = {"source": source, "target": target, "model": load, "glossary": known.glossary}
        about = about_run(read, aligner.options.as_dict(), outputs, run.errors)
        counts = _go_on(Resumable(outputs, about), aligner, text, outputs, run)
    else:
        counts = _write_all(aligner, text, files, outputs, load, run)
    if not resume:  # which may have looked at a part of the text alone
        known.note_found(aligner.constraints, run)
    note_counts(counts, aligner, clock.seconds, run)
    if bad.count:
        raise DataError(f"no links for {number_of(bad.count, 'bad lines')}; see the warnings")
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
    return Aligner.load(load, **computing(run))


class _BadLines:
    """Lines that could not be read, but do not end the work: somebody waits for the next answer."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.count = 0

    def tell(self, message: str) -> None:
        self.count += 1
        self._run.warn(message)


class _Text(NamedTuple):
    """A text to align: its chunks from a place on, and where it ends, in bytes or lines, if that is known."""

    chunks: Callable[[Position], Iterable[Chunk]]
    end: Position


def _for_saved(
    aligner: Aligner, files: TextFiles, tuning: Tuning | None, outputs: Outputs, run: Run
) -> _Text:
    """The text for a saved model, which is tuned first if that is wanted."""
    if outputs.at_once:
        aligner.threads = 1  # several would read ahead, and so wait for lines before answering
        aligner.card = None
    else:
        note_device(aligner, aligner.constraints, run, learns=False)
    end = Position(0, text_size(files.source))
    if tuning is not None:
        gold = tuning.read_gold(run.errors)
        pairs = files.pairs()
        begin = list(islice(pairs, gold.lines[-1] + 1)) if tuning.on_input else []
        tune_by(aligner, tuning.pairs(begin, gold, run.errors, files.cutting), gold.links, run)
        if tuning.on_input and not can_read_again(files.source, files.target):
            if outputs.reads_lines:
                raise UsageError(
                    "tuning on the input reads it a second time; name files instead of - and pipes"
                )
            return _Text(lambda _: chunks_of_text(aligner.model, chain(begin, pairs), aligner.chunk), end)
    return _Text(
        lambda place: chunks_of_files(
            aligner.model, files, place, keep=outputs.reads_lines, size=aligner.chunk
        ),
        end,
    )


def _for_learnt(aligner: Aligner, files: TextFiles, text: Numbered, outputs: Outputs) -> _Text:
    """The text that the model was learnt from; it is read again if somebody wants to know its lines."""

    def chunks(_: Position) -> Iterator[Chunk]:
        if outputs.reads_lines:
            return chunks_of_files(aligner.model, files, keep=True, size=aligner.chunk)
        return chunks_of_text(aligner.model, text, aligner.chunk)

    return _Text(chunks, Position(len(text)))


def _write_nothing(error: NothingToLearn, files: TextFiles, outputs: Outputs, run: Run) -> None:
    """A line without links for each pair of a text in which no pair has words on both sides, unless something
    is to be written that needs a model."""
    pairs = error.pairs
    if outputs.model or outputs.page or (pairs and outputs.posteriors):
        raise error
    written = f"all {pairs} lines of the output are empty" if pairs > 1 else "the line of the output is empty"
    run.warn(f"{error.what}, so {written if pairs else 'the output is empty, too'}")
    lines = None
    if outputs.reads_lines:
        tokens = "".join(f"{' '.join(left)}\t{' '.join(right)}\n" for left, right in files.pairs())
        lines = Printed(lambda _: b"\n" * pairs, tokens.encode())
    ids = None if outputs.ids is None else Ids(outputs.ids).of(0, pairs)
    piece = printed(no_links(pairs), outputs, BEGINNING, Position(pairs), 0.0, lines, ids)
    write([piece] if pairs else [], outputs, run)


def _write_all(
    aligner: Aligner, text: _Text, files: TextFiles, outputs: Outputs, load: str | None, run: Run
) -> PairTotals:
    """Align the text; `load`: where the model came from."""
    ids = None if outputs.ids is None else Ids(outputs.ids)
    pieces = align_chunks(aligner, text.chunks(BEGINNING), outputs, run, ids)
    counts, kept = write(_advancing(pieces, text.end), outputs, run)
    if outputs.page is not None:
        named = {
            "source": files.source,
            "target": files.target,
            "model": load or outputs.model,
            "links": outputs.links,
        }
        write_page(outputs.page, list(files.pairs()), kept, aligner, named)
    return counts


def _go_on(parts: Resumable, aligner: Aligner, text: _Text, outputs: Outputs, run: Run) -> PairTotals:
    """Align what an earlier run has left."""
    with parts.opened():
        if parts.place.line:
            run.note(f"going on after {number_of(parts.place.line, 'pairs')}")
        if not parts.is_complete:
            pieces = align_chunks(aligner, text.chunks(parts.place), outputs, run)
            write_pieces(_advancing(pieces, text.end), parts, parts.counts, run)
    return parts.counts


def _advancing(pieces: Iterable[Piece], whole: Position) -> Iterator[Piece]:
    """Tell how much of the text is done; `whole` is its end, and nothing is told if that is not known."""
    for piece in pieces:
        if whole.source:
            advance(piece.end.source / whole.source)
        elif whole.line:
            advance(piece.end.line / whole.line)
        yield piece
