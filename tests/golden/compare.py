"""Compare what two installations of dualign write, or record what this one writes.

    python -m tests.golden.compare OTHER              # an interpreter that has the release to compare with
    python -m tests.golden.compare --record           # hashes of this installation, into golden.json
    python -m tests.golden.compare OTHER --only decode

Both installations get the inputs that OTHER made, and run at the same time. Exit code 1 if a row differs.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.golden.runner import HERE, Outputs, Row, Runner, description, rows

STORED = HERE / "golden.json"


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("other", nargs="?", help="interpreter of the release to compare with")
    options.add_argument("--only", default="", metavar="REGEX", help="commands to run")
    options.add_argument("--record", action="store_true", help="write the hashes of this installation")
    options.add_argument("--times", action="store_true", help="print the seconds of each row")
    options.add_argument("--keep", type=Path, metavar="DIR", help="a new folder to keep what is written")
    given = options.parse_args()
    chosen = [row for row in rows() if re.search(given.only, row.line)]
    if not given.other and not given.record:
        options.error("name an interpreter to compare with, or --record")
    if given.other and (apart := different_versions(given.other)):
        sys.exit(f"not comparable: {apart}")
    with TemporaryDirectory(prefix="dualign-golden-") as place:
        folder = given.keep or Path(place)
        first = Runner(given.other or sys.executable, folder / "first")
        for row in chosen:
            first.require(row.line)
        with ThreadPoolExecutor() as pool:
            tasks = [pool.submit(run_all, first, chosen, given.times)]
            if given.other:
                second = Runner(sys.executable, folder / "second", first.inputs)
                tasks.append(pool.submit(run_all, second, chosen, False))
            found = [task.result() for task in tasks]
    if given.record:
        record(found[-1], whole=not given.only)
    if unstable := [
        (line, name) for line, outputs in found[-1].items() for name in outputs if " with " in name
    ]:
        print(*(f"{line}\n    {name}" for line, name in unstable), sep="\n")
    differing = report(*found) if given.other else 0
    sys.exit(bool(differing or unstable))


def run_all(runner: Runner, chosen: list[Row], times: bool) -> dict[str, Outputs]:
    found = {}
    for row in chosen:
        begin = time.perf_counter()
        found[row.line] = runner.run(row)
        if times:
            print(f"{time.perf_counter() - begin:6.1f} s  {row.line}", flush=True)
    runner.close()
    return found


def different_versions(other: str) -> str:
    """Libraries that the interpreters have in different versions: then bytes may differ without a reason."""
    here, there = description(), description(other)
    return "; ".join(f"{name} {here[name]} and {there[name]}" for name in here if here[name] != there[name])


def report(before: dict[str, Outputs], after: dict[str, Outputs]) -> int:
    """Print the rows that differ, and return their number."""
    wrong = {line: differences(before[line], after[line]) for line in before if before[line] != after[line]}
    for line, what in wrong.items():
        print(f"{line}\n    {'; '.join(what)}")
    print(f"{len(before)} commands, {len(wrong)} differ")
    return len(wrong)


def differences(before: Outputs, after: Outputs) -> list[str]:
    """What is different about a command, in words."""
    found = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old != new:
            what = "is missing" if new is None else "is new" if old is None else "differs"
            found.append(f"{name} {what}" + (f" ({old}, now {new})" if name == "exit" else ""))
    return found


def record(found: dict[str, Outputs], whole: bool) -> None:
    """Store hashes; of some rows only if the others are of the same environment."""
    stored = {} if whole or not STORED.exists() else json.loads(STORED.read_text("utf-8"))
    if not whole and stored.get("environment") != description():
        sys.exit(f"{STORED}: of another environment; record all rows")
    every = stored.get("outputs", {}) | found
    kept = {row.line: every[row.line] for row in rows() if row.line in every}
    text = json.dumps({"environment": description(), "outputs": kept}, indent=1, ensure_ascii=False)
    STORED.write_text(f"{text}\n", "utf-8")
    print(f"{STORED}: {len(found)} rows recorded")


if __name__ == "__main__":
    main()
