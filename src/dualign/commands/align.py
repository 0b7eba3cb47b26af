"""`dualign align`: links of a text, by a saved model or one that is trained first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from dualign._core.errors import DataError, UsageError
from dualign._core.fields import bundle, opt
from dualign._core.progress import Clock
from dualign.commands.bundles import WITHOUT_MODEL, Computing, Evidence, Outputs, Tuning
from dualign.commands.command import (
    Command,
    check_model_output,
    compile_for,
    inspect_text,
    note_idle,
    text_of,
)
from dualign.commands.console import Reporter
from dualign.options import Options
from dualign.text.blocks import TextFiles
from dualign.text.checks import number_of

if TYPE_CHECKING:
    from dualign.aligner import Aligner
    from dualign.commands.outputs import PairTotals
    from dualign.hmm.training import NothingToLearn
    from dualign.text.blocks import Pair, Position
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
        for wrong, what in (
            (
                outputs.page is not None and "-" in (self.text.source, self.text.target),
                "{html_report=} reads the text a second time; name files instead of -",
            ),
            (
                outputs.at_once and load is None,
                "{line_buffered=} needs a saved model: training needs the whole text",
            ),
            (
                self.evidence.similarity and outputs.reads_lines,
                "similarities are those of tokens; leave out the tokens, and positions other than tokens",
            ),
            (
                self.resume and load is None,
                "{resume=} is for aligning with a saved model, training cannot go on where it was stopped; "
                "train a model first (dualign train), then align with it",
            ),
        ):
            if wrong:
                raise UsageError(what, html_report=..., line_buffered=True, resume=True)
        if load is not None:
            self._refuse_training()

    def _refuse_training(self) -> None:
        """Refuse what only training can do."""
        evidence, tuning = self.evidence, self.tuning
        saved = "is for training, but a saved model is given; train with it first"
        for given, what in (
            (tuning.pin, "{gold=} is for training, but {load=} is given; to set the threshold, use {tune=}"),
            (tuning.early_stop, "{early_stop=} is for training, but {load=} is given"),
            (evidence.prior or evidence.model, f"a prior {saved}"),
            (evidence.background, f"background text {saved}"),
            (
                evidence.similarity,
                "similarities are for the text that is learnt from; leave the saved model out",
            ),
        ):
            if given:
                raise UsageError(what, gold=..., load=..., tune=..., early_stop=True)

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
        from dualign.hmm.training import NothingToLearn

        clock, outputs, bad = Clock(), self.outputs, _BadLines(tell)
        hear = bad.tell if outputs.at_once else None
        reading = text_of(self.text, self.computing, outputs.ids, hear)
        with reading as text, self.computing.crew(tell) as crew:
            self._check(text, crew, tell)
            try:
                work = (self._trained if self.load is None else self._loaded)(text, crew, tell)
            except NothingToLearn as error:
                return self._write_nothing(error, text, tell)
            aligner = work.aligner
            self._note_cut(aligner, tell)
            if outputs.model is not None:
                aligner.save(outputs.model)
            counts = self._write(work, crew, tell)
            if not self.resume and crew is None:  # which may have looked at a part of the text alone
                self.evidence.note_found(aligner.constraints, tell)
        note_counts(counts, aligner, clock.seconds, tell)
        if bad.count:
            raise DataError(f"no links for {number_of(bad.count, 'bad lines')}; see the warnings")
        return aligner

    def _check(self, text: TextFiles, crew: Any, tell: Reporter) -> None:
        """Refuse before the work what cannot be read or written, or not in such a way."""
        outputs = self.outputs
        if outputs.model is not None:
            check_model_output(outputs.model, "name another file")
        if outputs.reads_lines and self.load is None and not text.is_regular:
            raise UsageError(
                "what is written about the words reads the text a second time, after training; name files "
                "instead of - and pipes, or align with a saved model"
            )
        if crew is not None:
            from dualign.commands.cluster_alignment import refuse_outputs

            refuse_outputs(outputs, text, self.resume)
            if not text.is_regular:
                raise UsageError("a cluster reads the text again when it goes on; name files instead of -")
        if self.resume:
            from dualign.commands.resuming import check_resumable

            check_resumable(outputs, text)
        self.computing.check()
        if self.load is None:
            self._check_gold(self.options.get("tokenize", "none"))
        inspect_text(text, tell, waits=outputs.at_once)

    def _check_gold(self, tokenize: str) -> None:
        """Refuse gold links that were probably made for words, but would be read as links of tokens."""
        tuning, positions = self.tuning, self.outputs.positions
        if not tuning.is_wanted or not tuning.on_input or positions == "tokens" or tokenize == "none":
            return
        raise UsageError(
            "gold links count the tokens of {tokenize=}, but {positions=} is set; write the tokens with "
            "{tokens=}, and align and correct that text",
            tokenize=tokenize, positions=positions, tokens=...,
        )  # fmt: skip

    def _prepare(self, options: Options | None, crew: Any, tell: Reporter) -> None:
        """Tell which of the options have no effect, and compile the kernels that are missing; `options`: all
        that count, if not those given and the usual ones."""
        from dualign.commands.warming import DECODERS, WORD_ALIGNER

        if given := dict(self.options):
            options = options or Options.of(given)
            if (self.outputs.report or self.outputs.page) and options.decoder == "viterbi":
                given.pop("threshold", None)  # it shifts the scores of viterbi's links, which reports have
            note_idle(options, given, tell)
        names = list(DECODERS.get(self.options.get("decoder", ""), WORD_ALIGNER))
        names += ["cutting"] if self.outputs.reads_lines or "tokenize" in self.options else []
        names += ["lines"] if self.load is not None or self.text.target is None else []
        compile_for(crew, tell, *names)

    def _note_cut(self, aligner: Aligner, tell: Reporter) -> None:
        """Tell that links are on tokens that nobody sees."""
        cutting = aligner.cutting
        if not self.outputs.reads_lines and (cutting.source is not None or cutting.target is not None):
            tell.note(
                "note: links count tokens as {tokenize=} cuts them, not the words of your files; "
                "{positions=} counts words, {tokens=} writes the tokens",
                tokenize=aligner.options.tokenize, positions="words", tokens="FILE",
            )  # fmt: skip

    def _trained(self, text: TextFiles, crew: Any, tell: Reporter) -> _Work:
        """Learn from the text; it is read again if its lines are wanted."""
        from dualign.commands.training import Trainer
        from dualign.text.blocks import Position

        outputs, computing = self.outputs, self.computing
        self._prepare(None, crew, tell)
        trainer = Trainer(computing, crew, self.evidence, self.tuning, tell)
        learnt = trainer.learn(text, self.options, outputs.positions)
        text = _cut(text, learnt.aligner)
        source = text if outputs.reads_lines else learnt.text
        if (threads := learnt.aligner.threads) > 1:
            threads = trainer.workspace.at_once(threads, CHUNK_MEMORY)
        return _Work(learnt.aligner, text, source, Position(learnt.pairs), threads, learnt.ids)

    def _loaded(self, text: TextFiles, crew: Any, tell: Reporter) -> _Work:
        """Load the saved model, and tune it if that is wanted."""
        from dualign.aligner import Aligner
        from dualign.text.blocks import Position

        outputs, computing = self.outputs, self.computing
        assert self.load is not None
        aligner = Aligner.load(self.load, **computing.aligner_keywords()).set_options(**self.options)
        self._check_gold(aligner.options.tokenize)
        self._prepare(aligner.options, crew, tell)
        aligner.constraints = self.evidence.read_glossary(computing.errors, aligner.cutting)
        if (threads := aligner.threads) > 1:
            workspace = computing.workspace()
            workspace.reserve(sum(array.nbytes for array in aligner.model.lexicon))
            threads = workspace.at_once(threads, CHUNK_MEMORY)
        text = _cut(text, aligner)
        if outputs.at_once:
            aligner.threads = threads = 1  # several would read ahead, and so wait for lines before answering
            aligner.card = None
        else:
            computing.note_device(aligner, aligner.constraints, tell, learns=False)
        end = Position(0, 0 if tell.is_quiet else text.size)
        source = self._tuned(aligner, text, tell) if self.tuning.is_wanted else text
        return _Work(aligner, text, source, end, threads)

    def _tuned(self, aligner: Aligner, text: TextFiles, tell: Reporter) -> TextFiles | Iterable[Pair]:
        """Tune the aligner; return the text, as what is left of it if it cannot be read again."""
        from dualign.commands.tuning import gold_of, pairs_with_gold, tune_by
        from dualign.text.blocks import read_pairs

        tuning = self.tuning
        gold = gold_of(tuning, text)
        pairs = read_pairs(text)
        begin = list(islice(pairs, gold.lines[-1] + 1)) if tuning.on_input else []
        known = pairs_with_gold(tuning, begin, gold, text.errors, aligner.cutting)
        tune_by(aligner, known, gold.links, tell)
        if not tuning.on_input or text.is_regular:
            return text
        if self.outputs.reads_lines:
            raise UsageError("tuning on the input reads it a second time; name files instead of - and pipes")
        return chain(begin, pairs)

    def _write_nothing(self, error: NothingToLearn, text: TextFiles, tell: Reporter) -> Aligner:
        """Write a line without links for each pair of a text in which no pair has words on both sides, unless
        something is to be written that needs a model."""
        from dualign.aligner import Aligner
        from dualign.commands.outputs import printed, write
        from dualign.decode.decoders import no_links
        from dualign.hmm.encoding import EncodedText, UnreadPart
        from dualign.text.blocks import BEGINNING, Position, read_blocks, read_pairs
        from dualign.text.corpus import numbered
        from dualign.text.numbering import LINES

        pairs, outputs = error.pairs, self.outputs
        if outputs.model or outputs.page or (pairs and outputs.posteriors):
            raise error
        aligner = Aligner(**self.computing.aligner_keywords(), **self.options)
        text = _cut(text, aligner)
        empty = (
            f"all {pairs} lines of the output are empty" if pairs > 1 else "the line of the output is empty"
        )
        found = empty if pairs else "the output is empty, too"
        tell.warn("{what}, so {found}", what=error.what, found=found)
        lines = None
        if outputs.reads_lines:
            tokens = "".join(f"{' '.join(left)}\t{' '.join(right)}\n" for left, right in read_pairs(text))
            lines = (lambda _: b"\n" * pairs), tokens.encode()
        ids = [id for block in read_blocks(text, LINES) for id in block.ids] if text.has_ids else []
        part = UnreadPart(BEGINNING, Position(pairs), lambda _: EncodedText(numbered([], False)), ids)
        piece = printed(no_links(pairs), outputs, part, 0.0, lines)
        write([piece] if pairs else [], outputs, tell)
        return aligner

    def _write(self, work: _Work, crew: Any, tell: Reporter) -> PairTotals:
        """Align the text: on a cluster, as a run that can be continued, or from its beginning to its end."""
        from dualign.commands.outputs import Piece, Printer, write, write_pieces

        aligner, text, outputs = work.aligner, work.text, self.outputs
        if crew is not None:
            from dualign.commands.cluster_alignment import align_on

            return align_on(crew, aligner, text, outputs, tell, learnt=self.load is None)
        printer = Printer(outputs, text.cutting, tell, work.ids, learnt=self.load is None)

        def pieces(*begin: Position) -> Iterator[Piece]:
            parts = aligner.parts(work.source, *begin, keep=outputs.reads_lines)
            how: dict[str, Any] = {"look": printer.look, "matrices": outputs.posteriors is not None}
            return aligner.decode(parts, printer.piece, threads=work.threads, **how)

        if not self.resume:
            counts, kept = write(pieces(), outputs, tell, work.end)
            if outputs.page is not None:
                from dualign.commands.outputs import write_page
                from dualign.text.blocks import read_pairs

                files = {"source": text.source, "target": text.target, "model": self.load or outputs.model}
                write_page(outputs, list(read_pairs(text)), kept, aligner, files)
            return counts
        from dualign.commands.resuming import Resumable, about_run

        read = {"source": text.source, "target": text.target, "model": self.load}
        read["glossary"] = self.evidence.glossary
        done = Resumable(outputs, about_run(read, aligner.options.as_dict(), outputs, text.errors))
        with done.opened():
            if done.place.line:
                tell.note(f"going on after {number_of(done.place.line, 'pairs')}")
            if not done.is_complete:
                write_pieces(pieces(done.place), done, done.counts, tell, work.end)
        return done.counts


def _cut(text: TextFiles, aligner: Aligner) -> TextFiles:
    """Return a text that is cut into tokens as the aligner's."""
    cutting = aligner.cutting
    return text if text.cutting == cutting else replace(text, cutting=cutting)


class _Work(NamedTuple):
    """What to align: a text in files, and the `source` to take it from, these files or what was made of them;
    its end, in bytes or lines, if that is known; on how many threads; the ids of the pairs, if the source has
    none of its own."""

    aligner: Aligner
    text: TextFiles
    source: TextFiles | Numbered | Iterable[Pair]
    end: Position
    threads: int
    ids: Sequence[str] = ()


class _BadLines:
    """Lines that could not be read, but do not end the work: somebody waits for the next answer."""

    def __init__(self, tell: Reporter) -> None:
        self._tell = tell
        self.count = 0

    def tell(self, message: str) -> None:
        self.count += 1
        self._tell.warn("{message}", message=message)
