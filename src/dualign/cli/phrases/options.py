"""Options that the verbs of `dualign phrases` share."""

from __future__ import annotations

from typing import Annotated

from dualign.cli.options import argument, option

MaxLength = Annotated[int, option("N", "Maximum length of a phrase in words, on either side.", min=1, max=16)]
Table = Annotated[str, argument("TABLE", "Moses phrase table.")]
Features = Annotated[
    str | None,
    option(
        "W,W,…",
        "log φ = Σ W · log score, a W for each score of TABLE. Without: the third score alone, "
        "p(target|source) of a Moses table, or the only one.",
    ),
]
