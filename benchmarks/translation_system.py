"""A translation system from a corpus alone: time, memory, and BLEU compared with simpler methods.

    python -m benchmarks.translation_system [--corpus europarl-es-en] [--pairs 10k] [--test 200] [--trees]

The training pairs come from the beginning of the shuffled text, and the pairs to tune on (4 to 30 words) and
to test on (4 to 40) from its end. `exact` and cube pruning decode with the same rules, language model and
weights; *untuned* is cube pruning with the weights before tuning; *word by word* translates each word by its
most frequent single-word translation. For `--trees` see `benchmarks.translation`. Seconds are processor time
for decoding alone; a proof counts if it took no more than `--within` of them. *Worse* counts the sentences
for which another way found a better score.

`--system DIR` takes rules and language model from a folder that `dualign translate train` has made from these
pairs; `--rounds 0` its weights as well.
"""

from __future__ import annotations

import resource
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.corpora import Corpus, present, size_of
from benchmarks.runs import add_data, describe, guarded, parser, record
from benchmarks.translation import Run, halves, run, share
from dualign.measure.timing import markdown
from dualign.measure.translation import bleu
from dualign.translate.system import WEIGHTS, Translator, train_system
from dualign.translate.tuning import METHODS, MODEL, WeightTuning, tuned

WAYS = ("exact", "cube 50", "cube 500")


def main() -> None:
    options = parser(__doc__.splitlines()[0], "translation_system.jsonl")
    add_data(options)
    options.add_argument("--corpus", default="europarl-es-en")
    options.add_argument("--pairs", default="10k", help="pairs to train on")
    options.add_argument("--dev", type=int, default=250, help="pairs to tune on")
    options.add_argument("--rounds", type=int, default=8, help="rounds of tuning")
    options.add_argument("--test", type=int, default=200, help="pairs to test on")
    options.add_argument("--trees", action="store_true", help="tree-to-string rules instead of Hiero's")
    options.add_argument("--tuner", choices=METHODS, default="mert")
    options.add_argument("--system", type=Path, help="folder of a system that is there already")
    options.add_argument("--workers", type=int, default=1, help="sentences decoded at the same time")
    options.add_argument("--limit", type=float, default=10.0, help="seconds per sentence, by the clock")
    options.add_argument("--within", type=float, default=float("inf"), help="processor seconds")
    chosen = options.parse_args()
    print(describe(chosen.threads), f"seed {chosen.seed}", flush=True)
    present(chosen.data, [chosen.corpus])
    lines = Corpus(chosen.data, chosen.corpus, chosen.seed).lines
    fits: list[Any] = [tuple(side.split() for side in line.split("\t")) for line in lines]
    held = 3 * chosen.dev + 2 * chosen.test
    dev = [pair for pair in fits[-held : -2 * chosen.test] if 4 <= len(pair[0]) <= 30][: chosen.dev]
    test = [pair for pair in fits[-2 * chosen.test :] if 4 <= len(pair[0]) <= 40][: chosen.test]
    size = min(size_of(chosen.pairs) or len(fits), len(fits) - held)
    pairs = fits[:size]
    del fits, lines
    sources: list[Any] = [halves(s) if chosen.trees else s for s, _ in test]
    references = [[target] for _, target in test]
    dev_sources: list[Any] = [halves(s) if chosen.trees else s for s, _ in dev]
    with tempfile.TemporaryDirectory() as place:
        began = perf_counter()

        def report(message: str) -> None:
            print(f"{perf_counter() - began:7.1f} s  {message}", flush=True)

        if chosen.system is None:
            train_system(
                pairs,
                place,
                trees=[halves(s) for s, _ in pairs] if chosen.trees else None,
                rounds=0,
                threads=chosen.threads,
                report=report,
            )
        translator = Translator.load(str(chosen.system or place), [*sources, *dev_sources])
    if chosen.rounds:
        forests = [(translator.forest(s), t) for s, (_, t) in zip(dev_sources, dev, strict=True)]
        search = WeightTuning(chosen.rounds, chosen.threads, report, method=chosen.tuner)
        settings = translator.settings
        weights = tuned(forests, translator.model, settings.order, settings.weights, search)
        translator = Translator(translator.grammar, translator.model, replace(settings, weights=weights))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    report(f"trained on {len(pairs):,} pairs, peak {peak:,.0f} MB")
    decoded = partial(translations, translator, chosen.limit)
    if chosen.workers == 1:
        runs = list(map(decoded, sources))
    else:  # what is forked has the system already
        with ProcessPoolExecutor(
            chosen.workers, get_context("fork"), initializer=_decode_with, initargs=(decoded,)
        ) as pool:
            runs = list(pool.map(_decoded, sources))
    rows = []
    best = [max(one.result.score for one in same[: len(WAYS)]) for same in runs]
    for name, found in zip([*WAYS, "cube 50, untuned"], zip(*runs, strict=True), strict=True):
        value = bleu([one.result.solution.words for one in found], references)
        times = [one.seconds for one in found]
        proved = share(one.result.certified and one.seconds <= chosen.within for one in found)
        worse = sum(one.result.score < top - 1e-6 for one, top in zip(found, best, strict=True))
        entry = {"bleu": value, "seconds": times, "certified": [one.result.certified for one in found]}
        record(chosen.json, {"pairs": len(pairs), "trees": chosen.trees, "method": name, **entry})
        compared = ("", "") if name not in WAYS else (proved, str(worse))
        rows.append([name, f"{value:.2f}", *compared, f"{median(times):.3f}", f"{max(times):.1f}"])
    if not chosen.trees:
        plain = [word_by_word(translator.grammar, source) for source in sources]
        rows.append(["word by word", f"{bleu(plain, references):.2f}", "", "", "", ""])
    print(markdown(["method", "BLEU", "certified", "worse", "median s", "most s"], rows))


def translations(translator: Translator, limit: float, source: Any) -> list[Run]:
    """A sentence in all ways, and by cube pruning with the weights before tuning."""
    settings = translator.settings
    untuned = Translator(translator.grammar, translator.model, replace(settings, weights=dict(WEIGHTS)))
    found = []
    for each, ways in ((translator, WAYS), (untuned, WAYS[1:2])):
        graph = each.forest(source).hypergraph
        model = each.model.scaled(each.settings.weights[MODEL])
        found += [run(graph, model, way, 0, settings.order, limit) for way in ways]
    edges, seconds = found[0].edges, found[0].seconds
    print(f"{edges:7} edges: {seconds:6.2f} s, gap {found[0].result.gap:.3f}", flush=True)
    return found


_work: Any = None


def _decode_with(decoded: Any) -> None:
    """What a worker does with each sentence."""
    global _work
    _work = decoded


def _decoded(source: Any) -> list[Run]:
    result: list[Run] = _work(source)
    return result


def word_by_word(grammar: Any, sentence: list[str]) -> list[str]:
    translations = []
    for word in sentence:
        node = grammar.root.next.get(word)
        rules = [grammar.rules[number] for number in node.rules] if node else []
        known = [rule for rule in rules if len(rule.target) == 1]
        best = max(known, key=lambda rule: rule.features["EgivenF"], default=None)
        translations.append(word if best is None else str(best.target[0]))
    return translations


if __name__ == "__main__":
    guarded(main)
