"""`dualign view`."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualign.cli.exits import say
from dualign.cli.options import Errors, LinkFormat, OnErrors, Quiet, Threads
from dualign.cli.showing import (
    First,
    Gold,
    GoldFormat,
    Links,
    ModelFile,
    Probabilities,
    Projection,
    Reports,
    Source,
    Target,
    dataset_of,
    model_view,
)
from dualign.core.errors import DataError, UsageError
from dualign.text.streams import open_output

if TYPE_CHECKING:
    from dualign.show.dataset import Dataset
    from dualign.show.model_view import ModelView

_PORT = 8017
_EMBEDDED = 1000


def view(
    source: Source,
    target: Target = None,
    links: Links = None,
    gold: Gold = None,
    probabilities: Probabilities = None,
    report: Reports = None,
    model: ModelFile = None,
    projection: Projection = None,
    html: Annotated[
        str | None,
        typer.Option("--html", metavar="FILE", help="Write one page that needs nothing else; - for stdout."),
    ] = None,
    posteriors: Annotated[
        int,
        typer.Option(
            "--posteriors", min=0, metavar="N", help="With --html: pairs whose posteriors go along."
        ),
    ] = _EMBEDDED,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            metavar="N",
            help=f"Port of the local page ({_PORT}; 0: any free one).",
        ),
    ] = None,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    format: LinkFormat = None,
    gold_format: GoldFormat = None,
    first: First = False,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Look at links in the browser: compare, search, sort, edit gold.

    Serves a page to this machine alone until Ctrl-C; with --html, writes a file that works without a
    server. Each --links is a system; --probabilities and --report belong to the --links in the same place.
    """
    if html is not None and (port is not None or browser):
        raise UsageError("--port and --open are for the local page; leave them out with --html")
    dataset = dataset_of(
        source, target, links, probabilities, report, gold, format, gold_format, first, errors
    )
    seen = None if model is None else model_view(model, projection, threads, quiet)
    if html is not None:
        from dualign.show.page import viewer_page
        from dualign.show.payload import content

        page = viewer_page(content(dataset, **_of_model(dataset, seen, posteriors)))
        with open_output(html) as stream:
            stream.write(page)
    else:
        _serve(dataset, seen, port, browser, quiet)


def _of_model(dataset: Dataset, seen: ModelView | None, posteriors: int) -> dict[str, Any]:
    """What the page gets to know of a model, with the posteriors of so many pairs."""
    if seen is None:
        return {}
    more: dict[str, Any] = {"projection": seen.projection}
    more["candidates"] = ["\n".join(lines) for lines in seen.candidates(dataset.pairs)]
    if posteriors:
        more["posteriors"] = "\n".join(seen.lines(islice(dataset.pairs, posteriors)))
    return more


def _serve(dataset: Dataset, seen: ModelView | None, port: int | None, browser: bool, quiet: bool) -> None:
    from dualign.show.page import viewer_page
    from dualign.show.payload import content
    from dualign.show.server import Viewer

    live = seen is not None
    page = viewer_page(content(dataset, live=live, **_of_model(dataset, seen, 0)), live=live)
    answer = None if seen is None else lambda n: seen.line(dataset.pairs[n])
    try:
        # Always the same, if it can be had: the browser keeps edits by address.
        server = Viewer(page, len(dataset), answer, _PORT if port is None else port)
    except DataError:
        if port is not None:
            raise
        server = Viewer(page, len(dataset), answer, 0)
    with server:
        # The address is the result, not a note: it is shown even when quiet.
        print(server.address, flush=True)
        if not quiet:
            say(f"{len(dataset):,} pairs at {server.address}, for this machine only; Ctrl-C ends it")
        if browser:
            import webbrowser

            webbrowser.open(server.address)
        with suppress(KeyboardInterrupt):
            server.serve_forever(poll_interval=0.2)
