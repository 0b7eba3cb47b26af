"""`dualign translate`: translation systems and language models, from files to files."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from dualign._core.errors import DataError, UsageError
from dualign._core.fields import arg, bundle, opt
from dualign._core.files.atomic import explaining
from dualign._core.files.streams import open_output
from dualign._core.progress import Clock
from dualign.commands.bundles import Computing, output, report_file
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.text.blocks import TextFiles

if TYPE_CHECKING:
    from dualign.text.brackets import Tree
    from dualign.translate.forest.hypergraph import Hypergraph
    from dualign.translate.system import SystemSettings, Translator

METHODS = ("exact", "relax", "tighten", "cube", "exhaustive", "ilp", "lp")
"""Those of `dualign.translate.search.decoding`, which loads NumPy; a test compares the two."""

LONGEST, PIECE = 250, 100
"""Words of the longest line that is translated as a whole, and of the pieces of a longer one."""

SHARD = 32
"""Lines of a task on a cluster."""


@dataclass(frozen=True)
class TrainLanguageModel(Command):
    """Train an n-gram language model on text and write it in ARPA format.

    Interpolated modified Kneser-Ney estimates; every word of the text is in the vocabulary.
    """

    text: str = arg("Tokenised text, one sentence per line.", file="in")
    output: str = arg(
        "ARPA file to write, such as lm.arpa.gz; or name it with -o.",
        metavar="MODEL", flag="--output", short="-o", file="out",
    )  # fmt: skip
    order: int = opt(3, "Longest n-gram.", metavar="N", least=1, most=9)
    computing: Computing = bundle(Computing, "errors")

    def run(self, tell: Reporter) -> list[int]:
        """Write the model; return the number of n-grams of each length."""
        from dualign.text.arpa import write_arpa
        from dualign.text.utf8 import read_lines, tokenize
        from dualign.translate.lm.kneser_ney import estimate

        lines = read_lines(self.text, self.computing.errors)
        name = "standard input" if self.text == "-" else self.text
        result = estimate(map(tokenize, lines), self.order, place=name)
        write_arpa(result, self.output)
        counts = [len(grams.logprob) for grams in result.grams]
        tell.note(", ".join(f"{count:,} {n}-grams" for n, count in enumerate(counts, 1)))
        return counts


@dataclass(frozen=True)
class TrainTranslation(Command):
    """Train a translation system on two parallel files: links, rules, language model, weights.

    Rules are those of Hiero, or with --source-trees tree-to-string rules; `decode` then takes trees, too.
    """

    usage: ClassVar[str] = "SOURCE TARGET -o DIR, or BITEXT -o DIR"

    text: TextFiles = bundle(TextFiles)
    folder: str = arg(
        "The folder to write, created if necessary; or name it with -o.",
        metavar="DIR", flag="--output", short="-o",
    )  # fmt: skip
    dev_source: str | None = opt(
        None, "Source text to tune on; by default some pairs are held out.", metavar="FILE", file="in"
    )
    dev_target: str | None = opt(None, "Target text to tune on.", metavar="FILE", file="in")
    source_trees: str | None = opt(
        None, "Source trees in Penn brackets, one per line, for tree-to-string rules.",
        metavar="FILE", file="in",
    )  # fmt: skip
    dev_source_trees: str | None = opt(
        None, "Trees of the source text to tune on.", metavar="FILE", file="in"
    )
    links: str | None = opt(
        None, "Word links from any aligner; by default dualign makes them.", metavar="FILE", file="in"
    )
    lm: str | None = opt(
        None, "Language model in ARPA format; by default one is trained on TARGET.",
        metavar="FILE", file="in",
    )  # fmt: skip
    order: int = opt(3, "Longest n-gram of the language model.", metavar="N", least=1, most=9)
    span: int = opt(10, "Longest phrase that a rule covers.", metavar="N", least=1, most=30)
    limit: int = opt(20, "Maximum number of target sides per source side.", metavar="N", least=1)
    rounds: int = opt(
        8, "Maximum number of tuning rounds; 0 keeps the initial weights.", metavar="N", least=0
    )
    tuner: str = opt(
        "mert", "Tune BLEU itself by line searches, or the ranking of translations (steadier).",
        choices=("mert", "pro"),
    )  # fmt: skip
    seed: int = opt(0, "Seed for tuning.", metavar="N", least=0)
    resume: bool = opt(False, "Continue tuning where an interrupted training left DIR.partial.")
    computing: Computing = bundle(Computing, "threads errors")

    def __post_init__(self) -> None:
        super().__post_init__()
        both: Any = {"dev_source": ..., "dev_target": ...}
        if (self.dev_source is None) != (self.dev_target is None):
            raise UsageError("{dev_source=} and {dev_target=} belong together; give both or none", **both)
        trees: Any = {"source_trees": ..., "dev_source": ..., "dev_source_trees": ...}
        if self.dev_source_trees is not None and None in (self.source_trees, self.dev_source):
            raise UsageError(
                "{dev_source_trees=} belongs to {source_trees=} and {dev_source=}; give all three", **trees
            )
        if None not in (self.source_trees, self.dev_source) and self.dev_source_trees is None:
            raise UsageError(
                "{source_trees=} with {dev_source=} needs {dev_source_trees=}, the trees of that text",
                **trees,
            )

    def run(self, tell: Reporter) -> SystemSettings:
        """Write everything into the folder; return the settings, weights included."""
        from dualign.commands.warming import WORD_ALIGNER, compile_kernels
        from dualign.text.link_formats import read_links
        from dualign.translate.lm.language_model import KenlmModel, LanguageModel
        from dualign.translate.rules.hiero import Extraction
        from dualign.translate.rules.trees import TreeExtraction
        from dualign.translate.system import train_system

        errors = self.computing.errors
        model = None if self.lm is None else LanguageModel.read(self.lm, errors)
        if isinstance(model, KenlmModel):
            raise UsageError(
                "{lm=} is a binary model of KenLM, which a system cannot keep; give its ARPA file", lm=self.lm
            )
        text = replace(self.text, errors=errors)
        pairs, trees = _read(text, self.source_trees)
        if not any(source and target for source, target in pairs):
            why = "one side of every line is empty" if pairs else "there are no lines"
            raise DataError(
                f"no sentence pair to train on, {why}; give a text with words on both sides", place=text.name
            )
        dev: list[Any] | None = None
        if self.dev_source is not None:
            own = TextFiles(self.dev_source, self.dev_target, errors=errors)
            dev, dev_trees = _read(own, self.dev_source_trees)
            if dev_trees is not None:
                dev = [(tree, pair[1]) for tree, pair in zip(dev_trees, dev, strict=True)]
            dev = [pair for pair in dev if pair[0] and pair[1]]
        links = None
        compile_kernels(tell.note, *(WORD_ALIGNER if self.links is None else ()), "rules", "translation-cube")
        if self.links is not None:
            links = list(read_links(self.links, errors=errors, count=len(pairs)))
        same = {name: getattr(self, name) for name in ("order", "rounds", "tuner", "seed", "resume")}
        return train_system(
            pairs, self.folder, dev=dev, trees=trees, settings=Extraction(self.span, limit=self.limit),
            tree_settings=TreeExtraction(limit=self.limit), links=links, model=model,
            threads=self.computing.threads, report=tell.note, **same,
        )  # fmt: skip


def _read(text: TextFiles, trees: str | None) -> tuple[list[Any], list[Tree | None] | None]:
    """Return the sentence pairs, and their source trees if there are any."""
    from dualign.text.blocks import read_pairs
    from dualign.text.brackets import trees_of

    pairs = list(read_pairs(text))
    return pairs, None if trees is None else list(trees_of(trees, (pair[0] for pair in pairs), text.errors))


@dataclass(frozen=True)
class Translate(Command):
    """Translate text, one output line for each input line.

    Words without a rule are copied. A system of tree-to-string rules takes trees, in brackets, one per line.
    With --report, each answer comes with its score and with a bound that no translation of the same grammar
    and language model can exceed; certified means that the two are equal.
    """

    folder: str = arg("Folder that `dualign translate train` wrote.", metavar="DIR", file="in", model=True)
    text: str = arg(
        "Tokenised text, one sentence per line; trees if it was trained on them; or a folder of forests.",
        metavar="INPUT", file="in",
    )  # fmt: skip
    output: str = output()
    method: str = opt("exact", f"One of {', '.join(METHODS)}.", metavar="METHOD", choices=METHODS)
    beam: int = opt(50, "Items per vertex, for cube.", metavar="N", least=1)
    time_limit: float | None = opt(10.0, "For each sentence.", metavar="SECONDS", least=0.001)
    gap: float = opt(0.0, "End when the score is within X of its bound, for exact.", metavar="X", least=0)
    k: int = opt(
        1, "Up to N different translations, in lines `line ||| words ||| score`.",
        flag="-k", metavar="N", least=1,
    )  # fmt: skip
    lm: str | None = opt(
        None, "Another language model for this text, in ARPA or KenLM format.", metavar="FILE", file="in"
    )
    forests: str | None = opt(None, "Also write the forest of each line, as DIR/LINE.json.", metavar="DIR")
    report: str | None = report_file(
        "Also write a JSON object for each line: line, score, bound, certified, seconds; for tighten, "
        "partitions."
    )
    computing: Computing = bundle(Computing, "cluster work threads errors")

    def check_files(self) -> None:
        """Refuse what is no folder of a system, too."""
        from dualign.translate.system import check_folder

        check_folder(self.folder)
        super().check_files()

    def run(self, tell: Reporter) -> Counter[str]:
        """Write translations as they come; return how many lines there were, and how many are certified."""
        counts: Counter[str] = Counter(lines=0, certified=0)
        with ExitStack() as stack:
            results = self._results(stack, tell)
            out = stack.enter_context(open_output(self.output))
            records = stack.enter_context(open_output(self.report)) if self.report is not None else None
            for number, (lines, record) in enumerate(tell.counted(results, "translate"), 1):
                out.writelines(line + "\n" for line in lines)
                counts.update(lines=1, certified=record["certified"])
                if records is not None:
                    records.write(json.dumps({"line": number, **record}) + "\n")
        return counts

    def _results(self, stack: ExitStack, tell: Reporter) -> Iterable[tuple[list[str], dict[str, Any]]]:
        """Return for each line its translations, and what the report says about the best."""
        from dualign._core.threads import available, ordered_map, spans
        from dualign.commands.warming import compile_kernels
        from dualign.engines.dask.mapping import mapped_parts
        from dualign.translate.system import Translator

        errors = self.computing.errors
        search: dict[str, Any] = {
            "method": self.method, "beam": self.beam, "time_limit": self.time_limit, "gap": self.gap
        }  # fmt: skip
        graphs = _stored(self.text) if os.path.isdir(self.text) else None
        sentences: list[Any] = list(self._sentences()) if graphs is None else graphs
        numbered = list(enumerate(sentences, 1))
        crew = stack.enter_context(self.computing.crew(tell))
        if crew is not None:
            if graphs is not None or self.forests is not None:
                raise UsageError("a cluster neither reads nor writes forests; translate on one machine")
            files = [os.path.realpath(path) for path in (self.folder, self.lm) if path is not None]
            parts = [numbered[begin:end] for begin, end in spans(len(numbered), SHARD)]
            settings = files, _stamp(files), self.k, search, errors
            return mapped_parts(crew, "translate", _translated_part, parts, *settings)
        known = filter(None, sentences) if graphs is None else []
        translator = Translator.load(self.folder, known, lm=self.lm, errors=errors)
        if any(sentences):
            # No sentence shall pay for the kernels.
            compile_kernels(tell.note, f"translation-{self.method}")
            translator.compile(self.method)
        if self.forests is not None:
            with explaining(self.forests, "write"):
                os.makedirs(self.forests, exist_ok=True)
        return ordered_map(
            lambda item: _translated(translator, item, self.k, search, self.forests),
            numbered,
            available(self.computing.threads),
        )

    def _sentences(self) -> Iterator[Any]:
        from dualign.text.brackets import read_trees
        from dualign.text.utf8 import read_lines, tokenize
        from dualign.translate.system import read_settings

        if read_settings(self.folder).trees:
            return iter(read_trees(self.text, self.computing.errors))
        return map(tokenize, read_lines(self.text, self.computing.errors))


def _stamp(paths: Iterable[str]) -> list[tuple[str, int, int]]:
    """Return what tells a system and a language model from others: names, sizes and times of their files."""
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
    """Return translations of some numbered sentences, on a worker."""
    from dualign.translate.system import Translator

    try:
        known, lm = [sentence for _, sentence in items if sentence], (files[1] if files[1:] else None)
        translator = Translator.load(files[0], known, lm=lm, errors=errors)
    except DataError as error:
        raise error.with_remedy("on a cluster, all machines must see the system's folder") from None
    return [_translated(translator, item, count, options, None) for item in items]


def _stored(folder: str) -> list[Hypergraph | None]:
    """Return the forests `N.json` of a folder; None for a line that has none, as empty lines do."""
    from dualign.translate.forest.hypergraph import Hypergraph

    numbers = {int(name[:-5]) for name in os.listdir(folder) if re.fullmatch(r"[1-9][0-9]{0,8}\.json", name)}
    if not numbers:
        raise DataError(
            "has no forests 1.json, 2.json, …; name a folder that {forests=} has filled",
            place=folder, forests=...,
        )  # fmt: skip
    if max(numbers) > 100 * len(numbers) + 1000:
        raise DataError(
            f"{max(numbers)}.json, but only {len(numbers)} forests; number them by line", place=folder
        )
    return [
        Hypergraph.read(os.path.join(folder, f"{n}.json")) if n in numbers else None
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
    return " ".join(word for result in results for word in result.solution.words), record


def _translated(
    translator: Translator, item: tuple[int, Any], count: int, options: dict[str, Any], forests: str | None
) -> tuple[list[str], dict[str, Any]]:
    """Return the lines of translations, and what the report says about the best."""
    from dualign.translate.forest.hypergraph import Hypergraph

    number, sentence = item
    trace: Any = ()
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
        lines = [" ".join(result.solution.words)]
        if count > 1:
            lines = [f"{number} ||| {each.solution} ||| {each.score:.6f}" for each in results]
        record = {"score": result.score, "bound": result.bound, "certified": result.certified}
    if sentence:
        record["seconds"] = round(clock.seconds, 6)
    if options["method"] == "tighten":
        from dualign.translate.search.baselines.partitions import partitions

        record["partitions"] = partitions(trace) if sentence else 1
    return lines, record
