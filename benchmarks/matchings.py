"""Matching decoders: Table 1 of Lin & Bilmes 2011, the same decoders on other posteriors, and their speed.

    python -m benchmarks.matchings --size 100k

IBM 2 (plain EM, no smoothing by spelling) is trained on N pairs of the Hansards, preceded by the gold pairs
without their links. Scores are those of Eq. 5, French given English: once as printed, where the scores of an
English word add up to 1, and once as posteriors, where those of a French word do. French is our source and
English our target, so the paper's rows are target words, and its limits `Fert_F` apply to source words.
Parameters are tuned on the last 100 development pairs; results are for the 347 test pairs. Then the decoders
run on the posteriors of the HMM and of the HMM with symmetric constraints (S-HMM).

A score that is not above the threshold counts as 0. The paper has no threshold; here it is negligible, one in
a million, unless stated otherwise. Time is processor time on one core for all test pairs, the best of several
runs, with kernels compiled and scores computed beforehand. For the integer program it includes building its
matrices.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from benchmarks.constraints import Labelled, gold_of, pair_of
from benchmarks.corpora import Corpus, present, size_of
from benchmarks.runs import add_data, describe, guarded, keep_to, parser, record
from dualign.aligner import Aligner
from dualign.commands.tuning import tune
from dualign.decode import penalized, submodular
from dualign.decode.matchings.api import pack, rule_of
from dualign.decode.matchings.exact import match_batch
from dualign.decode.matchings.greedy import bound_batch, greedy_batch
from dualign.measure.links import evaluate
from dualign.measure.timing import markdown
from dualign.options import Options
from dualign.text.links import Alignment

NAME = "hansards-fr-en"
NO_THRESHOLD = 1e-6
ALPHAS = tuple(round(0.05 * k, 2) for k in range(1, 20))
QUANTILES = tuple(round(0.3 + 0.05 * k, 2) for k in range(14))
THRESHOLDS = (0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
BOUND_LINKS = 5

Trial = dict[str, Any]

# The paper's setups, in our options; what is a tuple is tuned.
SETUPS: tuple[tuple[str, str, Trial], ...] = (
    ("1 modular, Fert_F ≤ 1, Fert_E ≤ 1", "21.0", {"alpha": 1.0, "source_limit": 1, "target_limit": 1}),
    ("2 modular, Fert_F ≤ 1", "23.1", {"alpha": 1.0, "source_limit": 1}),
    ("3 modular, Fert_F ≤ k_j", "22.1", {"alpha": 1.0, "source_limit": BOUND_LINKS, "quantile": QUANTILES}),
    ("4 submodular, Fert_F ≤ 1", "19.8", {"alpha": ALPHAS, "source_limit": 1}),
    (
        "5 submodular, Fert_F ≤ k_j",
        "18.6",
        {"alpha": ALPHAS, "source_limit": BOUND_LINKS, "quantile": QUANTILES},
    ),
    (
        "symmetric, Fert_F ≤ k_j",
        "",
        {"alpha": ALPHAS, "concave": "both", "source_limit": BOUND_LINKS, "quantile": QUANTILES},
    ),
    ("4 and a threshold", "", {"alpha": ALPHAS, "source_limit": 1, "threshold": THRESHOLDS}),
    (
        "5 and a threshold",
        "",
        {"alpha": ALPHAS[1::2], "source_limit": BOUND_LINKS, "quantile": QUANTILES, "threshold": THRESHOLDS},
    ),
    ("IBM 2, E→F, Viterbi", "21.0", {"decoder": "viterbi", "symmetrize": "backward"}),
    ("maximum-weight matching", "20.9", {"decoder": "matching"}),
    ("maximum-weight matching and a threshold", "", {"decoder": "matching", "threshold": THRESHOLDS}),
)  # fmt: skip
BASE: Trial = {
    "decoder": "submodular",
    "scores": "backward",
    "concave": "target",
    "source_limit": 0,
    "target_limit": 0,
    "quantile": 0.0,
    "threshold": NO_THRESHOLD,
}
MODELS: tuple[tuple[str, Trial], ...] = (
    ("HMM", {"constraint": "none", "projection": "none"}),
    ("S-HMM", {"constraint": "symmetric", "projection": "symmetric"}),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A decoder's result."""

    name: str
    paper: str
    chosen: Trial
    dev: float
    test: float


def main() -> None:
    options = parser("Measure the matching decoders.", "matchings.jsonl")
    add_data(options)
    options.add_argument("--size", default="100k", metavar="N", help="training pairs: 10k, 100k … or all")
    options.add_argument("--rounds", type=int, default=5, help="rounds of IBM 2 after those of IBM 1")
    options.add_argument("--skip-hmm", action="store_true", help="IBM 2 alone")
    options.add_argument("--exact", type=int, default=20, help="test pairs for the exact submodular program")
    given = options.parse_args()
    size = size_of(given.size)
    present(given.data, [NAME])
    keep_to(given.threads)
    print(describe(given.threads))
    corpus = Corpus(given.data, NAME, given.seed)
    dev, test = gold_of(given.data / NAME)
    dev = dev.part("dev", slice(-100, None))
    text = dev.pairs + test.pairs + [pair_of(line) for line in corpus.lines[:size]]
    print(f"{NAME}, {len(text):,} pairs; seed of the shuffle: {given.seed}", flush=True)

    began = time.perf_counter()
    ibm2 = Aligner(
        threads=given.threads, model="ibm2", constraint="none", projection="none", rounds=given.rounds,
        stem_weight=0.0, form_weight=0.0, decoder="submodular",
    ).fit(text)  # fmt: skip
    print(f"\n## IBM 2, trained in {time.perf_counter() - began:.0f} s; scores by Eq. 5\n", flush=True)
    limits = ibm2.model.fertilities.limits(0, tokens_of(ibm2, test), 0.8)
    print(f"θ = 0.8: k_j ≥ 2 for {100 * np.mean(limits >= 2):.0f} % of the test pairs' French words\n")
    for scores in ("backward-posterior", "backward"):
        base = BASE | {"scores": scores}
        rows = [measured(ibm2, name, paper, base | setup, dev, test) for name, paper, setup in SETUPS]
        if scores == "backward":
            program, program_seconds, solved = penalized_row(ibm2, dev, test)
            rows.append(program)
        print(f"\nscores: {scores}\n")
        print_rows(rows)
        keep(given, len(text), f"IBM 2, {scores}", rows)

    print("\n## Time for the test pairs, IBM 2 scores, one core\n", flush=True)
    print_times(ibm2, rows, test, program_seconds, solved, given.exact)
    if given.skip_hmm:
        return
    for name, settings in MODELS:
        began = time.perf_counter()
        aligner = Aligner(threads=given.threads, decoder="submodular", **settings).fit(text)
        print(f"\n## {name}, trained in {time.perf_counter() - began:.0f} s; posteriors\n", flush=True)
        rows = posterior_rows(aligner, dev, test)
        print_rows(rows)
        keep(given, len(text), name, rows)


def measured(aligner: Aligner, name: str, paper: str, trial: Trial, dev: Labelled, test: Labelled) -> Row:
    """Tune the open parameters of a trial on dev, trying every combination, and measure on test."""
    decode = aligner.decoder_of(dev.pairs)
    best, least = trial, 2.0
    for candidate in combinations(trial):
        aer = evaluate(decode(replace(aligner.options, **candidate)), dev.gold).aer
        if aer < least:
            best, least = candidate, aer
    links = aligner.decoder_of(test.pairs)(replace(aligner.options, **best))
    tuned = {key: best[key] for key, value in trial.items() if isinstance(value, tuple)}
    return Row(name, paper, best | {"tuned": tuned}, least, evaluate(links, test.gold).aer)


def combinations(trial: Trial) -> Iterable[Trial]:
    free = [key for key, value in trial.items() if isinstance(value, tuple)]
    for values in product(*(trial[key] for key in free)):
        yield trial | dict(zip(free, values, strict=True))


def posterior_rows(aligner: Aligner, dev: Labelled, test: Labelled) -> list[Row]:
    """The decoders as tuned by `dualign align --tune`."""
    rows = []
    for decoder in ("soft-union", "posterior", "viterbi", "matching", "submodular"):
        aligner.set_options(**{**Options().as_dict(), **aligner.options.as_dict(), "decoder": decoder})
        chosen = tune(aligner, dev.pairs, dev.gold)
        aer = [evaluate(aligner.align(part.pairs), part.gold).aer for part in (dev, test)]
        rows.append(Row(f"{decoder}, tuned", "", {"tuned": chosen}, *aer))
    return rows


def tokens_of(aligner: Aligner, part: Labelled) -> np.ndarray:
    """The numbers of all source words; unknown words have the first number beyond the vocabulary."""
    numbers = aligner.model.source.numbers
    return np.array([numbers.get(word, len(numbers)) for source, _ in part.pairs for word in source])


def scores_of(aligner: Aligner, part: Labelled) -> list[np.ndarray]:
    """The matrices of Eq. 5, French rows and English columns."""
    from dualign.decode.matchings.blocks import scores_of_block
    from dualign.engines.threads import posteriors_of_part
    from dualign.hmm.encoding import encode_for

    text = encode_for(aligner.model, part.pairs)
    options = replace(aligner.options, scores="backward")
    matrices = []
    for posterior, block in posteriors_of_part(aligner.model, text):
        flat = scores_of_block(options, block, posterior)
        shapes = zip(np.diff(block.pairs.source_offsets), np.diff(block.pairs.target_offsets), strict=True)
        for n, (I, J) in enumerate(shapes):
            matrices.append(flat[block.first[n] : block.first[n + 1]].reshape(I, J))
    return matrices


def penalized_row(aligner: Aligner, dev: Labelled, test: Labelled) -> tuple[Row, float, int]:
    """The fertility-penalised program: link b + 1 of a word costs λ p_b(word), plus a constant per link."""

    def costs(part: Labelled) -> list[tuple[np.ndarray, np.ndarray]]:
        model = aligner.model
        tables = [model.fertilities.at_most(side)[:, 1:BOUND_LINKS] for side in (0, 1)]
        numbers = model.source.numbers, model.target.numbers
        return [
            tuple(
                table[[known.get(word, len(table) - 1) for word in words]]
                for table, known, words in zip(tables, numbers, pair, strict=True)
            )
            for pair in part.pairs
        ]

    def links(matrices, prices, penalty: tuple[float, float], link_cost: float) -> list[Alignment]:
        found = [
            penalized(S, row_costs=penalty[0] * rows, column_costs=penalty[1] * columns, link_cost=link_cost)
            for S, (rows, columns) in zip(matrices, prices, strict=True)
        ]
        return [Alignment.of(each.solution) for each in found]

    matrices, prices = scores_of(aligner, dev), costs(dev)
    best, least = ((1.0, 1.0), 0.0), 2.0
    # One parameter after the other: every program takes milliseconds, not microseconds.
    penalties = (0.05, 0.1, 0.2, 0.3, 0.5, 0.8)
    grids = penalties, penalties, (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
    for which, grid in enumerate((*grids, *grids)):
        for value in grid:
            (row, column), cost = best
            trial = ((value, column), cost), ((row, value), cost), ((row, column), value)
            candidate = trial[which % 3]
            aer = evaluate(links(matrices, prices, *candidate), dev.gold).aer
            if aer < least:
                best, least = candidate, aer
    matrices, prices = scores_of(aligner, test), costs(test)
    began = time.process_time()
    answer = links(matrices, prices, *best)
    seconds = time.process_time() - began
    tuned = {"source_penalty": best[0][0], "target_penalty": best[0][1], "link_cost": best[1]}
    row = Row("fertility-penalised program", "19.3", {"tuned": tuned}, least, evaluate(answer, test.gold).aer)
    return row, seconds, len(matrices)


def print_times(
    aligner: Aligner, rows: list[Row], test: Labelled, program_seconds: float, solved: int, exact: int
) -> None:
    matrices = scores_of(aligner, test)
    cells = sum(matrix.size for matrix in matrices)
    table = []

    def add(name: str, seconds: float, pairs: int, more: str = "") -> None:
        each = seconds / pairs
        ratio = program_seconds / solved / each
        table.append((name, f"{1e3 * seconds:.2f}", str(pairs), f"{1 / each:,.0f}", f"{ratio:,.0f}", more))

    packed = pack(matrices, None, None)
    for row in rows[:6]:  # setups 1 to 5 and the symmetric one
        chosen = row.chosen
        rows_most = np.minimum(packed.row_limits, chosen["source_limit"] or BOUND_LINKS)
        if chosen["quantile"]:
            by_word = aligner.model.fertilities.limits(0, tokens_of(aligner, test), chosen["quantile"])
            rows_most = np.minimum(rows_most, by_word)
        columns_most = np.minimum(packed.column_limits, chosen["target_limit"] or len(packed.scores))
        limited = packed._replace(
            row_limits=rows_most.astype(np.int32), column_limits=columns_most.astype(np.int32)
        )
        rule = rule_of(chosen["alpha"], "both" if chosen["concave"] == "both" else "columns")
        links = np.zeros(cells, np.uint8)
        score, bound = np.zeros(len(matrices)), np.zeros(len(matrices))
        counts = [greedy_batch(0, len(matrices), limited, rule, lazy, links) for lazy in (True, False)]
        seconds = fastest(greedy_batch, 0, len(matrices), limited, rule, True, links)
        bounding = fastest(bound_batch, 0, len(matrices), limited, rule, links, score, bound)
        proved = np.mean(bound - score <= 1e-9 * (1 + score))
        gap = np.mean((bound - score) / np.maximum(score, 1e-300))
        add(
            row.name, seconds, len(matrices),
            f"evaluations {counts[0]:,} lazy, {counts[1]:,} plain; bound {1e3 * bounding:.1f} ms more, "
            f"certified {100 * proved:.0f} %, mean gap {100 * gap:.2f} %",
        )  # fmt: skip
    seconds = fastest(match_batch, 0, len(matrices), packed, links, score, bound)
    add("maximum-weight matching", seconds, len(matrices))
    add("fertility-penalised program", program_seconds, solved)
    short = sorted(matrices, key=lambda matrix: matrix.size)[:exact]
    alpha = rows[3].chosen["alpha"]
    began = time.process_time()
    setup = {"alpha": alpha, "concave": "columns", "row_limits": 1}
    optimal = [submodular(S, **setup, method="exact", time_limit=20) for S in short]
    seconds = time.process_time() - began
    greedy = [submodular(S, **setup) for S in short]
    shares = [a.score / b.score for a, b in zip(greedy, optimal, strict=True) if b.score > 0]
    add(
        f"submodular optimum, {len(short)} shortest", seconds, len(short),
        f"certified {sum(each.certified for each in optimal)}; greedy has {100 * min(shares):.1f} % of it "
        f"or more, and all of it {sum(share > 1 - 1e-6 for share in shares)} times",
    )  # fmt: skip
    square = list(np.random.default_rng(0).random((20_000, 15, 15)) ** 8)
    packed = pack(square, None, None)
    packed = packed._replace(column_limits=np.ones_like(packed.column_limits))
    links = np.zeros(len(packed.scores), np.uint8)
    for alpha in (0.5, 0.8):
        rule = rule_of(alpha, "rows")
        add(
            f"random 15 × 15, α = {alpha:g}, Fert ≤ 1",
            fastest(greedy_batch, 0, len(square), packed, rule, True, links),
            len(square),
        )
    print(markdown(["decoder", "ms", "pairs", "pairs/s", "× program", ""], table))


def fastest(function: Callable[..., Any], *arguments: Any, runs: int = 7) -> float:
    times = []
    for _ in range(runs):
        began = time.thread_time()
        function(*arguments)
        times.append(time.thread_time() - began)
    return min(times)


def print_rows(rows: list[Row]) -> None:
    table = [
        (
            row.name,
            row.paper,
            f"{100 * row.test:.1f}",
            f"{100 * row.dev:.1f}",
            ", ".join(
                f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}"
                for key, value in row.chosen.get("tuned", {}).items()
            ),
        )
        for row in rows
    ]
    print(markdown(["decoder", "paper", "AER", "dev", "tuned"], table), flush=True)


def keep(given: Any, pairs: int, model: str, rows: list[Row]) -> None:
    for row in rows:
        record(
            given.json,
            {
                "corpus": NAME, "pairs": pairs, "seed": given.seed, "threads": given.threads, "model": model,
                "decoder": row.name, "chosen": row.chosen, "aer_dev": row.dev, "aer": row.test,
            },
        )  # fmt: skip


if __name__ == "__main__":
    guarded(main)
