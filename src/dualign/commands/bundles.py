"""Options that several verbs share, each declared once: single ones as functions, and records of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dualign._core.errors import UsageError
from dualign._core.fields import check, opt
from dualign.commands.computing import Computing
from dualign.commands.console import Reporter
from dualign.options import POSITIONS, PROJECTIONS
from dualign.text.link_formats import FORMATS
from dualign.text.text_files import TextFiles

if TYPE_CHECKING:
    from dualign.show.dataset import Dataset
    from dualign.show.files import Files
    from dualign.show.model_view import ModelView


def output(default: Any = "-", help: str = "Where to write; - is standard output.", **rules: Any) -> Any:
    """Declare the main output."""
    return opt(default, help, short="-o", **{"metavar": "FILE", "file": "out"} | rules)


def link_format(help: str = "Link format", **rules: Any) -> Any:
    """Declare the format of a file of links."""
    text = f"{help}: {', '.join(FORMATS)}. Guessed from name and content if not given."
    return opt(None, text, **{"metavar": "FORMAT"} | rules)


def gold_format() -> Any:
    """Declare the format of gold links."""
    return opt(None, "The same for GOLD.", metavar="FORMAT")


def pairs() -> Any:
    """Declare the number of sentence pairs."""
    text = "Number of sentence pairs: NAACL files do not mention the last ones without links."
    return opt(None, text, metavar="N", least=0)


def columns(**rules: Any) -> Any:
    """Declare the columns of a table."""
    text = "Columns of a table (TSV, CSV, JSON lines, XLSX): source=2,target=3,id=1, by number or title."
    return opt(None, text, metavar="NAME=COLUMN,…", **rules)


def time_limit() -> Any:
    """Declare how long the work on a pair may take."""
    return opt(None, "For each pair; none if not given.", metavar="SECONDS", over=0)


def report_file(help: str = "") -> Any:
    """Declare a report of one JSON object per pair."""
    text = help or "Also write JSON for each pair: line, score, bound, certified, seconds."
    return opt(None, text, metavar="FILE", file="out")


def check_beside(source: str | None, target: str | None) -> None:
    """Refuse a target without its source, as with `--source` and `--target`, which need not be given."""
    if source is None and target is not None:
        raise UsageError("{target=} needs {source=}; give both", target=..., source=...)


@dataclass(frozen=True)
class ReportFile:
    """Where a result goes that a shell prints and Python returns."""

    output: str = output(shell=True)
    as_json: bool = opt(
        False, "Print one JSON object; rates are fractions, not per cent.", flag="--json", shell=True
    )

    def __post_init__(self) -> None:
        check(self)

    def write(self, text: str, json: str) -> None:
        """Write a result, given for people and for programs."""
        from dualign._core.files.streams import open_output

        with open_output(self.output) as stream:
            stream.write((json if self.as_json else text) + "\n")


SHOWN = "source target links probabilities gold format gold_format first"
"""The files of a text to show that most verbs have flags for."""


@contextmanager
def plain_files(
    files: Files, columns: str | None, computing: Computing, tell: Reporter, model: str | None = None
) -> Iterator[Files]:
    """Give files to show whose text is plain, and cut into words as that of the `model` was."""
    from dualign.commands.plain_text import plain_text

    given = TextFiles(files.source, files.target, columns, errors=computing.errors)
    with plain_text(given, model, computing.scratch, tell) as text:
        yield replace(files, source=text.source, target=text.target, ids=text.ids or files.ids)


def read_all(files: Files, computing: Computing) -> Dataset:
    """Read and check all files of a text to show."""
    import gc

    from dualign.show.dataset import read_dataset

    # Millions of tuples that stay: looking for cycles among them, again and again, takes half of the time.
    gc.disable()
    try:
        return read_dataset(files, computing.errors)
    finally:
        gc.freeze()
        gc.enable()


def model_view(model: str, projection: str | None, computing: Computing, tell: Reporter) -> ModelView:
    """Load a model to look into; `projection` is the model's own if None."""
    from dualign.commands.warming import WORD_ALIGNER, compile_kernels
    from dualign.show.model_view import ModelView

    compile_kernels(tell.note, *WORD_ALIGNER)
    return ModelView(model, projection, computing.threads)


def projection() -> Any:
    """Declare the projection of a model to look into."""
    text = "Projection to show; the model's own if not given."
    return opt(None, text, metavar="|".join(PROJECTIONS), choices=PROJECTIONS)


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
