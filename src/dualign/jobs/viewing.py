"""Pages that show aligned text: `summarize` and `view`; and how the files behind them are read."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from dualign._core.errors import DataError, UsageError
from dualign._core.files.streams import open_output, plain_name
from dualign.jobs.running import SILENT, Run, job, one_standard_input
from dualign.jobs.warming import WORD_ALIGNER, compile_kernels
from dualign.options import PORT, PROJECTIONS
from dualign.show.dataset import Dataset, System, named, read_dataset
from dualign.show.dataset import Files as ShownFiles
from dualign.show.model_view import ModelView
from dualign.show.summary import About, summary_page
from dualign.show.viewer import Viewer, content, viewer_page
from dualign.text.links import Alignment


def read_all(files: ShownFiles, run: Run = SILENT) -> Dataset:
    """Read and check all files of a text to show."""
    one_standard_input(*files.inputs())
    # Millions of tuples that stay: looking for cycles among them, again and again, takes half of the time.
    gc.disable()
    try:
        return read_dataset(files, run.errors)
    finally:
        gc.freeze()
        gc.enable()


def with_model(dataset: Dataset, model: str, lines: Sequence[int], run: Run = SILENT) -> Dataset:
    """The dataset with a further system: what a saved model links in the pairs of these lines, from 1."""
    from dualign.aligner import Aligner

    compile_kernels(run.note, *WORD_ALIGNER)
    chosen = sorted({line - 1 for line in lines})
    found = Aligner.load(model, threads=run.threads).align([dataset.pairs[n] for n in chosen])
    links = dict(zip(chosen, found, strict=True))
    every = [links.get(n, Alignment()) for n in range(len(dataset))]
    cells = [dict(zip(each.links, each.probabilities or (), strict=False)) for each in every]
    return replace(dataset, systems=[*dataset.systems, System(plain_name(model), every, cells)])


def model_view(model: str, projection: str | None = None, run: Run = SILENT) -> ModelView:
    """Load a model to look into; `projection` is the model's own if None."""
    if projection is not None and projection not in PROJECTIONS:
        raise UsageError(f"projection={projection} is not one of {', '.join(PROJECTIONS)}")
    compile_kernels(run.note, *WORD_ALIGNER)
    return ModelView(model, projection, run.threads)


@job
def summarize(files: ShownFiles, output: str = "-", *, run: Run = SILENT) -> None:
    """Write an HTML page about aligned text, with statistics and a dictionary."""
    if max(len(files.links), len(files.probabilities)) != 1:
        raise UsageError("the page is about one system; give one file of links or of probabilities")
    dataset = read_all(files, run)
    system = dataset.systems[0]
    alignments = list(system.links)
    if system.cells is not None:
        alignments = [
            replace(alignment, probabilities=tuple(cells.get(link, float("nan")) for link in alignment.links))
            for alignment, cells in zip(alignments, system.cells, strict=True)
        ]
    given = {"source": files.source, "target": files.target, "links": (*files.links, *files.probabilities)[0]}
    facts = {name: plain_name(named(path)[1]) for name, path in given.items() if path is not None}
    title = f"{dataset.names[0]} – {dataset.names[1]}: {system.name}"
    about = About(title, records=system.records or (), facts=facts)
    with open_output(output) as stream:
        stream.write(summary_page(dataset.pairs, alignments, about))
    run.wrote(len(dataset), "pairs", output)


@job
def view(
    files: ShownFiles,
    output: str = "-",
    *,
    model: str | None = None,
    projection: str | None = None,
    posteriors: int = 1000,
    run: Run = SILENT,
) -> None:
    """Write an HTML page to compare, search and edit links, which works without a server.

    `model` is a saved model whose posteriors, of the first `posteriors` pairs, are shown too.
    """
    dataset = read_all(files, run)
    seen = None if model is None else model_view(model, projection, run)
    page = viewer_page(content(dataset, **_of_model(dataset, seen, posteriors)))
    with open_output(output) as stream:
        stream.write(page)
    run.wrote(len(dataset), "pairs", output)


@job
def viewer(
    files: ShownFiles,
    *,
    model: str | None = None,
    projection: str | None = None,
    port: int | None = None,
    run: Run = SILENT,
) -> Viewer:
    """A server of the same page for this machine; call its `serve_forever`. Port 0 is any free one."""
    dataset = read_all(files, run)
    seen = None if model is None else model_view(model, projection, run)
    live = seen is not None
    page = viewer_page(content(dataset, live=live, **_of_model(dataset, seen, 0)), live=live)
    answer = None if seen is None else lambda n: seen.line(dataset.pairs[n])
    try:
        # Always the same, if it can be had: the browser keeps edits by address.
        return Viewer(page, len(dataset), answer, PORT if port is None else port)
    except DataError:
        if port is not None:
            raise
        return Viewer(page, len(dataset), answer, 0)


def _of_model(dataset: Dataset, seen: ModelView | None, posteriors: int) -> dict[str, Any]:
    """What the page contains about a model, with the posteriors of the first `posteriors` pairs."""
    if seen is None:
        return {}
    more: dict[str, Any] = {"projection": seen.projection}
    more["candidates"] = ["\n".join(lines) for lines in seen.candidates(dataset.pairs)]
    if posteriors:
        more["posteriors"] = "\n".join(seen.lines(islice(dataset.pairs, posteriors)))
    return more
