"""A translation system from a corpus alone: time, memory, and BLEU compared with simpler methods.

    python -m benchmarks.translation_system [--corpus europarl-es-en] [--pairs 10k] [--test 200] [--trees]

The training pairs come from the beginning of the shuffled text, and the pairs to tune on (4 to 30 words) and
to test on (4 to 40) from its end. `exact` and cube pruning decode with the same rules, language model and
weights; *untuned* is cube pruning with the weights before tuning; *word by word* translates each word by its
most frequent single-word translation. For `--trees` see `benchmarks.translation`.
"""

from __future__ import annotations

import resource
import tempfile
from dataclasses import replace
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.corpora import Corpus, present, size_of
from benchmarks.runs import add_data, describe, guarded, parser, record
from benchmarks.translation import halves, share
from dualign.measure.bleu import bleu
from dualign.measure.table import markdown
from dualign.translate import Grammar, decode
from dualign.translate.system import WEIGHTS, Translator, train_system


def main() -> None:
    options = parser(__doc__.splitlines()[0], "translation_system.jsonl")
    add_data(options)
    options.add_argument("--corpus", default="europarl-es-en")
    options.add_argument("--pairs", default="10k", help="pairs to train on")
    options.add_argument("--dev", type=int, default=250, help="pairs to tune on")
    options.add_argument("--rounds", type=int, default=8, help="rounds of tuning")
    options.add_argument("--test", type=int, default=200, help="pairs to test on")
    options.add_argument("--trees", action="store_true", help="tree-to-string rules instead of Hiero's")
    options.add_argument("--limit", type=float, default=10.0, help="seconds per sentence")
    chosen = options.parse_args()
    print(describe(chosen.threads), f"seed {chosen.seed}", flush=True)
    present(chosen.data, [chosen.corpus])
    lines = Corpus(chosen.data, chosen.corpus, chosen.seed).lines
    fits = [tuple(side.split() for side in line.split("\t")) for line in lines]
    held = 3 * chosen.dev + 2 * chosen.test
    dev = [pair for pair in fits[-held : -2 * chosen.test] if 4 <= len(pair[0]) <= 30][: chosen.dev]
    test = [pair for pair in fits[-2 * chosen.test :] if 4 <= len(pair[0]) <= 40][: chosen.test]
    size = min(size_of(chosen.pairs) or len(fits), len(fits) - held)
    pairs = fits[:size]
    del fits, lines
    sources: list[Any] = [halves(s) if chosen.trees else s for s, _ in test]
    references = [[target] for _, target in test]
    with tempfile.TemporaryDirectory() as place:
        began = perf_counter()
        train_system(
            pairs,
            place,
            dev=[(halves(s) if chosen.trees else s, t) for s, t in dev],
            trees=[halves(s) for s, _ in pairs] if chosen.trees else None,
            rounds=chosen.rounds,
            threads=chosen.threads,
            report=lambda message: print(f"{perf_counter() - began:7.1f} s  {message}", flush=True),
        )
        seconds = perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{seconds:7.1f} s  trained on {len(pairs):,} pairs, peak {peak:,.0f} MB", flush=True)
        translator = Translator.load(place, sources)
    rows = []
    settings = translator.settings
    model = translator.model.scaled(settings.weights["LanguageModel"])
    untuned = Translator(translator.grammar, translator.model, replace(settings, weights=dict(WEIGHTS)))
    ways = {"exact": ("exact", 1), "cube 50": ("cube", 50), "cube 500": ("cube", 500)}

    def translate(source: Any) -> list[Any]:
        forest = translator.forest(source).hypergraph
        return [
            *(
                decode(forest, model, method=method, beam=beam, order=settings.order, time_limit=chosen.limit)
                for method, beam in ways.values()
            ),
            untuned.translate(source, method="cube", beam=50),
        ]

    for name, found in zip(
        [*ways, "cube 50, untuned"], zip(*map(translate, sources), strict=True), strict=True
    ):
        value = bleu([one.solution.words for one in found], references)
        proved = share(one.certified for one in found)
        rows.append([name, f"{value:.2f}", proved, f"{median(one.seconds for one in found):.3f}"])
        record(chosen.json, {"pairs": len(pairs), "trees": chosen.trees, "method": name, "bleu": value})
    if not chosen.trees:
        plain = [word_by_word(translator.grammar, source) for source in sources]
        rows.append(["word by word", f"{bleu(plain, references):.2f}", "", ""])
    print(markdown(["method", "BLEU", "certified", "median s"], rows))


def word_by_word(grammar: Grammar, sentence: list[str]) -> list[str]:
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
