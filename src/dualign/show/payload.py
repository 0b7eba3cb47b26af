"""A `Dataset` as the page reads it: one JSON object of long strings, a line for each pair.

Browsers read plain text fastest: unpacking compressed data takes twice as long as parsing this. The page
splits the strings at line ends, which takes milliseconds for 100,000 pairs, and looks into a line only when
its pair is shown, searched or sorted. Lines of links have `i-j` (a link), `i?j` (possible) and `i~j` (not a
link, but its probability is known), each with `:thousandths` if there is a probability; `!` is a pair without
gold.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import Any

from dualign.show.dataset import Dataset, System
from dualign.text.alignment import Alignment, Link

NO_GOLD = "!"


def content(dataset: Dataset, **more: Any) -> dict[str, Any]:
    """What the page needs to know of a dataset; `more` (posteriors, candidates …) is added."""
    source, target = ("\n".join(" ".join(pair[side]) for pair in dataset.pairs) for side in (0, 1))
    gold = None
    if dataset.gold is not None:
        gold = "\n".join(NO_GOLD if a is None else str(a) for a in dataset.gold)
    return {
        "pairs": len(dataset),
        "id": hashlib.sha256(f"{source}\n\n{target}".encode("utf-8", "replace")).hexdigest()[:16],
        "names": list(dataset.names),
        "ids": None if dataset.ids is None else "\n".join(dataset.ids),
        "source": source,
        "target": target,
        "gold": gold,
        "systems": [_system(system) for system in dataset.systems],
        **more,
    }


def packed(content: dict[str, Any]) -> str:
    """A JSON object that is safe inside a `<script>` element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Only in strings, where the escape means the same; no `</script>` or `<!--` is left.
    return text.replace("<", "\\u003c")


def _system(system: System) -> dict[str, Any]:
    lines = []
    for n, alignment in enumerate(system.links):
        cells = None if system.cells is None else system.cells[n]
        lines.append(str(alignment) if not cells else _scored(alignment, cells))
    records = None if system.records is None else "\n".join(line or "" for line in system.records)
    scored = system.cells is not None
    return {"name": system.name, "links": "\n".join(lines), "scored": scored, "records": records}


def _scored(alignment: Alignment, cells: dict[Link, float]) -> str:
    if not alignment.possible and len(cells) == len(alignment.links):
        with suppress(KeyError):
            return " ".join([f"{i}-{j}:{round(1000 * cells[i, j])}" for i, j in alignment.links])
    marks: dict[Link, str] = {**dict.fromkeys(cells, "~"), **dict.fromkeys(alignment.possible, "?")}
    marks.update(dict.fromkeys(alignment.links, "-"))
    tails = {link: f":{round(1000 * p)}" for link, p in cells.items()}
    return " ".join(f"{i}{marks[i, j]}{j}{tails.get((i, j), '')}" for i, j in sorted(marks))
