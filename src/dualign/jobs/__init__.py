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
from typing import Any

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

_HOMES = {
    "commands.annotated": "AnnotatedFiles TagSettings",
    "commands.bench": "Measured",
    "commands.decode": "MatrixDecoder",
    "commands.dictionary": "USUAL_PROBABILITY",
    "commands.bundles": "Evidence=Knowledge Outputs Tuning",
    "commands.tuning": "tune",
    "commands.evaluate": "LinkFile PairedReport Report Words",
    "commands.plain_text": "PlainText",
    "jobs.records": "Directions DictionaryText LinkedText Own ParallelText PhraseAnswer Synthetic TableText",
    "jobs.plain_files": "plain_text",
    "jobs.running": "Run",
    "commands.serve": "Server",
    "phrase.word_entries": "CutOffs",
    "show.files": "Files=ShownFiles",
    "transfer.remapping": "Remapping Side",
    "transfer.sentences": "Settings=TransferSettings",
}
"""The modules of other names; `a=b` is called b here."""

_VERBS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "align": ("align.Align", "source target output * tuning=tune", {}),
    "align_directions": ("peers.AlignDirections", "source target outputs:Directions", {}),
    "align_phrases": ("phrases.AlignPhrases", "text:TableText output", {}),
    "bench": ("bench.Bench", "text:Synthetic", {}),
    "compare": ("evaluate.Evaluate", "first=links second=other gold * only_first=first -> PairedReport", {}),
    "compile_ahead": ("compile.Compile", "everything", {}),
    "convert": ("convert.Convert", "links output", {}),
    "decode": ("decode.Decode", "scores output * decoder:MatrixDecoder", {}),
    "dictionary": ("dictionary.Dictionary", "given output * text:DictionaryText cut_offs:CutOffs", {}),
    "draw_calibration": ("figure.DrawCalibration", "files:ShownFiles output * models=model", {}),
    "draw_cost": ("figure.DrawCost", "files output", {}),
    "draw_curve": ("figure.DrawCurve", "files:ShownFiles output * models=model", {}),
    "draw_matrix": ("figure.DrawMatrix", "files:ShownFiles output", {}),
    "draw_posteriors": ("figure.DrawPosteriors", "files:ShownFiles model output", {}),
    "draw_pruning": ("figure.DrawTrace", "reports output", {"pruning": True}),
    "draw_trace": ("figure.DrawTrace", "reports output * lines=line", {}),
    "evaluate": ("evaluate.Evaluate", "links gold * words:Words -> Report", {}),
    "evaluate_phrases": ("phrases.EvaluatePhrases", "answer:PhraseAnswer", {}),
    "evaluate_transfer": (
        "transfer.EvaluateTransfer",
        "files:AnnotatedFiles * thresholds=threshold settings:TransferSettings",
        {},
    ),
    "extract_phrases": ("phrases.ExtractPhrases", "text:LinkedText table=output", {}),
    "remap": ("remap.Remap", "work:Remapping output", {}),
    "serve": ("serve.Serve", "model=load", {}),
    "summarize": ("summarize.Summarize", "files:ShownFiles output", {}),
    "symmetrize": ("symmetrize.Symmetrize", "forward backward output", {}),
    "train": ("train.Train", "source target output * tuning=tune", {}),
    "train_language_model": ("translate.TrainLanguageModel", "text model=output", {}),
    "train_translation": (
        "translate.TrainTranslation",
        "text:ParallelText folder * dev=dev_:ParallelText",
        {},
    ),
    "train_phrases": ("phrases.TrainPhrases", "text:TableText output", {}),
    "transfer_markup": (
        "transfer.TransferMarkup",
        "files:AnnotatedFiles output * tokens=source_tokens,target_tokens",
        {},
    ),
    "transfer_spans": ("transfer.TransferSpans", "files:AnnotatedFiles output", {}),
    "transfer_tags": (
        "transfer.TransferTags",
        "files:AnnotatedFiles output * tags:TagSettings settings:TransferSettings",
        {},
    ),
    "transfer_tree": ("transfer.TransferTree", "files:AnnotatedFiles output * settings:TransferSettings", {}),
    "translate": ("translate.Translate", "folder text output", {}),
    "view": ("view.View", "files:ShownFiles output=html", {"html": "-"}),
    "viewer": ("view.View", "files:ShownFiles -> Viewer", {"html": None}),
}
"""Functions that are verbs: the class, and how parameters become its options; see `function_of`."""


def home_of(name: str) -> tuple[str, str]:
    """Return the module that has a name which is no function of a verb, and what it is called there."""
    for home, names in _HOMES.items():
        for each in names.split():
            there, _, here = each.partition("=")
            if name == (here or there):
                return f"dualign.{home}", there
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __getattr__(name: str) -> Any:
    if name in _VERBS:
        from dualign.jobs.functions import function_of

        home, form, usual = _VERBS[name]
        found = function_of(name, home, form, **usual)
    elif name in __all__:
        home, there = home_of(name)
        found = getattr(import_module(home), there)
    else:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
