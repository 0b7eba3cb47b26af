"""Are link probabilities right? Of the links with a probability of 0.8, eight in ten should be gold links.

    python -m benchmarks.calibration --size 10k --corpora czenali-cs-en wpt-ro-en

Each aligner is trained with default settings on the gold pairs without their links and N other pairs, and
computes the probability of every possible link of the gold pairs. Possible links of the gold are neither
right nor wrong: annotators were free to set them, so they are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from benchmarks.corpora import line, size_of
from benchmarks.runs import add_corpora, each_corpus, guarded, parser, record
from dualign._core.arrays import Array
from dualign.aligner import Aligner
from dualign.measure.timing import markdown
from dualign.text.links import Alignment

EDGES = (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
"""Borders of the groups; the very many links below the first are left out."""


def main() -> None:
    options = parser(
        "Compare link probabilities with the share of links that are right.", "calibration.jsonl"
    )
    add_corpora(options)
    options.add_argument("--size", default="10k", help="training pairs: 10k, all")
    given = options.parse_args()
    rows = []
    for corpus in each_corpus(given):
        gold_pairs = [line(pair).split("\t") for pair in corpus.gold_pairs]
        text = [*gold_pairs, *(both.split("\t") for both in corpus.lines[: size_of(given.size)])]
        aligner = Aligner(threads=given.threads).fit(text)
        groups = calibration(aligner.posteriors(gold_pairs), corpus.gold)
        error = sum(n * abs(p - right) for n, p, right in groups) / sum(n for n, _, _ in groups)
        record(given.json, {"corpus": corpus.name, "pairs": len(text), "groups": groups, "error": error})
        rows.append(
            (
                corpus.name,
                *(f"{100 * right:.0f} ({n:,})" if n else "-" for n, _, right in groups),
                f"{error:.3f}",
            )
        )
    heads = [f"{low:g}-{high:g}" for low, high in pairwise(EDGES)]
    print("\n" + markdown(("per cent right (links), by probability", *heads, "mean error"), rows))


def calibration(posteriors: Iterable[Array], gold: Iterable[Alignment]) -> list[tuple[int, float, float]]:
    """For each group: the number of links, their mean probability, and the share of them that is sure."""
    values, marks = [], []
    for matrix, alignment in zip(posteriors, gold, strict=True):
        right = np.zeros(matrix.shape, bool)
        known = np.ones(matrix.shape, bool)
        for i, j in alignment.links:
            right[i, j] = True
        for i, j in alignment.possible:
            known[i, j] = False
        values.append(matrix[known])
        marks.append(right[known])
    p, right = np.concatenate(values), np.concatenate(marks)
    groups = []
    for low, high in pairwise(EDGES):
        inside = (p > low) & (p <= high)
        n = int(inside.sum())
        groups.append((n, float(p[inside].mean()), float(right[inside].mean())) if n else (0, 0.0, 0.0))
    return groups


if __name__ == "__main__":
    guarded(main)
