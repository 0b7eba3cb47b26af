"""`dualign serve`."""

from __future__ import annotations

import os
from typing import Annotated

from dualign import jobs
from dualign.cli import settings
from dualign.cli.options import Quiet, Threads, argument, option
from dualign.cli.screen import on_screen
from dualign.options import SERVICE_PORT


def serve(
    model: Annotated[str, argument("MODEL", "A saved model.")],
    host: Annotated[str, option("ADDRESS", "Where to listen.")] = "127.0.0.1",
    port: Annotated[int, option("N", "Port; 0: any free one.", min=0, max=65535)] = SERVICE_PORT,
    token: Annotated[
        str | None,
        option(
            "TEXT",
            "Token that clients must send (or DUALIGN_TOKEN); with --host, one is made if not given.",
            "--token",
        ),
    ] = None,
    glossary: settings.GlossaryFile = None,
    decoder: settings.Decoder = None,
    threshold: settings.Threshold = None,
    set_: settings.Set = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Serve links over HTTP: sentence pairs as JSON in, links out.

    POST /align takes a pair or a batch; /health, /openapi.json; a page at / draws the links of two
    sentences. It answers this machine only, unless --host says otherwise; then a token is needed.
    """
    chosen = settings.chosen(set_, decoder=decoder, threshold=threshold)
    given = token or os.environ.get("DUALIGN_TOKEN") or None
    with on_screen(quiet, "", threads) as run:
        server = jobs.serve(model, host=host, port=port, token=given, glossary=glossary, run=run, **chosen)
        # The address is the result, not a note: it is shown even when quiet.
        print(server.place.address, flush=True)
        run.note(f"{model} at {server.place.address}; Ctrl-C ends it")
        server.serve_forever()
