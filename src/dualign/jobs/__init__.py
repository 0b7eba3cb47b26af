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

_HOMES = {
    "commands.bench": "Measured",
    "commands.bundles": "Evidence=Knowledge Outputs Tuning",
    "commands.decode": "MatrixDecoder",
    "commands.dictionary": "USUAL_PROBABILITY",
    "commands.evaluate": "LinkFile PairedReport Report Words",
    "commands.serve": "Server",
    "commands.transfer": "TagSettings",
    "commands.tuning": "tune",
    "jobs.functions": "PlainText plain_text",
    "jobs.records": "AnnotatedFiles DictionaryText Directions LinkedText Own ParallelText PhraseAnswer Run "
    "Synthetic TableText",
    "phrase.word_entries": "CutOffs",
    "show.dataset": "Files=ShownFiles",
    "transfer.remapping": "Remapping Side",
    "transfer.sentences": "Settings=TransferSettings",
}
"""The modules of names that are no functions of verbs; `a=b` is called b here."""

_VERBS = {
    "align": "align source target output * tuning=tune",
    "align_directions": "peers source target outputs:Directions",
    "align_phrases": "phrases text:TableText output",
    "bench": "bench text:Synthetic",
    "compare": "evaluate.Evaluate first=links second=other gold * only_first=first -> PairedReport",
    "compile_ahead": "compile.Compile everything",
    "convert": "convert links output",
    "decode": "decode scores output * decoder:MatrixDecoder",
    "dictionary": "dictionary given output * text:DictionaryText cut_offs:CutOffs",
    "draw_calibration": "figure files:ShownFiles output * models=model",
    "draw_cost": "figure files output",
    "draw_curve": "figure files:ShownFiles output * models=model",
    "draw_matrix": "figure files:ShownFiles output",
    "draw_posteriors": "figure files:ShownFiles model output",
    "draw_pruning": "figure.DrawTrace reports output",
    "draw_trace": "figure reports output * lines=line",
    "evaluate": "evaluate links gold * words:Words -> Report",
    "evaluate_phrases": "phrases answer:PhraseAnswer",
    "evaluate_transfer": "transfer files:AnnotatedFiles * thresholds=threshold settings:TransferSettings",
    "extract_phrases": "phrases text:LinkedText table=output",
    "remap": "remap work:Remapping output",
    "serve": "serve model=load",
    "summarize": "figure files:ShownFiles output",
    "symmetrize": "symmetrize forward backward output",
    "train": "train source target output * tuning=tune",
    "train_language_model": "translate text model=output",
    "train_phrases": "phrases text:TableText output",
    "train_translation": "translate text:ParallelText folder * dev=dev_:ParallelText",
    "transfer_markup": "transfer files:AnnotatedFiles output * tokens=source_tokens,target_tokens",
    "transfer_spans": "transfer files:AnnotatedFiles output",
    "transfer_tags": "transfer files:AnnotatedFiles output * tags:TagSettings settings:TransferSettings",
    "transfer_tree": "transfer files:AnnotatedFiles output * settings:TransferSettings",
    "translate": "translate folder text output",
    "view": "view files:ShownFiles output=html",
    "viewer": "view.View files:ShownFiles -> Viewer",
}
"""Functions that are verbs: the module, and how parameters become its options; see `function_of`."""

_USUAL = {"draw_pruning": {"pruning": True}, "view": {"html": "-"}, "viewer": {"html": None}}
"""Other defaults than those of the verb."""

_NAMES = {
    name.rpartition("=")[2]: (f"dualign.{home}", name.partition("=")[0])
    for home, names in _HOMES.items()
    for name in names.split()
}
"""The module of each name, and what it is called there."""

__all__ = sorted([*_NAMES, *_VERBS], key=lambda name: (not name.isupper(), not name[0].isupper(), name))


def __getattr__(name: str) -> Any:
    if name in _VERBS:
        from dualign.jobs.functions import function_of

        found = function_of(name, _VERBS[name], _USUAL.get(name, {}))
    elif name in _NAMES:
        home, there = _NAMES[name]
        found = getattr(import_module(home), there)
    else:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
