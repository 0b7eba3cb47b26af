"""Options of the aligner on the command line: flags for the common ones, `--set NAME=VALUE` for all."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, get_type_hints

from dualign._core.errors import UsageError
from dualign._core.fields import KINDS, suggestion
from dualign.cli.options import flag, option
from dualign.options import AGREEMENTS, CONSTRAINTS, DECODERS, MODELS, STYLES, WHITESPACE, Options

_FIELDS = {field.name: field for field in fields(Options)}


def _setting(name: str, metavar: str) -> Any:
    field = _FIELDS[name]
    help = f"{field.metadata['help'][0].upper()}{field.metadata['help'][1:]}."
    if field.default != "":
        help += f" [default: {field.default}]"
    return option(metavar, help)


Decoder = Annotated[str | None, _setting("decoder", "|".join(DECODERS))]
Symmetrize = Annotated[str | None, _setting("symmetrize", "METHOD")]
Agreement = Annotated[str | None, _setting("agreement", "|".join(AGREEMENTS))]
Penalty = Annotated[float | None, _setting("penalty", "COST")]
Unsupported = Annotated[float | None, _setting("unsupported", "COST")]
Threshold = Annotated[float | None, _setting("threshold", "P")]
Style = Annotated[str | None, _setting("style", "|".join(STYLES))]
Constraint = Annotated[str | None, _setting("constraint", "|".join(CONSTRAINTS))]
ModelName = Annotated[str | None, _setting("model", "|".join(MODELS))]
Rounds = Annotated[int | None, _setting("rounds", "N")]
Tokenize = Annotated[str | None, _setting("tokenize", "NAME[,NAME]")]
WhiteSpace = Annotated[str | None, _setting("whitespace", "|".join(WHITESPACE))]
SkipTokens = Annotated[str | None, _setting("skip_tokens", "TOKENS")]
MaxLength = Annotated[int | None, _setting("max_length", "N")]
KeepCase = Annotated[bool, flag("--keep-case", "Distinguish upper and lower case when comparing words.")]
GlossaryFile = Annotated[
    str | None, option("FILE", "Known translations, source<TAB>target on a line, linked where both occur.")
]
PriorFile = Annotated[
    str | None,
    option("FILE", "Pseudo-counts of word pairs: a model, source<TAB>target<TAB>weight, eflomal's priors."),
]
PriorWeight = Annotated[float, option("X", "Multiply the counts of --prior by this.")]
Background = Annotated[
    tuple[str, str] | None,
    option("SOURCE TARGET", "More text to learn from, which is not aligned.", "--background"),
]
BackgroundRatio = Annotated[
    int | None,
    option(
        "N",
        "Each pair of the text counts like N of --background. [default: 1, or 4 if few words are shared]",
        min=1,
    ),
]
Similarity = Annotated[
    str | None,
    option("FILE.npz", "Similarities of the words of the first pairs, one matrix per pair, as evidence."),
]
SimilarityWeight = Annotated[
    float | None,
    option("W", "Multiply probabilities by exp(W × similarity). [default: 4, or as --tune finds]"),
]
Tune = Annotated[
    str | None,
    option(
        "GOLD", "Tune the decoder, and the weight of similarities, on these gold links of the first lines."
    ),
]
PinnedGold = Annotated[
    str | None,
    option(
        "FILE", "Corrected links of some pairs, kept fixed in training; 20 or more also tune the decoder."
    ),
]
TuneSource = Annotated[str | None, option("FILE", "Source text of the gold links, if not the first lines.")]
TuneTarget = Annotated[str | None, option("FILE", "Target text of the gold links.")]
EarlyStop = Annotated[bool, flag("--early-stop", "Stop training when quality on the gold links gets worse.")]
Set = Annotated[
    list[str] | None, option("NAME=VALUE", f"Any other option: {', '.join(sorted(_FIELDS))}.", "--set")
]


def chosen(assignments: list[str] | None, **given: Any) -> dict[str, Any]:
    """The options that were given, by name, with values of the right type."""
    values = {name: value for name, value in given.items() if value is not None}
    types = get_type_hints(Options)
    for assignment in assignments or ():
        name, equals, text = assignment.partition("=")
        name = name.strip().replace("-", "_")
        if name not in types:
            raise UsageError(
                f"--set {assignment}: write NAME=VALUE with an option; {suggestion(name, _FIELDS)}"
            )
        if not equals:
            raise UsageError(f"--set {assignment}: no value; write --set {name}=VALUE")
        value = _value(name, text.strip(), types[name])
        if given.get(name) not in (None, value):
            raise UsageError(
                f"{name}={given[name]} and --set {assignment} contradict each other; give one of them"
            )
        values[name] = value
    return values


def _value(name: str, text: str, kind: Any) -> Any:
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise UsageError(f"--set {name}={text}: write true or false")
        return text.lower() == "true"
    try:
        return kind(text)
    except ValueError:
        raise UsageError(f"--set {name}={text}: not {KINDS[kind.__name__][1]}") from None
