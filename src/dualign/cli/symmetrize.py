"""`dualign symmetrize`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign.cli.options import Errors, LinkFormat, OnErrors, Output, Pairs, Quiet, argument, flag, option
from dualign.cli.screen import on_screen
from dualign.options import SYMMETRIZATIONS


def symmetrize(
    forward: Annotated[str, argument("FORWARD", "Links of source to target.")],
    backward: Annotated[
        str,
        argument(
            "BACKWARD",
            "Links of target to source, but written like FORWARD, source word first (GIZA files may not be).",
        ),
    ],
    method: Annotated[
        str,
        option(
            "METHOD",
            f"{', '.join(SYMMETRIZATIONS[:-1])} or {SYMMETRIZATIONS[-1]}. Short names such as gdfa work.",
            "--method",
        ),
    ] = "grow-diag-final-and",
    output: Output = "-",
    format: LinkFormat = None,
    pairs: Pairs = None,
    swap: Annotated[bool, flag("--swap", "BACKWARD is written target word first.")] = False,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Combine the links of the two directions into one set.

    Writes one line of Pharaoh links for each sentence pair. Memory does not grow with their number.
    """
    with on_screen(quiet, output, None, errors) as run:
        jobs.symmetrize(
            forward, backward, output, method=method, format=format, pairs=pairs, swap=swap, run=run
        )
