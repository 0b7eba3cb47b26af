"""Table 2 of Chang et al. 2014: how good the links are, by AER and by the phrase pairs they yield.

- `Viterbi`: each direction's best path under the HMM, which remembers the position before a null; `chains`:
  the best paths under θ and ω, which do not. All other rows decode θ and ω;
- `D&M`: DeNero & Macherey's dual decomposition in its plain form, at most 250 rounds with steps of 1/t. We
  combine the last round's variables c of either direction: its own links, and adjacent ones that suit the
  other. They are equal only if the method has converged, which proves them optimal;
- `dual-decomposition`: our method of that name, the same relaxation with better steps and with repaired
  solutions in between. We combine the two directions of its best solution, which agree;
- `full`, `adjacent` and `soft`: the optimum of each agreement by `exact`, with the default limit on nodes of
  `dualign align`. The links of the two directions are combined by one of the usual methods.

α, γ and, if the name does not say it, the method of symmetrisation are those with the lowest AER on dev
among the values that `dualign align --tune` tries; here all combinations are tried. *certified* is the share
of test pairs with a proof. Phrase pairs have up to 7 words per side and are compared with those of the gold
links; possible links and words without links are accounted for (`dualign.measure.phrases`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.agreement_scores import scores_of
from benchmarks.constraints import Labelled
from dualign._core.certified import Certified
from dualign._core.jit import kernel
from dualign._core.progress import Clock
from dualign._core.threads import ordered_map
from dualign._search.certificate import PRECISION
from dualign.aligner import Aligner
from dualign.commands.tuning import costs_of_agreement
from dualign.decode.joint import exact
from dualign.decode.joint.api import problem_of, solve
from dualign.decode.joint.decomposition import directed
from dualign.decode.joint.model import JointProblem
from dualign.decode.symmetrize import symmetrize
from dualign.measure.bootstrap import compare
from dualign.measure.links import evaluate
from dualign.measure.phrases import evaluate_phrases, phrases_of_links
from dualign.measure.timing import markdown
from dualign.options import SYMMETRIZATIONS, Options
from dualign.text.links import Alignment, Link

compiled_directed = kernel(directed)

THREE = ("union", "intersection", "grow-diag")
PAPER = {
    "Viterbi, union": ("33.4", "46.3"),
    "Viterbi, intersection": ("27.0", "51.9"),
    "Viterbi, grow-diag": ("32.1", "48.4"),
    "D&M, union": ("29.1", "52.5"),
    "D&M, intersection": ("23.6", "55.3"),
    "D&M, grow-diag": ("28.0", "53.0"),
    "adjacent": ("26.4", "52.7"),
}
"""AER and phrase-pair F1."""

LETTERS = {"penalty": "α ", "unsupported": "γ ", "symmetrize": ""}

INDEPENDENT = {"agreement": "soft", "penalty": 0.0, "unsupported": 0.0}
"""The optimum is then each direction's own."""

PLAIN_ROUNDS = 250

Trial = dict[str, Any]
Answer = tuple[list[Link], list[Link], bool]
"""Links of a pair, target words choosing, and source words choosing; whether they are proved best."""


@dataclass(frozen=True, slots=True)
class Directions:
    """Links, target words choosing, and source words choosing; the share of pairs with a proof."""

    forward: list[list[Link]]
    backward: list[list[Link]]
    certified: float


@dataclass(frozen=True, slots=True)
class Family:
    """A way to decode, part 0 (dev) or 1 (test), and the parameters to try.

    `combined`: one row for each of `THREE`; otherwise one row, with the best method of symmetrisation.
    """

    name: str
    decode: Callable[[int, Trial], Directions]
    trials: list[Trial]
    combined: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A system: parameters, names of those that were tuned, AER on dev, links for test, share with proof."""

    name: str
    chosen: Trial
    tuned: list[str]
    dev: float
    links: list[Alignment]
    certified: float


def table(
    aligner: Aligner, dev: Labelled, test: Labelled, time_limit: float, seed: int
) -> list[dict[str, Any]]:
    """Measure, print, and return a record for each row."""
    parts = [dev.pairs, test.pairs]
    scores = [scores_of(aligner, pairs) for pairs in parts]
    decoders = [aligner.decoder_of(pairs) for pairs in parts]

    def viterbi(part: int, trial: Trial) -> Directions:
        options = replace(aligner.options, decoder="viterbi")
        ways = [decoders[part](replace(options, symmetrize=way)) for way in ("forward", "backward")]
        return Directions(*([list(links) for links in way] for way in ways), certified=np.nan)

    def each(decode: Callable[[JointProblem], Answer]) -> Callable[[int, Trial], Directions]:
        def all_of(part: int, trial: Trial) -> Directions:
            costs = trial["agreement"], trial["penalty"], trial.get("unsupported")
            problems = (problem_of(*pair, *costs) for pair in scores[part])
            forward, backward, proved = zip(*ordered_map(decode, problems, aligner.threads), strict=True)
            return Directions(list(forward), list(backward), float(np.mean(proved)))

        return all_of

    def optimum(problem: JointProblem) -> Answer:
        outcome = exact.search(problem, PRECISION, Clock(time_limit), Options().nodes)
        return of_chains(exact.certified(problem, outcome, "exact", Clock()))

    def decomposed(problem: JointProblem) -> Answer:
        return of_chains(solve(problem, "dual-decomposition", time_limit))

    families = [
        Family("Viterbi", viterbi, [{}], combined=True),
        Family("chains", each(optimum), [INDEPENDENT], combined=True),
        Family("D&M", each(plain_decomposition), grid("adjacent"), combined=True),
        Family("dual-decomposition", each(decomposed), grid("adjacent"), combined=True),
        *(Family(agreement, each(optimum), grid(agreement)) for agreement in ("full", "adjacent", "soft")),
    ]  # fmt: skip
    rows = [row for family in families for row in rows_of(family, dev)]
    records = [measured(row, test) for row in rows]
    print_table(records)
    print_comparisons(rows, test, seed)
    return records


def grid(agreement: str) -> list[Trial]:
    """What `dualign align --tune` tries."""
    return [{"agreement": agreement} | trial for trial in costs_of_agreement(Options(agreement=agreement))]


def plain_decomposition(problem: JointProblem) -> Answer:
    """Links of either direction in the last round, and whether they are equal."""
    theta, omega, alpha, gamma = problem
    I, J = len(theta), len(omega)
    u = np.zeros((I + 1, J + 1))
    path, path_back = np.zeros(I + 1, np.int64), np.zeros(J + 1, np.int64)
    there, back = np.zeros((I + 1, J + 1), np.uint8), np.zeros((J + 1, I + 1), np.uint8)
    for t in range(1, PLAIN_ROUNDS + 1):
        compiled_directed(theta, alpha, gamma, u, path, there)
        compiled_directed(omega, alpha, gamma, np.ascontiguousarray(-u.T), path_back, back)
        difference = there.astype(np.float64) - back.T
        if not difference.any():
            break
        u -= difference / t
    return links_of(back.T), links_of(there), not difference.any()


def links_of(chosen: np.ndarray) -> list[Link]:
    """Links from a matrix with one more row and column in front."""
    return [(int(i), int(j)) for i, j in np.argwhere(chosen[1:, 1:])]


def of_chains(answer: Certified[tuple[np.ndarray, np.ndarray]]) -> Answer:
    """Links of a solution (a, b)."""
    a, b = answer.solution
    forward = [(int(i) - 1, j) for j, i in enumerate(b) if i > 0]
    backward = [(i, int(j) - 1) for i, j in enumerate(a) if j > 0]
    return forward, backward, answer.certified


def rows_of(family: Family, dev: Labelled) -> list[Row]:
    """Tune on dev, decode test (part 1)."""
    decoded = [family.decode(0, trial) for trial in family.trials]
    rows = []
    answers: dict[int, Directions] = {}
    for ways in [(way,) for way in THREE] if family.combined else [SYMMETRIZATIONS]:
        least, best, join = min(
            (evaluate(joined(found, way), dev.gold).aer, number, way)
            for number, found in enumerate(decoded)
            for way in ways
        )
        if best not in answers:
            answers[best] = family.decode(1, family.trials[best])
        name = f"{family.name}, {join}" if family.combined else family.name
        chosen = family.trials[best] | {"symmetrize": join}
        tuned = [key for key in chosen if len({trial.get(key) for trial in family.trials}) > 1]
        tuned += ["symmetrize"] if len(ways) > 1 else []
        rows.append(Row(name, chosen, tuned, least, joined(answers[best], join), answers[best].certified))
    return rows


def joined(found: Directions, way: str) -> list[Alignment]:
    return symmetrize(found.forward, found.backward, way)


def measured(row: Row, test: Labelled) -> dict[str, Any]:
    quality = evaluate(row.links, test.gold)
    result = {
        "system": row.name, "chosen": row.chosen, "tuned": row.tuned, "aer_dev": row.dev, "aer": quality.aer,
        "precision": quality.precision, "recall": quality.recall, "certified": row.certified,
    }  # fmt: skip
    lengths = [(len(source), len(target)) for source, target in test.pairs]
    phrases = evaluate_phrases(phrases_of_links(row.links, lengths), test.gold, lengths)
    return result | {
        "phrase_precision": phrases.precision, "phrase_recall": phrases.recall, "phrase_f1": phrases.f1,
    }  # fmt: skip


def print_table(records: Sequence[dict[str, Any]]) -> None:
    print("\n## Table 2: links, and phrase pairs, of the test pairs\n")
    names = {
        "aer_dev": "AER dev", "aer": "AER", "precision": "prec", "recall": "rec", "certified": "certified",
        "phrase_precision": "phrase prec", "phrase_recall": "phrase rec", "phrase_f1": "phrase F1",
    }  # fmt: skip
    rows = []
    for result in records:
        numbers = ["" if np.isnan(result[name]) else f"{100 * result[name]:.1f}" for name in names]
        tuned = ", ".join(f"{LETTERS[key]}{result['chosen'][key]}" for key in result["tuned"])
        rows.append((result["system"], tuned, *numbers, *PAPER.get(result["system"], ("", ""))))
    head = ["system", "tuned", *names.values(), "AER (paper)", "F1 (paper)"]
    print(markdown(head, rows, left=2), flush=True)


def print_comparisons(rows: Sequence[Row], test: Labelled, seed: int) -> None:
    """Compare soft with adjacent agreement, and both with D&M's best combination on test itself."""
    by_name = {row.name: row for row in rows}
    best = min(
        (row for row in rows if row.name.startswith("D&M")),
        key=lambda row: evaluate(row.links, test.gold).aer,
    )
    print()
    for first, second in (("soft", "adjacent"), ("soft", best.name), ("adjacent", best.name)):
        both = compare(by_name[first].links, by_name[second].links, test.gold, seed=seed)
        print(
            f"{first} has an AER of {100 * both.first_aer:.2f}, {second} one of {100 * both.second_aer:.2f}; "
            f"{first} is better in {100 * both.first_better:.1f} % of {both.samples:,} resamples",
            flush=True,
        )
