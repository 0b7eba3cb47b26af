"""`dualign view`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign._core.errors import UsageError
from dualign.cli.options import (
    Columns,
    Errors,
    LinkFormat,
    OnErrors,
    Quiet,
    Source,
    Target,
    Threads,
    flag,
    option,
)
from dualign.cli.screen import on_screen
from dualign.cli.showing import First, Gold, GoldFormat, Links, ModelFile, Probabilities, Projection, Reports
from dualign.commands.signals import Terminated
from dualign.options import PORT
from dualign.text.checks import number_of


def view(
    source: Source,
    target: Target = None,
    columns: Columns = None,
    links: Links = None,
    gold: Gold = None,
    probabilities: Probabilities = None,
    report: Reports = None,
    model: ModelFile = None,
    projection: Projection = None,
    html: Annotated[
        str | None,
        option("FILE", "Write a page that needs nothing else; - for stdout.", "--html --output -o"),
    ] = None,
    posteriors: Annotated[int, option("N", "With --html: pairs to include posteriors of.", min=0)] = 1000,
    port: Annotated[
        int | None, option("N", f"Port of the local page ({PORT}; 0: any free one).", min=0, max=65535)
    ] = None,
    browser: Annotated[bool, flag("--open", "Open the page in the browser.")] = False,
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
    systems = links or (), probabilities or (), report or ()
    with (
        on_screen(quiet, html or "", threads, errors) as run,
        jobs.plain_text(source, target, columns=columns, model=model, run=run) as text,
    ):
        files = jobs.ShownFiles(
            text.source, text.target, *systems, gold, format, gold_format, first, text.ids
        )
        if html is not None:
            jobs.view(files, html, model=model, projection=projection, posteriors=posteriors, run=run)
            return
        with jobs.viewer(files, model=model, projection=projection, port=port, run=run) as server:
            # The address is the result, not a note: it is shown even when quiet.
            print(server.address, flush=True)
            run.note(
                f"{number_of(server.pairs, 'pairs')} at {server.address}, for this "
                "machine only; Ctrl-C ends it"
            )
            if browser:
                import webbrowser

                webbrowser.open(server.address)
            try:
                server.serve_forever(poll_interval=0.2)
            except Terminated:
                raise
            except KeyboardInterrupt:
                pass  # how one leaves it
