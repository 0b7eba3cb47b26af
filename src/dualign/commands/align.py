"""`dualign align`: links of a text, by a saved model or one that is trained first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from dualign._core.errors import DataError, UsageError
from dualign._core.fields import bundle, opt
from dualign._core.progress import Clock, advance
from dualign.commands.bundles import WITHOUT_MODEL, Computing, Evidence, Outputs, Tuning
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.options import Options
from dualign.text.blocks import TextFiles
from dualign.text.checks import number_of

if TYPE_CHECKING:
    from dualign.aligner import Aligner
    from dualign.commands.chunked_alignment import Chunk
    from dualign.commands.outputs import PairTotals, Piece
    from dualign.commands.plain_text import PlainText
    from dualign.hmm.training import NothingToLearn
    from dualign.text.blocks import Position
    from dualign.text.corpus import Numbered

FLAGS = (
    "tokenize whitespace skip_tokens decoder symmetrize threshold style agreement penalty unsupported model "
    "constraint rounds max_length lowercase"
)
"""The options of the aligner that have flags; the others are set by `--set`."""

CHUNK_MEMORY = 40 << 20
"""What a thread takes while it aligns a chunk, from the bytes of the text to those of the links."""


@dataclass(frozen=True)
class Align(Command):
    """Train on two parallel files and write the links of each line.

    A link is `i-j`: source word i and target word j, counted from 0. With --model nothing is
    trained: the saved model aligns the text, of any size, chunk by chunk. For a large text, train on a
    sample (dualign train --sample), then align all of it with the model.
    """

    shows_rate: ClassVar[bool] = True

    text: TextFiles = bundle(TextFiles)
    load: str | None = opt(
        None,
        "Align with this saved model instead of training one.",
        flag="--model",
        metavar="MODEL",
        file="in",
        model=True,
    )
    outputs: Outputs = bundle(Outputs)
    resume: bool = opt(False, "With --model: continue where the same command was stopped.")
    options: dict[str, Any] = bundle(Options, FLAGS, assignable=True, deferred=True)
    tuning: Tuning = bundle(Tuning)
    evidence: Evidence = bundle(Evidence, WITHOUT_MODEL)
    computing: Computing = bundle(Computing)

    def __post_init__(self) -> None:
        super().__post_init__()
        outputs, load = self.outputs, self.load
        if outputs.page is not None and "-" in (self.text.source, self.text.target):
            raise UsageError(
                "{html_report=} reads the text a second time; name files instead of -", html_report=...
            )
        if outputs.at_once and load is None:
            raise UsageError(
                "{line_buffered=} needs a saved model: training needs the whole text", line_buffered=True
            )
        if self.evidence.similarity and outputs.reads_lines:
            raise UsageError(
                "similarities are those of tokens; leave out the tokens, and positions other than tokens"
            )
        if load is not None:
            self._refuse_training()
        elif self.resume:
            raise UsageError(
                "{resume=} is for aligning with a saved model, training cannot go on where it was stopped; "
                "train a model first (dualign train), then align with it", resume=True,
            )  # fmt: skip

    def _refuse_training(self) -> None:
        """Refuse what only training can do."""
        evidence, tuning = self.evidence, self.tuning
        if tuning.pin:
            raise UsageError(
                "{gold=} is for training, but {load=} is given; to set the threshold, use {tune=}",
                gold=..., load=..., tune=...,
            )  # fmt: skip
        if tuning.early_stop:
            what = "{early_stop=} is for training, but {load=} is given"
            raise UsageError(what, early_stop=True, load=...)
        for what, given in (
            ("a prior", evidence.prior or evidence.model),
            ("background text", evidence.background),
        ):
            if given:
                raise UsageError(f"{what} is for training, but a saved model is given; train with it first")
        if evidence.similarity:
            raise UsageError("similarities are for the text that is learnt from; leave the saved model out")

    @property
    def main_output(self) -> str:
        """Where the links go."""
        return self.outputs.links

    def extra_outputs(self) -> list[str]:
        """Return the files that are written besides those that are named."""
        if not self.resume:
            return []
        from dualign.commands.resuming import extra_places

        return extra_places(self.outputs)

    def run(self, tell: Reporter) -> Aligner:
        """Read the text, load or train a model, and write the links."""
        from dualign.commands.outputs import note_counts
        from dualign.commands.plain_text import plain_text
        from dualign.text.blocks import Position

        clock, computing = Clock(), self.computing
        with ExitStack() as stack:
            plain = replace(self.text, errors=computing.errors)
            text = stack.enter_context(plain_text(plain, None, computing.scratch, tell))
            tuning, evidence = self.tuning, self.evidence
            if text.ids is not None:
                tuning = replace(tuning, ids=text.ids)
            crew = stack.enter_context(computing.crew(tell))
            outputs = self.outputs if text.ids is None else replace(self.outputs, ids=text.ids)
            self._check(text, outputs, crew, tell)
            bad = _BadLines(tell)
            hear = bad.tell if outputs.at_once else None
            files = TextFiles(text.source, text.target, errors=computing.errors, tell=hear)
            workspace = computing.workspace()
            if self.load is not None:
                aligner = self._loaded(tell)
                self._compile(crew, tell)
                self._note_idle(aligner.options, tell)
                aligner.constraints = evidence.read_glossary(computing.errors, aligner.cutting)
                workspace.reserve(sum(array.nbytes for array in aligner.model.lexicon))
                files = replace(files, cutting=aligner.cutting)
                chunks, end = self._chunks_for_saved(aligner, files, tuning, outputs, tell)
            else:
                self._note_idle(Options.of(self.options), tell)
                self._compile(crew, tell)
                from dualign.commands.training import Trainer, TrainingText
                from dualign.hmm.training import NothingToLearn

                trainer = Trainer(computing, crew, evidence, tuning, tell, workspace)
                given = TrainingText(text.source, text.target)
                try:
                    learnt, aligner = trainer.learn(given, self.options, outputs.positions)
                except NothingToLearn as error:
                    return self._write_nothing(error, files, outputs, tell)
                files = replace(files, cutting=aligner.cutting)
                chunks, end = _chunks_for_learnt(aligner, files, learnt, outputs), Position(len(learnt))
            self._note_cut(aligner, outputs, tell)
            if outputs.model is not None:
                aligner.save(outputs.model)
            threads = workspace.at_once(aligner.threads, CHUNK_MEMORY)
            work = _Work(aligner, files, chunks, end, outputs, threads)
            counts = self._write(work, evidence, crew, tell)
            if not self.resume and crew is None:  # which may have looked at a part of the text alone
                evidence.note_found(aligner.constraints, tell)
        note_counts(counts, aligner, clock.seconds, tell)
        if bad.count:
            raise DataError(f"no links for {number_of(bad.count, 'bad lines')}; see the warnings")
        return aligner

    def _check(self, text: PlainText, outputs: Outputs, crew: Any, tell: Reporter) -> None:
        """Refuse before the work what cannot be read or written, or not in such a way."""
        from dualign._core.files.container import checked_path, refuse_other_files
        from dualign.commands.notes import can_read_again, inspect_text

        source, target = text.source, text.target
        if outputs.model is not None:
            checked_path(outputs.model)
            refuse_other_files(outputs.model, "name another file")
        if outputs.reads_lines and self.load is None and not can_read_again(source, target):
            raise UsageError(
                "what is written about the words reads the text a second time, after training; name files "
                "instead of - and pipes, or align with a saved model"
            )
        if crew is not None:
            from dualign.commands.cluster_alignment import refuse_outputs

            refuse_outputs(outputs, self.resume)
            if not can_read_again(source, target):
                raise UsageError("a cluster reads the text again when it goes on; name files instead of -")
        if self.resume:
            from dualign.commands.resuming import check_resumable

            if text.copied:
                what = "{resume=} is for text files; write the columns of the table to files first"
                raise UsageError(what, resume=True)
            if outputs.ids is not None:
                raise UsageError("{resume=} cannot write ids; leave them out", resume=True)
            check_resumable(outputs, source, target)
        self.computing.check_device()
        if self.load is None:
            self._check_gold(Options.of(self.options))
        inspect_text(source, target, self.computing.errors, tell, waits=outputs.at_once)

    def _check_gold(self, options: Options) -> None:
        """Refuse gold links that were probably made for words, but would be read as links of tokens."""
        tuning, positions = self.tuning, self.outputs.positions
        if not tuning.is_wanted or not tuning.on_input or positions == "tokens" or options.tokenize == "none":
            return
        raise UsageError(
            "gold links count the tokens of {tokenize=}, but {positions=} is set; write the tokens with "
            "{tokens=}, and align and correct that text",
            tokenize=options.tokenize, positions=positions, tokens=...,
        )  # fmt: skip

    def _compile(self, crew: Any, tell: Reporter) -> None:
        from dualign.commands.notes import compile_for
        from dualign.commands.warming import DECODERS, WORD_ALIGNER

        names = DECODERS.get(self.options.get("decoder", ""), WORD_ALIGNER)
        cutting = self.outputs.reads_lines or "tokenize" in self.options
        lines = self.load is not None or self.text.target is None
        others = [*(["cutting"] if cutting else []), *(["lines"] if lines else [])]
        compile_for(crew, tell, *names, *others)

    def _loaded(self, tell: Reporter) -> Aligner:
        """Return the aligner with a saved model and the options that were given."""
        from dualign.aligner import Aligner

        assert self.load is not None
        aligner = Aligner.load(self.load, **self.computing.aligner_keywords()).set_options(**self.options)
        self._check_gold(aligner.options)
        return aligner

    def _note_idle(self, options: Options, tell: Reporter) -> None:
        from dualign.commands.notes import note_idle

        scored = bool(self.outputs.report or self.outputs.page)
        note_idle(options, self.options, tell, scored=scored)

    def _note_cut(self, aligner: Aligner, outputs: Outputs, tell: Reporter) -> None:
        """Tell that links are on tokens that nobody sees."""
        cutting = aligner.cutting
        if not outputs.reads_lines and (cutting.source is not None or cutting.target is not None):
            tell.note(
                "note: links count tokens as {tokenize=} cuts them, not the words of your files; "
                "{positions=} counts words, {tokens=} writes the tokens",
                tokenize=aligner.options.tokenize, positions="words", tokens="FILE",
            )  # fmt: skip

    def _chunks_for_saved(
        self, aligner: Aligner, files: TextFiles, tuning: Tuning, outputs: Outputs, tell: Reporter
    ) -> tuple[Chunks, Position]:
        """Return the text for a saved model, which is tuned first if that is wanted, and its size."""
        from dualign.commands.chunked_alignment import chunks_of_files, chunks_of_text
        from dualign.commands.notes import can_read_again, note_device
        from dualign.text.blocks import Position, read_pairs

        if outputs.at_once:
            aligner.threads = 1  # several would read ahead, and so wait for lines before answering
            aligner.card = None
        else:
            note_device(aligner, aligner.constraints, tell, learns=False)
        end = Position(0, files.size)
        if tuning.is_wanted:
            from dualign.commands.tuning import gold_of, pairs_with_gold, tune_by

            gold = gold_of(tuning, files.errors)
            pairs = read_pairs(files)
            begin = list(islice(pairs, gold.lines[-1] + 1)) if tuning.on_input else []
            tune_by(
                aligner, pairs_with_gold(tuning, begin, gold, files.errors, files.cutting), gold.links, tell
            )
            if tuning.on_input and not can_read_again(files.source, files.target):
                if outputs.reads_lines:
                    raise UsageError(
                        "tuning on the input reads it a second time; name files instead of - and pipes"
                    )
                return lambda _: chunks_of_text(aligner.model, chain(begin, pairs), aligner.chunk), end
        keep = outputs.reads_lines

        def chunks(place: Position) -> Iterator[Chunk]:
            return chunks_of_files(aligner.model, files, place, keep=keep, size=aligner.chunk)

        return chunks, end

    def _write_nothing(
        self, error: NothingToLearn, files: TextFiles, outputs: Outputs, tell: Reporter
    ) -> Aligner:
        """Write a line without links for each pair of a text in which no pair has words on both sides, unless
        something is to be written that needs a model."""
        from dualign.aligner import Aligner
        from dualign.commands.outputs import Ids, Printed, printed, write
        from dualign.decode.decoders import no_links
        from dualign.text.blocks import BEGINNING, Position, read_pairs

        pairs = error.pairs
        if outputs.model or outputs.page or (pairs and outputs.posteriors):
            raise error
        aligner = Aligner(**self.computing.aligner_keywords(), **self.options)
        files = replace(files, cutting=aligner.cutting)
        empty = (
            f"all {pairs} lines of the output are empty" if pairs > 1 else "the line of the output is empty"
        )
        found = empty if pairs else "the output is empty, too"
        tell.warn("{what}, so {found}", what=error.what, found=found)
        lines = None
        if outputs.reads_lines:
            tokens = "".join(f"{' '.join(left)}\t{' '.join(right)}\n" for left, right in read_pairs(files))
            lines = Printed(lambda _: b"\n" * pairs, tokens.encode())
        ids = None if outputs.ids is None else Ids(outputs.ids).of(0, pairs)
        piece = printed(no_links(pairs), outputs, BEGINNING, Position(pairs), 0.0, lines, ids)
        write([piece] if pairs else [], outputs, tell)
        return aligner

    def _write(self, work: _Work, evidence: Evidence, crew: Any, tell: Reporter) -> PairTotals:
        """Align the text: on a cluster, as a run that can be continued, or from its beginning to its end."""
        from dualign.commands.chunked_alignment import align_chunks
        from dualign.commands.outputs import Ids, write, write_page
        from dualign.text.blocks import BEGINNING, read_pairs

        aligner, files, outputs = work.aligner, work.files, work.outputs
        if crew is not None:
            from dualign.commands.cluster_alignment import align_on

            return align_on(crew, aligner, files, outputs, tell, learnt=self.load is None)
        if self.resume:
            return self._go_on(work, evidence, tell)
        ids = None if outputs.ids is None else Ids(outputs.ids)
        pieces = align_chunks(aligner, work.chunks(BEGINNING), outputs, tell, ids, work.threads)
        counts, kept = write(_advancing(pieces, work.end), outputs, tell)
        if outputs.page is not None:
            named = {"source": files.source, "target": files.target, "model": self.load or outputs.model}
            named["links"] = outputs.links
            write_page(outputs.page, list(read_pairs(files)), kept, aligner, named)
        return counts

    def _go_on(self, work: _Work, evidence: Evidence, tell: Reporter) -> PairTotals:
        """Align what an earlier run has left."""
        from dualign.commands.chunked_alignment import align_chunks
        from dualign.commands.outputs import write_pieces
        from dualign.commands.resuming import Resumable, about_run

        aligner, files, outputs = work.aligner, work.files, work.outputs
        read = {"source": files.source, "target": files.target, "model": self.load}
        read["glossary"] = evidence.glossary
        parts = Resumable(outputs, about_run(read, aligner.options.as_dict(), outputs, files.errors))
        with parts.opened():
            if parts.place.line:
                tell.note(f"going on after {number_of(parts.place.line, 'pairs')}")
            if not parts.is_complete:
                pieces = align_chunks(aligner, work.chunks(parts.place), outputs, tell, None, work.threads)
                write_pieces(_advancing(pieces, work.end), parts, parts.counts, tell)
        return parts.counts


Chunks = Callable[["Position"], Iterable["Chunk"]]
"""The chunks of a text from a place on."""


class _Work(NamedTuple):
    """A text to align, which ends at a place, in bytes or lines, if that is known; and where to write."""

    aligner: Aligner
    files: TextFiles
    chunks: Chunks
    end: Position
    outputs: Outputs
    threads: int


class _BadLines:
    """Lines that could not be read, but do not end the work: somebody waits for the next answer."""

    def __init__(self, tell: Reporter) -> None:
        self._tell = tell
        self.count = 0

    def tell(self, message: str) -> None:
        self.count += 1
        self._tell.warn("{message}", message=message)


def _chunks_for_learnt(aligner: Aligner, files: TextFiles, text: Numbered, outputs: Outputs) -> Chunks:
    """Return the text that the model was learnt from; it is read again if its lines are wanted."""
    from dualign.commands.chunked_alignment import chunks_of_files, chunks_of_text

    def chunks(_: Position) -> Iterator[Chunk]:
        if outputs.reads_lines:
            return chunks_of_files(aligner.model, files, keep=True, size=aligner.chunk)
        return chunks_of_text(aligner.model, text, aligner.chunk)

    return chunks


def _advancing(pieces: Iterable[Piece], whole: Position) -> Iterator[Piece]:
    """Tell how much of the text is done; `whole` is its end, and nothing is told if that is not known."""
    for piece in pieces:
        if whole.source:
            advance(piece.end.source / whole.source)
        elif whole.line:
            advance(piece.end.line / whole.line)
        yield piece
