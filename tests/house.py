"""The size of the package in numbers, and those that `house.json` allows.

    python -m tests.house            # a table: 0.3.0, goals, allowed, as it is
    python -m tests.house --record   # allow no more than what is there now

`house.json` has the numbers of 0.3.0, the goals, and those of now, which no commit may exceed. Where a
feature needs more, it adds an entry to `features`: its name, and by how much it raises which number.
"""

from __future__ import annotations

import argparse
import ast
import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.walk import PACKAGE, journeys

STORED = Path(__file__).with_name("house.json")
SHORT, LONG, LONG_FUNCTION = 60, 400, 80
Numbers = dict[str, float]


def counts() -> Numbers:
    """What the source files have: lines, files, classes and so on."""
    texts = [path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))]
    lengths = [text.count("\n") for text in texts]
    nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
    classes = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    functions = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    raises = sum(isinstance(node, ast.Raise) for node in nodes)
    short = sum(length < SHORT for length in lengths)
    return {
        "files": len(texts),
        "lines": sum(lengths),
        f"files under {SHORT} lines": short,
        f"per cent of files under {SHORT} lines": round(100 * short / len(texts), 1),
        f"files over {LONG} lines": sum(length > LONG for length in lengths),
        f"functions over {LONG_FUNCTION} lines": sum(
            (each.end_lineno or 0) - each.lineno >= LONG_FUNCTION for each in functions
        ),
        "class names used twice": sum(number > 1 for number in classes.values()),
        "raise": raises,
        "raise per 1,000 lines": round(1000 * raises / sum(lengths), 1),
    }


def walks() -> dict[str, Numbers]:
    """Files of each journey, and edges between rooms."""
    return {
        name: {"files": len(walk.files), "edges": len(walk.between_rooms)}
        for name, walk in journeys().items()
    }


def allowed() -> dict[str, Any]:
    """The numbers that must not be exceeded: those of now, and what features have added to them."""
    stored = json.loads(STORED.read_text("utf-8"))
    limits = flat(stored["now"])
    for feature in stored["features"].values():
        for name, amount in flat(feature).items():
            limits[name] += amount
    return limits


def flat(numbers: dict[str, Any]) -> Numbers:
    """Numbers of walks beside the others, as `files of align`."""
    walked = numbers.get("walks", {}).items()
    return {name: number for name, number in numbers.items() if name != "walks"} | {
        f"{name} of {journey}": number for journey, pair in walked for name, number in pair.items()
    }


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--record", action="store_true", help="store what is there now")
    given = options.parse_args()
    stored = json.loads(STORED.read_text("utf-8"))
    here = counts() | {"walks": walks()}
    columns = [*(flat(stored[name]) for name in ("0.3.0", "goals")), allowed(), flat(here)]
    print("| | 0.3.0 | goal | allowed | now |\n|---|---:|---:|---:|---:|")
    for name in columns[-1]:
        print(
            f"| {name} | {' | '.join(f'{column[name]:,}' if name in column else '' for column in columns)} |"
        )
    if given.record:
        stored |= {"now": here, "features": {}}
        STORED.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
