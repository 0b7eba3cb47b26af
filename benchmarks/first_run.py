"""What the first run costs, which compiles kernels, and what later ones do.

    python -m benchmarks.first_run --only align viterbi

Each command runs on the bundled sample: first with what the commands above it have compiled, then `--repeat`
times again, of which the quickest counts. All of them share a new folder for compiled kernels. On a machine
that does other things as well, look at the processor time.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.runs import describe, guarded, keep_to, parser, positive, record
from dualign.commands.bench import DUALIGN
from dualign.measure.timing import Usage, markdown, measure
from dualign.text.samples import sample_path

HEAD = ("command", "first, s", "first, CPU s", "later, s", "later, CPU s")


def commands(folder: Path) -> dict[str, list[str]]:
    """The commands by name, in the order in which they run: later ones need files of the first."""
    text = [str(sample_path("sample.de")), str(sample_path("sample.en"))]
    links, model, table, system = (str(folder / name) for name in ("links", "model", "table", "system"))
    output = ["-o", str(folder / "output")]
    align = ["align", *text, *output, "--model", model]
    return {
        "align": ["align", *text, "-o", links, "--save", model],
        "align --model": align,
        "viterbi": [*align, "--decoder", "viterbi"],
        "submodular": [*align, "--decoder", "submodular"],
        "bidirectional": [*align, "--decoder", "bidirectional"],
        "phrases extract": ["phrases", "extract", *text, links, "-o", table],
        "phrases align": ["phrases", "align", table, *text, *output],
        "translate train": ["translate", "train", *text, system, "--rounds", "1"],
        "translate decode": ["translate", "decode", system, text[0], *output],
    }


def main() -> None:
    options = parser("Measure the first run and later ones.", "first_run.jsonl")
    options.add_argument("--only", nargs="+", metavar="NAME", help="commands to measure; align comes first")
    options.add_argument("--repeat", type=positive, default=3, help="how often to run each command again")
    given = options.parse_args()
    keep_to(given.threads)
    print(describe(given.threads))
    rows = []
    with TemporaryDirectory(prefix="dualign-first-") as folder:
        kernels = {"NUMBA_CACHE_DIR": str(Path(folder) / "kernels")}
        for name, words in commands(Path(folder)).items():
            if given.only and name not in ("align", *given.only):
                continue
            runs = [measure([*DUALIGN, *words], environment=kernels) for _ in range(1 + given.repeat)]
            first, later = runs[0], quickest(runs[1:])
            record(given.json, {"command": name, "first": first.as_dict(), "later": later.as_dict()})
            numbers = first.seconds, first.cpu_seconds, later.seconds, later.cpu_seconds
            rows.append((name, *(f"{number:.2f}" for number in numbers)))
            print(*rows[-1], flush=True)
    print("\n" + markdown(HEAD, rows))


def quickest(runs: list[Usage]) -> Usage:
    return min(runs, key=lambda usage: usage.cpu_seconds)


if __name__ == "__main__":
    guarded(main)
