"""Compare what dualign writes with what a release writes, or with the stored hashes of one; or record these.

    python -m tests.golden.compare OTHER          # an interpreter that has the release
    python -m tests.golden.compare                # golden.json, if this is the environment that it names
    python -m tests.golden.compare --record       # write golden.json
    python -m tests.golden.compare --only decode --quick

Two installations get the inputs that OTHER made, and run at the same time. `--quick` runs the short list of
`make test`; `--threads 2` runs what knows threads with two only. Exit code 1 if a row differs.
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
    options.add_argument("--quick", action="store_true", help="run the short list alone")
    options.add_argument("--threads", type=int, metavar="N", help="run once only, with N threads")
    options.add_argument("--record", action="store_true", help="write the hashes of this installation")
    options.add_argument("--times", action="store_true", help="print the seconds of each row")
    options.add_argument("--keep", type=Path, metavar="DIR", help="a new folder to keep what is written")
    given = options.parse_args()
    chosen = [row for row in rows() if re.search(given.only, row.line) and (row.quick or not given.quick)]
    if given.threads:
        chosen = [row._replace(threads=row.threads and (given.threads,)) for row in chosen]
    with TemporaryDirectory(prefix="dualign-golden-") as place:
        folder = given.keep or Path(place)
        if given.other:
            require_same(description(given.other))
            before, after = run_both([given.other, sys.executable], chosen, folder)
        else:
            before = {} if given.record else stored_outputs()
            after = run_all(Runner(sys.executable, folder / "here"), chosen, given.times)
    if given.record:
        record(after, whole=len(chosen) == len(list(rows())))
    unstable = [f"{line}\n    {name}" for line, found in after.items() for name in found if " with " in name]
    print(*unstable, sep="\n", end="\n" if unstable else "")
    differing = 0 if given.record else report({line: before.get(line, {}) for line in after}, after)
    sys.exit(bool(differing or unstable))


def run_both(pythons: list[str], chosen: list[Row], folder: Path) -> list[dict[str, Outputs]]:
    """What two installations write, of the same inputs, which the first one has made."""
    first = Runner(pythons[0], folder / "other")
    for row in chosen:
        first.require(row.line)
    runners = first, Runner(pythons[1], folder / "here", first.inputs)
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda runner: run_all(runner, chosen, False), runners))


def run_all(runner: Runner, chosen: list[Row], times: bool) -> dict[str, Outputs]:
    found = {}
    for row in chosen:
        begin = time.perf_counter()
        found[row.line] = runner.run(row)
        if times:
            print(f"{time.perf_counter() - begin:6.1f} s  {row.line}", flush=True)
    runner.close()
    return found


def require_same(other: dict[str, str]) -> None:
    """Bytes are comparable only with the same processor and the same versions of what they depend on."""
    here = description()
    if apart := [f"{name} {here[name]} and {other[name]}" for name in here if here[name] != other[name]]:
        sys.exit(f"not comparable: {'; '.join(apart)}")


def stored_outputs() -> dict[str, Outputs]:
    stored = json.loads(STORED.read_text("utf-8"))
    require_same(stored["environment"])
    return stored["outputs"]


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
