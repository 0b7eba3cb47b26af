"""`dualign train`: a model from a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dualign._core.errors import UsageError
from dualign._core.fields import arg, bundle, opt
from dualign._core.progress import Clock, in_words
from dualign.commands.bundles import Computing, Evidence, Tuning
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
        from dualign.commands.training import Trainer
        from dualign.commands.warming import WORD_ALIGNER
        from dualign.text.sampling import as_count

        clock, computing, evidence = Clock(), self.computing, self.evidence
        size = None if self.sample is None else as_count(self.sample)
        check_model_output(self.output, "name the model with {output=}", output="MODEL")
        with text_of(self.text, computing) as text, computing.crew(tell) as crew:
            trainer = Trainer(computing, crew, evidence, self.tuning, tell)
            if size is not None:
                self._check_sample(text)
            note_idle(Options.of(self.options), self.options, tell, only_training=True)
            if self.seed and size is None:
                tell.note("note: {seed=} has no effect without a sample", seed=self.seed)
            computing.check()
            inspect_text(text, tell)
            cutting = ("cutting",) if "tokenize" in self.options else ()
            compile_for(crew, tell, *WORD_ALIGNER, *cutting)
            learnt = trainer.learn(text, self.options, sample=size, seed=self.seed)
            learnt.aligner.save(self.output)
            if crew is None:
                evidence.note_found(learnt.aligner.constraints, tell)
        pairs, seconds = number_of(learnt.pairs, "pairs"), in_words(clock.seconds)
        tell.note(
            "learnt from {pairs} in {seconds}: {output}", pairs=pairs, seconds=seconds, output=self.output
        )
        return learnt.aligner

    def _check_sample(self, text: TextFiles) -> None:
        """Refuse what needs all pairs of the text, in their order."""
        tuning = self.tuning
        if self.evidence.similarity:
            raise UsageError(
                "similarities are those of the first pairs, but a sample is drawn; train on all pairs"
            )
        if tuning.pin:
            raise UsageError("a sample has other lines than the text that was corrected; train on all of it")
        if tuning.is_wanted and tuning.on_input and not text.is_regular:
            raise UsageError(
                "a sample reads the whole text, and tuning its first lines once more; name files for both "
                "sides"
            )
