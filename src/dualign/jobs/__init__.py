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

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dualign._core.lazy import lazily

if TYPE_CHECKING:
    align: Any
    convert: Any
    symmetrize: Any
    train: Any
    from dualign.commands.bundles import Outputs
    from dualign.commands.evidence import Evidence as Knowledge
    from dualign.commands.evidence import Tuning
    from dualign.commands.tuning import tune
    from dualign.jobs.annotation import (
        evaluate_transfer,
        transfer_markup,
        transfer_spans,
        transfer_tags,
        transfer_tree,
    )
    from dualign.jobs.directions import Directions, align_directions

    compare: Any
    evaluate: Any
    from dualign.commands.evaluate import LinkFile, PairedReport, Report, Words
    from dualign.jobs.glossary_files import USUAL_PROBABILITY, DictionaryText, dictionary
    from dualign.jobs.installation import Measured, Own, Synthetic, bench
    from dualign.jobs.link_files import remap
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
    from dualign.jobs.warming import compile_ahead
    from dualign.phrase.word_entries import CutOffs
    from dualign.show.files import Files as ShownFiles
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
    "glossary_files": "CutOffs DictionaryText USUAL_PROBABILITY dictionary",
    "installation": "Measured Own Synthetic bench",
    "link_files": "Remapping Side remap",
    "phrase_files": "LinkedText PhraseAnswer TableText "
    "align_phrases evaluate_phrases extract_phrases train_phrases",
    "plain_files": "PlainText plain_text",
    "running": "Run",
    "score_matrices": "MatrixDecoder decode",
    "serving": "Server serve",
    "translation": "ParallelText train_language_model train_translation translate",
    "warming": "compile_ahead",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
_attribute, _ = lazily(__name__, _HOMES)
_OTHERS = {
    "Knowledge": ("commands.evidence", "Evidence"),
    "Outputs": ("commands.bundles", "Outputs"),
    "LinkFile": ("commands.evaluate", "LinkFile"),
    "PairedReport": ("commands.evaluate", "PairedReport"),
    "Report": ("commands.evaluate", "Report"),
    "Words": ("commands.evaluate", "Words"),
    "ShownFiles": ("show.files", "Files"),
    "Tuning": ("commands.evidence", "Tuning"),
    "tune": ("commands.tuning", "tune"),
}
"""Names from elsewhere: the module, and the name there."""

_VERBS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "convert": ("convert.Convert", "links output", {}),
    "align": ("align.Align", "source target output * tuning=tune", {}),
    "train": ("train.Train", "source target output * tuning=tune", {}),
    "compare": ("evaluate.Evaluate", "first=links second=other gold * only_first=first", {}),
    "evaluate": ("evaluate.Evaluate", "links gold", {}),
    "draw_calibration": ("figure.DrawCalibration", "files:ShownFiles output * models=model", {}),
    "draw_cost": ("figure.DrawCost", "files output", {}),
    "draw_curve": ("figure.DrawCurve", "files:ShownFiles output * models=model", {}),
    "draw_matrix": ("figure.DrawMatrix", "files:ShownFiles output", {}),
    "draw_posteriors": ("figure.DrawPosteriors", "files:ShownFiles model output", {}),
    "draw_pruning": ("figure.DrawTrace", "reports output", {"pruning": True}),
    "draw_trace": ("figure.DrawTrace", "reports output * lines=line", {}),
    "summarize": ("summarize.Summarize", "files:ShownFiles output", {}),
    "symmetrize": ("symmetrize.Symmetrize", "forward backward output", {}),
    "view": ("view.View", "files:ShownFiles output=html", {"html": "-"}),
    "viewer": ("view.View", "files:ShownFiles", {"html": None}),
}
"""Functions that are verbs: the class, and how parameters become its options; see `function_of`."""


def __getattr__(name: str) -> Any:
    if name in _OTHERS:
        home, other = _OTHERS[name]
        return getattr(import_module(f"dualign.{home}"), other)
    if name not in _VERBS:
        return _attribute(name)
    from dualign.jobs.functions import function_of

    home, form, usual = _VERBS[name]
    function = globals()[name] = function_of(name, home, form, **usual)
    return function


def __dir__() -> list[str]:
    return sorted(__all__)
