"""`Options`: every setting of training and aligning, with its default. One home for all of them.

Python keywords, command-line flags and the saved model read the same fields.

Defaults that the help texts of the command line mention; they stand apart from what imports NumPy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from math import isfinite
from typing import Any, TypedDict

from dualign._core.errors import UsageError
from dualign.text.tokenizing import WHITESPACE, checked_names

MODELS = ("hmm", "ibm1", "ibm2")
CONSTRAINTS = ("none", "agreement", "symmetric", "bijective")
PROJECTIONS = ("none", "symmetric", "bijective")
DECODERS = ("soft-union", "posterior", "viterbi", "bidirectional", "submodular", "matching")
AGREEMENTS = ("full", "adjacent", "soft")
SCORES = ("posterior", "forward-posterior", "backward-posterior", "forward", "backward")
STYLES = ("lean", "full")
CONCAVE = ("source", "target", "both")
SYMMETRIZATIONS = (
    "intersection",
    "union",
    "grow-diag",
    "grow-diag-final",
    "grow-diag-final-and",
    "forward",
    "backward",
)
SHORT_NAMES = {
    "intersect": "intersection",
    "inter": "intersection",
    "gd": "grow-diag",
    "gdf": "grow-diag-final",
    "gdfa": "grow-diag-final-and",
}
"""What other tools call these."""
CHOICES = {
    "model": MODELS,
    "constraint": CONSTRAINTS,
    "projection": PROJECTIONS,
    "decoder": DECODERS,
    "symmetrize": SYMMETRIZATIONS,
    "agreement": AGREEMENTS,
    "scores": SCORES,
    "concave": CONCAVE,
    "whitespace": WHITESPACE,
    "style": STYLES,
}

Values = dict[str, tuple[str, ...]]
_HMM: Values = {"model": ("hmm",)}
_NOT_IBM1: Values = {"model": ("hmm", "ibm2")}
_BIDIRECTIONAL: Values = {"decoder": ("bidirectional",)}
_SUBMODULAR: Values = {"decoder": ("submodular",)}
USED_WITH: dict[str, Values] = {
    "constraint": _NOT_IBM1,
    "leave_out": _HMM,
    "jump_words": _HMM,
    "jump_weight": _HMM,
    "projection": _HMM,
    "slack": _HMM,
    "tolerance": _HMM,
    "evaluations": _HMM,
    "mixture": _HMM,
    "symmetrize": {"decoder": ("posterior", "viterbi", "bidirectional")},
    "threshold": {"decoder": ("soft-union", "posterior", "submodular", "matching")},
    "style": {"decoder": ("soft-union",)},
    "agreement": _BIDIRECTIONAL,
    "penalty": _BIDIRECTIONAL | {"agreement": ("adjacent", "soft")},
    "unsupported": _BIDIRECTIONAL | {"agreement": ("soft",)},
    "nodes": _BIDIRECTIONAL,
    "time_limit": _BIDIRECTIONAL,
    "scores": {"decoder": ("submodular", "matching")},
    "alpha": _SUBMODULAR,
    "concave": _SUBMODULAR,
    "source_limit": _SUBMODULAR,
    "target_limit": _SUBMODULAR,
    "quantile": _SUBMODULAR,
}
"""Options that change the links only where another option has one of these values."""

DECODING = (
    "decoder",
    "tokenize",
    "whitespace",
    "skip_tokens",
    *(name for name in USED_WITH if name not in ("constraint", "leave_out", "jump_words", "jump_weight")),
)
"""Options that matter for aligning, and can be changed after training."""

MOST = 2**31 - 1
"""Kernels take no larger whole numbers."""

MOST_JUMP_WORDS = 10_000
"""Every job of a few milliseconds adds up statistics for each of them."""

USUAL_THRESHOLD = 0.45
"""On link probabilities, where no other is asked for and nothing better is known."""

KIND_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a name"}


def option(default: Any, text: str) -> Any:
    """A field with its one-line documentation."""
    return field(default=default, metadata={"help": text})


class OptionValues(TypedDict, total=False):
    """The keywords of `Options`, for type checkers and editors; a test compares the two."""

    model: str
    ibm1_rounds: int
    rounds: int
    constraint: str
    projection: str
    tokenize: str
    whitespace: str
    skip_tokens: str
    lowercase: bool
    max_length: int
    null: float
    floor: float
    prune: float
    stem_letters: int
    stem_weight: float
    form_weight: float
    leave_out: float
    jump_words: int
    jump_weight: float
    slack: float
    tolerance: float
    evaluations: int
    mixture: bool
    decoder: str
    symmetrize: str
    threshold: float
    style: str
    agreement: str
    penalty: float
    unsupported: float
    nodes: int
    time_limit: float
    scores: str
    alpha: float
    concave: str
    source_limit: int
    target_limit: int
    quantile: float


def suggestion(name: str) -> str:
    """What to write instead of an unknown option: one of a similar name, or any of those there are."""
    from difflib import get_close_matches

    known = sorted(f.name for f in fields(Options))
    close = get_close_matches(name, known, 1)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings of an aligner; each field's metadata has its documentation."""

    model: str = option("hmm", "alignment model: hmm, ibm1 or ibm2")
    ibm1_rounds: int = option(
        2, "rounds of IBM Model 1, with which every model starts; for the hmm the later ones with agreement"
    )
    rounds: int = option(3, "rounds of the model itself, after those of IBM Model 1")
    constraint: str = option(
        "symmetric",
        "training: none, agreement, symmetric (for ibm2 the same as agreement), or bijective (hmm only)",
    )
    projection: str = option(
        "symmetric", "constraint on the posteriors when aligning: none, symmetric or bijective"
    )
    tokenize: str = option(
        "none",
        "tokeniser of raw text: none, simple, moses, icu or sentencepiece:MODEL; SOURCE,TARGET for two",
    )
    whitespace: str = option("unicode", "what separates words: unicode white space, or that of ascii alone")
    skip_tokens: str = option("", "tokens, with blanks between them, that keep their place and have no links")
    lowercase: bool = option(True, "compare words in lower case")
    max_length: int = option(100, "longest sentence, in words, that takes part in training")
    null: float = option(0.2, "probability that a word is linked to nothing")
    floor: float = option(1e-6, "probability of a link between words that never occurred together")
    prune: float = option(3e-4, "minimum probability of an entry of the lexicon after IBM Model 1")
    stem_letters: int = option(
        4, "words with the same first letters, or the same first ideograph, share evidence"
    )
    stem_weight: float = option(20.0, "how much, in pseudo-counts; 0 switches it off")
    form_weight: float = option(3.0, "pseudo-counts for words of similar spelling; 0 switches it off")
    leave_out: float = option(
        0.7, "share of one occurrence of a word pair that its count does without (hmm); 0 leaves nothing out"
    )
    jump_words: int = option(
        3000, "how many words per side, the most frequent, have their own jump weights; at most 10000"
    )
    jump_weight: float = option(
        10.0, "how strongly these are shrunk towards the common ones, in pseudo-counts, at least 1"
    )
    slack: float = option(0.6, "projection: allowed norm of the constraint violations")
    tolerance: float = option(0.1, "projection: how far from its optimum it may stop")
    evaluations: int = option(5, "projection: maximum number of forward-backward evaluations per pair")
    mixture: bool = option(
        False, "symmetric projection of the mixture of both directions (Graça et al., Eq. 15)"
    )
    decoder: str = option(
        "soft-union", "soft-union, posterior, viterbi, bidirectional, submodular or matching"
    )
    symmetrize: str = option(
        "grow-diag-final-and", "how links of both directions are combined (posterior, viterbi, bidirectional)"
    )
    threshold: float = option(
        0.0,
        "minimum link probability, or score (all decoders but viterbi and bidirectional); 0: what suits the "
        f"pair (soft-union), or {USUAL_THRESHOLD}",
    )
    style: str = option(
        "lean", "soft-union: lean, or full: words that have no link join the links of their neighbours"
    )
    agreement: str = option("soft", "bidirectional: how the directions agree: full, adjacent or soft")
    penalty: float = option(-1.0, "bidirectional: cost of a link one position off its counterpart, at most 0")
    unsupported: float = option(-3.0, "bidirectional, soft: cost of a link without a counterpart")
    nodes: int = option(
        1000, "bidirectional: maximum number of search nodes per pair, or ten seconds of work; 0 for no limit"
    )
    time_limit: float = option(0.0, "bidirectional: maximum number of seconds per pair; 0 for no limit")
    scores: str = option(
        "posterior",
        "what submodular and matching add up: posterior, forward-posterior, backward-posterior; "
        "for ibm1 and ibm2 also forward, backward",
    )
    alpha: float = option(0.5, "submodular: the links of a word are worth their sum to this power")
    concave: str = option("both", "submodular: whose further links are worth less: source, target or both")
    source_limit: int = option(2, "submodular: maximum number of links of a source word; 0 for no limit")
    target_limit: int = option(2, "submodular: maximum number of links of a target word; 0 for no limit")
    quantile: float = option(
        0.0,
        "submodular: also limit a word to the number of links that is enough for more than this share of its "
        "occurrences; 0 switches it off",
    )

    def __post_init__(self) -> None:
        self._check_types()
        object.__setattr__(self, "symmetrize", SHORT_NAMES.get(self.symmetrize, self.symmetrize))
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise UsageError(f'{name}="{getattr(self, name)}" is not one of {", ".join(allowed)}')
        checked_names(self.tokenize)
        for name in ("ibm1_rounds", "max_length", "stem_letters", "jump_weight", "evaluations"):
            self._at_least(name, 1)
        for name in ("rounds", "prune", "stem_weight", "form_weight", "jump_words", "slack", "tolerance"):
            self._at_least(name, 0)
        for name in ("source_limit", "target_limit", "nodes", "time_limit"):
            self._at_least(name, 0)
        if not 0 <= self.leave_out <= 1:
            raise UsageError("{leave_out=} must be at least 0 and at most 1", leave_out=self.leave_out)
        if self.jump_words > MOST_JUMP_WORDS:
            raise UsageError(
                "{jump_words=} must be at most {most_jump_words}",
                jump_words=self.jump_words,
                most_jump_words=MOST_JUMP_WORDS,
            )
        for name, least in (("null", 1e-6), ("floor", 1e-30)):
            # Kernels know seven digits.
            if not least <= getattr(self, name) < 1 - 1e-6:
                raise UsageError(f"{name}={getattr(self, name)} must be at least {least:g} and below 1")
        if self.threshold != 0 and not 1e-6 <= self.threshold < 1:
            raise UsageError(
                "{threshold=} must be 0, or at least 1e-06 and below 1", threshold=self.threshold
            )
        if not self.penalty <= 0:
            raise UsageError("{penalty=} must be at most 0", penalty=self.penalty)
        if self.agreement == "soft" and not self.unsupported <= self.penalty:
            raise UsageError(
                "{unsupported=} must be at most {penalty=}",
                unsupported=self.unsupported,
                penalty=self.penalty,
            )
        if self.model == "ibm2" and self.constraint == "bijective":
            raise UsageError("constraint=bijective is for the hmm; train ibm2 with none or agreement")
        if self.decoder == "bidirectional" and self.model != "hmm":
            raise UsageError(
                "the bidirectional decoder needs an hmm; {model=} has no chains", model=self.model
            )
        if not 0 < self.alpha <= 1:
            raise UsageError("{alpha=} must be over 0 and at most 1", alpha=self.alpha)
        if not 0 <= self.quantile < 1:
            raise UsageError("{quantile=} must be at least 0 and below 1", quantile=self.quantile)
        if self.scores in ("forward", "backward") and self.model == "hmm":
            raise UsageError(
                "{scores=} are those of ibm1 and ibm2; the hmm has posteriors alone", scores=self.scores
            )

    def _check_types(self) -> None:
        for f in fields(self):
            value, kind = getattr(self, f.name), type(f.default)
            # A whole number is accepted for any number; True and False do not count as numbers.
            fits = isinstance(value, (int, float) if kind is float else kind)
            if not fits or (isinstance(value, bool) and kind is not bool):
                raise UsageError(f"{f.name}={value!r} must be {KIND_NAMES[kind]}")
            if isinstance(value, int) and abs(value) > MOST:
                raise UsageError(f"{f.name} must be at most {MOST}")
            if kind is float and not isfinite(value):
                raise UsageError(f"{f.name}={value!r} must be finite")

    def _at_least(self, name: str, least: int) -> None:
        if not getattr(self, name) >= least:
            raise UsageError(f"{name}={getattr(self, name)} must be at least {least}")

    @property
    def fixed_threshold(self) -> float:
        """The threshold for decoders that need the same for all pairs."""
        return self.threshold or USUAL_THRESHOLD

    def idle(self, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Those of the named options that have no effect, each with the option whose value is the reason."""
        for name in names:
            for other, values in USED_WITH.get(name, {}).items():
                if getattr(self, other) not in values:
                    yield name, other
                    break

    @property
    def skipped(self) -> frozenset[str]:
        """The tokens that are never linked, as they are compared."""
        return frozenset((self.skip_tokens.lower() if self.lowercase else self.skip_tokens).split())

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Options:
        """Options from keywords; an unknown one is an error that suggests another."""
        known = {f.name for f in fields(cls)}
        if unknown := sorted(settings.keys() - known):
            raise UsageError(f"unknown option {', '.join(unknown)}; {suggestion(unknown[0])}")
        return cls(**settings)

    def as_dict(self) -> dict[str, Any]:
        """All settings, ready for JSON."""
        return asdict(self)


PAIRS = 10_000
"""Sentence pairs of the synthetic text that `bench` measures on."""

PORT = 8017
"""The port of the local page, if it is free."""

SERVICE_PORT = 8018
"""The port of the alignment server."""

RARE = 4
"""The most occurrences of a rare word: less than five, as in Graça et al. 2010."""

POSITIONS = ("tokens", "words", "characters")
"""What the links of raw text can be on."""
