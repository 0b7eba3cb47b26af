"""How much does background text help a short one? The gold pairs are aligned, with N others as background.

python -m benchmarks.background --size 10k --ratios 1 2 4 8
"""

from __future__ import annotations

from benchmarks.corpora import line, size_of
from benchmarks.runs import add_corpora, each_corpus, guarded, parser, positive, record
from dualign.aligner import Aligner
from dualign.measure.links import evaluate
from dualign.measure.timing import markdown
from dualign.text.corpus import numbered


def main() -> None:
    options = parser("Measure what background text does.", "background.jsonl")
    add_corpora(options)
    options.add_argument("--size", default="10k", help="pairs of background text: 10k, all")
    options.add_argument(
        "--ratios", nargs="+", type=positive, default=[1, 4], metavar="N", help="ratios to compare"
    )
    given = options.parse_args()
    rows = []
    for corpus in each_corpus(given):
        others = [both.split("\t") for both in corpus.lines[: size_of(given.size)]]
        text = numbered(
            [[side.split() for side in line(pair).split("\t")] for pair in corpus.gold_pairs], True
        )
        background = numbered(([side.split() for side in pair] for pair in others), True)
        usual = text.times_over(background)
        errors = {}
        for times in (0, *dict.fromkeys([*given.ratios, usual])):
            learnt = text.with_background(background, times) if times else text
            aligner = Aligner(threads=given.threads).fit(learnt)
            errors[times] = evaluate(aligner.align(text), corpus.gold).aer
        record(given.json, {"corpus": corpus.name, "pairs": len(background), "usual": usual, "aer": errors})
        shown = [errors[times] for times in (0, *given.ratios, usual)]
        rows.append((corpus.name, *(f"{100 * aer:.2f}" for aer in shown), str(usual)))
    head = ("text", "no background", *(f"ratio {n}" for n in given.ratios), "default", "default ratio")
    print("\n" + markdown(head, rows))


if __name__ == "__main__":
    guarded(main)
