"""Phrase tables from files to files: extract, align, train, evaluate."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from dualign._core.arrays import Array
from dualign._core.errors import DataError, UsageError
from dualign._core.files.streams import open_output
from dualign._core.progress import check_time_limit
from dualign._core.threads import available
from dualign.jobs.cluster_map import spread
from dualign.jobs.running import SILENT, Run, job, one_standard_input, separate_outputs
from dualign.jobs.warming import compile_kernels
from dualign.measure import phrases as phrase_quality
from dualign.measure.phrases import PhraseEvaluation, phrases_of_links
from dualign.phrase import phrase_em
from dualign.phrase.aligning import METHODS
from dualign.phrase.forced import Forced, decode, format_line, read_alignments
from dualign.phrase.occurrences import Occurrences
from dualign.phrase.phrase_em import PhraseRound
from dualign.phrase.phrase_tables import Built, Tables, on_threads, write_tables
from dualign.phrase.weights import PhraseLink
from dualign.text.blocks import Pair, read_pairs
from dualign.text.checks import in_step, number_of, same_length
from dualign.text.link_formats import read_links
from dualign.text.links import Alignment


@dataclass(frozen=True, slots=True)
class LinkedText:
    """Two parallel files, or one with both sides and None, and the links of each line."""

    source: str
    target: str | None
    links: str
    format: str | None = None

    def read(self, errors: str) -> Iterator[tuple[Pair, Alignment]]:
        """Sentence pairs with their links."""
        pairs = read_pairs(self.source, self.target, errors=errors)
        links = read_links(self.links, self.format, errors)
        name = self.source if self.target is None else f"{self.source} with {self.target}"
        return in_step((name, pairs), (self.links, links), remedy="give the links of this text")


@dataclass(frozen=True, slots=True)
class TableText:
    """A Moses phrase table, and a text to align with it."""

    table: str
    source: str
    target: str | None = None
    """None if `source` has both sides on each line."""
    features: str | None = None
    """Weights of the table's scores, with commas between; without, the third score alone, or the only one."""
    max_length: int = 10
    """The most words of a phrase."""

    def read(self, errors: str) -> tuple[Occurrences, Array]:
        """The entries that occur in the text, and `log φ` of each."""
        pairs = read_pairs(self.source, self.target, errors=errors)
        occurrences = Occurrences(pairs, self.max_length).read(self.table, errors)
        scores = occurrences.scores.shape[1]
        if self.features is None:
            chosen = 2 if scores > 2 else 0
            wanted = [float(number == chosen) for number in range(scores)]
        else:
            try:
                wanted = [float(weight) for weight in self.features.split(",")]
            except ValueError:
                raise UsageError(f"features={self.features}: expected numbers with commas between") from None
        if not len(occurrences.scores):  # no entry of the table occurs: no weights
            return occurrences, occurrences.scores.sum(axis=1)
        return occurrences, occurrences.weights(wanted)


@job
def extract_phrases(
    text: LinkedText,
    table: str = "-",
    *,
    reordering: str | None = None,
    dictionary: str | None = None,
    max_length: int = 7,
    scratch: str | None = None,
    run: Run = SILENT,
) -> Built:
    """Extract phrase pairs from linked text, and write a Moses phrase table; returns how many there are.

    `reordering` gets a reordering table, `dictionary`.s2t and .t2s the words' translations. Memory does not
    grow with the text: temporary files are in the folder `scratch`.
    """
    one_standard_input(text.source, text.target, text.links)
    words = [] if dictionary is None else [f"{dictionary}.s2t", f"{dictionary}.t2s"]
    separate_outputs(table, reordering, *words)
    compile_kernels(run.note, "extraction")
    built = write_tables(
        run.counted(text.read(run.errors), "read"),
        Tables(table, reordering, dictionary),
        max_length,
        on_threads(available(run.threads)) if run.crew is None else partial(spread, run.crew),
        f"{text.links}, line",
        scratch,
    )
    run.note(
        f"{number_of(built.phrase_pairs, 'phrase pairs')}, {built.instances:,} times in all, of "
        f"{number_of(built.sentence_pairs, 'sentence pairs')}"
    )
    return built


@job
def align_phrases(
    text: TableText,
    output: str = "-",
    *,
    report: str | None = None,
    method: str = "exact",
    time_limit: float | None = None,
    run: Run = SILENT,
) -> Counter[str]:
    """Find the best way to make each translation from the phrases of a table.

    Writes a line `i:j-k:l … ||| score ||| bound` for each pair, and to `report` a JSON object. Returns how
    many pairs were aligned, certified, proved to be without an alignment, and empty.
    """
    one_standard_input(text.table, text.source, text.target)
    separate_outputs(output, report)
    if method not in METHODS:
        raise UsageError(f"method={method} is not one of {', '.join(METHODS)}")
    check_time_limit(time_limit)
    compile_kernels(run.note, "phrases")
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        out = stack.enter_context(open_output(output))
        records = stack.enter_context(open_output(report)) if report else None
        occurrences, weights = text.read(run.errors)
        threads = available(run.threads)
        answers = decode(occurrences, weights, method=method, time_limit=time_limit, threads=threads)
        for line, answer in enumerate(run.counted(answers, "align"), 1):
            out.write(format_line(answer) + "\n")
            record = _record(line, answer)
            if records is not None:
                records.write(json.dumps(record) + "\n")
            counts["empty"] += answer.empty
            counts["aligned"] += record["score"] is not None
            counts["certified"] += record["certified"] and not answer.empty
            counts["without"] += not record["feasible"]
    if occurrences.too_long:
        run.note(
            f"note: {number_of(occurrences.too_long, 'entries')} of {text.table} left out: a phrase of over "
            f"max_length={text.max_length} words"
        )
    certified = number_of(counts["certified"], "answers")
    more = "; a table of this text, or of longer phrases, covers more" if counts["without"] else ""
    run.note(
        f"{number_of(counts['aligned'], 'pairs')} aligned, {counts['without']:,} that the table's phrases "
        f"cannot cover, {counts['empty']:,} empty; {certified} certified{more}"
    )
    return counts


def _record(line: int, answer: Forced) -> dict[str, Any]:
    """One object of the report; what does not exist is null."""
    result = answer.result
    if result is None:
        proved = {"feasible": answer.empty, "score": None, "bound": None, "certified": True, "seconds": 0.0}
        return {"line": line, **proved}
    return {
        "line": line,
        "feasible": True,
        "score": None if result.solution is None else result.score,
        "bound": result.bound,
        "certified": result.certified,
        "seconds": round(result.seconds, 9),
    }


@job
def train_phrases(
    text: TableText,
    output: str = "-",
    *,
    rounds: int = 5,
    model: str = "joint",
    pseudo_count: float = 0.0,
    time_limit: float | None = None,
    run: Run = SILENT,
) -> list[PhraseRound]:
    """Re-estimate a phrase table by Viterbi EM over a text; returns the rounds.

    Begins with the best alignments by the table, and writes a table with one score, the probability of the
    model: `joint`, or `conditional`, p(target phrase|source phrase).
    """
    one_standard_input(text.table, text.source, text.target)
    check_time_limit(time_limit)
    compile_kernels(run.note, "phrases")
    history: list[PhraseRound] = []

    def report(reached: PhraseRound) -> None:
        history.append(reached)
        run.note(
            f"round {reached.number}: objective {reached.objective:.6f}, "
            f"{number_of(reached.aligned, 'pairs')} aligned ({reached.certified:,} certified), "
            f"{number_of(reached.entries, 'phrase pairs')}"
        )

    with open_output(output) as out:
        occurrences, weights = text.read(run.errors)
        parameters, counts = phrase_em.train(
            occurrences,
            weights,
            rounds=rounds,
            model=model,
            pseudo_count=pseudo_count,
            time_limit=time_limit,
            threads=run.threads,
            report=report,
        )
        phrase_em.write_table(occurrences, parameters, counts, out)
    return history


@dataclass(frozen=True, slots=True)
class PhraseAnswer:
    """Links, whose phrase pairs are extracted, and gold links to compare them with."""

    path: str
    gold: str
    phrases: bool = False
    """The file has phrase links `i:j-k:l`, which are taken as they are."""
    format: str | None = None
    gold_format: str | None = None
    first: bool = False
    """Gold is for the first lines; the rest of the answer is ignored."""

    def read(self, errors: str) -> tuple[Sequence[Alignment | list[PhraseLink]], list[Alignment]]:
        """The answer and the gold, of the same sentence pairs."""
        gold = list(read_links(self.gold, self.gold_format, errors))
        answer: Sequence[Alignment | list[PhraseLink]] = (
            list(read_alignments(self.path, errors))
            if self.phrases
            else list(read_links(self.path, self.format, errors))
        )
        if self.first and len(answer) > len(gold):
            answer = answer[: len(gold)]
        remedy = "both must be of the same pairs (or use --first if gold is for the first ones)"
        counts = (self.path, len(answer)), (self.gold, len(gold))
        same_length(*counts, unit="sentence pairs", remedy=remedy)
        return answer, gold


@job
def evaluate_phrases(
    answer: PhraseAnswer,
    *,
    source: str | None = None,
    target: str | None = None,
    max_length: int = 7,
    tight: bool = False,
    run: Run = SILENT,
) -> PhraseEvaluation:
    """Compare phrase pairs with those of gold links: precision, recall and F1.

    Without the texts, a sentence ends with its last word that has a link. `tight` counts only phrase pairs
    whose edge words have gold links.
    """
    one_standard_input(answer.path, answer.gold, source, target)
    if target is not None and source is None:
        raise UsageError("the target text is given without its source text; give both")
    found, gold = answer.read(run.errors)
    if source is None:
        lengths = list(map(_ends, gold, found))
    else:
        lengths = [(len(s), len(t)) for s, t in read_pairs(source, target, errors=run.errors)][: len(gold)]
        same_length((source, len(lengths)), (answer.gold, len(gold)))
    try:
        pairs: Any = found
        if not answer.phrases:
            pairs = phrases_of_links(pairs, lengths, max_length=max_length)
        return phrase_quality.evaluate_phrases(pairs, gold, lengths, max_length=max_length, tight=tight)
    except DataError as error:
        raise DataError(f"{answer.path} with {answer.gold}: {error}") from None


def _ends(gold: Alignment, answer: Alignment | Iterable[PhraseLink]) -> tuple[int, int]:
    """How far the links of a sentence pair reach, on both sides."""
    ends = [(i + 1, j + 1) for i, j in chain(gold.links, gold.possible)]
    if isinstance(answer, Alignment):
        ends += [(i + 1, j + 1) for i, j in answer.links]
    else:
        ends += [(j, l) for _, j, _, l in answer]
    return max((i for i, _ in ends), default=0), max((j for _, j in ends), default=0)
