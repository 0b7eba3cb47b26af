"""Joint decoding: the experiments of Chang, Rush, DeNero & Collins 2014 on the Hansards.

    python -m benchmarks.agreement --methods exact relax constrain dual-decomposition ilp --plot figure7.svg

Our HMM is trained with agreement on N pairs of the Hansards, preceded by the gold pairs without their links;
θ and ω are the logarithms of its probabilities (`dualign.decode.joint.model`).

*Tables 1 and 3, Figure 7* are about search. Of the N pairs, 150 are drawn in the paper's mix of lengths (by
the longer side: 28% of 1-20 words, 45% of 21-40, 27% of 41-60); no gold pair has over 40 words. Agreement is
adjacent with α = −1 unless options say otherwise. The methods solve each pair one after the other, each on
one core and with its own wall-clock limit. Time is processor time of the search alone; θ and ω are computed,
and kernels compiled, beforehand. *certified* is what a method itself has proved; *exact* are answers whose
score equals an optimum that some method of this run has proved (`exact` always runs). If proofs contradict
each other, the run ends with an error. Table 3 counts the constraints that `constrain` adds back in pairs
for which `relax` has no certificate. For Figure 7 see `agreement_traces`.

*Table 2* is about links: AER and phrase-pair F1 of the 347 test pairs; parameters are tuned on all 137
development pairs. See `agreement_links`.

The paper's numbers, for Chinese-English pairs and its own models, are printed next to ours for comparison.
Its times were 924, 6.3 and 21 s per pair for the integer program, the relaxation, and the relaxation with
constraints.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks import agreement_links, agreement_traces
from benchmarks.agreement_scores import GROUPS, name_of, sample, scores_of
from benchmarks.constraints import gold_of, pair_of
from benchmarks.corpora import Corpus, Pair, present, size_of
from benchmarks.runs import add_data, describe, guarded, keep_to, parser, positive, record
from dualign._core.progress import Clock
from dualign._search.certificate import PRECISION
from dualign.aligner import Aligner
from dualign.decode.joint.api import METHODS, problem_of
from dualign.decode.joint.exact import certified
from dualign.decode.joint.model import JointProblem
from dualign.measure.timing import markdown
from dualign.options import AGREEMENTS

NAME = "hansards-fr-en"
PARTS = ("search", "links")
DEFAULT = ("exact", "relax", "constrain", "dual-decomposition")

# Percent certified, and constraints added, by group and over all.
PAPER = {
    "ilp": (100.0, 100.0, 100.0, 100.0),
    "relax": (97.6, 55.9, 7.5, 54.7),
    "constrain": (100.0, 95.6, 55.0, 86.0),
    "dual-decomposition": (6.2, 0.0, 0.0, 6.2),
}
PAPER_CONSTRAINTS = (20.0, 32.1, 39.5, 35.9)


@dataclass(frozen=True, slots=True)
class Run:
    """One method on one pair; processor time and wall-clock time in seconds."""

    seconds: float
    clock: float
    score: float
    bound: float
    certified: bool
    rounds: int
    nodes: int
    constraints: int
    trace: tuple[tuple[float, float], ...]

    def as_record(self) -> dict[str, Any]:
        fields = asdict(self)
        del fields["trace"]
        return fields


@dataclass(frozen=True, slots=True)
class Searched:
    """A pair, what the methods found, and the optimum if one of them proved it, else NaN."""

    group: int
    problem: JointProblem
    runs: dict[str, Run]
    optimum: float


def main() -> None:
    options = parser("Measure joint decoding.", "agreement.jsonl")
    add_data(options)
    options.add_argument("--size", default="10k", metavar="N", help="training pairs: 10k, 100k … or all")
    options.add_argument(
        "--parts", nargs="+", choices=PARTS, default=PARTS, help="Tables 1, 3, Figure 7; Table 2"
    )
    options.add_argument("--methods", nargs="+", choices=list(METHODS), default=DEFAULT, metavar="METHOD")
    options.add_argument("--pairs", type=positive, default=150, help="pairs for Tables 1, 3 and Figure 7")
    options.add_argument("--time-limit", type=positive, default=60, metavar="S", help="seconds per pair")
    options.add_argument(
        "--agreement", choices=AGREEMENTS, default="adjacent", help="of Tables 1, 3, Figure 7"
    )
    options.add_argument("--penalty", type=float, default=-1.0, help="α of Tables 1, 3 and Figure 7")
    options.add_argument("--unsupported", type=float, default=None, help="γ, for soft agreement")
    options.add_argument("--plot", type=Path, metavar="FILE.svg", help="Figure 7 as a plot")
    given = options.parse_args()
    draw = agreement_traces.plotter() if given.plot else None
    size = size_of(given.size)
    setting = {name: getattr(given, name) for name in ("agreement", "penalty", "unsupported")}
    problem_of(np.zeros((1, 2, 2)), np.zeros((1, 2, 2)), **setting)  # reports wrong options before training
    present(given.data, [NAME])
    keep_to(given.threads)
    print(describe(given.threads))
    corpus = Corpus(given.data, NAME, given.seed)
    dev, test = gold_of(given.data / NAME)
    drawn = [pair_of(line) for line in corpus.lines[:size]]
    text = dev.pairs + test.pairs + drawn
    began = perf_counter()
    aligner = Aligner(threads=given.threads, constraint="agreement", projection="none").fit(text)
    seconds = perf_counter() - began
    print(f"{NAME}, {len(text):,} pairs; seed: {given.seed}; trained in {seconds:.0f} s", flush=True)
    about = {"corpus": NAME, "size": len(text), "seed": given.seed, "time_limit": given.time_limit}
    contradictions: list[str] = []
    if "search" in given.parts:
        methods = list(dict.fromkeys(("exact", *given.methods)))
        searched = search(aligner, drawn, methods, setting, given, about)
        contradictions = [text for pair in searched for text in contradictions_of(pair)]
        print_times(searched, methods)
        print_constraints(searched)
        curves = agreement_traces.average(
            [(pair.problem, pair.runs["exact"], pair.optimum) for pair in searched]
        )
        agreement_traces.print_curves(curves)
        record(given.json, about | setting | {"figure": 7, "pairs": len(searched)} | curves)
        if draw is not None:
            draw(given.plot, curves)
            print(f"\nplot: {given.plot}")
    if "links" in given.parts:
        for row in agreement_links.table(aligner, dev, test, given.time_limit, given.seed):
            record(given.json, about | {"table": 2} | row)
    if contradictions:
        sys.exit("error: proofs contradict each other\n" + "\n".join(contradictions))


def search(
    aligner: Aligner,
    text: Sequence[Pair],
    methods: Sequence[str],
    setting: dict[str, Any],
    given: Any,
    about: dict[str, Any],
) -> list[Searched]:
    """Run every method on every pair of the sample."""
    places = sample(text, given.pairs, given.seed)
    scores = scores_of(aligner, [text[place] for place in places])
    compile_methods(methods)
    searched = []
    for place, each in zip(places, scores, strict=True):
        problem = problem_of(each.theta, each.omega, **setting)
        runs = {method: run(problem, method, given.time_limit) for method in methods}
        proved = [found.score for found in runs.values() if found.certified]
        searched.append(Searched(each.group, problem, runs, max(proved, default=np.nan)))
        lengths = {"place": place, "source": len(each.theta), "target": len(each.omega)}
        found = {"runs": {method: found.as_record() for method, found in runs.items()}}
        record(given.json, about | setting | {"table": 1} | lengths | found)
    return searched


def run(problem: JointProblem, method: str, time_limit: float) -> Run:
    began, clock = process_time(), Clock()
    outcome = METHODS[method](problem, PRECISION, Clock(time_limit))
    seconds = process_time() - began
    answer = certified(problem, outcome, method, clock)
    return Run(
        seconds, answer.seconds, answer.score, answer.bound, answer.certified, outcome.rounds, outcome.nodes,
        outcome.constraints, outcome.trace,
    )  # fmt: skip


def compile_methods(methods: Sequence[str]) -> None:
    """Run the methods on random pairs until one was hard enough to reach all of their kernels."""
    random = np.random.default_rng(0)
    for _ in range(50):
        problem = problem_of(
            random.normal(size=(8, 9, 9)), random.normal(size=(8, 9, 9)), "adjacent", -1.0, None
        )
        runs = {method: run(problem, method, 60.0) for method in methods}
        if runs["exact"].nodes > 1 and ("constrain" not in runs or runs["constrain"].constraints):
            return


def same(score: float, optimum: float) -> bool:
    """Whether two scores are equal up to what counts as a proof."""
    return abs(score - optimum) <= 2 * PRECISION * max(1.0, abs(optimum))


def contradictions_of(pair: Searched) -> list[str]:
    """What cannot be true: a score over the optimum, a bound below it, two optima."""
    if np.isnan(pair.optimum):
        return []
    wrong = []
    for method, found in pair.runs.items():
        over = found.score > pair.optimum and not same(found.score, pair.optimum)
        below = found.bound < pair.optimum and not same(found.bound, pair.optimum)
        other = found.certified and not same(found.score, pair.optimum)
        if over or below or other:
            shape = f"{len(pair.problem.theta)} × {len(pair.problem.omega)} words"
            wrong.append(f"{shape}, optimum {pair.optimum}: {method} has {found.score}, bound {found.bound}")
    return wrong


def print_times(searched: Sequence[Searched], methods: Sequence[str]) -> None:
    print("\n## Table 1: time, certificates and optima\n")
    rows = []
    for group in range(len(GROUPS) + 1):
        pairs = in_group(searched, group)
        whole = sum(pair.runs["exact"].seconds for pair in pairs)
        for method in methods if pairs else ():
            runs = [pair.runs[method] for pair in pairs]
            seconds = [found.seconds for found in runs]
            proved = np.mean([found.certified for found in runs])
            exact = np.mean([same(pair.runs[method].score, pair.optimum) for pair in pairs])
            paper = f"{PAPER[method][group]:.1f}" if method in PAPER else ""
            rows.append(
                (name_of(group), method, str(len(pairs)), f"{np.mean(seconds):.4f}",
                 f"{np.median(seconds):.4f}", f"{max(seconds):.3f}", f"{sum(seconds) / whole:.2f}",
                 f"{100 * proved:.1f}", f"{100 * exact:.1f}", paper)
            )  # fmt: skip
    head = ["words", "method", "pairs", "mean s", "median s", "max s", "× exact", "certified %", "exact %"]
    print(markdown([*head, "certified % (paper)"], rows, left=2), flush=True)
    unknown = sum(np.isnan(pair.optimum) for pair in searched)
    if unknown:
        print(f"\n{unknown} pairs have no proved optimum; none of their scores counts as exact.")


def print_constraints(searched: Sequence[Searched]) -> None:
    if not {"relax", "constrain"} <= searched[0].runs.keys():
        return
    print("\n## Table 3: constraints added back where `relax` has no certificate\n")
    rows = []
    for group in range(len(GROUPS) + 1):
        pairs = in_group(searched, group)
        runs = [pair.runs["constrain"] for pair in pairs if not pair.runs["relax"].certified]
        counts = [found.constraints for found in runs]
        numbers = (
            (f"{np.mean(counts):.1f}", f"{np.median(counts):g}", f"{max(counts)}") if counts else ("",) * 3
        )
        proved = str(sum(found.certified for found in runs))
        without = str(sum(found.certified and not found.constraints for found in runs))
        paper = f"{PAPER_CONSTRAINTS[group]:.1f}"
        rows.append((name_of(group), str(len(runs)), *numbers, proved, without, paper))
    head = ["words", "pairs", "mean", "median", "most", "certified", "by pruning alone", "mean (paper)"]
    print(markdown(head, rows), flush=True)


def in_group(searched: Sequence[Searched], group: int) -> list[Searched]:
    return [pair for pair in searched if group in (pair.group, len(GROUPS))]


if __name__ == "__main__":
    guarded(main)
