"""What is worth telling about texts, options and devices before the work, and kernels that it needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from dualign._core.arrays import Array
from dualign._core.fields import idle
from dualign._core.files.streams import is_regular, text_size
from dualign.aligner import Aligner
from dualign.commands.console import Reporter
from dualign.commands.warming import compile_kernels, load_kernels
from dualign.options import Options
from dualign.text.blocks import TextFiles, check_separator
from dualign.text.tokenizing import ENDING, SAMPLE, Cutting, sign_of_raw_text
from dualign.text.utf8 import read_lines, tokenize

MOSTLY = 0.5
"""With a larger share of unknown words at the beginning of a text, the model is hardly meant for it."""


def can_read_again(source: str, target: str | None) -> bool:
    """Return whether these are files, and not streams that are gone once they were read."""
    return is_regular(source) and (target is None or is_regular(target))


def inspect_text(
    source: str, target: str | None, errors: str, tell: Reporter, *, waits: bool = False
) -> None:
    """Refuse, before kernels are compiled, one file that has not both sides on its first line; not if the run
    `waits` for lines as they come. Warn where a text is its own translation, as after a typing error."""
    # An empty text has a warning of its own.
    if target is not None and can_read_again(source, target) and text_size(source):
        local = os.path.exists(source) and os.path.exists(target)
        if os.path.samefile(source, target) if local else source == target:
            what = "{file}: both the source and the target text; name the file of the other language"
            tell.warn(what, file=source)
    if target is None and is_regular(source) and not waits and not TextFiles(source).is_table:
        for number, line in enumerate(read_lines(source, errors), 1):
            if tokenize(line):
                check_separator(line, f"{source}:{number}")
                return


def compile_for(crew: Any, tell: Reporter, *names: str) -> None:
    """Compile kernels, and load them on the workers of a cluster, while the text is read."""
    if crew is None:
        compile_kernels(tell.note, *names)
    else:
        compile_kernels(tell.note, *names, "lines", "cluster")
        crew.prepare(load_kernels)


def note_device(
    aligner: Aligner,
    constraints: object,
    tell: Reporter,
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
        tell.note(f"note: the card does not do {reason}; training runs on the processor")
    if (reason := why_not_align(aligner.options, constraints)) is not None:
        tell.note(f"note: the card does not do {reason}; links are chosen on the processor")


def note_idle(
    options: Options,
    given: dict[str, Any],
    tell: Reporter,
    *,
    scored: bool = False,
    only_training: bool = False,
) -> None:
    """Tell which of the given options have no effect on what is written.

    With `only_training`, that is a model: it keeps the options that wait for another decoder.
    """
    # The score of viterbi's links, which reports have, is relative to the threshold.
    scored = scored and options.decoder == "viterbi"
    for name, other in idle(options, [name for name in given if not (scored and name == "threshold")]):
        if other == "model" or not only_training:
            what = f"note: {{{name}=}} has no effect with {{{other}=}}"
            tell.note(what, **{name: given[name], other: getattr(options, other)})


def note_raw(
    words: Callable[[int], tuple[Array, Sequence[str]]],
    cutting: Cutting,
    positions: str | None,
    tell: Reporter,
) -> None:
    """Tell where the text looks raw, and is not tokenised.

    `words` gives the first tokens of a side, in numbers, and the words of these. `positions`: what the links
    are on, None if there are none.
    """
    if tell.is_quiet:
        return
    signs = []
    for side, (name, cut) in enumerate((("source", cutting.source), ("target", cutting.target))):
        if cut is None:
            tokens, known = words(side)
            sign = sign_of_raw_text([known[token] for token in tokens[:SAMPLE].tolist()], name)
            if sign is not None:
                signs.append(sign)
    if signs:
        if len(signs) == 2 and all(sign.endswith(ENDING) for sign in signs):
            signs[0] = signs[0].removesuffix(ENDING)
        more = ", and align with {positions=} for links on the words of your files"
        tell.note(
            "note: {signs}; if this text is not tokenised, train with {tokenize=}"
            + (more if positions == "tokens" else ""),
            signs=" and ".join(signs), tokenize="simple", positions="words",
        )  # fmt: skip


def note_unknown(name: str, unknown: int, tokens: int, tell: Reporter) -> None:
    """Warn where most of the first tokens of a side are words that the model does not know."""
    if unknown > MOSTLY * tokens:
        tell.warn(
            f"the model does not know {100 * unknown / tokens:.0f} % of the first {name} words; "
            "was it trained on these languages, in this order?"
        )
