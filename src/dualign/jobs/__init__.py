"""Whole tasks as functions: files in and out, callbacks for progress, no printing.

Each verb of the command line that reads files and writes files or a report calls one of these functions:

    from dualign import jobs

    jobs.align("text.de", "text.en", "links")
    jobs.align(
        "text.de", "text.en", jobs.Outputs("links", report="report.jsonl"),
        tuning=jobs.Tuning("gold", early_stop=True), glossary="terms.tsv", decoder="posterior",
    )
    print(jobs.evaluate("links", "gold", first=True).as_text())

A file name is a `str` or a `pathlib.Path`; `-` is standard input or output, and names that end in .gz,
.bz2, .xz or .zst are compressed. Outputs are written completely or not at all, and no input is overwritten.
`run=jobs.Run(...)` sets the number of threads and the functions to call with notes, progress and rounds of
training:

    jobs.train("text.de", "text.en", "model", run=jobs.Run(threads=4, note=print))

`tune` is different: it takes an `Aligner` and sentence pairs, not files. `viewer` and `serve` return
servers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dualign._core.lazy import lazily

if TYPE_CHECKING:
    from dualign.jobs.annotation import (
        evaluate_transfer,
        transfer_markup,
        transfer_spans,
        transfer_tags,
        transfer_tree,
    )
    from dualign.jobs.directions import Directions, align_directions
    from dualign.jobs.drawing import (
        draw_calibration,
        draw_cost,
        draw_curve,
        draw_matrix,
        draw_posteriors,
        draw_pruning,
        draw_trace,
    )
    from dualign.jobs.evaluation import LinkFile, PairedReport, Report, Words, compare, evaluate
    from dualign.jobs.glossary_files import USUAL_PROBABILITY, DictionaryText, dictionary
    from dualign.jobs.gold_tuning import Tuning
    from dualign.jobs.installation import Measured, Own, Synthetic, bench
    from dualign.jobs.knowledge import Knowledge
    from dualign.jobs.learning import train
    from dualign.jobs.link_files import remap
    from dualign.jobs.link_output import Outputs
    from dualign.jobs.phrase_files import (
        LinkedText,
        PhraseAnswer,
        TableText,
        align_phrases,
        evaluate_phrases,
        extract_phrases,
        train_phrases,
    )
    from dualign.jobs.plain_files import PlainText, plain_text
    from dualign.jobs.running import Run
    from dualign.jobs.score_matrices import MatrixDecoder, decode
    from dualign.jobs.serving import Server, serve
    from dualign.jobs.translation import ParallelText, train_language_model, train_translation, translate
    from dualign.jobs.tuning import tune
    from dualign.jobs.viewing import summarize, view, viewer
    from dualign.jobs.warming import compile_ahead
    from dualign.jobs.word_alignment import align
    from dualign.phrase.word_entries import CutOffs
    from dualign.show.dataset import Files as ShownFiles
    from dualign.transfer.remapping import Remapping, Side
    from dualign.transfer.runs import AnnotatedFiles as AnnotatedFiles
    from dualign.transfer.runs import TagSettings
    from dualign.transfer.sentences import Settings as TransferSettings

__all__ = [
    "USUAL_PROBABILITY",
    "AnnotatedFiles",
    "CutOffs",
    "DictionaryText",
    "Directions",
    "Knowledge",
    "LinkFile",
    "LinkedText",
    "MatrixDecoder",
    "Measured",
    "Outputs",
    "Own",
    "PairedReport",
    "ParallelText",
    "PhraseAnswer",
    "PlainText",
    "Remapping",
    "Report",
    "Run",
    "Server",
    "ShownFiles",
    "Side",
    "Synthetic",
    "TableText",
    "TagSettings",
    "TransferSettings",
    "Tuning",
    "Words",
    "align",
    "align_directions",
    "align_phrases",
    "bench",
    "compare",
    "compile_ahead",
    "convert",
    "decode",
    "dictionary",
    "draw_calibration",
    "draw_cost",
    "draw_curve",
    "draw_matrix",
    "draw_posteriors",
    "draw_pruning",
    "draw_trace",
    "evaluate",
    "evaluate_phrases",
    "evaluate_transfer",
    "extract_phrases",
    "plain_text",
    "remap",
    "serve",
    "summarize",
    "symmetrize",
    "train",
    "train_language_model",
    "train_phrases",
    "train_translation",
    "transfer_markup",
    "transfer_spans",
    "transfer_tags",
    "transfer_tree",
    "translate",
    "tune",
    "view",
    "viewer",
]  # fmt: skip

_NAMES = {
    "annotation": "AnnotatedFiles TagSettings TransferSettings evaluate_transfer transfer_markup "
    "transfer_spans transfer_tags transfer_tree",
    "directions": "Directions align_directions",
    "drawing": "draw_calibration draw_cost draw_curve draw_matrix draw_posteriors draw_pruning draw_trace",
    "evaluation": "LinkFile PairedReport Report Words compare evaluate",
    "glossary_files": "CutOffs DictionaryText USUAL_PROBABILITY dictionary",
    "gold_tuning": "Tuning",
    "installation": "Measured Own Synthetic bench",
    "knowledge": "Knowledge",
    "learning": "train",
    "link_files": "Remapping Side remap",
    "link_output": "Outputs",
    "phrase_files": "LinkedText PhraseAnswer TableText "
    "align_phrases evaluate_phrases extract_phrases train_phrases",
    "plain_files": "PlainText plain_text",
    "running": "Run",
    "score_matrices": "MatrixDecoder decode",
    "serving": "Server serve",
    "translation": "ParallelText train_language_model train_translation translate",
    "tuning": "tune",
    "viewing": "ShownFiles summarize view viewer",
    "warming": "compile_ahead",
    "word_alignment": "align",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
_attribute, _ = lazily(__name__, _HOMES)

_COMMANDS: dict[str, tuple[str, str, dict[str, str]]] = {
    "convert": ("convert.Convert", "links output", {}),
    "symmetrize": ("symmetrize.Symmetrize", "forward backward output", {}),
}
"""Functions that are verbs: the class, its files by position, and options of another name here."""


def __getattr__(name: str) -> Any:
    if name not in _COMMANDS:
        return _attribute(name)
    from dualign.jobs.functions import function_of

    function = globals()[name] = function_of(name, *_COMMANDS[name])
    return function


def __dir__() -> list[str]:
    return sorted(__all__)
