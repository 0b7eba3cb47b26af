"""Translation from files to files: learn a system or a language model, and translate."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from dualign._core.certified import Trace
from dualign._core.errors import DataError, UsageError
from dualign._core.files.streams import explaining, open_output
from dualign._core.progress import Clock
from dualign._core.threads import available, ordered_map, spans
from dualign.jobs.cluster_map import mapped_parts
from dualign.jobs.plain_files import names_of
from dualign.jobs.running import SILENT, Run, job, one_standard_input, separate_outputs
from dualign.jobs.warming import WORD_ALIGNER, compile_kernels
from dualign.text.arpa import write_arpa
from dualign.text.blocks import read_pairs
from dualign.text.brackets import Tree, read_trees, trees_of
from dualign.text.link_formats import read_links
from dualign.text.utf8 import read_lines, tokenize
from dualign.translate.forest.hypergraph import Hypergraph
from dualign.translate.lm.kneser_ney import estimate
from dualign.translate.lm.language_model import KenlmModel, LanguageModel
from dualign.translate.rules.hiero import Extraction
from dualign.translate.rules.trees import TreeExtraction
from dualign.translate.search.decoding import METHODS, compile_method
from dualign.translate.system import SystemSettings, Translator, read_settings, train_system
from dualign.translate.tuning import METHODS as TUNERS

LONGEST, PIECE = 250, 100
"""Words of the longest line that is translated as a whole, and of the pieces of a longer one."""

SHARD = 32
"""Lines of a task on a cluster."""


@dataclass(frozen=True, slots=True)
class ParallelText:
    """Two parallel files, or one with both sides; for tree-to-string rules the trees of the source, one on
    each line; and links of the words, where they are not to be found by dualign."""

    source: str
    target: str | None
    trees: str | None = None
    links: str | None = None

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
    run: Run = SILENT,
    **more: Any,
) -> SystemSettings:
    """Learn to translate: links, rules, language model and weights, all written into `folder`.

    Weights are tuned on `dev`, or else on some pairs that are kept apart. `order` is that of the language
    model; `span` is the longest phrase that a rule covers; `limit` is the most target sides for a source
    side; further `rounds` of tuning, 8 unless told, the `tuner`, mert or pro, with its `seed`, and `lm`, a
    file with a language model to use instead of one that is learnt. `resume` goes on with tuning where a
    training that was interrupted has left rules and language model. Returns the settings, weights included.
    """
    tuning = {"rounds": 8, "tuner": "mert", "seed": 0, "resume": False}
    tuning = {name: more.pop(name, usual) for name, usual in tuning.items()}
    lm = more.pop("lm", None)
    if more:
        raise UsageError(f"{next(iter(more))} is not an option of training")
    if tuning["tuner"] not in TUNERS:
        raise UsageError(f"tuner={tuning['tuner']} is not one of {', '.join(TUNERS)}")
    if dev is not None and (dev.trees is None) != (text.trees is None):
        raise UsageError("the text to tune on must come with its trees if the other does, and only then")
    held_out = (None, None, None) if dev is None else (dev.source, dev.target, dev.trees)
    one_standard_input(text.source, text.target, text.trees, text.links, lm, *held_out)
    model = None if lm is None else LanguageModel.read(lm, run.errors)
    if isinstance(model, KenlmModel):
        raise UsageError(
            f"lm={lm} is a binary model of KenLM, which a system cannot keep; give its ARPA file"
        )
    pairs, trees = text.read(run.errors)
    if not any(source and target for source, target in pairs):
        why = "one side of every line is empty" if pairs else "there are no lines"
        raise DataError(
            f"{names_of(text.source, text.target)}: no sentence pair to train on, {why}; "
            "give a text with words on both sides"
        )
    labelled = None
    if dev is not None:
        labelled, dev_trees = dev.read(run.errors)
        if dev_trees is not None:
            labelled = [(tree, pair[1]) for tree, pair in zip(dev_trees, labelled, strict=True)]
        labelled = [pair for pair in labelled if pair[0] and pair[1]]
    links = None
    compile_kernels(run.note, *(WORD_ALIGNER if text.links is None else ()), "rules", "translation-cube")
    if text.links is not None:
        links = list(read_links(text.links, errors=run.errors, count=len(pairs)))
    return train_system(
        pairs,
        folder,
        dev=labelled,
        trees=trees,
        order=order,
        settings=Extraction(longest=span, limit=limit),
        tree_settings=TreeExtraction(limit=limit),
        links=links,
        model=model,
        threads=run.threads,
        report=run.note,
        **tuning,
    )


@job
def train_language_model(text: str, model: str, *, order: int = 3, run: Run = SILENT) -> list[int]:
    """Learn an n-gram model, interpolated modified Kneser-Ney, and write it in ARPA form.

    Returns the number of n-grams of each length.
    """
    try:
        result = estimate((tokenize(line) for line in read_lines(text, run.errors)), order)
    except DataError as error:
        if str(error).startswith(f"{text}:"):  # a line that cannot be read
            raise
        raise DataError(f"{names_of(text)}: {error}") from None
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
    report: str | None = None,
    lm: str | None = None,
    forests: str | None = None,
    run: Run = SILENT,
    **search: Any,
) -> Counter[str]:
    """Translate a file with the system in `folder`; nothing appears under a final name before all is written.

    `report` gets a JSON object for each line; `lm` is a language model to use instead of the system's.
    `forests` is a folder that gets the forest of each line, as `N.json`; `text` may be such a folder.
    `search` are the options of `decode`, with a `time_limit` of 10 s for each sentence unless told; with `k`
    above 1 there are up to k different translations of each line, in lines `N ||| translation ||| score`.
    Lines of over LONGEST words are translated in pieces, without a bound or a forest. Returns how many lines
    were translated, and how many of the (best) translations are certified.
    """
    options = {"method": "exact", "beam": 50, "time_limit": 10.0, **search}
    count, method = options.pop("k", 1), options["method"]
    if method not in METHODS:
        raise UsageError(f"method={method} is not one of {', '.join(METHODS)}")
    separate_outputs(output, report)
    graphs = _stored(text) if os.path.isdir(text) else None
    sentences: list[Any] = graphs or []
    if graphs is None:
        sentences = (
            list(read_trees(text, run.errors))
            if read_settings(folder).trees
            else [tokenize(line) for line in read_lines(text, run.errors)]
        )
    numbered = list(enumerate(sentences, 1))
    if run.crew is not None:
        if graphs is not None or forests is not None:
            raise UsageError("a cluster neither reads nor writes forests; translate on one machine")
        files = [os.path.realpath(path) for path in (folder, lm) if path is not None]
        parts = [numbered[begin:end] for begin, end in spans(len(numbered), SHARD)]
        settings = files, _stamp(files), count, options, run.errors
        results = mapped_parts(run.crew, "translate", _translated_part, parts, *settings)
        return _write_translations(results, output, report, run)
    translator = Translator.load(
        folder, filter(None, sentences) if graphs is None else [], lm=lm, errors=run.errors
    )
    if any(sentences):
        # No sentence shall pay for the kernels.
        compile_kernels(run.note, f"translation-{method}")
        compile_method(method)
    if forests is not None:
        with explaining(forests, "write"):
            os.makedirs(forests, exist_ok=True)
    results = ordered_map(
        lambda item: _translated(translator, item, count, options, forests), numbered, available(run.threads)
    )
    return _write_translations(results, output, report, run)


def _write_translations(
    results: Iterable[tuple[list[str], dict[str, Any]]], output: str, report: str | None, run: Run
) -> Counter[str]:
    """Write translations as they come, and what the report says about them."""
    counts: Counter[str] = Counter(lines=0, certified=0)
    with ExitStack() as stack:
        out = stack.enter_context(open_output(output))
        records = stack.enter_context(open_output(report)) if report is not None else None
        for number, (lines, record) in enumerate(run.counted(results, "translate"), 1):
            out.writelines(line + "\n" for line in lines)
            counts.update(lines=1, certified=record["certified"])
            if records is not None:
                records.write(json.dumps({"line": number, **record}) + "\n")
    return counts


def _stamp(paths: Iterable[str]) -> list[tuple[str, int, int]]:
    """What tells a system and a language model from others: names, sizes and times of their files."""
    every = list[str]()
    for path in paths:
        every += [os.path.join(path, name) for name in os.listdir(path)] if os.path.isdir(path) else [path]
    states = [(path, os.stat(path)) for path in sorted(every)]
    return [(path, state.st_size, state.st_mtime_ns) for path, state in states]


def _translated_part(
    items: list[tuple[int, Any]],
    files: list[str],
    stamp: object,
    count: int,
    options: dict[str, Any],
    errors: str,
) -> list[Any]:
    """Translations of some numbered sentences, on a worker."""
    try:
        translator = Translator.load(
            files[0],
            [sentence for _, sentence in items if sentence],
            lm=files[1] if files[1:] else None,
            errors=errors,
        )
    except DataError as error:
        raise DataError(f"{error}; on a cluster, all machines must see the system's folder") from None
    return [_translated(translator, item, count, options, None) for item in items]


def _stored(folder: str) -> list[Hypergraph | None]:
    """The forests `N.json` of a folder; None for a line that has none, as empty lines do."""
    numbers = [int(name[:-5]) for name in os.listdir(folder) if re.fullmatch(r"[1-9][0-9]{0,8}\.json", name)]
    if not numbers:
        raise DataError(f"{folder}: has no forests 1.json, 2.json, …; name a folder that forests= has filled")
    if max(numbers) > 100 * len(numbers) + 1000:
        raise DataError(
            f"{folder}: {max(numbers)}.json, but only {len(numbers)} forests; number them by line"
        )
    have = {*numbers}
    return [
        Hypergraph.read(os.path.join(folder, f"{n}.json")) if n in have else None
        for n in range(1, max(numbers) + 1)
    ]


def _in_pieces(
    translator: Translator, words: list[str], options: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Translate a line that is too long for one forest piece by piece; nothing is proved about the whole."""
    parts = -(-len(words) // PIECE)
    cuts = [len(words) * n // parts for n in range(parts + 1)]
    if options["time_limit"]:
        options = {**options, "time_limit": options["time_limit"] / parts}
    results = [translator.translate(words[a:b], **options) for a, b in pairwise(cuts)]
    record = {"score": sum(result.score for result in results), "bound": None, "certified": False}
    return " ".join(str(result.solution) for result in results), record


def _translated(
    translator: Translator, item: tuple[int, Any], count: int, options: dict[str, Any], forests: str | None
) -> tuple[list[str], dict[str, Any]]:
    """The lines of translations, and what the report says about the best."""
    number, sentence = item
    trace: Trace = ()
    record: dict[str, Any] = {"score": 0.0, "bound": 0.0, "certified": True, "seconds": 0.0}
    lines = [""] if count == 1 else []
    clock = Clock()
    if isinstance(sentence, list) and len(sentence) > LONGEST:
        line, record = _in_pieces(translator, sentence, options)
        lines = [line if count == 1 else f"{number} ||| {line} ||| {record['score']:.6f}"]
    elif sentence:
        graph = sentence if isinstance(sentence, Hypergraph) else translator.forest(sentence).hypergraph
        if forests is not None:
            graph.write(os.path.join(forests, f"{number}.json"))
        results = translator.decode(graph, count, **options)
        result, trace = results[0], results[0].trace
        lines = [str(result.solution)]
        if count > 1:
            lines = [f"{number} ||| {each.solution} ||| {each.score:.6f}" for each in results]
        record = {"score": result.score, "bound": result.bound, "certified": result.certified}
    if sentence:
        record["seconds"] = round(clock.seconds, 6)
    if options["method"] == "tighten":
        from dualign.translate.search.baselines.partitions import partitions

        record["partitions"] = partitions(trace) if sentence else 1
    return lines, record
