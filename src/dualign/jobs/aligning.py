"""What `align` and `train` do between their files: read, learn, tune, write."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, islice
from math import isfinite, isnan
from time import perf_counter
from typing import IO, Any

from dualign.aligner import Aligner
from dualign.cli.exits import say
from dualign.cli.options import one_standard_input, separate_outputs
from dualign.cli.progress import metered
from dualign.cli.rounds import show_rounds
from dualign.cli.settings import note_idle
from dualign.core.errors import DataError, UsageError
from dualign.decode.links import Links
from dualign.infer.constraints import Glossary
from dualign.infer.encoding import CHUNK
from dualign.infer.posteriors import LONGEST_IN_STEP
from dualign.jobs.warming import compile_kernels, load_kernels
from dualign.learn.training import NothingToLearn, usable
from dualign.model.model import Model
from dualign.model.options import Options
from dualign.model.storage import checked_path
from dualign.text.alignment import Alignment
from dualign.text.bitext import Bitext, Numbered, numbered
from dualign.text.numbering import encode_files
from dualign.text.pairs import read_pairs
from dualign.text.places import refuse_inputs
from dualign.text.printing import print_links
from dualign.text.streams import open_binary_output, open_output

Pair = tuple[Sequence[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files to write; all but the links are optional."""

    links: str
    model: str | None
    probabilities: str | None
    report: str | None
    page: str | None = None


@dataclass(frozen=True, slots=True)
class Tuning:
    """Gold links, and the text they belong to if that is not the beginning of the input."""

    gold: str | None
    source: str | None
    target: str | None
    early_stop: bool

    def __post_init__(self) -> None:
        if self.gold is None and (self.source or self.target or self.early_stop):
            raise UsageError("--tune-source, --tune-target and --early-stop need --tune GOLD")
        if self.target is not None and self.source is None:
            raise UsageError("--tune-target needs --tune-source")


def run(
    source: str,
    target: str | None,
    model: str | None,
    options: dict[str, Any],
    outputs: Outputs,
    tuning: Tuning,
    glossary: str | None,
    threads: int | None,
    errors: str,
    quiet: bool,
) -> None:
    """Align a bitext with a saved model, or learn one from it first."""
    if outputs.page is not None and "-" in (source, target):
        raise UsageError("--html-report reads the text a second time; name files instead of -")
    one_standard_input(source, target, tuning.gold, tuning.source, tuning.target, glossary)
    check_outputs(outputs, source, target, model, tuning.gold, tuning.source, tuning.target, glossary)
    if model is None:
        note_options(Options.of(options), options, outputs, quiet)
    compile_kernels(quiet, options.get("decoder", ""))
    if model is None:
        try:
            encoded, aligner = learn(source, target, options, tuning, glossary, threads, errors, quiet)
        except NothingToLearn as error:
            if error.pairs == 0 or outputs.model is not None or outputs.page is not None:
                raise
            say(f"warning: {error}: all {error.pairs} lines of the output are empty")
            with open_output(outputs.links) as out:
                out.write("\n" * error.pairs)
            return
        links: Iterator[Links] = aligner.align_stream(encoded)
    else:
        if tuning.early_stop:
            raise UsageError("--early-stop is for training, but --model is given")
        aligner = Aligner.load(model, threads=threads).set_options(**options)
        note_options(aligner.options, options, outputs, quiet)
        aligner.constraints = read_glossary(glossary, errors)
        pairs: Iterable[Pair] = read_pairs(source, target, errors=errors)
        if tuning.gold is not None:
            gold = read_gold(tuning.gold, errors)
            begin = [] if tuning.source else list(islice(pairs, len(gold)))
            choose(aligner, tuning_pairs(tuning, begin, gold, errors), gold, quiet)
            pairs = chain(begin, pairs)
        pairs = iter(pairs)
        begin = list(islice(pairs, CHUNK))
        note_strange(aligner, begin, quiet)
        links = aligner.align_stream(ready_for_long(chain(begin, pairs), quiet))
    if outputs.model is not None:
        aligner.save(outputs.model)
    if outputs.page is None:
        write(links, aligner, outputs, quiet)
        return
    from dualign.jobs.run_page import Kept, write_page

    kept = Kept(links)
    write(kept, aligner, outputs, quiet)
    write_page(outputs.page, list(read_pairs(source, target, errors=errors)), kept, aligner)


def learn(
    source: str,
    target: str | None,
    options: dict[str, Any],
    tuning: Tuning,
    glossary: str | None,
    threads: int | None,
    errors: str,
    quiet: bool,
) -> tuple[Numbered, Aligner]:
    """Train an aligner, tuned if there is gold; returns the bitext encoded, and the aligner."""
    aligner = Aligner(threads=threads, **options)
    load_kernels(aligner.threads)
    gold = read_gold(tuning.gold, errors) if tuning.gold else []
    begin: list[Pair] = []
    if target is not None and not (gold and tuning.source is None):
        text = encode_files(source, target, aligner.options.lowercase, errors=errors)
    else:
        pairs = read_pairs(source, target, errors=errors)
        begin = list(islice(pairs, len(gold))) if tuning.source is None else []
        text = numbered(chain(begin, pairs), aligner.options.lowercase)
    labelled = tuning_pairs(tuning, begin, gold, errors) if gold else []
    areas: list[float] = []
    judge = None
    if tuning.early_stop:
        from dualign.jobs.tuning import area_judge

        area = area_judge(labelled, gold, aligner.threads)

        def judge(model: Model) -> float:
            areas.append(area(model))
            return areas[-1]

    if max(int(side.lengths.max(initial=0)) for side in (text.source, text.target)) > LONGEST_IN_STEP:
        compile_kernels(quiet, "long")
    with show_rounds(quiet) as report:
        constraints = read_glossary(glossary, errors)
        aligner.fit(text, report=report, judge=judge, constraints=constraints)
    note_unused(text, aligner, quiet)
    if tuning.early_stop and not quiet:
        numbers = [progress.number for progress in aligner.history][len(aligner.history) - len(areas) :]
        say(kept_round(areas, numbers, aligner.options))
    if gold:
        choose(aligner, labelled, gold, quiet)
    return text, aligner


def ready_for_long(pairs: Iterable[Pair], quiet: bool) -> Iterator[Pair]:
    """The pairs; before the first with a very long sentence, its kernels are compiled."""
    ready = False
    for pair in pairs:
        if not ready and max(len(pair[0]), len(pair[1])) > LONGEST_IN_STEP:
            compile_kernels(quiet, "long")
            ready = True
        yield pair


def read_gold(path: str, errors: str) -> list[Alignment]:
    """The gold links to tune by."""
    from dualign.text.formats import read_links

    gold = list(read_links(path, errors=errors))
    if not gold:
        raise DataError(f"{path}: no gold links, the file is empty")
    if not any(each.links or each.possible for each in gold):
        raise DataError(f"{path}: no gold links in {len(gold)} lines; there is nothing to tune by")
    return gold


def read_glossary(path: str | None, errors: str) -> Glossary | None:
    """The constraints of a glossary file, if one is given."""
    return None if path is None else Glossary.read(path, errors=errors)


def tuning_pairs(tuning: Tuning, begin: list[Pair], gold: Sequence[Alignment], errors: str) -> list[Pair]:
    """The sentence pairs of the gold links, checked."""
    pairs = begin
    if tuning.source is not None:
        pairs = list(read_pairs(tuning.source, tuning.target, errors=errors))
    place = "the input" if tuning.source is None else tuning.source
    if len(pairs) != len(gold):
        raise DataError(f"{tuning.gold} has gold links for {len(gold)} pairs, but {place} has {len(pairs)}")
    for number, ((s, t), links) in enumerate(zip(pairs, gold, strict=True), 1):
        for i, j in chain(links.links, links.possible):
            if i >= len(s) or j >= len(t):
                raise DataError(
                    f"{tuning.gold}:{number}: link {i}-{j} is outside the pair, which has {len(s)} and "
                    f"{len(t)} words; do the gold links belong to this text?"
                )
    return pairs


def choose(aligner: Aligner, pairs: Sequence[Pair], gold: Sequence[Alignment], quiet: bool) -> None:
    """Tune the decoder and say what was chosen."""
    from dualign.jobs.tuning import tune

    chosen = tune(aligner, pairs, gold)
    if not quiet:
        values = ", ".join(
            f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in chosen.items()
        )
        say(f"tuned on {len(gold)} pairs: {values}")


def kept_round(areas: Sequence[float], numbers: Sequence[int], options: Options) -> str:
    """Which round early stopping has kept, by the area under the curve after each that it went through."""
    if not areas:
        return f"note: --early-stop has no effect with {options.model} and rounds={options.rounds}"
    kept = areas.index(max(areas))
    return (
        f"early stop: kept round {numbers[kept]} of {options.rounds}, area under the curve {areas[kept]:.4f}"
    )


def note_options(options: Options, given: dict[str, Any], outputs: Outputs, quiet: bool) -> None:
    """Tell which of the given options have no effect on what is written."""
    # The score of viterbi's links, which reports have, is relative to the threshold.
    scored = options.decoder == "viterbi" and (outputs.report or outputs.page)
    note_idle(options, [name for name in given if not (scored and name == "threshold")], quiet)


def note_unused(encoded: Bitext, aligner: Aligner, quiet: bool) -> None:
    """Tell how many pairs took no part in training, and why."""
    if quiet:
        return
    lengths, widths = encoded.source.lengths, encoded.target.lengths
    if empty := int(((lengths == 0) | (widths == 0)).sum()):
        have = "has" if empty == 1 else "have"
        say(f"note: {empty:,} of {len(encoded):,} pairs {have} an empty side; not learnt from, no links")
    limit = aligner.options.max_length
    long = ((lengths > limit) | (widths > limit)) & (lengths > 0) & (widths > 0)
    if (long & usable(encoded, limit)).any():
        say(f"note: every pair has more than {limit} words a side; learnt from them all the same")
    elif count := int(long.sum()):
        say(
            f"note: {count:,} {'pair has' if count == 1 else 'pairs have'} more than {limit} words a side; "
            "aligned, but not learnt from"
        )


def note_strange(aligner: Aligner, pairs: Sequence[Pair], quiet: bool) -> None:
    """Warn where the first pairs of a text are in other languages than the model's."""
    model = aligner.model
    for side, vocabulary, name in ((0, model.source, "source"), (1, model.target, "target")):
        words = [word for pair in pairs for word in pair[side]]
        if model.options.lowercase:
            words = [word.lower() for word in words]
        strange = sum(word not in vocabulary.numbers for word in words)
        if 2 * strange > len(words) and not quiet:
            say(
                f"warning: the model does not know {100 * strange / len(words):.0f} % of the {name} words at "
                "the beginning; is it of these languages, in this order?"
            )


def write(links: Iterator[Links], aligner: Aligner, outputs: Outputs, quiet: bool) -> None:
    """Write links, and what else is asked for, chunk by chunk; nothing appears under a final name before
    everything is written."""
    line = too_long = proved = 0
    with ExitStack() as stack:
        out = stack.enter_context(open_binary_output(outputs.links))
        scored = (
            stack.enter_context(open_binary_output(outputs.probabilities)) if outputs.probabilities else None
        )
        report = stack.enter_context(open_output(outputs.report)) if outputs.report else None
        began = perf_counter()
        for chunk in metered(links, outputs.links, quiet):
            seconds = (perf_counter() - began) / max(len(chunk), 1)
            write_links(chunk, out, scored)
            if report is not None:
                write_report(chunk, line, seconds, report)
            line += len(chunk)
            too_long += int(chunk.too_long.sum())
            proved += int(chunk.certified.sum())
            began = perf_counter()
    if aligner.options.decoder == "bidirectional" and not quiet:
        say(f"{proved:,} of {line:,} alignments are proved optimal")
    if too_long and not quiet:
        pairs = "pair is" if too_long == 1 else "pairs are"
        say(f"warning: {too_long:,} {pairs} too long to align (over 10 million cells), and without links")


def write_links(chunk: Links, out: IO[bytes], scored: IO[bytes] | None) -> None:
    """A line for each pair: `i-j …`, and `i-j:probability …` where wanted."""
    links = chunk.source, chunk.target, chunk.probability, chunk.begin, chunk.count
    out.write(print_links(*links, False))
    if scored is not None:
        scored.write(print_links(*links, True))


def write_report(chunk: Links, line: int, seconds: float, report: IO[str]) -> None:
    """A JSON object for each pair. Where a decoder does not search pair by pair, `seconds` is the mean over
    the chunk. A pair that was too long for the decoder has no score or bound.
    """
    for n in range(len(chunk)):
        begin, count = int(chunk.begin[n]), int(chunk.count[n])
        probabilities = chunk.probability[begin : begin + count]
        score, bound = float(chunk.score[n]), float(chunk.bound[n])
        record: dict[str, Any] = {
            "line": line + n + 1,
            "links": count,
            "mean_probability": round(float(probabilities.mean()), 6) if count else None,
            "score": None if isnan(score) else score,
            "bound": None if isnan(bound) or chunk.too_long[n] else bound,
            "certified": bool(chunk.certified[n] and not chunk.too_long[n]),
            "seconds": round(float(chunk.seconds[n]) or seconds, 9),
        }
        if chunk.rounds[n]:
            record["iterations"] = int(chunk.rounds[n])
        if len(chunk.trace) and chunk.trace[n]:
            record["trace"] = [[value if isfinite(value) else None for value in r] for r in chunk.trace[n]]
        report.write(json.dumps(record) + "\n")


def check_outputs(outputs: Outputs, *inputs: str | None) -> None:
    """Refuse before the work what could not be written after it: two things in one place, or in that of an
    input, or in no folder."""
    if outputs.model is not None:
        checked_path(outputs.model)
    places = [
        p
        for p in (outputs.links, outputs.model, outputs.probabilities, outputs.report, outputs.page)
        if p is not None
    ]
    refuse_inputs(places, inputs)
    separate_outputs(*places)
    for place in places:
        if place != "-" and not os.path.isdir(folder := os.path.dirname(os.path.realpath(place))):
            raise DataError(f"{place}: there is no folder {folder} to write to; make it first")
        if place != "-" and os.path.isdir(place):
            raise DataError(f"{place}: a directory; name a file to write")
