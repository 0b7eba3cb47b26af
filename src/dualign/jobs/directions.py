"""Links of one direction, as fast_align and eflomal write them: each word of one side has at most one link.

`forward` has at most one link for a target word, `backward` for a source word; in both files the source word
comes first. A link of a direction is one whose probability in that direction is over one half.
"""

from __future__ import annotations

import os
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from dualign.core.errors import UsageError
from dualign.jobs.link_output import Outputs
from dualign.jobs.running import SILENT, Run, job, one_standard_input, separate_outputs
from dualign.jobs.word_alignment import align
from dualign.text.places import refuse_inputs

DIRECTION = {"decoder": "posterior", "threshold": 0.5}
"""How the links of a direction are chosen."""


class Directions(NamedTuple):
    """Where to write the links of each direction, and the model; None for what is not wanted."""

    forward: str | None = None
    backward: str | None = None
    model: str | None = None


@job
def align_directions(
    source: str,
    target: str | None,
    outputs: Directions,
    *,
    load: str | None = None,
    run: Run = SILENT,
    **options: Any,
) -> None:
    """Learn from a bitext, or align it with the model `load`, and write the links of either direction."""
    wanted = [
        (direction, path)
        for direction, path in (("forward", outputs.forward), ("backward", outputs.backward))
        if path is not None
    ]
    if not wanted:
        raise UsageError("nothing to write; name a file for the links of one direction at least")
    one_standard_input(source, target)
    separate_outputs(*outputs)
    refuse_inputs(outputs, (source, target, load))
    if len(wanted) == 2 and "-" in (source, target):
        raise UsageError("the text is read once for each direction; name files instead of -")
    with TemporaryDirectory(prefix="dualign-", dir=run.scratch) as folder:
        for number, (direction, path) in enumerate(wanted):
            how = {**options, **DIRECTION, "symmetrize": direction}
            if load is not None:
                how = {name: value for name, value in how.items() if name not in ("model", "null")}
                align(source, target, Outputs(path), load=load, run=run, **how)
                continue
            save = outputs.model
            if save is None and number + 1 < len(wanted):
                save = os.path.join(folder, "model")
            align(source, target, Outputs(path, model=save), run=run, **how)
            load = save
