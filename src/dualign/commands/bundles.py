"""Options that several verbs share, each declared once: single ones as functions, and records of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from dualign._core.errors import UsageError
from dualign._core.fields import OptionRecord, check, opt
from dualign.commands.console import Reporter
from dualign.options import POSITIONS, PROJECTIONS
from dualign.text.blocks import TextFiles
from dualign.text.checks import number_of
from dualign.text.link_formats import FORMATS

if TYPE_CHECKING:
    from dualign._core.memory import Workspace
    from dualign.aligner import Aligner
    from dualign.engines.dask.workers import Workers
    from dualign.hmm.constraints import ConstraintSet, Glossary
    from dualign.show.dataset import Dataset, Files
    from dualign.show.model_view import ModelView
    from dualign.text.tokenizing import Cutting


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


def cutting_of_model(model: str | None, tell: Reporter) -> Cutting:
    """Return how the text of a saved model was cut into tokens, and tell it if it was cut by a tokeniser."""
    from dualign._core.files.container import is_model_file
    from dualign.text.tokenizing import PLAIN, cutting_of

    # A file that is not a model is refused by whoever reads it for more.
    if model is None or not is_model_file(model):
        return PLAIN
    from dualign.hmm.model import Model

    options = Model.load(model).options
    cutting = cutting_of(options.tokenize, options.whitespace)
    if cutting != PLAIN:
        what = "note: the text is cut into tokens as that of {file} was; links must be of these tokens"
        tell.note(what, file=model)
    return cutting


def read_all(
    files: Files, columns: str | None, computing: Computing, tell: Reporter, model: str | None = None
) -> Dataset:
    """Read and check all files of a text to show, cut into words as that of the `model` was."""
    import gc

    from dualign.show.dataset import read_dataset

    cutting = cutting_of_model(model, tell)
    text = TextFiles(files.source, files.target, columns, errors=computing.errors, cutting=cutting)
    # Millions of tuples that stay: looking for cycles among them, again and again, takes half of the time.
    gc.disable()
    try:
        return read_dataset(files, computing.errors, text)
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
    """A file with the id of each pair, where the text has none; it stands before links, scores and tokens."""
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


WITHOUT_MODEL = "glossary prior prior_weight background background_ratio similarity similarity_weight"
"""The options that go with a model that is trained from the beginning."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Files of what is known; each is optional."""

    glossary: str | None = opt(
        None, "Known translations, source<TAB>target on a line, linked where both occur.",
        metavar="FILE", file="in", panel="Evidence",
    )  # fmt: skip
    prior: str | None = opt(
        None, "Pseudo-counts of word pairs: a model, source<TAB>target<TAB>weight, eflomal's priors.",
        metavar="FILE", file="in", panel="Evidence",
    )  # fmt: skip
    weight: float = opt(
        1.0, "Multiply the counts of --prior by this.", name="prior_weight", metavar="X", over=0,
        needs="prior", panel="Evidence",
    )  # fmt: skip
    model: str | None = opt(
        None, "Continue training this model, with its options and counts.", name="continue_",
        metavar="MODEL", file="in", model=True, panel="Evidence",
    )  # fmt: skip
    background: tuple[str, str] | None = opt(
        None,
        "More text to learn from, which is not aligned.",
        metavar="SOURCE TARGET",
        file="in",
        panel="Evidence",
    )
    times: int | None = opt(
        None,
        "Each pair of the text counts like N of --background. [default: 1, or 4 if few words are shared]",
        name="background_ratio", metavar="N", least=1, needs="background", panel="Evidence",
    )  # fmt: skip
    similarity: str | None = opt(
        None, "Similarities of the words of the first pairs, one matrix per pair, as evidence.",
        metavar="FILE.npz", file="in", panel="Evidence",
    )  # fmt: skip
    similarity_weight: float | None = opt(
        None, "Multiply probabilities by exp(W × similarity). [default: 4, or as --tune finds]",
        metavar="W", needs="similarity", panel="Evidence",
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


@dataclass(frozen=True, slots=True)
class Tuning:
    """Gold links to tune by, and the text they belong to if that is not the beginning of the input."""

    gold: str | None = opt(
        None, "Tune the decoder, and the weight of similarities, on these gold links of the first lines.",
        name="tune", metavar="GOLD", file="in", panel="Gold links",
    )  # fmt: skip
    source: str | None = opt(
        None, "Source text of the gold links, if not the first lines.", name="tune_source", needs="gold",
        metavar="FILE", file="in", panel="Gold links",
    )  # fmt: skip
    target: str | None = opt(
        None, "Target text of the gold links.", name="tune_target", metavar="FILE", file="in",
        panel="Gold links",
    )  # fmt: skip
    early_stop: bool = opt(
        False, "Stop training when quality on the gold links gets worse.", panel="Gold links"
    )
    pin: bool = False
    """Also keep the pairs to these links in training; tune only if there are enough of them."""
    ids: str | None = None
    """File with the ids of the input's pairs, which the gold links may name."""
    pinned: str | None = opt(
        None, "Corrected links of some pairs, kept fixed in training; 20 or more also tune the decoder.",
        name="gold", metavar="FILE", file="in", panel="Gold links",
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


@dataclass(frozen=True, repr=False)
class Computing(OptionRecord):
    """Threads, memory, devices and machines; none of them changes the result."""

    threads: int | None = opt(
        None, "Number of threads; it does not change the result.", metavar="N", least=1, panel="Computing"
    )
    errors: str = opt(
        "strict", "Bytes that are not UTF-8: stop, or replace them by U+FFFD.",
        choices=("strict", "replace"), panel="Computing",
    )  # fmt: skip
    memory: int | str | None = opt(
        None,
        "Memory to use, such as 4G; what does not fit goes to scratch files.",
        metavar="SIZE",
        panel="Computing",
    )
    device: str = opt(
        "cpu", "Where to compute: the processor, a graphics card, or a card if there is one.",
        choices=("cpu", "cuda", "auto"), panel="Computing",
    )  # fmt: skip
    device_memory: int | str | None = opt(
        None, "Memory of the card to use, such as 8G.", metavar="SIZE", panel="Computing"
    )
    scratch: str | None = opt(None, "Folder for scratch files.", metavar="DIR", panel="Computing")
    cluster: str | None = opt(
        None, "Compute on a Dask cluster: tcp://scheduler:8786, a scheduler file, or local:4.",
        metavar="ADDRESS", panel="Computing",
    )  # fmt: skip
    work: str | None = opt(
        None,
        "With --cluster: a folder that all its machines share, to go on from.",
        metavar="DIR",
        panel="Computing",
    )
    profile: str | None = opt(
        None, "Also write a JSON profile: where the time went, and how much memory was used.",
        metavar="FILE", file="out", panel="Computing",
    )  # fmt: skip

    def __repr__(self) -> str:
        changed = [f.name for f in fields(self) if getattr(self, f.name) != f.default]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in changed)})"

    def workspace(self) -> Workspace:
        """Return room for large arrays, as `memory` and `scratch` say; refuse what cannot be had."""
        from dualign._core.memory import Workspace, as_bytes, return_memory
        from dualign._core.threads import available

        memory = None
        if self.memory is not None:
            return_memory()
            memory = as_bytes(self.memory)
        return Workspace(memory, self.scratch, available(self.threads))

    def check(self) -> None:
        """Refuse before the work memory, a folder or a card that cannot be used."""
        if self.memory is not None or self.scratch is not None:
            self.workspace()
        if self.device == "cuda":
            from dualign.engines.cuda.device import card_of

            card_of(self.device, self.device_memory)

    def aligner_keywords(self) -> dict[str, Any]:
        """Return the keywords of an `Aligner` that say where it computes."""
        return {"threads": self.threads, "device": self.device, "device_memory": self.device_memory}

    def note_device(
        self,
        aligner: Aligner,
        constraints: object,
        tell: Reporter,
        *,
        learns: bool = True,
        pinned: bool = False,
        similar: bool = False,
    ) -> None:
        """Tell what a card leaves to the processor."""
        if aligner.card is None:
            return
        from dualign.engines.cuda.engine import why_not, why_not_align

        if learns and (reason := why_not(aligner.options, constraints, pinned, similar)) is not None:
            tell.note(f"note: the card does not do {reason}; training runs on the processor")
        if (reason := why_not_align(aligner.options, constraints)) is not None:
            tell.note(f"note: the card does not do {reason}; links are chosen on the processor")

    @contextmanager
    def crew(self, tell: Reporter) -> Iterator[Workers | None]:
        """Give the workers of the cluster, if there is one."""
        if self.cluster is None:
            yield None
            return
        from dualign.engines.dask.workers import connected

        with connected(self.cluster, self.work, tell.tasks) as crew:
            yield crew
