"""What runs the passes over the text in training: here the threads of this process.

`dualign.learn.training` knows the order of the rounds; an engine does each of them. Another one, for other
machines or a device, overrides a method, and gives the same result.
"""

from __future__ import annotations

from dualign.core.workspace import Workspace
from dualign.infer.blocks import COLD
from dualign.infer.constraints import ConstraintSet
from dualign.learn.em import Round, em_round, warm_starts
from dualign.learn.ibm1 import Kept, Whole
from dualign.learn.smoothing import Priors
from dualign.model.model import Model
from dualign.text.bitext import Numbered


class Engine:
    """The rounds of one training; `start` it with the text, none of whose pairs is empty."""

    bitext: Numbered

    def __init__(self, threads: int, workspace: Workspace) -> None:
        self.threads, self.workspace = threads, workspace
        self.warm = COLD

    def start(self, bitext: Numbered) -> None:
        """Take up the text of a training."""
        self.bitext = bitext

    def first_lexicon(self, sizes: tuple[int, int], least: float) -> Kept:
        """The first round of Model 1, with that many words on each side; then `dualign.learn.ibm1.prune`."""
        return Whole(self.bitext, sizes, self.threads, self.workspace).kept(least)

    def round(
        self, model: Model, priors: Priors, constraint: str, constraints: ConstraintSet | None, keep: bool
    ) -> Round:
        """A round over all pairs (see `em_round`); `keep` its multipliers: another projection follows."""
        if keep and not len(self.warm.used):
            self.warm = warm_starts(self.bitext, self.workspace)
        return em_round(
            self.bitext, model, priors, constraint, self.threads, constraints, self.warm, self.workspace
        )
