"""The viewer: a page for a `Dataset`, in one file that needs nothing else, and a server for it.

The page gets its data as one JSON object of long strings, with a line for each pair. Browsers read plain text
fastest: unpacking compressed data takes twice as long as parsing this. The page splits the strings at line
ends, which takes milliseconds for 100,000 pairs, and looks into a line only when its pair is shown, searched
or sorted. Lines of links have `i-j` (a link), `i?j` (possible) and `i~j` (not a link, but its probability is
known), each with `:thousandths` if there is a probability; `!` is a pair without gold.

Pages are made of parts from `assets/`. A content security policy forbids every request, and every script and
style but our own, whose hashes it names. So nothing in a corpus is ever run or fetched.

The server, for this machine only, is bound to 127.0.0.1, answers GET for `/` and `/posteriors/N` and nothing
else, reads no file on request, and has the limits of `dualign._core.web_server`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from html import escape
from importlib.resources import files
from typing import Any

from dualign._core.web_server import WebServer, listening
from dualign._core.web_site import LOCAL, Answer, Place, Refused, Reply, Request, Site, fixed
from dualign.show.dataset import Dataset, System
from dualign.text.links import Alignment, Link

SCRIPTS = ("parsing", "corpus", "list", "drawing", "pair", "posteriors", "editing", "viewer")
"""In this order: each uses only those before it."""

NO_GOLD = "!"

_POSTERIORS = re.compile(r"/posteriors/([0-9]{1,9})")


@cache
def asset(name: str) -> str:
    """Return the text of one file of `assets/`."""
    return files("dualign.show").joinpath("assets", name).read_text(encoding="utf-8")


def viewer_page(content: dict[str, Any], *, live: bool = False) -> str:
    """Return the viewer of what `dualign.show.viewer.content` made; `live` if our server will answer it."""
    script = "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}\n}})();\n'
    body = asset("viewer.html").replace("@DATA@", packed(content))
    return document(f"{' – '.join(content['names'])} · dualign", asset("viewer.css"), body, script, live=live)


def alignment_page() -> str:
    """Return a page where two sentences are typed, and the links that the server finds between them are
    drawn."""
    script = f'(() => {{\n"use strict";\n{asset("typed_pair.js")}\n}})();\n'
    return document("dualign", asset("typed_pair.css"), asset("typed_pair.html"), script, live=True)


def document(title: str, style: str, body: str, script: str = "", *, live: bool = False) -> str:
    """Return an HTML page with our base style; `title` is plain text, `body` markup."""
    style = asset("base.css") + style
    policy = [
        "default-src 'none'",
        f"style-src '{_hash(style)}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    if script:
        policy.append(f"script-src '{_hash(script)}'")
    if live:
        policy.append("connect-src 'self'")
    tail = f"<script>{script}</script>\n" if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f'<link rel="icon" href="data:,">\n<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n'
        f"<body>\n{body}\n{tail}</body>\n</html>\n"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def content(dataset: Dataset, **more: Any) -> dict[str, Any]:
    """Return what the page needs to know of a dataset; `more` (posteriors, candidates …) is added."""
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
    """Return a JSON object that is safe inside a `<script>` element."""
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


class Viewer(WebServer):
    """Serves `page`, and what `posteriors(n)` says of pair n of `pairs` where there is such a function.

    `port` 0 takes any that is free.
    """

    def __init__(
        self, page: str, pairs: int, posteriors: Callable[[int], str] | None = None, port: int = 0
    ) -> None:
        self.pairs = pairs
        opened = listening(LOCAL[0], port)
        place = Place(LOCAL[0], opened.getsockname()[1])
        super().__init__(_PairSite(place, page.encode("utf-8", "replace"), pairs, posteriors), opened)


class _PairSite(Site):
    """A page at `/`, and what belongs to single pairs at `/posteriors/N`."""

    def __init__(
        self, place: Place, page: bytes, pairs: int, posteriors: Callable[[int], str] | None
    ) -> None:
        super().__init__(place, 1, {"/": {"GET": fixed(page, "text/html; charset=utf-8")}})
        self.pairs, self.posteriors = pairs, posteriors

    def methods(self, target: str) -> Mapping[str, Answer]:
        """Return what answers GET; a page has no variants."""
        found = _POSTERIORS.fullmatch(target)
        if found is None or self.posteriors is None:
            if target not in self.paths:
                raise Refused(404, self.nowhere)
            return super().methods(target)
        if int(found[1]) >= self.pairs:
            raise Refused(404, "no such sentence pair")
        line = partial(self.posteriors, int(found[1]))

        async def answer(_: Request) -> Reply:
            return Reply(200, (await self.compute(line)).encode(), "text/plain; charset=utf-8")

        return {"GET": answer}
