"""`Outputs`: the files that word alignment writes."""

from __future__ import annotations

from dataclasses import dataclass

from dualign._core.errors import UsageError
from dualign._core.fields import check, opt
from dualign.commands.bundles import output, report_file
from dualign.options import POSITIONS


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files that word alignment writes; all but the links are optional."""

    links: str = output(name="output", flag="--output")
    model: str | None = opt(None, "Save the model.", name="save", metavar="MODEL", file="out")
    probabilities: str | None = opt(
        None, "Also write links as `i-j:probability`.", metavar="FILE", file="out"
    )
    report: str | None = report_file()
    page: str | None = opt(
        None, "Also write a page about the run.", name="html_report", metavar="FILE", file="out"
    )
    scores: str | None = opt(
        None,
        "Also write how well each pair fits: log-probability per word in both directions, mean link "
        "probability, share of unlinked words.",
        name="pair_scores", flag="--scores",  # `scores` is an option of the matching decoders
        metavar="FILE", file="out",
    )  # fmt: skip
    posteriors: str | None = opt(
        None, "Also write the probability of every possible link, one matrix per pair.",
        metavar="FILE.npz", file="out",
    )  # fmt: skip
    tokens: str | None = opt(
        None, "Also write the tokens, `source<TAB>target`.", metavar="FILE", file="out", panel="Text"
    )
    ids: str | None = None
    """A file to read: the id of each pair, a line each, which stands before its links, scores and tokens."""
    at_once: bool = opt(
        False, "With --model: write the links of each line as soon as it is read.", name="line_buffered"
    )
    positions: str = opt(
        "tokens", "What links refer to: tokens, words between white space, or character offsets.",
        choices=POSITIONS, panel="Text",
    )  # fmt: skip

    def __post_init__(self) -> None:
        check(self)
        if self.posteriors is not None and not self.posteriors.endswith(".npz"):
            raise UsageError(
                "{posteriors=}: an archive of matrices; name it FILE.npz", posteriors=self.posteriors
            )

    @property
    def reads_lines(self) -> bool:
        """Whether the text itself is needed, not only its numbers."""
        return self.tokens is not None or self.positions != "tokens"

    @property
    def streamed(self) -> tuple[str | None, ...]:
        """The files that are written piece by piece, the links first."""
        return self.links, self.probabilities, self.report, self.scores, self.tokens
