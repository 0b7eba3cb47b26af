"""Options of the verbs that show a bitext: where its text, links, gold and reports are."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Annotated

import typer

from dualign.cli.options import one_standard_input
from dualign.core.errors import UsageError

if TYPE_CHECKING:
    from dualign.show.dataset import Dataset
    from dualign.show.model_view import ModelView

Source = Annotated[
    str, typer.Argument(metavar="SOURCE", help="Source text, a sentence a line; or both sides: see TARGET.")
]
Target = Annotated[
    str | None,
    typer.Argument(
        metavar="[TARGET]",
        help="Target text. Without it, the lines of SOURCE are `source ||| target` or `source<TAB>target`.",
    ),
]
Links = Annotated[
    list[str] | None,
    typer.Option("--links", "-l", metavar="[NAME=]FILE", help="Links of a system; again for another."),
]
Probabilities = Annotated[
    list[str] | None,
    typer.Option(
        "--probabilities",
        metavar="[NAME=]FILE",
        help="Links as `i-j:probability`: the probabilities of the links in the same place, or a system.",
    ),
]
Reports = Annotated[
    list[str] | None,
    typer.Option(
        "--report", metavar="FILE", help="What `align --report` wrote, for the links in the same place."
    ),
]
Gold = Annotated[str | None, typer.Option("--gold", metavar="FILE", help="Gold links, sure and possible.")]
GoldFormat = Annotated[
    str | None, typer.Option("--gold-format", metavar="FORMAT", help="Format of the gold links.")
]
First = Annotated[bool, typer.Option("--first", help="Gold is for the first lines of the text.")]
ModelFile = Annotated[
    str | None,
    typer.Option("--model", metavar="MODEL", help="Saved model: posteriors, before and after projection."),
]
Projection = Annotated[
    str | None,
    typer.Option(
        "--projection",
        metavar="none|symmetric|bijective",
        help="Projection to show; the model's own if not given.",
    ),
]


def dataset_of(
    source: str,
    target: str | None,
    links: list[str] | None = None,
    probabilities: list[str] | None = None,
    report: list[str] | None = None,
    gold: str | None = None,
    format: str | None = None,
    gold_format: str | None = None,
    first: bool = False,
    errors: str = "strict",
) -> Dataset:
    """Read what the options name, and check it."""
    from dualign.show.dataset import Files, read_dataset

    files = Files(
        source,
        target,
        links or (),
        probabilities or (),
        report or (),
        gold,
        format,
        gold_format,
        first,
        errors,
    )
    one_standard_input(*files.inputs())
    # Millions of tuples that stay: looking for cycles among them, again and again, takes half of the time.
    gc.disable()
    try:
        return read_dataset(files)
    finally:
        gc.freeze()
        gc.enable()


def model_view(model: str, projection: str | None, threads: int | None, quiet: bool) -> ModelView:
    """Load a model to look into."""
    from dualign.jobs.warming import compile_kernels
    from dualign.model.options import PROJECTIONS
    from dualign.show.model_view import ModelView

    if projection is not None and projection not in PROJECTIONS:
        raise UsageError(f"--projection {projection} is not one of {', '.join(PROJECTIONS)}")
    compile_kernels(quiet)
    return ModelView(model, projection, threads)
