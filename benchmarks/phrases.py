"""Phrases: extraction from linked text; exact phrase alignment compared with the paper's integer program.

    python -m benchmarks.phrases --corpus europarl-es-en --size 100k

DeNero & Klein 2008, Table 1: English-Spanish Europarl, up to 25 words, phrases of a Moses table made from the
same corpus with weights by relative frequency; 20,000 sentences per hour on four cores, 93.4 % optimal. Here:

1. `dualign align` links the text, then `dualign phrases extract` makes a table; we measure the time and
   memory of the extraction.
2. On the first N sentence pairs of the shuffled text with up to 25 words per side, we run `exact` on all
   pairs, and `ilp` (HiGHS) on every n-th pair, which `exact` solves again right afterwards, so that the ratio
   compares the same pairs at the same time. Time is that of the solver and of finding the links in the table,
   on one thread, with kernels compiled beforehand. Optimal scores must agree for every pair.
3. The same for pairs of more than 40 words per side, without the integer program.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.corpora import CORPORA, Corpus, present, size_of
from benchmarks.runs import add_data, describe, guarded, keep_to, parser, positive, record
from dualign._core.errors import Infeasible, UsageError
from dualign.commands.bench import DUALIGN
from dualign.measure.timing import markdown, measure
from dualign.phrase.aligning import align_pair
from dualign.phrase.occurrences import Occurrences
from dualign.text.blocks import read_pairs

HEAD = ("pairs", "method", "certified", "no alignment", "mean ms", "median ms", "max ms", "pairs/hour")
FEATURES = [0.0, 0.0, 1.0, 0.0]  # p(target | source) by relative frequency


def main() -> None:
    options = parser("Measure extraction and exact phrase alignment.", "phrases.jsonl")
    add_data(options)
    options.add_argument("--corpus", choices=CORPORA, default="europarl-es-en")
    options.add_argument("--size", default="100k", help="sentence pairs of the text")
    options.add_argument("--sentences", type=positive, default=2000, help="pairs to align, of each length")
    options.add_argument("--ilp", type=positive, default=100, help="of these, pairs for the integer program")
    given = options.parse_args()
    present(given.data, [given.corpus])
    keep_to(given.threads)
    print(describe(given.threads))
    print(f"{given.corpus}, seed of the shuffle: {given.seed}", flush=True)
    with TemporaryDirectory(prefix="dualign-phrases-") as place:
        text = Corpus(given.data, given.corpus, given.seed).write(Path(place), size_of(given.size))
        files = [str(text.source), str(text.target)]
        links, table = f"{place}/links", f"{place}/table.gz"
        threads = ["--threads", str(given.threads), "--quiet"]
        measure([*DUALIGN, "align", *files, "-o", links, *threads])
        extraction = [*DUALIGN, "phrases", "extract", *files, links, "--max-length", "7", *threads]
        small = [f"{place}/{name}" for name in ("few.source", "few.target", "few.links")]
        for path, whole in zip(small, [*files, links], strict=True):
            with open(whole, encoding="utf-8") as lines:
                Path(path).write_text("".join(islice(lines, 10)), encoding="utf-8")
        # Compile the kernels before the time is taken.
        measure([*DUALIGN, "phrases", "extract", *small, "-o", table, *threads])
        usage = measure([*extraction, "-o", table])
        print(
            f"extraction of {text.pairs:,} pairs: {usage.seconds:.0f} s, {usage.cpu_seconds:.0f} s CPU, "
            f"{usage.peak_bytes / 2**30:.2f} GiB",
            flush=True,
        )
        record(given.json, {"what": "extraction", "pairs": text.pairs, **usage.as_dict()})
        pairs = list(read_pairs(*files))[len(text.gold) :]
        rows = []
        for name, chosen in (
            ("up to 25 words", [p for p in pairs if max(map(len, p)) <= 25]),
            ("over 40 words", [p for p in pairs if min(map(len, p)) > 40]),
        ):
            chosen = chosen[: given.sentences]
            every = 0 if name.startswith("over") else max(1, len(chosen) // given.ilp)
            rows += aligned(name, chosen, table, every, given)
    print("\n" + markdown(HEAD, rows, left=2))


def aligned(name: str, pairs: Sequence, table: str, every: int, given) -> list[tuple[str, ...]]:
    """The rows of one set of pairs; every `every`-th is also solved by the integer program (0: none)."""
    began = perf_counter()
    occurrences = Occurrences(pairs, 7).read(table)
    weights = occurrences.weights(FEATURES)
    print(f"{name}: {len(pairs):,} pairs, table read in {perf_counter() - began:.0f} s", flush=True)
    solve(occurrences, weights, 0, "exact")
    numbers = range(len(pairs))
    rows = [row(name, "exact", [solve(occurrences, weights, n, "exact") for n in numbers], given)]
    if every:
        both = {"ilp": [], "exact": []}
        for n in numbers[::every]:
            for method, results in both.items():
                results.append(solve(occurrences, weights, n, method))
        for program, exact in zip(both["ilp"], both["exact"], strict=True):
            if (program[1] is None) != (exact[1] is None) or abs((program[1] or 0) - (exact[1] or 0)) > 1e-6:
                raise UsageError(f"ilp and exact disagree: {program} and {exact}")
        rows += [row(f"{name}, every {every}th", method, results, given) for method, results in both.items()]
        ratio = mean(r[0] for r in both["ilp"]) / mean(r[0] for r in both["exact"])
        print(f"exact is {ratio:.0f} times as fast as ilp on the same {len(both['ilp'])} pairs", flush=True)
        record(given.json, {"what": "ratio", "pairs": len(both["ilp"]), "ilp_over_exact": ratio})
    return rows


def solve(occurrences: Occurrences, weights, number: int, method: str) -> tuple[float, float | None, bool]:
    """Seconds, score (None without an alignment), and whether the answer is proved."""
    began = perf_counter()
    pair, _ = occurrences.weighted(number, weights)
    try:
        result = align_pair(pair, method)
    except Infeasible:
        return perf_counter() - began, None, True
    return perf_counter() - began, result.score, result.certified


def row(name: str, method: str, results: list[tuple[float, float | None, bool]], given) -> tuple[str, ...]:
    times = [seconds * 1e3 for seconds, _, _ in results]
    certified = sum(proved for _, _, proved in results) / len(results)
    without = sum(score is None for _, score, _ in results)
    rate = 3.6e6 / mean(times)
    record(
        given.json,
        {
            "what": name, "method": method, "pairs": len(results), "certified": certified,
            "infeasible": without, "mean_ms": mean(times), "median_ms": median(times),
            "max_ms": max(times), "per_hour": rate,
        },
    )  # fmt: skip
    shown = (f"{100 * certified:.1f} %", f"{without}", f"{mean(times):.3f}", f"{median(times):.3f}")
    return name, method, *shown, f"{max(times):.1f}", f"{rate:,.0f}"


if __name__ == "__main__":
    guarded(main)
