"""`dualign transfer evaluate`."""

from __future__ import annotations

import json
from typing import Annotated

from dualign import jobs
from dualign._core.files.places import kept_apart
from dualign._core.files.streams import open_output
from dualign.cli.options import AsJson, Errors, LinkFormat, OnErrors, Output, Pairs, Quiet, argument, option
from dualign.cli.screen import on_screen
from dualign.cli.transfer import options


def evaluate(
    source: Annotated[str, argument("SOURCE", "Annotated source: CoNLL-U, or .jsonl with spans.")],
    target: Annotated[str, argument("TARGET", "Its translation, with annotation of its own.")],
    links: options.LinksFile,
    threshold: Annotated[
        list[float] | None, option("P", "Thresholds on links; repeat for several.", min=0.0, max=1.0)
    ] = None,
    at: Annotated[float, option("SHARE", "Also give the accuracy at this share.", min=0.0, max=1.0)] = 0.5,
    pos: options.Pos = options.PosFilter.ANY,
    surface: options.Surface = False,
    discontinuous: options.Discontinuous = options.OnDiscontinuous.LARGEST,
    gap: options.Gap = 2,
    output: Output = "-",
    as_json: AsJson = False,
    format: LinkFormat = None,
    pairs: Pairs = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Carry annotation across and compare it with the target's own.

    Of CoNLL-U, edges, words with the right head (UAS, LAS), parts of speech and nominal phrases are compared,
    at several thresholds on the links' probabilities; of JSON lines, spans with their labels.
    """
    from dualign.measure.transfer import THRESHOLDS

    with kept_apart(), on_screen(quiet, "", None, errors) as run:
        report = jobs.evaluate_transfer(
            jobs.AnnotatedFiles(source, target, links, link_format=format, pairs=pairs),
            thresholds=sorted(threshold) if threshold else THRESHOLDS,
            at=at,
            settings=jobs.TransferSettings(pos=pos, surface=surface),
            discontinuous=discontinuous,
            gap=gap,
            run=run,
        )
        with open_output(output) as stream:
            stream.write((json.dumps(report.as_dict()) if as_json else report.as_text()) + "\n")
