"""Do similarities help, and how much should they weigh? Matrices are made from gold links and noise.

    python -m benchmarks.similarities --size 10k --weights 1 2 4 8

A cell that is a sure link has a similarity from a normal distribution around 0.6, any other around 0.2, both
with the standard deviation `--noise`. Half of the gold pairs have a matrix. AER is that of this half, of the
other half, and of the matrices alone, decoded by `argmax`.
"""

from __future__ import annotations

import numpy as np

from benchmarks.corpora import line, size_of
from benchmarks.runs import add_corpora, each_corpus, guarded, parser, record
from dualign.aligner import Aligner
from dualign.decode import argmax
from dualign.measure.links import evaluate
from dualign.measure.timing import markdown
from dualign.text.corpus import numbered
from dualign.text.links import Alignment


def main() -> None:
    options = parser("Measure what similarities do.", "similarities.jsonl")
    add_corpora(options)
    options.add_argument("--size", default="10k", help="training pairs beside the gold pairs: 10k, all")
    options.add_argument("--noise", type=float, default=0.15, help="standard deviation of similarities")
    options.add_argument("--weights", nargs="+", type=float, default=[1.0, 2.0, 4.0, 8.0], metavar="W")
    given = options.parse_args()
    rows = []
    for corpus in each_corpus(given):
        lines = [*map(line, corpus.gold_pairs), *corpus.lines[: size_of(given.size)]]
        text = numbered(([side.split() for side in both.split("\t")] for both in lines), True)
        number = len(corpus.gold) // 2
        random = np.random.default_rng(given.seed)
        matrices = []
        for (source, target), gold in zip(corpus.gold_pairs[:number], corpus.gold, strict=False):
            mean = np.full((len(source), len(target)), 0.2)
            for i, j in gold.links:
                mean[i, j] = 0.6
            matrices.append(random.normal(mean, given.noise))
        alone = [Alignment.of(map(tuple, np.argwhere(argmax(matrix)).tolist())) for matrix in matrices]
        errors = [evaluate(alone, corpus.gold[:number]).aer]
        for weight in (0.0, *given.weights):
            known = text.with_similarities(matrices, weight)
            aligner = Aligner(threads=given.threads).fit(known)
            found = aligner.align(known)[: len(corpus.gold)]
            errors += [
                evaluate(found[:number], corpus.gold[:number]).aer,
                evaluate(found[number:], corpus.gold[number:]).aer,
            ]
        record(
            given.json, {"corpus": corpus.name, "noise": given.noise, "weights": given.weights, "aer": errors}
        )
        halves = [f"{100 * a:.1f} / {100 * b:.1f}" for a, b in zip(errors[1::2], errors[2::2], strict=True)]
        rows.append((corpus.name, f"{100 * errors[0]:.1f}", *halves))
    head = ("text", "matrices alone", *(f"weight {w:g}" for w in (0.0, *given.weights)))
    print("\n" + markdown(head, rows))


if __name__ == "__main__":
    guarded(main)
