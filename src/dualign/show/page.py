"""The pages: parts from `assets/`, put together in one file that needs nothing else.

A content security policy forbids every request, and every script and style but our own, whose hashes it
names. So nothing in a corpus is ever run or fetched.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from dualign.show.payload import packed

SCRIPTS = ("parsing", "corpus", "list", "drawing", "pair", "posteriors", "editing", "viewer")
"""In this order: each uses only those before it."""


@cache
def asset(name: str) -> str:
    """The text of one file of `assets/`."""
    return files("dualign.show").joinpath("assets", name).read_text(encoding="utf-8")


def viewer_page(content: dict[str, Any], *, live: bool = False) -> str:
    """The viewer of what `dualign.show.payload.content` made; `live` if our server will answer it."""
    script = "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}\n}})();\n'
    body = asset("viewer.html").replace("@DATA@", packed(content))
    return document(f"{' – '.join(content['names'])} · dualign", asset("viewer.css"), body, script, live=live)


def alignment_page() -> str:
    """A page where two sentences are typed, and the links that the server finds between them are drawn."""
    script = f'(() => {{\n"use strict";\n{asset("typed_pair.js")}\n}})();\n'
    return document("dualign", asset("typed_pair.css"), asset("typed_pair.html"), script, live=True)


def document(title: str, style: str, body: str, script: str = "", *, live: bool = False) -> str:
    """An HTML page with our base style; `title` is plain text, `body` markup."""
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
