"""Does a lower AER bring better translations? Systems that differ in nothing but the links of their words.

    python -m benchmarks.translation_by_links [--pairs 10k] [--tunings 3] [--tuner pro] [--workers 2]

The question of Graça, Ganchev & Taskar (2010, Table 2). Aligners link the same text: dualign without a
constraint in training (plain HMM), with agreement, with bijective and with symmetric constraints, eflomal
(without and with prefixes) and fast_align, the last three symmetrised in the way that has the lowest AER on
the gold pairs, and as is usual for translation (`-gdfa`, grow-diag-final-and). From each file of links:
rules, a language model that is the same for all, weights tuned on `--dev` pairs (with several seeds),
translations of the test pairs by cube pruning. Beside AER stand the F1 of the phrase pairs that the links
allow, BLEU and chrF, means over the tunings; ± is the largest distance of a tuning's BLEU from the mean. p is
that of the paired bootstrap of BLEU against the symmetric links, over all tunings together.

`--prepared DIR` keeps text, links and what tunings gave there, and uses what is there: the second half can
run where the aligners are not installed, and goes on after an interruption. `--workers` is the number of
systems that are made at the same time; the tunings of a system run side by side. `--compare-tuners` tunes one
system five times with each tuner instead.
"""

from __future__ import annotations

import gc
import json
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy as np

from benchmarks.corpora import Corpus, present, size_of
from benchmarks.runs import add_data, describe, guarded, parser, record
from benchmarks.systems import Dualign, Eflomal, EflomalPrefix, FastAlign, symmetrized
from dualign._core.arrays import Array
from dualign.measure.bootstrap import differences, two_sided
from dualign.measure.links import evaluate
from dualign.measure.phrases import evaluate_phrases, phrases_of_links
from dualign.measure.timing import markdown
from dualign.measure.translation import bleu_counts, bleu_of_counts, chrf_counts, chrf_of_counts
from dualign.text.link_formats import read_links, write_links
from dualign.translate import LanguageModel, Translator
from dualign.translate.search.passes import cube
from dualign.translate.system import train_system
from dualign.translate.tuning import METHODS, MODEL, Example, WeightTuning, tuned_on

CORPORA = ("europarl-es-en", "hansards-fr-en", "europarl-de-en")
DEV, TEST = 250, 500
BEST, USUAL = "symmetric", "grow-diag-final-and"
BEAM = 50


class Constrained(Dualign):
    """`dualign align --constraint NAME`; `none` is the plain HMM."""

    def __init__(self, name: str) -> None:
        self.name, self.more = name, ("--constraint", name)


def systems() -> list[Any]:
    """All that are compared."""
    ours = [Constrained(name) for name in ("none", "agreement", "bijective", BEST)]
    return [*ours, Eflomal(), EflomalPrefix(), FastAlign()]


class Case(NamedTuple):
    """One tuning of a system, and the file for what it gave."""

    folder: Path
    system: str
    tuner: str
    seed: int
    rounds: int

    @property
    def file(self) -> Path:
        return self.folder / f"{self.system}.{self.tuner}{self.seed}.{self.rounds}rounds.npz"


def main() -> None:
    options = parser(__doc__.splitlines()[0], "translation_by_links.jsonl")
    add_data(options)
    options.add_argument("--corpora", nargs="+", default=list(CORPORA))
    options.add_argument("--pairs", default="10k", help="pairs to train on")
    options.add_argument("--dev", type=int, default=DEV, help=f"pairs to tune on, at most {DEV}")
    options.add_argument("--prepared", type=Path, help="folder for text and links")
    options.add_argument("--tunings", type=int, default=3)
    options.add_argument("--tuner", choices=METHODS, default="pro")
    options.add_argument(
        "--rounds", type=int, default=8, help="rounds of tuning; 0: the same weights for all"
    )
    options.add_argument("--workers", type=int, default=1, help="systems made at the same time")
    options.add_argument("--compare-tuners", action="store_true")
    chosen = options.parse_args()
    print(describe(chosen.threads), f"seed {chosen.seed}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        place = chosen.prepared or Path(scratch)
        corpora = chosen.corpora[:1] if chosen.compare_tuners else chosen.corpora
        for corpus in corpora:
            if not (place / corpus / "links.json").exists():
                present(chosen.data, [corpus])
                prepare(place / corpus, Corpus(chosen.data, corpus, chosen.seed), chosen)
        cases = [
            Case(place / corpus, system, tuner, seed, chosen.rounds)
            for corpus in corpora
            for system in ([BEST] if chosen.compare_tuners else known(place / corpus))
            for tuner in (METHODS if chosen.compare_tuners else [chosen.tuner])
            for seed in range(5 if chosen.compare_tuners else chosen.tunings if chosen.rounds else 1)
        ]
        groups: dict[tuple[Path, str], list[Case]] = {}
        for case in cases:
            if not case.file.exists():
                groups.setdefault((case.folder, case.system), []).append(case)
        with ProcessPoolExecutor(chosen.workers, get_context("spawn")) as pool:
            list(pool.map(tune, groups.values()))
        report(cases, chosen)


def known(folder: Path) -> dict[str, dict[str, Any]]:
    """What the links of a prepared folder are worth, by system."""
    found: dict[str, dict[str, Any]] = json.loads((folder / "links.json").read_text())
    return found


def prepare(folder: Path, corpus: Corpus, chosen: Any) -> None:
    """Write text and links of all aligners, and how good they are on the gold pairs."""
    folder.mkdir(parents=True, exist_ok=True)
    held = 3 * DEV + 2 * TEST
    size = min(size_of(chosen.pairs) or len(corpus), len(corpus) - held)
    for name, lines, longest, count in (
        ("dev", corpus.lines[-held : -2 * TEST], 30, min(chosen.dev, DEV)),
        ("test", corpus.lines[-2 * TEST :], 40, TEST),
    ):
        kept = [line for line in lines if 4 <= len(line.split("\t")[0].split()) <= longest][:count]
        (folder / name).write_text("\n".join(kept) + "\n", encoding="utf-8")
    text = corpus.write(folder, size)
    worth: dict[str, dict[str, Any]] = {}
    lengths = [(len(s), len(t)) for s, t in text.pairs_with_gold]
    for system in systems():
        if (missing := system.missing()) is not None:
            print(f"{system.name}: left out, {missing}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch)
            answer = system.run(text, place, chosen.threads)
            method = min(answer.links, key=lambda each: evaluate(answer.links[each], text.gold).aer)
            if (place / "links").exists():
                found = {system.name: (method, list(read_links(str(place / "links"))))}
            else:
                both = [list(read_links(str(place / name))) for name in ("forward", "backward")]
                ways = symmetrized(*both)
                found = {system.name: (method, ways[method]), f"{system.name}-gdfa": (USUAL, ways[USUAL])}
        for name, (method, links) in found.items():
            write_links(links, str(folder / f"{name}.links"))
            mine = answer.links[method]
            phrases = evaluate_phrases(phrases_of_links(mine, lengths), text.gold, lengths)
            worth[name] = {
                "method": method, "aer": evaluate(mine, text.gold).aer, "phrase_f1": phrases.f1,
                "gold": len(text.gold),
            }  # fmt: skip
            print(f"{corpus.name} {name} {worth[name]}", flush=True)
    (folder / "links.json").write_text(json.dumps(worth, indent=1) + "\n")


def tune(cases: list[Case]) -> None:
    """Train with the links of a system; tune and test it once for each case, side by side."""
    gc.disable()  # forests are millions of objects without a cycle
    folder, system = cases[0].folder, cases[0].system
    skipped = known(folder)[system]["gold"]
    sides = [(folder / name).read_text("utf-8").splitlines()[skipped:] for name in ("source", "target")]
    pairs = [(s.split(), t.split()) for s, t in zip(*sides, strict=True)]
    links = list(read_links(str(folder / f"{system}.links")))[skipped:]
    dev, test = (
        [tuple(side.split() for side in line.split("\t")) for line in text.splitlines()]
        for text in ((folder / name).read_text("utf-8") for name in ("dev", "test"))
    )
    with tempfile.TemporaryDirectory() as place:
        train_system(pairs, place, links=links, rounds=0, threads=1)
        translator = Translator.load(place, [source for source, _ in (*dev, *test)])
    weights, model, order = translator.settings.weights, translator.model, translator.settings.order
    examples = [
        [
            Example.of(translator.forest(source), model, order, list(weights), target)
            for source, target in part
        ]
        for part in (dev if cases[0].rounds else [], test)
    ]
    # What is forked has the forests already.
    context = get_context("fork")
    started = [
        context.Process(target=tune_case, args=(case, number, weights, model, *examples))
        for number, case in enumerate(cases)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join()
    if any(process.exitcode for process in started):
        raise RuntimeError(f"{folder.name}, {system}: a tuning failed")


def tune_case(
    case: Case,
    number: int,
    weights: dict[str, float],
    model: LanguageModel,
    dev: list[Example],
    test: list[Example],
) -> None:
    """Tune weights on the forests of `dev`, translate those of `test`, keep the counts for BLEU and chrF."""
    os.nice(3 * number)  # first seeds first: an interrupted run has some of every system
    search = WeightTuning(case.rounds, 1, method=case.tuner, seed=case.seed)
    weights = tuned_on(dev, model, weights, search) if case.rounds else weights
    scaled = model.scaled(weights[MODEL])
    bleu, chrf = [], []
    for example in test:
        problem = example.problem.reweighted(example.features @ list(weights.values()), scaled)
        words = problem.derivation(cube(problem, BEAM, 1)[0]).words
        bleu.append(bleu_counts(words, [example.reference]))
        chrf.append(chrf_counts(words, example.reference))
    unfinished = case.file.with_suffix(".part.npz")
    np.savez_compressed(unfinished, bleu=np.array(bleu), chrf=np.array(chrf))
    os.replace(unfinished, case.file)


def report(cases: list[Case], chosen: Any) -> None:
    """Print the table, a row for each system (or tuner) of a corpus."""
    rows = []
    groups: dict[tuple[Path, str, str], list[Any]] = {}
    for case in cases:
        with np.load(case.file) as counts:
            groups.setdefault((case.folder, case.system, case.tuner), []).append(dict(counts))
    for (folder, system, tuner), several in groups.items():
        worth = known(folder)[system]
        scores = [float(bleu_of_counts(one["bleu"].sum(axis=0))) for one in several]
        chrf = mean(float(chrf_of_counts(one["chrf"].sum(axis=0))) for one in several)
        best = groups.get((folder, BEST, tuner), several)
        if chosen.compare_tuners:
            best = groups[folder, BEST, chosen.tuner]
        ours, theirs = (np.concatenate([one["bleu"] for one in group], axis=1) for group in (best, several))
        gaps = differences(ours, theirs, _mean_bleu, seed=chosen.seed)
        p = two_sided(gaps, float(_mean_bleu(theirs.sum(axis=0)) - _mean_bleu(ours.sum(axis=0))))
        spread = max(abs(score - mean(scores)) for score in scores)
        name = f"{system}, {tuner}" if chosen.compare_tuners else system
        quality = f"{100 * worth['aer']:.1f}", f"{100 * worth['phrase_f1']:.1f}"
        rows.append([
            folder.name, name, worth["method"], *quality,
            f"{mean(scores):.2f}" + f" ± {spread:.2f}" * (len(scores) > 1),
            f"{chrf:.2f}", "" if best is several else f"{p:.3f}",
        ])  # fmt: skip
        entry = {"corpus": folder.name, "system": name, **worth, "bleu": scores, "chrf": chrf, "p": p}
        record(chosen.json, entry)
    print(markdown(["corpus", "links", "symmetrised", "AER", "phrase F1", "BLEU", "chrF", "p"], rows))


def _mean_bleu(counts: Array) -> Array:
    """The mean BLEU of several tunings, whose counts stand side by side (…, 10 · tunings)."""
    return np.mean(
        [bleu_of_counts(part) for part in np.split(counts, counts.shape[-1] // 10, axis=-1)], axis=0
    )


if __name__ == "__main__":
    guarded(main)
