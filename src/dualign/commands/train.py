"""`dualign train`: a model from a text."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dualign._core.errors import UsageError
from dualign._core.fields import arg, bundle, opt
from dualign._core.progress import Clock, in_words
from dualign.commands.bundles import Computing, Evidence, Tuning
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.options import Options
from dualign.text.blocks import TextFiles
from dualign.text.checks import number_of

if TYPE_CHECKING:
    from dualign.aligner import Aligner

FLAGS = "tokenize whitespace skip_tokens model constraint rounds max_length lowercase"
"""The options of the aligner that have flags; the others are set by `--set`."""


@dataclass(frozen=True)
class Train(Command):
    """Train an alignment model on two parallel files and save it."""

    usage: ClassVar[str] = "SOURCE TARGET -o MODEL, or BITEXT -o MODEL"

    text: TextFiles = bundle(TextFiles)
    output: str = arg(
        "The file to write; or name it with -o.", metavar="MODEL", flag="--output", short="-o", file="out"
    )
    sample: int | str | None = opt(
        None, "Train on this many pairs, drawn at random: 500000, 500k, 2.5M.", metavar="N"
    )
    seed: int = opt(0, "Seed for drawing the sample.", metavar="N")
    options: dict[str, Any] = bundle(Options, FLAGS, assignable=True, deferred=True)
    tuning: Tuning = bundle(Tuning)
    evidence: Evidence = bundle(Evidence)
    computing: Computing = bundle(Computing)

    def run(self, tell: Reporter) -> Aligner:
        """Read the text, train, and save the model."""
        from dualign._core.files.container import checked_path, refuse_other_files
        from dualign.commands.notes import compile_for, inspect_text, note_idle
        from dualign.commands.plain_text import plain_text
        from dualign.commands.training import Trainer, TrainingText
        from dualign.commands.warming import WORD_ALIGNER
        from dualign.text.sampling import as_count

        clock, computing = Clock(), self.computing
        size = None if self.sample is None else as_count(self.sample)
        checked_path(self.output)
        refuse_other_files(self.output, "name the model with {output=}", output="MODEL")
        with ExitStack() as stack:
            plain = replace(self.text, errors=computing.errors)
            text = stack.enter_context(plain_text(plain, None, computing.scratch, tell))
            tuning, evidence = self.tuning, self.evidence
            if text.ids is not None:
                tuning = replace(tuning, ids=text.ids)
            crew = stack.enter_context(computing.crew(tell))
            trainer = Trainer(computing, crew, evidence, tuning, tell, computing.workspace())
            if size is not None:
                self._check_sample(text.source, text.target)
            note_idle(Options.of(self.options), self.options, tell, only_training=True)
            if self.seed and size is None:
                tell.note("note: {seed=} has no effect without a sample", seed=self.seed)
            computing.check_device()
            inspect_text(text.source, text.target, computing.errors, tell)
            cutting = ("cutting",) if "tokenize" in self.options else ()
            compile_for(crew, tell, *WORD_ALIGNER, *cutting)
            given = TrainingText(text.source, text.target, size, self.seed)
            numbered, aligner = trainer.learn(given, self.options)
            aligner.save(self.output)
            if crew is None:
                evidence.note_found(aligner.constraints, tell)
        pairs, seconds = number_of(len(numbered), "pairs"), in_words(clock.seconds)
        tell.note(
            "learnt from {pairs} in {seconds}: {output}", pairs=pairs, seconds=seconds, output=self.output
        )
        return aligner

    def _check_sample(self, source: str, target: str | None) -> None:
        """Refuse what needs all pairs of the text, in their order."""
        from dualign.commands.notes import can_read_again

        tuning = self.tuning
        if self.evidence.similarity:
            raise UsageError(
                "similarities are those of the first pairs, but a sample is drawn; train on all pairs"
            )
        if tuning.pin:
            raise UsageError("a sample has other lines than the text that was corrected; train on all of it")
        if tuning.is_wanted and tuning.on_input and not can_read_again(source, target):
            raise UsageError(
                "a sample reads the whole text, and tuning its first lines once more; name files for both "
                "sides"
            )
