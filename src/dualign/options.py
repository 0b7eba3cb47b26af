"""`Options`: every setting of training and aligning, with its default. One home for all of them.

Python keywords, command-line flags and the saved model read the same fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, TypedDict, get_type_hints

from dualign._core.errors import UsageError
from dualign._core.fields import check, opt, refuse_unknown

TOKENIZERS = ("none", "simple", "moses", "icu", "sentencepiece")
WHITESPACE = ("unicode", "ascii")
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

_HMM = {"model": ("hmm",)}
_BIDIRECTIONAL = {"decoder": ("bidirectional",)}
_NEAR = _BIDIRECTIONAL | {"agreement": ("adjacent", "soft")}
_SUBMODULAR = {"decoder": ("submodular",)}
_BY_THRESHOLD = {"decoder": ("soft-union", "posterior", "submodular", "matching")}
_SYMMETRIZED = {"decoder": ("posterior", "viterbi", "bidirectional")}

MOST_JUMP_WORDS = 10_000
"""Every job of a few milliseconds adds up statistics for each of them."""

USUAL_THRESHOLD = 0.45
"""On link probabilities, where no other is asked for and nothing better is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings of an aligner; each field's metadata has its documentation."""

    model: str = opt(
        "hmm", "alignment model: hmm, ibm1 or ibm2", choices=MODELS, flag="--model-type", panel="Training"
    )
    ibm1_rounds: int = opt(
        2,
        "rounds of IBM Model 1, with which every model starts; for the hmm the later ones with agreement",
        least=1,
    )
    rounds: int = opt(
        3, "rounds of the model itself, after those of IBM Model 1", least=0, metavar="N", panel="Training"
    )
    constraint: str = opt(
        "symmetric",
        "training: none, agreement, symmetric (for ibm2 the same as agreement), or bijective (hmm only)",
        choices=CONSTRAINTS,
        panel="Training",
        used_with={"model": ("hmm", "ibm2")},
    )
    projection: str = opt(
        "symmetric",
        "constraint on the posteriors when aligning: none, symmetric or bijective",
        choices=PROJECTIONS,
        decoding=True,
        used_with=_HMM,
    )
    tokenize: str = opt(
        "none",
        "tokeniser of raw text: none, simple, moses, icu or sentencepiece:MODEL; SOURCE,TARGET for two",
        metavar="NAME[,NAME]",
        decoding=True,
        panel="Text",
    )
    whitespace: str = opt(
        "unicode",
        "what separates words: unicode white space, or that of ascii alone",
        choices=WHITESPACE,
        decoding=True,
        panel="Text",
    )
    skip_tokens: str = opt(
        "",
        "tokens, with blanks between them, that keep their place and have no links",
        metavar="TOKENS",
        decoding=True,
        panel="Text",
    )
    lowercase: bool = opt(
        True,
        "compare words in lower case",
        flag="--keep-case",
        off="Distinguish upper and lower case when comparing words.",
        panel="Training",
    )
    max_length: int = opt(
        100, "longest sentence, in words, that takes part in training", least=1, metavar="N", panel="Training"
    )
    null: float = opt(0.2, "probability that a word is linked to nothing", least=1e-6, below=1 - 1e-6)
    floor: float = opt(
        1e-6, "probability of a link between words that never occurred together", least=1e-30, below=1 - 1e-6
    )
    prune: float = opt(3e-4, "minimum probability of an entry of the lexicon after IBM Model 1", least=0)
    stem_letters: int = opt(
        4, "words with the same first letters, or the same first ideograph, share evidence", least=1
    )
    stem_weight: float = opt(20.0, "how much, in pseudo-counts; 0 switches it off", least=0)
    form_weight: float = opt(3.0, "pseudo-counts for words of similar spelling; 0 switches it off", least=0)
    leave_out: float = opt(
        0.7,
        "share of one occurrence of a word pair that its count does without (hmm); 0 leaves nothing out",
        least=0,
        most=1,
        used_with=_HMM,
    )
    jump_words: int = opt(
        3000,
        "how many words per side, the most frequent, have their own jump weights; at most 10000",
        least=0,
        most=MOST_JUMP_WORDS,
        used_with=_HMM,
    )
    jump_weight: float = opt(
        10.0,
        "how strongly these are shrunk towards the common ones, in pseudo-counts, at least 1",
        least=1,
        used_with=_HMM,
    )
    slack: float = opt(
        0.6, "projection: allowed norm of the constraint violations", least=0, decoding=True, used_with=_HMM
    )
    tolerance: float = opt(
        0.1, "projection: how far from its optimum it may stop", least=0, decoding=True, used_with=_HMM
    )
    evaluations: int = opt(
        5,
        "projection: maximum number of forward-backward evaluations per pair",
        least=1,
        decoding=True,
        used_with=_HMM,
    )
    mixture: bool = opt(
        False,
        "symmetric projection of the mixture of both directions (Graça et al., Eq. 15)",
        decoding=True,
        used_with=_HMM,
    )
    decoder: str = opt(
        "soft-union",
        "soft-union, posterior, viterbi, bidirectional, submodular or matching",
        choices=DECODERS,
        decoding=True,
        panel="Links",
    )
    symmetrize: str = opt(
        "grow-diag-final-and",
        "how links of both directions are combined (posterior, viterbi, bidirectional)",
        metavar="METHOD",
        decoding=True,
        panel="Links",
        used_with=_SYMMETRIZED,
    )
    threshold: float = opt(
        0.0,
        "minimum link probability, or score (all decoders but viterbi and bidirectional); 0: what suits the "
        f"pair (soft-union), or {USUAL_THRESHOLD}",
        metavar="P",
        decoding=True,
        panel="Links",
        used_with=_BY_THRESHOLD,
    )
    style: str = opt(
        "lean",
        "soft-union: lean, or full: words that have no link join the links of their neighbours",
        choices=STYLES,
        decoding=True,
        panel="Links",
        used_with={"decoder": ("soft-union",)},
    )
    agreement: str = opt(
        "soft",
        "bidirectional: how the directions agree: full, adjacent or soft",
        choices=AGREEMENTS,
        decoding=True,
        panel="Links",
        used_with=_BIDIRECTIONAL,
    )
    penalty: float = opt(
        -1.0,
        "bidirectional: cost of a link one position off its counterpart, at most 0",
        most=0,
        metavar="COST",
        decoding=True,
        panel="Links",
        used_with=_NEAR,
    )
    unsupported: float = opt(
        -3.0,
        "bidirectional, soft: cost of a link without a counterpart",
        metavar="COST",
        decoding=True,
        panel="Links",
        used_with=_BIDIRECTIONAL | {"agreement": ("soft",)},
    )
    nodes: int = opt(
        1000,
        "bidirectional: maximum number of search nodes per pair, or ten seconds of work; 0 for no limit",
        least=0,
        decoding=True,
        used_with=_BIDIRECTIONAL,
    )
    time_limit: float = opt(
        0.0,
        "bidirectional: maximum number of seconds per pair; 0 for no limit",
        least=0,
        decoding=True,
        used_with=_BIDIRECTIONAL,
    )
    scores: str = opt(
        "posterior",
        "what submodular and matching add up: posterior, forward-posterior, backward-posterior; "
        "for ibm1 and ibm2 also forward, backward",
        choices=SCORES,
        decoding=True,
        used_with={"decoder": ("submodular", "matching")},
    )
    alpha: float = opt(
        0.5,
        "submodular: the links of a word are worth their sum to this power",
        over=0,
        most=1,
        decoding=True,
        used_with=_SUBMODULAR,
    )
    concave: str = opt(
        "both",
        "submodular: whose further links are worth less: source, target or both",
        choices=CONCAVE,
        decoding=True,
        used_with=_SUBMODULAR,
    )
    source_limit: int = opt(
        2,
        "submodular: maximum number of links of a source word; 0 for no limit",
        least=0,
        decoding=True,
        used_with=_SUBMODULAR,
    )
    target_limit: int = opt(
        2,
        "submodular: maximum number of links of a target word; 0 for no limit",
        least=0,
        decoding=True,
        used_with=_SUBMODULAR,
    )
    quantile: float = opt(
        0.0,
        "submodular: also limit a word to the number of links that is enough for more than this share of its "
        "occurrences; 0 switches it off",
        least=0,
        below=1,
        decoding=True,
        used_with=_SUBMODULAR,
    )

    def __post_init__(self) -> None:
        check(self)
        object.__setattr__(self, "symmetrize", SHORT_NAMES.get(self.symmetrize, self.symmetrize))
        if self.symmetrize not in SYMMETRIZATIONS:
            others = ", ".join(SYMMETRIZATIONS)
            raise UsageError(
                "{symmetrize=} is not one of {others}", symmetrize=self.symmetrize, others=others
            )
        tokenizers_of(self.tokenize)
        for wrong, what in (
            (
                self.threshold != 0 and not 1e-6 <= self.threshold < 1,  # kernels know seven digits
                "{threshold=} must be 0, or at least 1e-06 and below 1",
            ),
            (
                self.agreement == "soft" and not self.unsupported <= self.penalty,
                "{unsupported=} must be at most {penalty=}",
            ),
            (
                self.model == "ibm2" and self.constraint == "bijective",
                "{constraint=} is for the hmm; train ibm2 with none or agreement",
            ),
            (
                self.decoder == "bidirectional" and self.model != "hmm",
                "the bidirectional decoder needs an hmm; {model=} has no chains",
            ),
            (
                self.scores in ("forward", "backward") and self.model == "hmm",
                "{scores=} are those of ibm1 and ibm2; the hmm has posteriors alone",
            ),
        ):
            if wrong:
                raise UsageError(what, **self.as_dict())

    @property
    def fixed_threshold(self) -> float:
        """The threshold for decoders that need the same for all pairs."""
        return self.threshold or USUAL_THRESHOLD

    @property
    def skipped(self) -> frozenset[str]:
        """The tokens that are never linked, as they are compared."""
        return frozenset((self.skip_tokens.lower() if self.lowercase else self.skip_tokens).split())

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Options:
        """Options from keywords; an unknown one is an error that suggests another."""
        refuse_unknown(settings, {f.name for f in fields(cls)})
        return cls(**settings)

    def as_dict(self) -> dict[str, Any]:
        """All settings, ready for JSON."""
        return asdict(self)


if TYPE_CHECKING:
    from dualign.option_values import OptionValues as OptionValues
else:
    OptionValues = TypedDict("OptionValues", get_type_hints(Options), total=False)

DECODING = tuple(f.name for f in fields(Options) if f.metadata.get("decoding"))
"""Options that matter for aligning, and can be changed after training."""


def tokenizers_of(tokenize: str) -> tuple[str, str]:
    """Return the tokenisers of both sides, by their names, which must be known."""
    names = tokenize.split(",") if tokenize.count(",") == 1 else [tokenize, tokenize]
    for name in names:
        kind, colon, value = name.partition(":")
        if kind not in TOKENIZERS:
            raise UsageError(
                "{tokenize=}: there is no tokeniser `{kind}`; there are none, simple, moses, icu and "
                "sentencepiece:MODEL, and two with a comma between them for source and target",
                tokenize=tokenize,
                kind=kind,
            )
        if kind in ("none", "simple") and colon:
            raise UsageError(
                "{tokenize=}: `{kind}` takes nothing after it; write {kind}", tokenize=tokenize, kind=kind
            )
        if kind == "sentencepiece" and not value:
            raise UsageError("{tokenize=}: name the model, as in sentencepiece:text.model", tokenize=tokenize)
    return names[0], names[1]


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
