"""Benefit and cost of constraints on the posteriors: the tables and curves of Graça et al. 2010.

    python -m benchmarks.constraints --sizes 10k,100k,all --plot curves.svg

Each way to train is followed by the matching way to decode: no constraint, agreement (Liang et al. 2006), and
projection on the bijective and the symmetric set, with dualign's slack and with that of the paper. The
training text is preceded by the gold pairs without their links. The threshold is chosen on development pairs:
for Hansards on all of dev, and results are for the 447 pairs that papers report on (100 of which are dev's)
and for test alone; for the other corpora on the first half of dev, and results are for the second half.

Time is wall-clock and processor time of training on numbered words, with kernels compiled beforehand; ratios
are relative to training without a constraint, with the same number of rounds except for `thorough`, which has
one more. `evaluations` counts how often both chains of a pair were run in a round with a projection; a round
of plain EM takes one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import CORPORA, Corpus, Pair, present, size_of
from benchmarks.runs import add_data, describe, guarded, keep_to, parser, record
from dualign._core.errors import UsageError
from dualign.aligner import Aligner
from dualign.measure.curves import Curve, curve
from dualign.measure.links import Breakdown, by_frequency, evaluate
from dualign.measure.timing import markdown
from dualign.text.blocks import read_pairs
from dualign.text.corpus import Numbered, numbered
from dualign.text.link_formats import read_links
from dualign.text.links import Alignment


@dataclass(frozen=True, slots=True)
class Method:
    """A way to train, and the projection used when decoding."""

    name: str
    constraint: str
    projection: str
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def training(self) -> tuple[Any, ...]:
        """Methods that are equal in this share a model."""
        return self.constraint, *sorted(self.more.items())


TIGHT = {"tolerance": 0.001, "evaluations": 200}
PAPER = {"slack": 0.001, "tolerance": 0.001, "evaluations": 200}
THOROUGH = {"rounds": 4, "null": 0.1, "tolerance": 0.03, "evaluations": 10}
METHODS = (
    Method("none", "none", "none"),
    Method("agreement", "agreement", "none"),
    Method("agreement, symmetric decoding", "agreement", "symmetric"),
    Method("bijective", "bijective", "bijective"),
    Method("symmetric (default)", "symmetric", "symmetric"),
    Method("symmetric, thorough", "symmetric", "symmetric", THOROUGH),
    Method("symmetric, tolerance = 0.001", "symmetric", "symmetric", TIGHT),
    Method("symmetric, slack = tolerance = 0.001", "symmetric", "symmetric", PAPER),
)


@dataclass(frozen=True, slots=True)
class Labelled:
    """Sentence pairs with gold links."""

    name: str
    pairs: list[Pair]
    gold: list[Alignment]

    def part(self, name: str, chosen: slice) -> Labelled:
        return Labelled(name, self.pairs[chosen], self.gold[chosen])


@dataclass(frozen=True, slots=True)
class Trained:
    """A model, what it cost, and the evaluations per pair in rounds with a projection."""

    aligner: Aligner
    seconds: float
    cpu_seconds: float
    evaluations: list[float]


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of both directions' links, which are posteriors above ½.

    `one_to_one`: share of a direction's links whose two words have no other link in it, mean of both;
    `symmetry`: links in both directions to links in either.
    """

    one_to_one: float
    symmetry: float


@dataclass(frozen=True, slots=True)
class Result:
    """All that is measured of one method at one size."""

    threshold: float
    aer: dict[str, float]
    curves: dict[str, Curve]
    breakdown: Breakdown
    before: Shape
    after: Shape


def main() -> None:
    options = parser("Compare constraints on the posteriors.", "constraints.jsonl")
    add_data(options)
    options.add_argument("--corpus", default="hansards-fr-en", choices=CORPORA, metavar="NAME")
    options.add_argument("--sizes", default="10k", metavar="N,N", help="training pairs, such as 10k,100k,all")
    options.add_argument("--recalls", default="0.8,0.9", metavar="R,R", help="recalls to report precision at")
    options.add_argument("--rounds", type=int, default=3, help="rounds of the HMM")
    options.add_argument("--plot", type=Path, metavar="FILE.svg", help="precision-recall curves")
    given = options.parse_args()
    sizes = [size_of(size) for size in given.sizes.split(",")]
    recalls = recalls_of(given.recalls)
    plot = plotter() if given.plot else None
    [name] = present(given.data, [given.corpus])
    keep_to(given.threads)
    print(describe(given.threads))
    print(f"{name}; seed of the shuffle: {given.seed}; HMM rounds: {given.rounds}", flush=True)
    corpus = Corpus(given.data, name, given.seed)
    labelled = gold_of(given.data / name)
    tuning, *tests = split(labelled)
    print(f"threshold by {tuning.name}; results for {', '.join(test.name for test in tests)}")
    Aligner(threads=given.threads, rounds=2, constraint="symmetric").fit(tuning.pairs).align(tuning.pairs)
    figures = {}
    for size in sizes:
        gold_pairs = (pair for part in labelled for pair in part.pairs)
        text = numbered(chain(gold_pairs, map(pair_of, corpus.lines[:size])), lowercase=True)
        frequencies = frequencies_of(text)
        pairs = len(text)
        print(f"\n## {name}, {pairs:,} pairs\n", flush=True)
        models: dict[tuple[Any, ...], Trained] = {}
        results: list[tuple[Method, Trained, Result]] = []
        for method in METHODS:
            if method.training not in models:
                models[method.training] = fit(method, text, given.rounds, given.threads)
            trained = models[method.training]
            result = assess(method, trained.aligner, tuning, tests, frequencies)
            results.append((method, trained, result))
            record(given.json, as_record(name, pairs, given, method, trained, result, recalls))
        plain = models[METHODS[0].training]
        print_tables(results, tests, recalls, plain)
        figures[f"{name}, {pairs:,} pairs"] = [(method.name, result) for method, _, result in results]
    if plot is not None:
        plot(given.plot, figures)
        print(f"\ncurves: {given.plot}")


def recalls_of(text: str) -> list[float]:
    try:
        recalls = [float(word) for word in text.split(",")]
    except ValueError:
        raise UsageError(f"--recalls {text}: write numbers such as 0.8,0.9") from None
    if not all(0 <= recall <= 1 for recall in recalls):
        raise UsageError(f"--recalls {text}: a recall lies between 0 and 1")
    return recalls


def pair_of(line: str) -> Pair:
    source, _, target = line.partition("\t")
    return source.split(), target.split()


def gold_of(folder: Path) -> list[Labelled]:
    """The labelled sets of a corpus: dev, and test if there is one; in lower case, like all text here."""
    sets = []
    for name in ("dev", "test"):
        if (folder / f"{name}.wa").is_file():
            files = str(folder / f"{name}.source"), str(folder / f"{name}.target")
            pairs = [
                ([word.lower() for word in source], [word.lower() for word in target])
                for source, target in read_pairs(*files)
            ]
            gold = list(read_links(str(folder / f"{name}.wa"), "pharaoh", count=len(pairs)))
            sets.append(Labelled(name, pairs, gold))
    return sets


def split(labelled: list[Labelled]) -> list[Labelled]:
    """Pairs for the threshold, then those to report on."""
    dev = labelled[0]
    if len(labelled) == 1:
        half = len(dev.pairs) // 2
        return [dev.part("dev, first half", slice(half)), dev.part("dev, second half", slice(half, None))]
    test = labelled[1]
    last = dev.part("", slice(-100, None))
    both = Labelled(f"{100 + len(test.pairs)}", last.pairs + test.pairs, last.gold + test.gold)
    return [dev, both, test]


def frequencies_of(text: Numbered) -> tuple[dict[str, int], dict[str, int]]:
    """How often each word of either side occurs."""
    sides = (text.source, text.source_words), (text.target, text.target_words)
    counts = [(words, np.bincount(side.tokens, minlength=len(words)).tolist()) for side, words in sides]
    source, target = (dict(zip(words, count, strict=True)) for words, count in counts)
    return source, target


def fit(method: Method, text: Numbered, rounds: int, threads: int) -> Trained:
    aligner = Aligner(threads=threads, constraint=method.constraint, **{"rounds": rounds} | method.more)
    evaluations: list[float] = []
    began, began_cpu = time.perf_counter(), time.process_time()
    aligner.fit(text, report=lambda progress: evaluations.append(progress.evaluations))
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu
    return Trained(aligner, seconds, cpu_seconds, [number for number in evaluations if number > 1])


def assess(
    method: Method,
    aligner: Aligner,
    tuning: Labelled,
    tests: Sequence[Labelled],
    frequencies: tuple[Any, ...],
) -> Result:
    test = tests[0]
    before = shape_of(aligner.set_options(projection="none").posteriors(test.pairs, directions=True))
    aligner.set_options(projection=method.projection)
    threshold = curve(aligner.posteriors(tuning.pairs), tuning.gold).steady_threshold()
    aer = {}
    for labelled in tests:
        links = [chosen(matrix, threshold) for matrix in aligner.posteriors(labelled.pairs)]
        aer[labelled.name] = evaluate(links, labelled.gold).aer
    both = aligner.posteriors(test.pairs, directions=True)
    curves = {
        "soft union": curve([matrix.mean(axis=0) for matrix in both], test.gold),
        "target chooses": curve([matrix[0] for matrix in both], test.gold),
        "source chooses": curve([matrix[1] for matrix in both], test.gold),
    }
    breakdown = by_frequency(
        [chosen(matrix.mean(axis=0), threshold) for matrix in both],
        test.gold,
        *([pair[side] for pair in test.pairs] for side in (0, 1)),
        source_frequencies=frequencies[0],
        target_frequencies=frequencies[1],
    )
    return Result(threshold, aer, curves, breakdown, before, shape_of(both))


def chosen(matrix: np.ndarray, threshold: float) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in np.argwhere(matrix > threshold)]


def shape_of(matrices: Sequence[np.ndarray]) -> Shape:
    links = alone = both = either = 0
    for matrix in matrices:
        taken = matrix > 0.5
        for direction in taken:
            single = direction & (direction.sum(axis=1, keepdims=True) == 1)
            single &= direction.sum(axis=0, keepdims=True) == 1
            links += int(direction.sum())
            alone += int(single.sum())
        both += int(taken.all(axis=0).sum())
        either += int(taken.any(axis=0).sum())
    return Shape(alone / max(links, 1), both / max(either, 1))


def print_tables(
    results: Sequence[tuple[Method, Trained, Result]],
    tests: Sequence[Labelled],
    recalls: Sequence[float],
    plain: Trained,
) -> None:
    names = [test.name for test in tests]
    head = ["training", "threshold", *(f"AER {name}" for name in names), "area", "area t→s", "area s→t"]
    rows = [
        [method.name, f"{result.threshold:.3f}", *(percent(result.aer[name]) for name in names),
         *(percent(each.area()) for each in result.curves.values()),
         *(percent(result.curves["soft union"].precision_at(recall)) for recall in recalls)]
        for method, _, result in results
    ]  # fmt: skip
    print(markdown([*head, *(f"P at R = {recall:g}" for recall in recalls)], rows))
    print("\nPrecision / recall for the links of rare (at most 4 occurrences) and of common words:\n")
    rows = [
        [method.name]
        + [
            f"{percent(quality.precision)} / {percent(quality.recall)}"
            for side in (result.breakdown.source, result.breakdown.target)
            for quality in (side.rare, side.common)
        ]
        for method, _, result in results
    ]
    print(markdown(["training", "rare source", "common source", "rare target", "common target"], rows))
    print("\nShape of the posteriors above ½ without and with projection when decoding, and cost:\n")
    rows = [
        [method.name, *both(result, "one_to_one"), *both(result, "symmetry"),
         f"{np.mean(trained.evaluations):.1f}" if trained.evaluations else "1.0",
         f"{trained.seconds:.1f}", f"{trained.seconds / plain.seconds:.2f}",
         f"{trained.cpu_seconds:.1f}", f"{trained.cpu_seconds / plain.cpu_seconds:.2f}"]
        for method, trained, result in results
    ]  # fmt: skip
    shape = ["1-to-1", "projected", "symmetry", "projected"]
    cost = ["evaluations", "seconds", "ratio", "CPU s", "CPU ratio"]
    print(markdown(["training", *shape, *cost], rows), flush=True)


def both(result: Result, name: str) -> tuple[str, str]:
    return percent(getattr(result.before, name)), percent(getattr(result.after, name))


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def as_record(
    name: str, pairs: int, given: Any, method: Method, trained: Trained, result: Result, recalls: list[float]
) -> dict[str, Any]:
    return {
        "corpus": name, "pairs": pairs, "seed": given.seed, "threads": given.threads,
        "rounds": given.rounds, "method": asdict(method),
        "seconds": trained.seconds, "cpu_seconds": trained.cpu_seconds,
        "evaluations": trained.evaluations, "threshold": result.threshold, "aer": result.aer,
        "area": {which: each.area() for which, each in result.curves.items()},
        "precision_at": {
            which: {str(recall): each.precision_at(recall) for recall in recalls}
            for which, each in result.curves.items()
        },
        "breakdown": asdict(result.breakdown),
        "before": asdict(result.before), "after": asdict(result.after),
    }  # fmt: skip


def plotter():
    """A function that draws curves, or an error if matplotlib is missing."""
    try:
        import matplotlib
    except ImportError:
        raise UsageError("--plot needs matplotlib: pip install 'dualign[plots]'") from None
    matplotlib.use("svg")
    from matplotlib import pyplot

    styles = ("dotted", "dashed", "solid", "dashdot", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 4)))
    greys = ("0.0", "0.45", "0.0", "0.45", "0.25", "0.25")

    def draw(path: Path, figures: dict[str, list[tuple[str, Result]]]) -> None:
        figure, panels = pyplot.subplots(
            1, len(figures), figsize=(6 * len(figures), 5), squeeze=False, layout="constrained"
        )
        for panel, (title, results) in zip(panels[0], figures.items(), strict=True):
            for (name, result), style, grey in zip(results, styles, greys, strict=True):
                points = result.curves["soft union"]
                panel.plot(
                    points.recall, points.precision, linestyle=style, color=grey, linewidth=1.4, label=name
                )
            panel.set(xlim=(0.6, 1), ylim=(0.6, 1), xlabel="recall", ylabel="precision", title=title)
            panel.legend(loc="lower left", frameon=False)
            panel.spines[["top", "right"]].set_visible(False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})

    return draw


if __name__ == "__main__":
    guarded(main)
