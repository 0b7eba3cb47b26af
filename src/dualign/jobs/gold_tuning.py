"""Gold links to tune or to train by, and the pairs they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from dualign._core.errors import DataError, UsageError
from dualign.aligner import Aligner
from dualign.jobs.link_output import Outputs
from dualign.jobs.running import Run
from dualign.options import Options
from dualign.text.blocks import Pair, read_pairs
from dualign.text.checks import links_inside, number_of, same_length
from dualign.text.corpus import Numbered
from dualign.text.gold import Gold, read_gold
from dualign.text.links import Alignment
from dualign.text.text_files import TextFiles
from dualign.text.tokenizing import Cutting
from dualign.text.utf8 import read_lines


@dataclass(frozen=True, slots=True)
class Tuning:
    """Gold links to tune by, and the text they belong to if that is not the beginning of the input."""

    gold: str
    source: str | None = None
    target: str | None = None
    """None if `source` has both sides on each line."""
    early_stop: bool = False
    """Also stop training, and keep the best round, when the area under the precision-recall curve shrinks."""
    pin: bool = False
    """Also keep the pairs to these links in training; tune only if there are enough of them."""
    ids: str | None = None
    """File with the ids of the input's pairs, which the gold links may name."""

    @property
    def on_input(self) -> bool:
        """Whether the gold links are those of the first lines of the input."""
        return self.source is None

    def __post_init__(self) -> None:
        if self.target is not None and self.source is None:
            raise UsageError("the target text to tune on is given without its source text; give both")

        if self.pin and not self.on_input:
            raise UsageError("pinned gold links belong to the training text; leave out the text to tune on")

    def read_gold(self, errors: str) -> Gold:
        """The gold links."""
        ids = list(read_lines(self.ids)) if self.ids is not None and self.on_input else []
        gold = read_gold(self.gold, errors=errors, ids=ids)
        if not gold.links:
            raise DataError(f"{self.gold}: no gold links, the file is empty")
        # A correction may say that a pair has no links.
        if (self.early_stop or not self.pin) and not linked(gold):
            raise DataError(
                f"{self.gold}: no gold links in {number_of(len(gold.links), 'lines')}; "
                "there is nothing to tune by"
            )
        return gold

    def pairs(self, begin: Iterable[Pair], gold: Gold, errors: str, cutting: Cutting) -> list[Pair]:
        """The sentence pairs of the gold links, checked; `begin` are those of the input, or the first."""
        place, text = "the input", begin
        if self.source is not None:
            own = TextFiles(self.source, self.target, errors=errors, cutting=cutting)
            place, text = self.source, list(read_pairs(own))
            if not gold.chosen:
                counts = (self.gold, len(gold.links)), (place, len(text))
                same_length(*counts, unit="pairs", remedy="give the gold links of this text")
        pairs = gold.of(text, place)
        for number, (s, t), links in zip(gold.lines, pairs, gold.links, strict=True):
            every = chain(links.links, links.possible)
            at = f"{self.gold}, pair {number + 1}" if gold.chosen else f"{self.gold}:{number + 1}"
            try:
                links_inside(every, len(s), len(t), at)
            except DataError as error:
                if self.pin or not self.on_input:
                    raise
                raise DataError(
                    f"{error}; if they belong to another text, name it: --tune-source, --tune-target"
                ) from None
        return pairs


def linked(gold: Gold) -> int:
    """How many pairs have gold links."""
    return sum(bool(each.links or each.possible) for each in gold.links)


def check_gold(tuning: Tuning | None, outputs: Outputs, options: Options) -> None:
    """Refuse gold links that were probably made for words, where they would be read as links of tokens."""
    if tuning is None or not tuning.on_input or outputs.positions == "tokens" or options.tokenize == "none":
        return
    raise UsageError(
        f"gold links count the tokens of tokenize={options.tokenize}, but positions={outputs.positions} is "
        "set; write the tokens with tokens=FILE, and align and correct that text"
    )


def as_tuning(given: str | Tuning | None) -> Tuning | None:
    """A path as a `Tuning` with its defaults; a `Tuning` as it is."""
    return given if given is None or isinstance(given, Tuning) else Tuning(given)


def tune_by(aligner: Aligner, pairs: Sequence[Pair] | Numbered, gold: Sequence[Alignment], run: Run) -> None:
    """Choose threshold and decoder parameters by gold links, and tell which."""
    from dualign.jobs.tuning import tune

    chosen = ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in tune(aligner, pairs, gold).items()
    )
    run.note(f"tuned on {number_of(len(gold), 'pairs')}: {chosen}")
