"""`dualign view`: links in the browser, on a local page or in a file."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from dualign._core.errors import DataError, Terminated, UsageError
from dualign._core.fields import bundle, opt
from dualign._core.files.streams import open_output
from dualign.commands.bundles import SHOWN, Computing, columns, model_view, projection, read_all
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.show.dataset import Files
from dualign.text.checks import number_of

if TYPE_CHECKING:
    from dualign.show.dataset import Dataset
    from dualign.show.model_view import ModelView
    from dualign.show.viewer import Viewer

PORT = 8017
"""Always the same, if it can be had: the browser keeps edits by address."""


@dataclass(frozen=True)
class View(Command):
    """Look at links in the browser: compare, search, sort, edit gold.

    Serves a page to this machine alone until Ctrl-C; with --html, writes a file that works without a
    server. Each --links is a system; --probabilities and --report belong to the --links in the same place.
    """

    shown: Files = bundle(Files, f"{SHOWN} reports")
    columns: str | None = columns()
    model: str | None = opt(
        None, "Saved model: posteriors, before and after projection.", metavar="MODEL", file="in"
    )
    projection: str | None = projection()
    html: str | None = opt(
        None, "Write a page that needs nothing else; - for stdout.",
        metavar="FILE", short="-o", also="--output", file="out",
    )  # fmt: skip
    posteriors: int = opt(1000, "With --html: pairs to include posteriors of.", metavar="N", least=0)
    port: int | None = opt(
        None, f"Port of the local page ({PORT}; 0: any free one).", metavar="N", least=0, most=65535
    )
    browser: bool = opt(False, "Open the page in the browser.", flag="--open")
    computing: Computing = bundle(Computing, "threads errors")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.html is not None and (self.port is not None or self.browser):
            raise UsageError(
                "{port=} and {browser=} are for the local page; leave them out with {html=}",
                port=..., browser=..., html=...,
            )  # fmt: skip

    @property
    def main_output(self) -> str:
        """Return where the page goes."""
        return self.html or ""

    def run(self, tell: Reporter) -> Viewer | None:
        """Write the page, or return a server of it, whose `serve_forever` is still to be called."""
        from dualign.show.viewer import content, viewer_page

        dataset, seen = read_all(self.shown, self.columns, self.computing, tell, self.model), None
        if self.model is not None:
            seen = model_view(self.model, self.projection, self.computing, tell)
        if self.html is None:
            return self._server(dataset, seen)
        page = viewer_page(content(dataset, **_of_model(dataset, seen, self.posteriors)))
        with open_output(self.html) as stream:
            stream.write(page)
        tell.wrote(len(dataset), "pairs", self.html)
        return None

    def _server(self, dataset: Dataset, seen: ModelView | None) -> Viewer:
        from dualign.show.viewer import Viewer, content, viewer_page

        live = seen is not None
        page = viewer_page(content(dataset, live=live, **_of_model(dataset, seen, 0)), live=live)
        answer = None if seen is None else lambda n: seen.line(dataset.pairs[n])
        try:
            return Viewer(page, len(dataset), answer, PORT if self.port is None else self.port)
        except DataError:
            if self.port is not None:
                raise
            return Viewer(page, len(dataset), answer, 0)

    def show(self, result: Viewer | None, tell: Reporter) -> None:
        """Serve the page."""
        if result is None:
            return
        with result as server:
            # The address is the result, not a note: it is shown even when quiet.
            print(server.address, flush=True)
            pairs = number_of(server.pairs, "pairs")
            tell.note(f"{pairs} at {server.address}, for this machine only; Ctrl-C ends it")
            if self.browser:
                import webbrowser

                webbrowser.open(server.address)
            try:
                server.serve_forever()
            except Terminated:
                raise
            except KeyboardInterrupt:
                pass  # how one leaves it


def _of_model(dataset: Dataset, seen: ModelView | None, posteriors: int) -> dict[str, Any]:
    """Return what the page contains about a model, with the posteriors of the first `posteriors` pairs."""
    if seen is None:
        return {}
    more: dict[str, Any] = {"projection": seen.projection}
    more["candidates"] = ["\n".join(lines) for lines in seen.candidates(dataset.pairs)]
    if posteriors:
        more["posteriors"] = "\n".join(seen.lines(islice(dataset.pairs, posteriors)))
    return more
