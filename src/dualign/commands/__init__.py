"""The verbs: a table of classes, each imported when it is called.

`dualign.commands.command` says how to write one.
"""

from __future__ import annotations

VERBS = {
    "align": ("align.Align", "Train on two parallel files and write the links of each line."),
    "train": ("train.Train", "Train an alignment model on two parallel files and save it."),
    "decode": ("decode.Decode", "Choose links from matrices of scores that another program wrote."),
    "convert": ("convert.Convert", "Rewrite a file of links in another format."),
    "evaluate": ("evaluate.Evaluate", "Compare links with gold links: AER, precision, recall and F1."),
    "symmetrize": ("symmetrize.Symmetrize", "Combine the links of the two directions into one set."),
    "dictionary": ("dictionary.Dictionary", "Write a dictionary of words, from a model or from links."),
    "transfer": ("", "Carry trees, tags, spans and markup to the other language."),
    "remap": ("remap.Remap", "Carry links between words, subwords and character offsets."),
    "phrases": ("", "Phrase pairs: tables, exact alignment, quality."),
    "translate": ("", "Train a translation system; translate with a proof."),
    "show": ("show.Show", "Print sentence pairs with their links, in colour and as a grid."),
    "view": ("view.View", "Look at links in the browser: compare, search, sort, edit gold."),
    "summarize": ("figure.Summarize", "Write a page about aligned text: statistics and dictionary."),
    "figure": ("", "Draw figures: matrices, posteriors, curves, traces, costs."),
    "fast-align": ("peers.FastAlign", "Align as fast_align does, with its options."),
    "eflomal": ("peers.Eflomal", "Align as eflomal-align does, with its options."),
    "serve": ("serve.Serve", "Serve links over HTTP: sentence pairs as JSON in, links out."),
    "demo": ("demo.Demo", "Train on the bundled sample, and show the result."),
    "bench": ("bench.Bench", "Measure speed, memory and quality of this installation."),
    "compile": ("compile.Compile", "Compile kernels now, so that the first run need not."),
}
"""Module and class of each verb, and the first line of its docstring, or what a group's verbs are for."""

GROUPS = {
    "transfer": {
        "tree": ("transfer.TransferTree", "Carry dependency trees from a source to its translation."),
        "tags": ("transfer.TransferTags", "Carry the tags of words from a source to its translation."),
        "spans": ("transfer.TransferSpans", "Carry spans, given by character offsets, to a translation."),
        "markup": ("transfer.TransferMarkup", "Insert the inline tags of a source into its translation."),
        "evaluate": (
            "transfer.EvaluateTransfer",
            "Carry annotation across and compare it with the target's own.",
        ),
    },
    "phrases": {
        "extract": (
            "phrases.ExtractPhrases",
            "Extract phrase pairs from linked text, and write a Moses phrase table.",
        ),
        "align": (
            "phrases.AlignPhrases",
            "Find the best way to make each translation from the phrases of a table.",
        ),
        "train": ("phrases.TrainPhrases", "Re-estimate a phrase table by Viterbi EM over a text."),
        "evaluate": (
            "phrases.EvaluatePhrases",
            "Compare phrase pairs with those of gold links: precision, recall and F1.",
        ),
    },
    "translate": {
        "train": (
            "translate.TrainTranslation",
            "Train a translation system on two parallel files: links, rules, language model, weights.",
        ),
        "decode": ("translate.Translate", "Translate text, one output line for each input line."),
        "lm": (
            "translate.TrainLanguageModel",
            "Train an n-gram language model on text and write it in ARPA format.",
        ),
    },
    "figure": {
        "matrix": ("figure.DrawMatrix", "Draw the links of a sentence pair as a matrix."),
        "posteriors": (
            "figure.DrawPosteriors",
            "Draw a model's posteriors of a pair, both directions, before and after projection.",
        ),
        "curve": ("figure.DrawCurve", "Draw precision against recall of several systems."),
        "calibration": (
            "figure.DrawCalibration",
            "Draw how many of the links with a probability of p are right.",
        ),
        "trace": ("figure.DrawTrace", "Draw how bound and score of a pair approach each other."),
        "pruning": (
            "figure.DrawPruning",
            "Draw how much pruning leaves of the search space, round by round.",
        ),
        "cost": ("figure.DrawCost", "Draw time, memory or another cost against size."),
    },
}
"""The verbs of each group, in the form of `VERBS`."""


def commands() -> dict[tuple[str, ...], str]:
    """Return the words of every command and its line in the overview, those in groups included."""
    return {
        (*words, verb): line
        for words, table in [((), VERBS), *(((group,), table) for group, table in GROUPS.items())]
        for verb, (_, line) in table.items()
        if words or verb not in GROUPS
    }
