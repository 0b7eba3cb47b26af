"""Dependency edges projected over the links of several aligners: accuracy against the share projected.

    python -m benchmarks.transfer --sizes 100k

Graça et al. 2010, §5.2 and Figure 10, on parallel treebanks (PUD): the trees of one language are projected to
the other, and an edge is correct if the treebank there has it. The aligners are trained on the treebanks'
sentences, unlabelled, followed by the training text; everything is in lower case.

| system | links |
|---|---|
| S-HMM | `dualign align`: the default, posteriors projected in training and aligning |
| HMM | `dualign align --constraint none --set projection=none`: plain EM |
| eflomal | links of both directions 1, of grow-diag 0.8, of grow-diag-final-and 0.6, of the union 0.4 |

dualign's links are soft unions with their probabilities, all above 0.001, so that the threshold can be chosen
afterwards. eflomal gives links without probabilities; its usual symmetrisations are the points of its curve,
and between two points edges are chosen at random. `--peer-samples N` runs it N times and takes the mean over
the runs: a finer curve, at N times the cost.

The table compares edge accuracy where half of the source's edges are projected (`--at`); other columns are at
threshold 0.4. `any` uses all links, `class` only those between similar parts of speech. The curves are
written to `build/benchmarks/transfer.jsonl` and, with matplotlib, `transfer.svg`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.corpora import Corpus, Text, present, size_of
from benchmarks.runs import RESULTS, add_data, describe, guarded, keep_to, parser, positive, record
from benchmarks.systems import Eflomal
from dualign._core.errors import DataError
from dualign.commands.bench import DUALIGN, warm_up
from dualign.measure.timing import markdown, measure
from dualign.measure.transfer import TreeReport, tree_report
from dualign.text.conllu import FORM, Sentence, read_conllu
from dualign.text.link_formats import read_links
from dualign.text.links import Alignment
from dualign.transfer.sentences import Settings

CORPORA = {"hansards-fr-en": "fr", "europarl-de-en": "de"}
DUALIGN_SYSTEMS = {"S-HMM": [], "HMM": ["--constraint", "none", "--set", "projection=none"]}
STEPS = {"intersection": 1.0, "grow-diag": 0.8, "grow-diag-final-and": 0.6, "union": 0.4}
HEAD = (
    "from", "to", "pairs", "part of speech", "system", "seconds", "% right at share",
    "UAS", "LAS", "% tags right", "span F1",
)  # fmt: skip


def main() -> None:
    options = parser("Carry trees over the links of several aligners.", "transfer.jsonl")
    add_data(options)
    options.add_argument("--sizes", nargs="+", default=["100k"], help="training pairs: 10k, all")
    options.add_argument("--corpora", nargs="+", default=list(CORPORA), choices=CORPORA, metavar="NAME")
    options.add_argument("--at", type=float, default=0.5, help="share of the edges that are projected")
    options.add_argument("--pos", nargs="+", default=["any", "class"], help="filters by part of speech")
    options.add_argument("--peer-samples", type=positive, default=1, help="runs of eflomal")
    options.add_argument("--plot", type=Path, default=RESULTS / "transfer.svg", metavar="FILE")
    given = options.parse_args()
    keep_to(given.threads)
    print(describe(given.threads))
    print(f"seed of the shuffle: {given.seed}", flush=True)
    rows: list[tuple[str, ...]] = []
    curves: dict[str, dict[str, TreeReport]] = {}
    with TemporaryDirectory(prefix="dualign-transfer-") as folder:
        warm_up(folder, given.threads)
        for name in present(given.data, given.corpora):
            sides = treebanks(given.data, CORPORA[name])
            corpus = Corpus(given.data, name, given.seed)
            corpus.gold_pairs = [(tokens(s), tokens(t)) for s, t in zip(*sides, strict=True)]
            corpus.gold = []
            for size in given.sizes:
                text = corpus.write(Path(folder), size_of(size))
                for system, (seconds, links) in aligned(text, len(sides[0]), Path(folder), given).items():
                    rows += judged(name, text.pairs, sides, system, seconds, links, given, curves)
    print("\n" + markdown(HEAD, rows, left=5))
    draw(curves, given.plot)


def treebanks(data: Path, language: str) -> tuple[list[Sentence], list[Sentence]]:
    names = [str(data / "pud" / f"{side}.conllu.gz") for side in (language, "en")]
    return list(read_conllu(names[0])), list(read_conllu(names[1]))


def tokens(sentence: Sentence) -> list[str]:
    """The words as tokens of a line; a few contain a space."""
    return ["_".join(form.split()) for form in sentence.column(FORM)]


def aligned(text: Text, count: int, place: Path, given: Any) -> dict[str, tuple[float, list[Alignment]]]:
    """For each system: seconds, and the links of the first `count` pairs with their probabilities."""
    answers = {}
    for system, flags in DUALIGN_SYSTEMS.items():
        links = place / "probabilities"
        command = [*DUALIGN, "align", str(text.source), str(text.target), *flags, "--threshold", "0.001"]
        command += [
            "-o",
            "/dev/null",
            "--probabilities",
            str(links),
            "--threads",
            str(given.threads),
            "--quiet",
        ]
        usage = measure(command)
        answers[system] = usage.seconds, list(islice(read_links(str(links), "pharaoh"), count))
        print(f"{system}: {usage.seconds:.1f} s", flush=True)
    peer = Eflomal()
    if reason := peer.missing():
        print(f"eflomal: not measured, {reason}")
        return answers
    # `run` reads back as many lines as the text has gold pairs.
    text = replace(text, gold=[Alignment()] * count)
    try:
        runs = [peer.run(text, place, given.threads) for _ in range(given.peer_samples)]
    except DataError as error:
        print(f"eflomal failed: {error}", flush=True)
        return answers
    seconds = sum(run.usage.seconds for run in runs)
    print(f"eflomal {peer.version()}, {len(runs)} runs: {seconds:.1f} s", flush=True)
    answers["eflomal"] = seconds, [graded([run.links for run in runs], number) for number in range(count)]
    return answers


def graded(runs: list[dict[str, list[Alignment]]], number: int) -> Alignment:
    """The links of one pair; a link's probability is the mean of its steps over the runs."""
    total: dict[tuple[int, int], float] = {}
    for links in runs:
        steps: dict[tuple[int, int], float] = {}
        for method, step in STEPS.items():
            for link in links[method][number]:
                steps.setdefault(link, step)
        for link, step in steps.items():
            total[link] = total.get(link, 0.0) + step / len(runs)
    found = tuple(sorted(total))
    return Alignment(found, probabilities=tuple(min(1.0, total[link]) for link in found))


def judged(
    name: str,
    pairs: int,
    sides: tuple[list[Sentence], list[Sentence]],
    system: str,
    seconds: float,
    links: list[Alignment],
    given: Any,
    curves: dict[str, dict[str, TreeReport]],
) -> list[tuple[str, ...]]:
    """Rows of one system, in both directions."""
    rows = []
    turned = [turn(alignment) for alignment in links]
    language = CORPORA[name]
    for names, texts, alignments in (
        ((language, "en"), sides, links),
        (("en", language), sides[::-1], turned),
    ):
        for pos in given.pos:
            triples = zip(*texts, alignments, strict=True)
            report = tree_report(triples, settings=Settings(pos=pos), at=given.at)
            curves.setdefault(f"{names[0]} to {names[1]}, {pos}, {pairs:,} pairs", {})[system] = report
            # Whole-tree scores at the threshold that dualign uses by default.
            point = next(point for point in report.points if point.threshold == 0.4)
            accuracy = f"{100 * report.accuracy:.2f}"
            rates = (point.uas, point.las, point.tag_accuracy, point.span_f1)
            rows.append(
                (
                    *names,
                    f"{pairs:,}",
                    pos,
                    system,
                    f"{seconds:.1f}",
                    accuracy,
                    *(f"{100 * r:.2f}" for r in rates),
                )
            )
            print(" ".join(rows[-1]), flush=True)
            content = {"corpus": name, "from": names[0], "to": names[1], "pairs": pairs, "pos": pos}
            content |= {"system": system, "seconds": seconds, "threads": given.threads, "seed": given.seed}
            record(given.json, content | {"peer_samples": given.peer_samples} | report.as_dict())
    return rows


def turn(alignment: Alignment) -> Alignment:
    weights = alignment.probabilities or (1.0,) * len(alignment)
    turned = sorted(((j, i), p) for (i, j), p in zip(alignment.links, weights, strict=True))
    return Alignment(tuple(link for link, _ in turned), probabilities=tuple(p for _, p in turned))


def draw(curves: dict[str, dict[str, TreeReport]], path: Path) -> None:
    """One panel for each text and direction, as in the paper's Figure 10."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("matplotlib is not installed: the curves are only in the JSON lines")
        return
    rows = (len(curves) + 1) // 2
    figure = Figure(figsize=(10, 4 * rows), layout="constrained")
    panels = figure.subplots(rows, 2, squeeze=False).ravel()
    for panel in panels[len(curves) :]:
        panel.set_axis_off()
    for panel, (title, systems) in zip(panels, curves.items(), strict=False):
        for (system, report), style in zip(systems.items(), ("-o", "--s", ":^", "-.D"), strict=False):
            points = [point for point in report.points if point.transferred > 0]
            edges = [point.edges_per_sentence for point in points]
            panel.plot(
                edges, [100 * point.accuracy for point in points], style, color="black", ms=3, label=system
            )
        panel.set(title=title, xlabel="edges carried across, per sentence", ylabel="% of them right")
        panel.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    print(f"curves: {path}")


if __name__ == "__main__":
    guarded(main)
