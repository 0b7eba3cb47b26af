"""What is known before training: files of translations, of priors and of other text, and a model to go on
with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from dualign._core.errors import DataError, UsageError
from dualign._core.files.container import is_model_file
from dualign.hmm.constraints import ConstraintSet, Glossary
from dualign.hmm.model import Model
from dualign.hmm.priors import Prior
from dualign.jobs.running import Run
from dualign.text.checks import number_of
from dualign.text.corpus import Numbered
from dualign.text.priors import read_word_pairs
from dualign.text.score_matrices import read_matrices
from dualign.text.similarities import similarities
from dualign.text.tokenizing import Cutting


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Files of what is known; each is optional."""

    glossary: str | None = None
    """Translations: linked where both occur, in training and when aligning."""
    prior: str | None = None
    """Pseudo-counts of word pairs: a model, a dictionary with weights, or eflomal's priors."""
    weight: float = 1.0
    """What the counts of `prior` are multiplied by."""
    model: str | None = None
    """A model to go on with: its options, what it has counted, and its chains."""
    background: tuple[str, str] | None = None
    """Both sides of other text to learn from, which is not aligned."""
    times: int | None = None
    """How many pairs of the background each pair of the text counts like; if not given, 1, or 4 if it is text
    of another kind (`dualign.text.Numbered.times_over`)."""
    similarity: str | None = None
    """Matrices of the similarities of the words of the text's first pairs."""
    similarity_weight: float | None = None
    """What they are multiplied by; if not given, 4, or what gold links to tune by say."""

    def __post_init__(self) -> None:
        if self.similarity_weight is not None and self.similarity is None:
            raise UsageError(f"similarity_weight={self.similarity_weight} needs similarity=FILE")
        if not (isfinite(self.weight) and self.weight > 0):
            raise UsageError(f"prior_weight={self.weight} must be over 0 and finite")
        if self.times is not None and self.times < 1:
            raise UsageError(f"background_ratio={self.times} must be at least 1")
        if self.times is not None and self.background is None:
            raise UsageError(f"background_ratio={self.times} needs background=SOURCE TARGET")
        if self.prior is not None and self.model is not None:
            raise UsageError("continuing a model already uses it as the prior; leave out prior=FILE")
        if self.prior is None and self.weight != 1:
            raise UsageError(f"prior_weight={self.weight} needs prior=FILE")

    @classmethod
    def of(cls, given: str | Knowledge | None) -> Knowledge:
        """A glossary's file name stands for itself."""
        return given if isinstance(given, Knowledge) else cls(given)

    def inputs(self) -> tuple[str | None, ...]:
        """Every path."""
        return self.glossary, self.prior, self.model, self.similarity, *(self.background or ())

    def read_glossary(self, run: Run, cutting: Cutting) -> Glossary | None:
        """The glossary, if there is one, split into tokens as the text is."""
        if self.glossary is None:
            return None
        return Glossary.read(self.glossary, errors=run.errors, cutting=cutting)

    def note_found(self, constraints: ConstraintSet | None, run: Run) -> None:
        """Tell how many entries of the glossary the text has had; a cluster does not say."""
        if self.glossary is None or run.crew is not None or not isinstance(constraints, Glossary):
            return
        size, found = constraints.size, len(constraints.found)
        if not size:
            run.warn(f"{self.glossary}: the glossary has no entries, so it has no effect")
        elif constraints.asked and not found:
            run.warn(
                f"{self.glossary}: no entry of the glossary occurs in the text, both sides in a pair, so "
                "it has no effect; the source comes first, and words must be as they are in the text"
            )
        elif found:
            occur = "occurs" if found == 1 else "occur"
            run.note(f"glossary: {found:,} of {number_of(size, 'entries')} {occur} in the text")

    def read_similarities(self, run: Run) -> Iterator[tuple[str, Any]]:
        """The matrices, each with its place; none if there is no file of them."""
        return iter(()) if self.similarity is None else read_matrices(self.similarity, run.errors)

    def with_similarities(
        self, text: Numbered, matrices: Iterable[tuple[str, Any]], weight: float, run: Run
    ) -> Numbered:
        """The text with the similarities of its pairs, by these matrices."""
        known = similarities((text.source.lengths, text.target.lengths), matrices, weight)
        found = int((np.diff(known.begin) > 0).sum())
        if not found:
            raise DataError(f"{self.similarity}: no matrix for any pair; was it written to the end?")
        run.note(f"similarities: of {found:,} of {number_of(len(text), 'pairs')}")
        return replace(text, similar=known)

    def read_prior(self, run: Run) -> Prior | None:
        """The prior, if there is one; notes say what of it is not used."""
        if self.model is not None:
            return Prior.of_model(Model.load(self.model), begin=True)
        if self.prior is None:
            return None
        if is_model_file(self.prior):
            return Prior.of_model(Model.load(self.prior)).scaled(self.weight)
        pairs = read_word_pairs(self.prior, run.errors)
        if pairs.phrases:
            entries = number_of(pairs.phrases, "entries")
            run.note(
                f"note: {self.prior}: {entries} with several words on a side passed over; "
                "a glossary can have phrases"
            )
        if pairs.others:
            lines = number_of(pairs.others, "lines")
            run.note(f"note: {self.prior}: {lines} on jumps and fertilities passed over")
        return Prior.of_pairs(pairs.source, pairs.target, pairs.weight).scaled(self.weight)
