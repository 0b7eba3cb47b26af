"""What is known before training: translations, priors, other text, a model to go on with, gold links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dualign._core.errors import DataError, UsageError
from dualign._core.fields import check, opt
from dualign.commands.console import Reporter
from dualign.text.checks import number_of

if TYPE_CHECKING:
    from dualign.hmm.constraints import ConstraintSet, Glossary
    from dualign.hmm.priors import Prior
    from dualign.text.corpus import Numbered
    from dualign.text.tokenizing import Cutting

PANEL = "Evidence"
GOLD = "Gold links"
WITHOUT_MODEL = "glossary prior prior_weight background background_ratio similarity similarity_weight"
"""The options that go with a model that is trained from the beginning."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Files of what is known; each is optional."""

    glossary: str | None = opt(
        None, "Known translations, source<TAB>target on a line, linked where both occur.",
        metavar="FILE", file="in", panel=PANEL,
    )  # fmt: skip
    prior: str | None = opt(
        None, "Pseudo-counts of word pairs: a model, source<TAB>target<TAB>weight, eflomal's priors.",
        metavar="FILE", file="in", panel=PANEL,
    )  # fmt: skip
    weight: float = opt(
        1.0, "Multiply the counts of --prior by this.", name="prior_weight", metavar="X", over=0,
        needs="prior", panel=PANEL,
    )  # fmt: skip
    model: str | None = opt(
        None, "Continue training this model, with its options and counts.", name="continue_",
        metavar="MODEL", file="in", model=True, panel=PANEL,
    )  # fmt: skip
    background: tuple[str, str] | None = opt(
        None,
        "More text to learn from, which is not aligned.",
        metavar="SOURCE TARGET",
        file="in",
        panel=PANEL,
    )
    times: int | None = opt(
        None,
        "Each pair of the text counts like N of --background. [default: 1, or 4 if few words are shared]",
        name="background_ratio", metavar="N", least=1, needs="background", panel=PANEL,
    )  # fmt: skip
    similarity: str | None = opt(
        None, "Similarities of the words of the first pairs, one matrix per pair, as evidence.",
        metavar="FILE.npz", file="in", panel=PANEL,
    )  # fmt: skip
    similarity_weight: float | None = opt(
        None, "Multiply probabilities by exp(W × similarity). [default: 4, or as --tune finds]",
        metavar="W", needs="similarity", panel=PANEL,
    )  # fmt: skip

    def __post_init__(self) -> None:
        check(self)
        if self.prior is not None and self.model is not None:
            raise UsageError(
                "continuing a model already uses it as the prior; leave out {prior=}", prior=self.prior
            )

    def read_glossary(self, errors: str, cutting: Cutting) -> Glossary | None:
        """Return the glossary, if there is one, split into tokens as the text is."""
        from dualign.hmm.constraints import Glossary

        if self.glossary is None:
            return None
        return Glossary.read(self.glossary, errors=errors, cutting=cutting)

    def note_found(self, constraints: ConstraintSet | None, tell: Reporter) -> None:
        """Tell how many entries of the glossary the text has had."""
        from dualign.hmm.constraints import Glossary

        if self.glossary is None or not isinstance(constraints, Glossary):
            return
        size, found = constraints.size, len(constraints.found)
        if not size:
            tell.warn("{file}: the glossary has no entries, so it has no effect", file=self.glossary)
        elif constraints.asked and not found:
            tell.warn(
                "{file}: no entry of the glossary occurs in the text, both sides in a pair, so it has no "
                "effect; the source comes first, and words must be as they are in the text",
                file=self.glossary,
            )
        elif found:
            occur = "occurs" if found == 1 else "occur"
            tell.note(f"glossary: {found:,} of {number_of(size, 'entries')} {occur} in the text")

    def read_similarities(self, errors: str) -> Iterator[tuple[str, Any]]:
        """Return the matrices, each with its place; none if there is no file of them."""
        from dualign.text.score_matrices import read_matrices

        return iter(()) if self.similarity is None else read_matrices(self.similarity, errors)

    def with_similarities(
        self, text: Numbered, matrices: Iterable[tuple[str, Any]], weight: float, tell: Reporter
    ) -> Numbered:
        """Return the text with the similarities of its pairs, by these matrices."""
        from dualign.text.similarities import similarities

        known = similarities((text.source.lengths, text.target.lengths), matrices, weight)
        found = int((known.begin[1:] > known.begin[:-1]).sum())
        if not found:
            raise DataError("no matrix for any pair; was it written to the end?", place=self.similarity)
        tell.note(f"similarities: of {found:,} of {number_of(len(text), 'pairs')}")
        return replace(text, similar=known)

    def read_prior(self, errors: str, tell: Reporter) -> Prior | None:
        """Return the prior, if there is one; notes say what of it is not used."""
        if self.model is None and self.prior is None:
            return None
        from dualign._core.files.container import is_model_file
        from dualign.hmm.model import Model
        from dualign.hmm.priors import Prior
        from dualign.text.priors import read_word_pairs

        if self.model is not None:
            return Prior.of_model(Model.load(self.model), begin=True)
        assert self.prior is not None
        if is_model_file(self.prior):
            return Prior.of_model(Model.load(self.prior)).scaled(self.weight)
        pairs = read_word_pairs(self.prior, errors)
        if pairs.phrases:
            tell.note(
                "note: {file}: {entries} with several words on a side passed over; a glossary can have "
                "phrases",
                file=self.prior, entries=number_of(pairs.phrases, "entries"),
            )  # fmt: skip
        if pairs.others:
            lines = number_of(pairs.others, "lines")
            tell.note(
                "note: {file}: {lines} on jumps and fertilities passed over", file=self.prior, lines=lines
            )
        return Prior.of_pairs(pairs.source, pairs.target, pairs.weight).scaled(self.weight)


@dataclass(frozen=True, slots=True)
class Tuning:
    """Gold links to tune by, and the text they belong to if that is not the beginning of the input."""

    gold: str | None = opt(
        None, "Tune the decoder, and the weight of similarities, on these gold links of the first lines.",
        name="tune", metavar="GOLD", file="in", panel=GOLD,
    )  # fmt: skip
    source: str | None = opt(
        None, "Source text of the gold links, if not the first lines.", name="tune_source", needs="gold",
        metavar="FILE", file="in", panel=GOLD,
    )  # fmt: skip
    target: str | None = opt(
        None, "Target text of the gold links.", name="tune_target", metavar="FILE", file="in",
        panel=GOLD,
    )  # fmt: skip
    early_stop: bool = opt(False, "Stop training when quality on the gold links gets worse.", panel=GOLD)
    pin: bool = False
    """Also keep the pairs to these links in training; tune only if there are enough of them."""
    ids: str | None = None
    """File with the ids of the input's pairs, which the gold links may name."""
    pinned: str | None = opt(
        None, "Corrected links of some pairs, kept fixed in training; 20 or more also tune the decoder.",
        name="gold", metavar="FILE", file="in", panel=GOLD,
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.pinned is not None:
            if self.gold is not None or self.source is not None or self.target is not None:
                raise UsageError(
                    "{gold=} tunes by its links itself; leave out {tune=}, or give {tune=} alone",
                    gold=..., tune=...,
                )  # fmt: skip
            object.__setattr__(self, "gold", self.pinned)
            object.__setattr__(self, "pinned", None)
            object.__setattr__(self, "pin", True)
        check(self)
        if self.target is not None and self.source is None:
            raise UsageError(
                "{tune_target=} needs {tune_source=}; the target text to tune on is given without its source "
                "text", tune_target=..., tune_source=...,
            )  # fmt: skip
        if self.early_stop and self.gold is None:
            raise UsageError("{early_stop=} needs {tune=}", early_stop=True, tune="GOLD")
        if self.pin and self.source is not None:
            raise UsageError("pinned gold links belong to the training text; leave out the text to tune on")

    @property
    def is_wanted(self) -> bool:
        """Whether there are gold links."""
        return self.gold is not None

    @property
    def on_input(self) -> bool:
        """Whether the gold links are those of the first lines of the input."""
        return self.source is None
