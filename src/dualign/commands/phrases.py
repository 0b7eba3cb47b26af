"""`dualign phrases`: tables of phrase pairs, alignments by them, and how good they are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from dualign._core.errors import DataError, UsageError, refusing
from dualign._core.fields import arg, bundle, opt
from dualign._core.files.streams import open_output
from dualign.commands.bundles import (
    Computing,
    ReportFile,
    check_beside,
    gold_format,
    link_format,
    output,
    report_file,
    time_limit,
)
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.text.blocks import TextFiles
from dualign.text.checks import in_step, number_of, same_length

if TYPE_CHECKING:
    from dualign._core.arrays import Array
    from dualign.measure.phrases import PhraseEvaluation
    from dualign.phrase.forced import Forced, PhraseRound
    from dualign.phrase.occurrences import Occurrences
    from dualign.phrase.phrase_tables import Built
    from dualign.phrase.weights import PhraseLink
    from dualign.text.links import Alignment


def _max_length(default: int) -> Any:
    text = "Maximum length of a phrase in words, on either side."
    return opt(default, text, metavar="N", least=1, most=16)


@dataclass(frozen=True)
class ExtractPhrases(Command):
    """Extract phrase pairs from linked text, and write a Moses phrase table.

    The table is sorted, and compressed if its name ends in .gz, .bz2, .xz or .zst. Memory does not grow with
    the text: scratch files have 40 kB per sentence pair.
    """

    usage: ClassVar[str] = "SOURCE TARGET LINKS, or BITEXT LINKS"

    text: TextFiles = bundle(TextFiles)
    links: str = arg("Links of each line, as `align` writes.", file="in")
    output: str = output()
    reordering: str | None = opt(None, "Also write a reordering table (wbe-msd).", metavar="FILE", file="out")
    dictionary: str | None = opt(
        None, "Also write word translations, PREFIX.s2t and PREFIX.t2s.", metavar="PREFIX"
    )
    max_length: int = _max_length(7)
    format: str | None = link_format()
    computing: Computing = bundle(Computing, "scratch cluster work threads errors")

    def extra_outputs(self) -> list[str]:
        """Return the files of word translations."""
        return [] if self.dictionary is None else [f"{self.dictionary}.s2t", f"{self.dictionary}.t2s"]

    def run(self, tell: Reporter) -> Built:
        """Write the table; return how much it holds."""
        from dualign.commands.warming import compile_kernels
        from dualign.engines.dask.mapping import spread
        from dualign.phrase.phrase_tables import build_table
        from dualign.text.blocks import read_pairs
        from dualign.text.link_formats import read_links

        computing = self.computing
        compile_kernels(tell.note, "extraction")
        text = self.text
        with computing.crew(tell) as crew:
            pairs = read_pairs(replace(text, errors=computing.errors))
            links = read_links(self.links, self.format, computing.errors)
            name = text.source if text.target is None else f"{text.source} with {text.target}"
            linked = in_step((name, pairs), (self.links, links), remedy="give the links of this text")
            built = build_table(
                tell.counted(linked, "read"),
                self.output,
                max_length=self.max_length,
                reordering=self.reordering,
                dictionary=self.dictionary,
                threads=computing.threads if crew is None else partial(spread, crew),
                place=f"{self.links}, line",
                scratch=computing.scratch,
            )
        tell.note(
            f"{number_of(built.phrase_pairs, 'phrase pairs')}, {built.instances:,} times in all, of "
            f"{number_of(built.sentence_pairs, 'sentence pairs')}"
        )
        return built


@dataclass(frozen=True)
class TableUse(Command):
    """A phrase table, used on a text."""

    table: str = arg("Moses phrase table.", file="in")
    text: TextFiles = bundle(TextFiles)
    output: str = output()
    time_limit: float | None = time_limit()
    features: str | None = opt(
        None,
        "log φ = Σ W · log score, a W for each score of TABLE. Without: the third score alone, "
        "p(target|source) of a Moses table, or the only one.",
        metavar="W,W,…",
    )
    max_length: int = _max_length(10)
    computing: Computing = bundle(Computing, "threads errors")

    def occurrences(self, tell: Reporter) -> tuple[Occurrences, Array]:
        """Return the entries that occur in the text, and `log φ` of each."""
        from dualign.commands.warming import compile_kernels
        from dualign.phrase.occurrences import Occurrences
        from dualign.text.blocks import read_pairs

        compile_kernels(tell.note, "phrases")
        errors = self.computing.errors
        pairs = read_pairs(replace(self.text, errors=errors))
        found = Occurrences(pairs, self.max_length).read(self.table, errors)
        scores = found.scores.shape[1]
        wanted = [float(number == (2 if scores > 2 else 0)) for number in range(scores)]
        if self.features is not None:
            what = "{features=}: expected numbers with commas between"
            with refusing(ValueError, by=UsageError, what=what, features=self.features):
                wanted = [float(weight) for weight in self.features.split(",")]
        # Where no entry of the table occurs, there are no weights.
        return found, found.weights(wanted) if len(found.scores) else found.scores.sum(axis=1)


@dataclass(frozen=True)
class AlignPhrases(TableUse):
    """Find the best way to make each translation from the phrases of a table.

    Writes a line `i:j-k:l … ||| score ||| bound` for each pair: source words i to j-1 with target words k to
    l-1, counted from 0. A pair that the table cannot make, and that is proved, has no links and -inf twice.
    """

    report: str | None = report_file(
        "Also write JSON for each pair: line, feasible, score, bound, certified, seconds."
    )
    method: str = opt("exact", "How to search; ilp is HiGHS.", choices=("exact", "ilp", "greedy"))

    def run(self, tell: Reporter) -> Counter[str]:
        """Return how many pairs were aligned, certified, proved to be without an alignment, and empty."""
        from dualign._core.threads import available
        from dualign.phrase.forced import decode, format_line

        counts: Counter[str] = Counter()
        reported = open_output(self.report) if self.report else nullcontext()
        with open_output(self.output) as out, reported as records:
            occurrences, weights = self.occurrences(tell)
            limits: Any = {"time_limit": self.time_limit, "threads": available(self.computing.threads)}
            answers = decode(occurrences, weights, method=self.method, **limits)
            for line, answer in enumerate(tell.counted(answers, "align"), 1):
                out.write(format_line(answer) + "\n")
                record = _record(line, answer)
                if records is not None:
                    records.write(json.dumps(record) + "\n")
                counts["empty"] += answer.empty
                counts["aligned"] += record["score"] is not None
                counts["certified"] += record["certified"] and not answer.empty
                counts["without"] += not record["feasible"]
        if occurrences.too_long:
            tell.note(
                "note: {entries} of {table} left out: a phrase of over {max_length=} words",
                entries=number_of(occurrences.too_long, "entries"),
                table=self.table,
                max_length=self.max_length,
            )
        certified = number_of(counts["certified"], "answers")
        more = "; a table of this text, or of longer phrases, covers more" if counts["without"] else ""
        tell.note(
            f"{number_of(counts['aligned'], 'pairs')} aligned, {counts['without']:,} that the table's "
            f"phrases cannot cover, {counts['empty']:,} empty; {certified} certified{more}"
        )
        return counts


def _record(line: int, answer: Forced) -> dict[str, Any]:
    """Return one object of the report; what does not exist is null."""
    result = answer.result
    return {
        "line": line,
        "feasible": answer.empty or result is not None,
        "score": None if result is None or result.solution is None else result.score,
        "bound": None if result is None else result.bound,
        "certified": result is None or result.certified,
        "seconds": 0.0 if result is None else round(result.seconds, 9),
    }


@dataclass(frozen=True)
class TrainPhrases(TableUse):
    """Re-estimate a phrase table by Viterbi EM over a text.

    Begins with the best alignments by TABLE and writes a table with one score, the probability of the model.
    The objective, on stderr, never gets worse from round to round.
    """

    rounds: int = opt(5, "Rounds of EM.", metavar="N", least=1)
    model: str = opt("joint", "The model; conditional is p(target|source).", choices=("joint", "conditional"))
    pseudo_count: float = opt(
        0.0, "Added to the count of each entry; with 0, unused entries are dropped.", metavar="K", least=0
    )

    def run(self, tell: Reporter) -> list[PhraseRound]:
        """Write the table; return the rounds."""
        from dualign.phrase.forced import train, write_table

        history: list[PhraseRound] = []

        def report(reached: PhraseRound) -> None:
            history.append(reached)
            tell.note(
                f"round {reached.number}: objective {reached.objective:.6f}, "
                f"{number_of(reached.aligned, 'pairs')} aligned ({reached.certified:,} certified), "
                f"{number_of(reached.entries, 'phrase pairs')}"
            )

        with open_output(self.output) as out:
            occurrences, weights = self.occurrences(tell)
            parameters, counts = train(
                occurrences,
                weights,
                rounds=self.rounds,
                model=self.model,
                pseudo_count=self.pseudo_count,
                time_limit=self.time_limit,
                threads=self.computing.threads,
                report=report,
            )
            write_table(occurrences, parameters, counts, out)
        return history


@dataclass(frozen=True)
class EvaluatePhrases(Command):
    """Compare phrase pairs with those of gold links: precision, recall and F1.

    Possible links may be cut by a phrase pair, sure ones may not; words without links may stand at an edge.
    Without the texts, a sentence ends with its last word that has a link.
    """

    answer: str = arg(
        "Links, whose phrases are extracted; with --phrases, what `phrases align` wrote.", file="in"
    )
    gold: str = arg("Gold links, sure and possible.", file="in")
    phrases: bool = opt(False, "ANSWER has phrase links i:j-k:l, used as they are.")
    shown: ReportFile = bundle(ReportFile)
    max_length: int = _max_length(7)
    tight: bool = opt(False, "Count only phrases whose edge words have gold links.")
    source: str | None = opt(
        None, "Source text of GOLD, or bitext, for its lengths.", metavar="FILE", file="in"
    )
    target: str | None = opt(
        None, "Target text of GOLD, for its lengths.", metavar="FILE", file="in", needs="source"
    )
    first: bool = opt(False, "GOLD is for the first lines of ANSWER; ignore the rest.")
    format: str | None = link_format()
    gold_format: str | None = gold_format()
    computing: Computing = bundle(Computing, "errors")

    def run(self, tell: Reporter) -> PhraseEvaluation:
        """Compare, and return the rates."""
        from dualign.measure.phrases import evaluate_phrases, phrases_of_links
        from dualign.text.blocks import read_pairs

        found, gold = self._read()
        check_beside(self.source, self.target)
        if self.source is None:
            lengths = list(map(_ends, gold, found))
        else:
            pairs = read_pairs(self.source, self.target, errors=self.computing.errors)
            lengths = [(len(s), len(t)) for s, t in pairs][: len(gold)]
            same_length((self.source, len(lengths)), (self.gold, len(gold)))
        with refusing(DataError, place=f"{self.answer} with {self.gold}"):
            answer: Any = found
            if not self.phrases:
                answer = phrases_of_links(answer, lengths, max_length=self.max_length)
            return evaluate_phrases(answer, gold, lengths, max_length=self.max_length, tight=self.tight)

    def _read(self) -> tuple[list[Any], list[Alignment]]:
        """Return the answer and the gold, of the same sentence pairs."""
        from dualign.phrase.forced import read_alignments
        from dualign.text.link_formats import read_links

        errors = self.computing.errors
        gold = list(read_links(self.gold, self.gold_format, errors))
        answer: list[Any]
        if self.phrases:
            answer = list(read_alignments(self.answer, errors))
        else:
            answer = list(read_links(self.answer, self.format, errors))
        if self.first:
            del answer[len(gold) :]
        remedy = "both must be of the same pairs (or use --first if gold is for the first ones)"
        counts = (self.answer, len(answer)), (self.gold, len(gold))
        same_length(*counts, unit="sentence pairs", remedy=remedy)
        return answer, gold

    def show(self, result: PhraseEvaluation, tell: Reporter) -> None:
        """Write rates, per cent for people."""
        text = (
            f"precision  {100 * result.precision:6.2f}\n"
            f"recall     {100 * result.recall:6.2f}\n"
            f"F1         {100 * result.f1:6.2f}\n\n"
            f"{result.phrases} phrase pairs, {result.right} of them possible; {result.found} of "
            f"{result.sure} sure ones found; {result.pairs} sentence pairs"
        )
        self.shown.write(text, json.dumps(result.as_dict()))


def _ends(gold: Alignment, answer: Alignment | Iterable[PhraseLink]) -> tuple[int, int]:
    """Return how far the links of a sentence pair reach, on both sides."""
    from dualign.text.links import Alignment

    links = chain(gold.links, gold.possible, answer.links if isinstance(answer, Alignment) else ())
    ends = [(i + 1, j + 1) for i, j in links]
    if not isinstance(answer, Alignment):
        ends += [(j, l) for _, j, _, l in answer]
    return max((i for i, _ in ends), default=0), max((j for _, j in ends), default=0)
