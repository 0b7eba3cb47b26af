"""Translation from files to files: learn a system or a language model, and translate."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from dualign.core.certified import Trace
from dualign.core.clocks import Clock
from dualign.core.errors import UsageError
from dualign.core.threads import available, ordered_map
from dualign.jobs.running import SILENT, Run, job, one_standard_input, separate_outputs
from dualign.jobs.warming import WORD_ALIGNER, compile_kernels
from dualign.text.arpa import write_arpa
from dualign.text.brackets import Tree, read_trees, trees_of
from dualign.text.lines import read_lines, tokenize
from dualign.text.pairs import read_pairs
from dualign.text.streams import open_output
from dualign.translate.lm.kneser_ney import estimate
from dualign.translate.rules.hiero_rules import Extraction
from dualign.translate.rules.tree_rules import TreeExtraction
from dualign.translate.search.decoding import METHODS
from dualign.translate.system import Settings, Translator, read_settings, train_system


@dataclass(frozen=True, slots=True)
class ParallelText:
    """Two parallel files, and for tree-to-string rules the trees of the source, one on each line."""

    source: str
    target: str
    trees: str | None = None

    def read(self, errors: str) -> tuple[list[Any], list[Tree | None] | None]:
        """The sentence pairs, and their source trees if there are any."""
        pairs = list(read_pairs(self.source, self.target, errors=errors))
        if self.trees is None:
            return pairs, None
        return pairs, list(trees_of(self.trees, (pair[0] for pair in pairs), errors))


@job
def train_translation(
    text: ParallelText,
    folder: str,
    *,
    dev: ParallelText | None = None,
    order: int = 3,
    span: int = 10,
    limit: int = 20,
    rounds: int = 8,
    run: Run = SILENT,
) -> Settings:
    """Learn to translate: links, rules, language model and weights, all written into `folder`.

    Weights are tuned on `dev`, or else on some pairs that are kept apart. `order` is that of the language
    model; `span` is the longest phrase that a rule covers; `limit` is the most target sides for a source
    side. Returns the settings, weights included.
    """
    if dev is not None and (dev.trees is None) != (text.trees is None):
        raise UsageError("the text to tune on must come with its trees if the other does, and only then")
    held_out = (None, None, None) if dev is None else (dev.source, dev.target, dev.trees)
    one_standard_input(text.source, text.target, text.trees, *held_out)
    pairs, trees = text.read(run.errors)
    labelled = None
    if dev is not None:
        labelled, dev_trees = dev.read(run.errors)
        if dev_trees is not None:
            labelled = [(tree, pair[1]) for tree, pair in zip(dev_trees, labelled, strict=True)]
        labelled = [pair for pair in labelled if pair[0] and pair[1]]
    compile_kernels(run.note, *WORD_ALIGNER)
    return train_system(
        pairs,
        folder,
        dev=labelled,
        trees=trees,
        order=order,
        settings=Extraction(longest=span, limit=limit),
        tree_settings=TreeExtraction(limit=limit),
        rounds=rounds,
        threads=run.threads,
        report=run.note,
    )


@job
def train_language_model(text: str, model: str, *, order: int = 3, run: Run = SILENT) -> list[int]:
    """Learn an n-gram model, interpolated modified Kneser-Ney, and write it in ARPA form.

    Returns the number of n-grams of each length.
    """
    result = estimate((tokenize(line) for line in read_lines(text, run.errors)), order)
    write_arpa(result, model)
    counts = [len(grams.logprob) for grams in result.grams]
    run.note(", ".join(f"{count:,} {n}-grams" for n, count in enumerate(counts, 1)))
    return counts


@job
def translate(
    folder: str,
    text: str,
    output: str = "-",
    *,
    method: str = "exact",
    beam: int = 50,
    time_limit: float | None = 10.0,
    report: str | None = None,
    run: Run = SILENT,
) -> Counter[str]:
    """Translate a file with the system in `folder`; nothing appears under a final name before all is written.

    `time_limit` is for each sentence; `report` gets a JSON object for each. Returns how many lines were
    translated, and how many of the translations are certified.
    """
    if method not in METHODS:
        raise UsageError(f"method={method} is not one of {', '.join(METHODS)}")
    separate_outputs(output, report)
    sentences: list[Any] = (
        list(read_trees(text, run.errors))
        if read_settings(folder).trees
        else [tokenize(line) for line in read_lines(text, run.errors)]
    )
    translator = Translator.load(folder, filter(None, sentences))
    options: dict[str, Any] = {"method": method, "beam": beam, "time_limit": time_limit}
    if shortest := min(filter(None, sentences), key=_length, default=None):
        compile_kernels(run.note, f"translation-{method}")
        translator.translate(shortest, **options)  # loads the kernels: no sentence shall pay for it
    counts: Counter[str] = Counter(lines=0, certified=0)
    with ExitStack() as stack:
        out = stack.enter_context(open_output(output))
        records = stack.enter_context(open_output(report)) if report is not None else None
        results = ordered_map(
            lambda sentence: _translated(translator, sentence, options), sentences, available(run.threads)
        )
        for number, (words, record) in enumerate(run.counted(results, "translate"), 1):
            out.write(words + "\n")
            counts.update(lines=1, certified=record["certified"])
            if records is not None:
                records.write(json.dumps({"line": number, **record}) + "\n")
    return counts


def _translated(translator: Translator, sentence: Any, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A translation and what the report says about it."""
    words = ""
    trace: Trace = ()
    record: dict[str, Any] = {"score": 0.0, "bound": 0.0, "certified": True, "seconds": 0.0}
    if sentence:
        clock = Clock()
        result = translator.translate(sentence, **options)
        words, trace = str(result.solution), result.trace
        record = {"score": result.score, "bound": result.bound, "certified": result.certified}
        record["seconds"] = round(clock.seconds, 6)
    if options["method"] == "tighten":
        from dualign.translate.search.baselines.partitions import partitions

        record["partitions"] = partitions(trace) if sentence else 1
    return words, record


def _length(sentence: Any) -> int:
    return len(sentence.tokens if isinstance(sentence, Tree) else sentence)
