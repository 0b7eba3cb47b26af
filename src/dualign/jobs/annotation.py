"""Annotation carried from a source to its translation, from files to files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from dualign._core.errors import UsageError
from dualign._core.files.streams import open_output
from dualign.jobs.running import SILENT, Run, job, one_standard_input, separate_outputs
from dualign.measure.transfer import THRESHOLDS, SpanReport, TreeReport, span_report, tree_report
from dualign.text.checks import number_of
from dualign.text.tables import is_json
from dualign.transfer import runs
from dualign.transfer.runs import AnnotatedFiles as AnnotatedFiles
from dualign.transfer.runs import TagSettings
from dualign.transfer.sentences import Settings as TransferSettings
from dualign.transfer.sentences import as_column
from dualign.transfer.spans import GAP
from dualign.transfer.weighted_links import check_threshold

_SHARD = 1024
"""Sentence pairs of a task on a cluster."""

USUAL, USUAL_TAGS = TransferSettings(), TagSettings()


@job
def transfer_tree(
    files: AnnotatedFiles,
    output: str = "-",
    *,
    settings: TransferSettings = USUAL,
    report: str | None = None,
    run: Run = SILENT,
) -> Counter[str]:
    """Carry dependency trees to the translation, as CoNLL-U; returns counts of what happened, as all here do.

    `report` gets a JSON object with the counts of each pair.
    """
    one_standard_input(files.source, files.target, files.links)
    return _write(runs.trees(files, settings, run.errors, _spread(run)), output, report, run)


@job
def transfer_tags(
    files: AnnotatedFiles,
    output: str = "-",
    *,
    tags: TagSettings = USUAL_TAGS,
    settings: TransferSettings = USUAL,
    report: str | None = None,
    run: Run = SILENT,
) -> Counter[str]:
    """Carry the tags of words to the translation, as CoNLL-U if a side is, otherwise as lines of tags."""
    one_standard_input(files.source, files.target, files.links)
    is_conllu = files.conllu()
    if settings.pos != "any" and not all(is_conllu):
        raise UsageError(
            f"pos={settings.pos} compares parts of speech, which only CoNLL-U has; give both sides as such"
        )
    if tags.default.split() != [tags.default]:
        raise UsageError(f"default={tags.default!r} is not a tag: it is empty or has blanks")
    tags = replace(tags, column=as_column(tags.column))
    if tags.bio and any(is_conllu) and tags.column == "upos":
        raise UsageError("BIO tags are not parts of speech; name their column in CoNLL-U, as in column=NER")

    return _write(runs.tags(files, settings, tags, run.errors, _spread(run)), output, report, run)


@job
def transfer_spans(
    files: AnnotatedFiles,
    output: str = "-",
    *,
    discontinuous: str = "largest",
    gap: int = GAP,
    threshold: float = 0.0,
    report: str | None = None,
    run: Run = SILENT,
) -> Counter[str]:
    """Carry spans, given by character offsets in JSON lines, to the translation."""
    one_standard_input(files.source, files.target, files.links)
    results = runs.spans(files, discontinuous, gap, threshold, run.errors, _spread(run))
    return _write(results, output, report, run)


@job
def transfer_markup(
    files: AnnotatedFiles,
    output: str = "-",
    *,
    tokens: tuple[str | None, str | None] = (None, None),
    gap: int = GAP,
    threshold: float = 0.0,
    report: str | None = None,
    run: Run = SILENT,
) -> Counter[str]:
    """Put the inline tags of a source into its translation; `tokens` are the words that links count."""
    one_standard_input(files.source, files.target, files.links, *tokens)
    results = runs.markup(files, tokens, gap, threshold, run.errors, _spread(run))
    return _write(results, output, report, run)


@job
def evaluate_transfer(
    files: AnnotatedFiles,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    at: float = 0.5,
    settings: TransferSettings = USUAL,
    discontinuous: str = "largest",
    gap: int = GAP,
    run: Run = SILENT,
) -> SpanReport | TreeReport:
    """Carry annotation across and compare it with the target's own, at each of the thresholds on links.

    `at`: also give the accuracy at this share of edges.
    """
    one_standard_input(files.source, files.target, files.links)
    for value in thresholds:
        check_threshold(value)
    if at == 0:
        raise UsageError(f"at={at}: without edges there is no accuracy; give a larger share")
    if is_json(files.source) != is_json(files.target):
        raise UsageError("SOURCE and TARGET must both be CoNLL-U, or both be called .jsonl")
    if is_json(files.source):
        records = runs.record_pairs(files, True, run.errors)
        return span_report(records, thresholds, discontinuous, gap, files.links)
    pairs = runs.sentence_pairs(files, True, run.errors)
    return tree_report(pairs, thresholds, settings, files.links, at, discontinuous, gap)


def _spread(run: Run) -> runs.Spread:
    """Where pairs are worked on: here, or on a cluster."""
    if run.crew is None:
        return map
    from dualign.jobs.cluster_map import mapped

    return partial(mapped, run.crew, "transfer", size=_SHARD)


def _write(results: Iterable[runs.Carried], output: str, report: str | None, run: Run) -> Counter[str]:
    """Write results as they come, with their counts to the report; returns the sum of the counts."""
    separate_outputs(output, report)
    total: Counter[str] = Counter()
    pairs = 0
    with ExitStack() as stack:
        stream = stack.enter_context(open_output(output))
        counts_stream = stack.enter_context(open_output(report)) if report is not None else None
        for pairs, (result, counts) in enumerate(run.counted(results, "transfer"), 1):
            stream.write(result)
            total.update(counts)
            if counts_stream is not None:
                counts_stream.write(json.dumps({"line": pairs, **counts}) + "\n")
    found = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in total.items())
    run.note(number_of(pairs, "sentence pairs") + (f": {found}" if found else ""))
    return total
