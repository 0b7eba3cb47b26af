"""The verbs: a table of classes, each imported when it is called.

`dualign.commands.command` says how to write one.
"""

from __future__ import annotations

VERBS = {
    "align": ("", "Train on two parallel files and write the links of each line."),
    "train": ("", "Train an alignment model on two parallel files and save it."),
    "decode": ("", "Choose links from matrices of scores that another program wrote."),
    "convert": ("convert.Convert", "Rewrite a file of links in another format."),
    "evaluate": ("", "Compare links with gold links: AER, precision, recall and F1."),
    "symmetrize": ("symmetrize.Symmetrize", "Combine the links of the two directions into one set."),
    "dictionary": ("", "Write a dictionary of words, from a model or from links."),
    "transfer": ("", "Carry trees, tags, spans and markup to the other language."),
    "remap": ("", "Carry links between words, subwords and character offsets."),
    "phrases": ("", "Phrase pairs: tables, exact alignment, quality."),
    "translate": ("", "Train a translation system; translate with a proof."),
    "show": ("", "Print sentence pairs with their links, in colour and as a grid."),
    "view": ("", "Look at links in the browser: compare, search, sort, edit gold."),
    "summarize": ("", "Write a page about aligned text: statistics and dictionary."),
    "figure": ("", "Draw figures: matrices, posteriors, curves, traces, costs."),
    "fast-align": ("", "Align as fast_align does, with its options."),
    "eflomal": ("", "Align as eflomal-align does, with its options."),
    "serve": ("", "Serve links over HTTP: sentence pairs as JSON in, links out."),
    "demo": ("", "Train on the bundled sample, and show the result."),
    "bench": ("", "Measure speed, memory and quality of this installation."),
    "compile": ("", "Compile kernels now, so that the first run need not."),
}
"""Module and class of each verb, and the first line of its docstring, or what a group's verbs are for."""

GROUPS = {
    "transfer": {
        "tree": ("", "Carry dependency trees from a source to its translation."),
        "tags": ("", "Carry the tags of words from a source to its translation."),
        "spans": ("", "Carry spans, given by character offsets, to a translation."),
        "markup": ("", "Insert the inline tags of a source into its translation."),
        "evaluate": ("", "Carry annotation across and compare it with the target's own."),
    },
    "phrases": {
        "extract": ("", "Extract phrase pairs from linked text, and write a Moses phrase table."),
        "align": ("", "Find the best way to make each translation from the phrases of a table."),
        "train": ("", "Re-estimate a phrase table by Viterbi EM over a text."),
        "evaluate": ("", "Compare phrase pairs with those of gold links: precision, recall and F1."),
    },
    "translate": {
        "train": (
            "",
            "Train a translation system on two parallel files: links, rules, language model, weights.",
        ),
        "decode": ("", "Translate text, one output line for each input line."),
        "lm": ("", "Train an n-gram language model on text and write it in ARPA format."),
    },
    "figure": {
        "matrix": ("", "Draw the links of a sentence pair as a matrix."),
        "posteriors": (
            "",
            "Draw a model's posteriors of a pair, both directions, before and after projection.",
        ),
        "curve": ("", "Draw precision against recall of several systems."),
        "calibration": ("", "Draw how many of the links with a probability of p are right."),
        "trace": ("", "Draw how bound and score of a pair approach each other."),
        "pruning": ("", "Draw how much pruning leaves of the search space, round by round."),
        "cost": ("", "Draw time, memory or another cost against size."),
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
