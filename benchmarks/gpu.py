"""Everything that needs a graphics card, in one go: `python -m benchmarks.gpu SOURCE TARGET`.

Aligns the text on the processor and twice on the card, from files to files, each in a process of its own;
then with the saved model. Prints times, phases, what the card has of them, whether two runs wrote the same
bytes, the share of links that the processor and the card have in common, log-likelihoods, and AER if there is
gold. With `--large SOURCE TARGET` another text is then aligned on the card alone, also in 16 GB of memory.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import re
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path


def run(arguments: list[str], folder: Path) -> tuple[float, str]:
    """Seconds of a dualign command, start-up included, and what it said."""
    begin = time.time()
    command = [sys.executable, "-m", "dualign", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-3000:]}")
    return time.time() - begin, done.stderr


def same_links(one: Path, other: Path) -> tuple[int, int, int]:
    """Links of the first, of the second, and of both."""
    counts = [0, 0, 0]
    with one.open() as left, other.open() as right:
        for a, b in zip(left, right, strict=True):
            if a == b:
                both = first = second = len(a.split())
            else:
                mine, theirs = set(a.split()), set(b.split())
                first, second, both = len(mine), len(theirs), len(mine & theirs)
            counts = [counts[0] + first, counts[1] + second, counts[2] + both]
    return counts[0], counts[1], counts[2]


def phases(path: Path, pairs: int) -> None:
    """Print the phases of a profile that took longest, and what the card had of them."""
    found = json.loads(path.read_text())["phases"]
    rows = found.items() if isinstance(found, dict) else ((each["name"], each) for each in found)
    rows = sorted(rows, key=lambda row: -row[1]["seconds"])
    for name, each in rows[:18]:
        print(f"    {name:28} {each['seconds']:8.3f} s over all threads, {each['calls']} calls")
    if card := sum(each["seconds"] for name, each in rows if name.startswith("card:")):
        print(f"    the card: {card:.3f} s")
    if card and not any(name == "card: transfer" for name, _ in rows):
        card -= sum(each["seconds"] for name, each in rows if name == "card: lexicon")
        print(f"    without the lexicon, which comes once: {card:.3f} s, {pairs / card:,.0f} pairs/s")


def digest(path: Path) -> str:
    """Of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def objectives(said: str) -> list[float]:
    """The log-likelihoods of the rounds, as they were reported."""
    return [float(each) for each in re.findall(r"objective (-[0-9.e+]+)", said)]


def align(folder: Path, name: str, text: list[str], options: list[str]) -> str:
    """Align a text, and print where the time went."""
    profile = folder / f"{name}.json"
    outputs = ["-o", f"{name}.links", "--profile", str(profile)]
    seconds, said = run(["align", *text, *outputs, *options], folder)
    lines = sum(1 for _ in (folder / f"{name}.links").open())
    print(f"{name}: {seconds:.2f} s, {lines:,} pairs, {lines / seconds:,.0f} pairs/s", flush=True)
    for line in said.splitlines():
        if "note" in line or "warning" in line:
            print("   ", line)
    phases(profile, lines)
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--gold", help="gold links of the --test files, to compare AER")
    parser.add_argument("--test", nargs=2, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--large", nargs=2, metavar=("SOURCE", "TARGET"), help="also align this text")
    parser.add_argument("--folder", default=".", help="where to write")
    parser.add_argument("--constraint", action="append", default=[])
    arguments = parser.parse_args()
    folder = Path(arguments.folder)
    text = [str(Path(arguments.source).resolve()), str(Path(arguments.target).resolve())]
    from dualign.engines.cuda.device import Card

    card = Card()
    named = {name: version(name) for name in ("numba", "numba-cuda", "numpy")}
    print(f"{time.strftime('%Y-%m-%d')}, {card.name}, {named}, Python {platform.python_version()}")
    del card
    for constraint in ["symmetric", *arguments.constraint]:
        print(f"== constraint {constraint}")
        options = ["--constraint", constraint, "--save"]
        said = [align(folder, "cpu", text, [*options, "cpu.model"])]
        said += [
            align(folder, name, text, [*options, f"{name}.model", "--device", "cuda"])
            for name in ("cuda", "again")
        ]
        for ending in ("links", "model"):
            pair = [digest(folder / f"{name}.{ending}") for name in ("cuda", "again")]
            print(f"two runs, {ending}: {'the same bytes' if pair[0] == pair[1] else 'DIFFERENT'} {pair[0]}")
        cpu, cuda, both = same_links(folder / "cpu.links", folder / "cuda.links")
        print(f"links: {cpu:,} and {cuda:,}; {both:,} in both, {100 * both / max(cpu, cuda):.4f} %")
        for a, b in zip(*map(objectives, said[:2]), strict=True):
            print(f"    objective {a} and {b}: {abs(a - b) / abs(a):.1e} relative")
        if arguments.test and arguments.gold:
            test = [str(Path(each).resolve()) for each in (*arguments.test, arguments.gold)]
            for model, device in (("cpu", "cpu"), ("cuda", "cpu"), ("cuda", "cuda")):
                where = ["--model", f"{model}.model", "--device", device]
                run(["align", *test[:2], "-o", "test.links", *where], folder)
                score = [sys.executable, "-m", "dualign", "evaluate", "test.links", test[2]]
                told = subprocess.run(score, cwd=folder, capture_output=True, text=True, check=False).stdout
                print(f"test pairs, model of {model}, aligned on {device}: {' '.join(told.split())}")
        for device in ("cpu", "cuda"):
            align(folder, f"model-{device}", text, ["--model", "cuda.model", "--device", device])
        cpu, cuda, both = same_links(folder / "model-cpu.links", folder / "model-cuda.links")
        print(f"links by the saved model: {cpu:,} and {cuda:,}; {both:,} in both")
    if arguments.large:
        text = [str(Path(each).resolve()) for each in arguments.large]
        align(folder, "large", text, ["--device", "cuda"])
        align(folder, "small", text, ["--device", "cuda", "--device-memory", "16G"])
        pair = [digest(folder / f"{name}.links") for name in ("large", "small")]
        print(f"with 16 GB of the card's memory: {'the same bytes' if pair[0] == pair[1] else 'DIFFERENT'}")


if __name__ == "__main__":
    main()
