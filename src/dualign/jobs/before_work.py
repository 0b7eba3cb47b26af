"""Before the work of `align` and `train`: what cannot be done is refused, what has no effect is told."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from dualign._core.errors import DataError, UsageError
from dualign._core.files.container import checked_path
from dualign._core.files.places import refuse_inputs
from dualign._core.files.remote import is_remote
from dualign._core.files.streams import check_input, check_output, is_regular, text_size
from dualign.aligner import Aligner
from dualign.engines.cuda.device import card_of
from dualign.jobs.gold_tuning import Tuning
from dualign.jobs.knowledge import Knowledge
from dualign.jobs.link_output import Outputs
from dualign.jobs.resuming import check_resumable
from dualign.jobs.running import Run, one_standard_input, separate_outputs
from dualign.jobs.warming import compile_kernels, load_kernels
from dualign.options import Options
from dualign.text.blocks import check_separator
from dualign.text.conllu import is_conllu
from dualign.text.tokenizing import Cutting
from dualign.text.utf8 import read_lines, tokenize


def check_outputs(
    source: str, target: str | None, outputs: Outputs, load: str | None, resume: bool, run: Run
) -> None:
    """Refuse what cannot be written from such a text, or not in such a way, before the work."""
    if outputs.page is not None and "-" in (source, target):
        raise UsageError("the page about the run reads the text a second time; name files instead of -")
    if outputs.reads_lines and load is None and not can_read_again(source, target):
        raise UsageError(
            "what is written about the words reads the text a second time, after training; "
            "name files instead of - and pipes, or align with a saved model"
        )
    if outputs.at_once and load is None:
        raise UsageError("line_buffered=True needs a saved model: training needs the whole text")
    if run.crew is not None:
        from dualign.jobs.cluster_alignment import refuse_outputs

        refuse_outputs(outputs, resume)
        if not can_read_again(source, target):
            raise UsageError("a cluster reads the text again when it goes on; name files instead of -")
    if resume and outputs.ids is not None:
        raise UsageError("resume=True cannot write ids; leave them out")
    if outputs.posteriors is not None and not outputs.posteriors.endswith(".npz"):
        raise UsageError(f"posteriors={outputs.posteriors}: an archive of matrices; name it FILE.npz")
    if resume:
        check_resumable(outputs, load, source, target)


def check_places(
    outputs: Outputs,
    source: str,
    target: str | None,
    model: str | None,
    tuning: Tuning | None,
    known: Knowledge,
    beside: Sequence[str | None] = (),
) -> None:
    """Refuse before the work what could not be written after it: two outputs in one place, or in that of an
    input, or in a folder that does not exist. `beside` are further files that will be written, or None."""
    labelled = (None, None, None) if tuning is None else (tuning.gold, tuning.source, tuning.target)
    one_standard_input(source, target, *labelled, *known.inputs())
    if outputs.model is not None:
        checked_path(outputs.model)
    places = [*outputs.places(), *(os.fspath(place) for place in beside if place is not None)]
    refuse_inputs(places, (source, target, model, *labelled, *known.inputs()))
    separate_outputs(*places)
    for place in places:
        if is_remote(place):
            continue
        if place != "-" and not os.path.isdir(folder := os.path.dirname(os.path.realpath(place))):
            raise DataError(f"{place}: there is no folder {folder} to write to; make it first")
        if place != "-" and os.path.isdir(place):
            raise DataError(f"{place}: a directory; name a file to write")
        check_output(place)


def look_at(
    source: str, target: str | None, tuning: Tuning | None, known: Knowledge, run: Run, *, waits: bool = False
) -> None:
    """Refuse, before kernels are compiled, files that do not exist, and one file that has not both sides on
    its first line; not if the run `waits` for lines as they come."""
    texts = (
        source,
        target,
        *(known.background or ()),
        *(() if tuning is None else (tuning.source, tuning.target)),
    )
    for path in (*texts, None if tuning is None else tuning.gold, *known.inputs()):
        if path is not None:
            check_input(path)
    _warn_of_one_file(source, target, run)
    for path in texts:
        if path is not None and is_conllu(path):
            raise UsageError(f"{path}: CoNLL-U; open it with dualign.jobs.plain_text, which has its words")
    if target is None and is_regular(source) and not waits:
        for number, line in enumerate(read_lines(source, run.errors), 1):
            if tokenize(line):
                check_separator(line, f"{source}:{number}")
                return


def _warn_of_one_file(source: str, target: str | None, run: Run) -> None:
    """Warn where a text is its own translation, as after a typing error."""
    # An empty text has a warning of its own.
    if target is None or not can_read_again(source, target) or not text_size(source):
        return
    local = os.path.exists(source) and os.path.exists(target)
    if os.path.samefile(source, target) if local else source == target:
        run.warn(f"{source}: both the source and the target text; name the file of the other language")


def can_read_again(source: str, target: str | None) -> bool:
    """Whether these are files, and not streams that are gone once they were read."""
    return is_regular(source) and (target is None or is_regular(target))


def check_device(run: Run) -> None:
    """Refuse a card that cannot be used before the work."""
    if run.device != "auto":
        card_of(run.device, run.device_memory)


def computing(run: Run) -> dict[str, Any]:
    """The keywords of an `Aligner` that say where it computes."""
    return {"threads": run.threads, "device": run.device, "device_memory": run.device_memory}


def compile_for(run: Run, *names: str) -> None:
    """Compile kernels, and load them on the workers of a cluster, while the text is read."""
    if run.crew is None:
        compile_kernels(run.note, *names)
    else:
        compile_kernels(run.note, *names, "lines", "cluster")
        run.crew.prepare(load_kernels)


def note_device(
    aligner: Aligner,
    constraints: object,
    run: Run,
    *,
    learns: bool = True,
    pinned: bool = False,
    similar: bool = False,
) -> None:
    """Tell what a card leaves to the processor."""
    if aligner.card is None:
        return
    from dualign.engines.cuda.engine import why_not, why_not_align

    if learns and (reason := why_not(aligner.options, constraints, pinned, similar)) is not None:
        run.note(f"note: the card does not do {reason}; training runs on the processor")
    if (reason := why_not_align(aligner.options, constraints)) is not None:
        run.note(f"note: the card does not do {reason}; links are chosen on the processor")


def note_cut(cutting: Cutting, options: Options, outputs: Outputs, run: Run) -> None:
    """Tell that links are on tokens that nobody sees."""
    if not outputs.reads_lines and (cutting.source is not None or cutting.target is not None):
        run.note(
            f"note: links count tokens as tokenize={options.tokenize} cuts them, not the words of your "
            "files; positions=words counts words, tokens=FILE writes the tokens"
        )


def note_idle(
    options: Options, given: dict[str, Any], run: Run, outputs: Outputs, *, only_training: bool = False
) -> None:
    """Tell which of the given options have no effect on what is written.

    With `only_training`, that is a model: it keeps the options that wait for another decoder.
    """
    # The score of viterbi's links, which reports have, is relative to the threshold.
    scored = options.decoder == "viterbi" and (outputs.report or outputs.page)
    for name, other in options.idle([name for name in given if not (scored and name == "threshold")]):
        if other == "model" or not only_training:
            run.note(f"note: {name}={given[name]} has no effect with {other}={getattr(options, other)}")
