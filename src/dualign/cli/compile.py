"""`dualign compile`."""

from __future__ import annotations

from typing import Annotated

from dualign.cli.options import Quiet, flag
from dualign.cli.screen import on_screen


def compile(
    everything: Annotated[
        bool, flag("--all", "Also those of other decoders, phrases and translation.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Compile kernels now, so that the first run need not.

    Does what the first `dualign align` would do before its work, for images of machines and for
    clusters. Prints the folder that the kernels are kept in; what is there already is not compiled again.
    """
    from dualign import jobs
    from dualign._core.files.streams import open_output

    with on_screen(quiet) as run:
        folder = jobs.compile_ahead(everything, run=run)
    with open_output("-") as stream:
        stream.write(f"{folder}\n")
