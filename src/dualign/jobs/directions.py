"""Links of one direction, as fast_align and eflomal write them: each word of one side has at most one link.

`forward` has at most one link for a target word, `backward` for a source word; in both files the source word
comes first. A link of a direction is one whose probability in that direction is over one half.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from dualign._core.errors import UsageError
from dualign._core.files.atomic import temporary_folder
from dualign._core.files.places import refuse_inputs
from dualign._core.files.streams import open_output
from dualign.jobs.knowledge import Knowledge
from dualign.jobs.link_output import Outputs
from dualign.jobs.running import SILENT, Run, job, one_standard_input, separate_outputs
from dualign.jobs.word_alignment import align
from dualign.text.blocks import read_pairs
from dualign.text.text_files import TextFiles
from dualign.text.utf8 import read_lines

DIRECTION = {"decoder": "posterior", "threshold": 0.5}
"""How the links of a direction are chosen."""


class Directions(NamedTuple):
    """Where to write the links of each direction, their scores, and the model; None for what is not wanted.

    A score is the mean cost of a word, −log p(target given source) or −log p(source given target), in nats.
    With `after_links`, it follows the links, as the log-probability of the sentence: `0-0 1-1 ||| -7.3`.
    """

    forward: str | None = None
    backward: str | None = None
    model: str | None = None
    forward_scores: str | None = None
    backward_scores: str | None = None
    after_links: bool = False


@job
def align_directions(
    source: str,
    target: str | None,
    outputs: Directions,
    *,
    load: str | None = None,
    glossary: str | Knowledge | None = None,
    run: Run = SILENT,
    **options: Any,
) -> None:
    """Learn from a bitext, or align it with the model `load`, and write the links of either direction.

    `glossary` as for `align`.
    """
    wanted = [
        (direction, links, scores)
        for direction, links, scores in (
            ("forward", outputs.forward, outputs.forward_scores),
            ("backward", outputs.backward, outputs.backward_scores),
        )
        if links is not None or scores is not None
    ]
    if not wanted:
        raise UsageError("nothing to write; name a file for the links of one direction at least")
    one_standard_input(source, target)
    separate_outputs(*outputs[:-1])
    refuse_inputs(outputs[:-1], (source, target, load))
    if "-" in (source, target) and (len(wanted) == 2 or outputs.after_links):
        raise UsageError("the text is read more than once; name files instead of -")
    with temporary_folder(run.scratch) as folder:
        for number, (direction, links, scores) in enumerate(wanted):
            places = [os.path.join(folder, f"{direction}.{name}") for name in ("links", "scores", "model")]
            how = {**options, **DIRECTION, "symmetrize": direction}
            first = places[0] if links is None or outputs.after_links else links
            second = None if scores is None and not outputs.after_links else places[1]
            if load is not None:
                how = {name: value for name, value in how.items() if name not in ("model", "null")}
                aligner = align(source, target, Outputs(first, scores=second), load=load, run=run, **how)
            else:
                save = outputs.model or (places[2] if number + 1 < len(wanted) else None)
                written = Outputs(first, model=save, scores=second)
                aligner = align(source, target, written, glossary=glossary, run=run, **how)
                load = save
            if scores is not None:
                _write_costs(places[1], scores, direction)
            if outputs.after_links and links is not None:
                text = TextFiles(source, target, errors=run.errors, cutting=aligner.cutting)
                _write_after_links(places[0], places[1], text, links, direction)


def _scores(path: str, direction: str) -> Iterator[float]:
    """The log-probabilities per word of a direction, from a file of scores."""
    column = 0 if direction == "forward" else 1
    return (float(line.split("\t")[column]) for line in read_lines(path))


def _write_costs(scores: str, output: str, direction: str) -> None:
    with open_output(output) as stream:
        stream.writelines(f"{-value:g}\n" for value in _scores(scores, direction))


def _write_after_links(links: str, scores: str, text: TextFiles, output: str, direction: str) -> None:
    side = 1 if direction == "forward" else 0
    rows = zip(read_lines(links), _scores(scores, direction), read_pairs(text), strict=True)
    with open_output(output) as stream:
        stream.writelines(f"{line} ||| {value * len(pair[side]):g}\n" for line, value, pair in rows)
