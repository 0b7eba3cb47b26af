"""Exact translation compared with its baselines, on our own forests and on Joshua's Bengali test.

    python -m benchmarks.translation forests [--corpus europarl-es-en] [--pairs 5k] [--sentences 60] [--trees]
    python -m benchmarks.translation curve [--pairs 20k] [--longest 60] [--limit 10] [--trees]
    python -m benchmarks.translation reordering [--sentences 30] [--limit 10]
    python -m benchmarks.translation joshua [--order 5] [--limit 30] [--sentences 20]

`forests`: a system is trained on the first pairs of the shuffled text, without tuning. The sentences after
them are parsed, with spans as long as `--most-nodes` allows (for Hiero rules) and as many rules per source
side as `--most-edges` allows (0: no limit; with several numbers, the sentences take turns), and every method
decodes every forest. With `--trees` the rules are tree-to-string rules; since there is no treebank, the trees
are made by halving each sentence repeatedly. Seconds are processor time for decoding alone, with kernels
compiled beforehand.

`curve`: the same without limits on the forests, and with more and more rules per source side for each
sentence: what `exact` proves, how long it takes, and what gap remains, by the number of edges.

A limit is by the clock. On a busy machine, give a long one, and `--within` for proofs by processor time.

`reordering`: the same for forests that are hard for their size (`benchmarks.reordered_forests`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log
from pathlib import Path
from statistics import mean, median
from time import process_time
from typing import Any

from benchmarks.corpora import Corpus, present, size_of
from benchmarks.reordered_forests import reordered
from benchmarks.runs import add_data, describe, guarded, parser, record
from dualign._core.certified import Certified
from dualign.measure.timing import markdown
from dualign.measure.translation import bleu
from dualign.text.brackets import Tree, escaped, parse_tree
from dualign.translate import Grammar, Hypergraph, LanguageModel, decode
from dualign.translate.forest.builder import parse
from dualign.translate.rules.grammar import read_rules
from dualign.translate.search.baselines.partitions import partitions
from dualign.translate.system import Translator, train_system

TIMES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
GROUPS = (0, 300, 1000, 3000, 10_000, 30_000, 10**9)
CURVE = (0, 300, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 10**9)
BEAMS = (50, 500, 1000)
SPANS = (10, 8, 6, 5, 4, 3, 2, 1)
LIMITS = (20, 10, 5, 3, 2, 1)
SIZES = (1, 2, 4, 6, 10, 20, 50)
"""Of partitions."""
MARKS = {",", ";", ":", "."}


@dataclass
class Run:
    """One method on one forest."""

    method: str
    edges: int
    words: int
    seconds: float
    result: Certified[Any]


def main() -> None:
    options = parser(__doc__.splitlines()[0], "translation.jsonl")
    add_data(options)
    options.add_argument("what", choices=("forests", "curve", "reordering", "joshua"))
    options.add_argument("--corpus", default="europarl-es-en")
    options.add_argument("--pairs", default="5k", help="pairs to train on")
    options.add_argument("--sentences", type=int, help="sentences to translate (60; joshua: all)")
    options.add_argument("--longest", type=int, default=30, help="words of a sentence")
    options.add_argument("--most-nodes", type=int, default=66, help="inner vertices; 0: no limit")
    options.add_argument("--most-edges", type=int, nargs="+", default=[299, 999, 2635], help="0: all")
    options.add_argument("--trees", action="store_true", help="tree-to-string rules instead of Hiero's")
    options.add_argument("--methods", nargs="+", default=["exact", "relax", "exhaustive", "ilp", "lp"])
    options.add_argument("--beams", nargs="*", type=int, default=BEAMS, help="of cube pruning")
    options.add_argument("--order", type=int, default=3)
    options.add_argument("--limit", type=float, default=30.0, help="seconds per forest and method")
    options.add_argument("--within", type=float, help="processor seconds within which a proof counts")
    chosen = options.parse_args()
    print(describe(chosen.threads), f"seed {chosen.seed}", flush=True)
    beams = [f"cube {beam}" for beam in chosen.beams]
    if chosen.what == "joshua":
        joshua(chosen)
        return
    chosen.sentences = chosen.sentences or 60
    if chosen.what == "reordering":
        source = reordered(chosen.seed, chosen.sentences)
    else:
        present(chosen.data, [chosen.corpus])
        source = forests(chosen)
    runs: list[Run] = []
    by_size = chosen.what in ("curve", "reordering")
    methods = ["exact", "cube 50"] if by_size else [*chosen.methods, *beams]
    for number, (graph, model, words) in enumerate(source):
        found = [run(graph, model, method, words, chosen.order, chosen.limit) for method in methods]
        write(found, chosen.json)
        runs += found
        times = ", ".join(f"{one.method} {one.seconds:.2f} s" for one in found)
        print(
            f"forest {number + 1}: {words} words, {nodes(graph)} nodes, {len(graph.head)} edges, {times}",
            flush=True,
        )
    if by_size:
        curve(runs, chosen.within or float("inf"))
    else:
        report(runs, methods)


def write(runs: list[Run], path: Path) -> None:
    for one in runs:
        result = one.result
        record(
            path,
            {"method": one.method, "edges": one.edges, "words": one.words, "seconds": one.seconds,
             "score": result.score, "bound": result.bound, "certified": result.certified}
            | ({"partitions": partitions(result.trace)} if one.method == "tighten" else {}),
        )  # fmt: skip


def run(graph: Hypergraph, model: LanguageModel, method: str, words: int, order: int, limit: float) -> Run:
    name, _, beam = method.partition(" ")
    settings: dict[str, Any] = {"method": name, "order": order, "beam": int(beam or 50), "time_limit": limit}
    tiny = Hypergraph([("a", 0.0)], [], 0)
    decode(tiny, model, **settings)  # compiles
    began = process_time()
    result = decode(graph, model, **settings)
    return Run(method, len(graph.head), words, process_time() - began, result)


def forests(chosen: Any) -> Iterator[tuple[Hypergraph, LanguageModel, int]]:
    corpus = Corpus(chosen.data, chosen.corpus, chosen.seed)
    size = size_of(chosen.pairs) or len(corpus) - 10 * chosen.sentences
    pairs = [tuple(side.split() for side in line.split("\t")) for line in corpus.lines]
    later: list[Any] = [source for source, _ in pairs[size:] if 4 <= len(source) <= chosen.longest]
    later = later[: chosen.sentences]
    lengths = [len(source) for source in later]
    trees = None
    if chosen.trees:
        trees = [halves(source) for source, _ in pairs[:size]]
        later = [halves(source) for source in later]
    with tempfile.TemporaryDirectory() as place:
        train_system(pairs[:size], place, trees=trees, order=chosen.order, rounds=0, threads=chosen.threads)
        translator = Translator.load(place, later)
    model = translator.model.scaled(translator.settings.weights["LanguageModel"])
    for number, (source, words) in enumerate(zip(later, lengths, strict=True)):

        def forest(span: int, limit: int, source: Any = source) -> Hypergraph:
            settings = replace(translator.settings, span=span, limit=limit)
            return Translator(translator.grammar, translator.model, settings).forest(source).hypergraph

        if chosen.what == "curve":
            yield from ((forest(SPANS[0], limit), model, words) for limit in reversed(LIMITS))
            continue
        span = next((n for n in SPANS if fits(nodes(forest(n, 1)), chosen.most_nodes)), 1)
        most = chosen.most_edges[number % len(chosen.most_edges)]
        graphs = (forest(span, limit) for limit in LIMITS)
        graph = next((graph for graph in graphs if fits(len(graph.head), most)), None)
        yield graph or forest(span, 1), model, words


def nodes(graph: Hypergraph) -> int:
    return sum(label is None for label in graph.labels)


def fits(size: int, most: int) -> bool:
    return not most or size <= most


def halves(words: Sequence[str]) -> Tree:
    """A tree without a parser: words have the label W, halved spans X; a cut comes after a comma or similar
    if one is near the middle."""
    return parse_tree(_halves(words))


def _halves(words: Sequence[str]) -> str:
    if len(words) == 1:
        return f"(W {escaped(words[0])})"
    middle = len(words) // 2
    marks = [at + 1 for at, word in enumerate(words[:-1]) if word in MARKS]
    near = [at for at in marks if abs(at - middle) <= len(words) // 4]
    cut = min(near, key=lambda at: abs(at - middle), default=middle)
    return f"(X {_halves(words[:cut])} {_halves(words[cut:])})"


def report(runs: list[Run], methods: list[str]) -> None:
    by_method = {method: [run for run in runs if run.method == method] for method in methods}
    best = [max(found.result.score for found in same) for same in zip(*by_method.values(), strict=True)]
    proved = [any(found.result.certified for found in same) for same in zip(*by_method.values(), strict=True)]
    print(f"\n{len(best)} forests, the optimum of {sum(proved)} is proved\n")
    rows = []
    for method, found in by_method.items():
        seconds = [one.seconds for one in found]
        certified = [one.result.certified for one in found]
        errors = sum(one.result.score < top - 1e-6 for one, top in zip(found, best, strict=True))
        within = [f"{share(s <= t and c for s, c in zip(seconds, certified, strict=True))}" for t in TIMES]
        rows.append([method, f"{median(seconds):.3f}", share(certified), str(errors), *within])
    print(markdown(["method", "median s", "certified", "worse", *(f"≤ {t:g} s" for t in TIMES)], rows))
    print("\nMedian and mean seconds, and share certified, by the number of edges:\n")
    rows = []
    for low, high in pairwise(GROUPS):
        chosen = {m: [one for one in found if low <= one.edges < high] for m, found in by_method.items()}
        if any(chosen.values()):
            cells = [
                f"{median(one.seconds for one in found):.3f} {mean(one.seconds for one in found):.3f} "
                f"{share(one.result.certified for one in found)}"
                for found in chosen.values()
            ]
            rows.append([f"{low}-{high - 1}", str(len(chosen[methods[0]])), *cells])
    print(markdown(["edges", "forests", *methods], rows))
    stages(by_method.get("exact", []))
    if "tighten" in by_method:
        sizes(by_method["tighten"])
    if "lp" in by_method:
        ends = [one.result.trace[-1][0] for one in by_method["lp"] if one.result.trace]
        solved = [end == "fractional" for end in ends if end != "cut off"]
        print(
            f"\nlinear programs with a fractional solution: {share(solved)} of {len(solved)} that were solved"
        )
    left = [one.result.gap for one in by_method[methods[0]] if not one.result.certified]
    print(f"\n{methods[0]}: gaps that remain {[round(gap, 2) for gap in sorted(left)]}")


def stages(runs: list[Run]) -> None:
    """After which pass the bound equalled the optimum; later passes only find the derivation."""
    proved = [one.result for one in runs if one.result.certified]
    for what in ("multipliers", "one word of context"):
        bounds = [(entry[1], one.score) for one in proved for entry in one.trace if entry[0] == what]
        met = share(bound - score <= 1e-6 * (1.0 + abs(score)) for bound, score in bounds)
        print(f"\nexact: the bound of {what} is the optimum for {met} of {len(bounds)}")


def sizes(runs: list[Run]) -> None:
    """Numbers of partitions q with which forests are proved: of all, and of those that need more than one."""
    proved = [partitions(one.result.trace) for one in runs if one.result.certified]
    needed = len(runs) - proved.count(1)
    rows = []
    for most in SIZES:
        count = sum(q <= most for q in proved)
        more = f"{100 * (count - proved.count(1)) / needed:.1f}%" if needed and most > 1 else ""
        rows.append([f"{'≤' if most > 1 else '='} {most}", f"{100 * count / len(runs):.1f}%", more])
    print(f"\ntighten: proved with q partitions, of {len(runs)} forests and of the {needed} with q > 1\n")
    print(markdown(["q", "forests", "of those tightened"], rows))
    print(f"\nlargest q of a proof: {max(proved, default=0)}; forests without one: {len(runs) - len(proved)}")


def curve(runs: list[Run], within: float) -> None:
    rows = []
    for low, high in pairwise(CURVE):
        pairs = list(zip(runs[::2], runs[1::2], strict=True))
        chosen = [pair for pair in pairs if low <= pair[0].edges < high]
        if not chosen:
            continue
        found = [one for one, _ in chosen]
        seconds = [one.seconds for one in found]
        left = [one.result.gap for one in found if not one.result.certified]
        size = [abs(one.result.score) for one in found if not one.result.certified]
        errors = sum(cube.result.score < one.result.score - 1e-6 for one, cube in chosen)
        remains = f"{median(left):.2f} of {median(size):.1f}" if left else ""
        proved = share(one.result.certified and one.seconds <= within for one in found)
        cells = [str(len(found)), proved, f"{median(seconds):.3f}"]
        cells += [f"{mean(seconds):.3f}", remains, str(errors)]
        rows.append([f"{low}-{high - 1}", *cells])
    heads = [
        "edges",
        "forests",
        "certified",
        "median s",
        "mean s",
        "median gap left, of a score",
        "cube 50 worse",
    ]
    print("\n" + markdown(heads, rows))


def share(values: Any) -> str:
    listed = list(values)
    return f"{100 * sum(listed) / max(len(listed), 1):.1f}%"


def joshua(chosen: Any) -> None:
    """Joshua's grammar negates values without a name, its model is in log10, a word costs −0.4343."""
    folder: Path = chosen.data / "joshua-bn-en"
    tuned = dict(line.split() for line in (folder / "weights.txt").read_text().splitlines())
    weights = {name[6:]: -float(value) for name, value in tuned.items() if name.startswith("tm_pt_")}
    weights["Glue"] = float(tuned["tm_glue_0"])
    weights["Words"] = -0.4343 * float(tuned["WordPenalty"])
    weights["Copy"] = -100 * float(tuned["OOVPenalty"])
    grammar = Grammar(read_rules(str(folder / "grammar.gz")))
    model = LanguageModel.read(str(folder / "lm.arpa.gz")).scaled(float(tuned["lm_0"]) / log(10))
    references = [
        [line.split() for line in (folder / f"reference.en.{n}").read_text().splitlines()] for n in range(4)
    ]
    methods = ["exact", *(f"cube {beam}" for beam in chosen.beams)]
    runs: list[Run] = []
    inputs = (folder / "input.bn").read_text().splitlines()[: chosen.sentences or None]
    for number, line in enumerate(inputs, 1):
        words = line.split()
        graph = parse(words, grammar, weights, span=12).hypergraph
        found = [run(graph, model, method, len(words), chosen.order, chosen.limit) for method in methods]
        runs += found
        scores = " ".join(f"{one.result.score:.4f}" for one in found)
        print(
            f"input {number}: {len(words)} words, {len(graph.head)} edges, {found[0].seconds:.2f} s, ", end=""
        )
        print(f"gap {found[0].result.gap:.4f}, scores {scores}", flush=True)
        write(found, chosen.json)
    report(runs, methods)
    print()
    for method in methods:
        chosen_words = [one.result.solution.words for one in runs if one.method == method]
        several = [list(four) for four in zip(*references, strict=True)][: len(inputs)]
        print(f"{method}: BLEU {bleu(chosen_words, several):.2f}")


if __name__ == "__main__":
    guarded(main)
