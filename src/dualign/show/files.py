"""Where a text to show is, with everything that is known about it: `Files`."""

from __future__ import annotations

from dataclasses import dataclass

from dualign._core.fields import OptionRecord, arg, opt
from dualign.text.link_formats import FORMATS


@dataclass(frozen=True, slots=True)
class Files(OptionRecord):
    """Where everything is.

    `links`, `probabilities` and `reports` may be written `NAME=FILE`; the first of each belong to the first
    system, and so on. With `first`, gold may end before the text does. `ids` has the id of each pair.
    """

    source: str = arg("Source text, one sentence per line; or both sides: see TARGET.", file="in")
    target: str | None = arg(
        "Target text. Without it, SOURCE has lines `source ||| target` or `source<TAB>target`.",
        None,
        file="in",
    )
    links: tuple[str, ...] = opt(
        (), "Links of a system; repeat for others.",
        short="-l", metavar="[NAME=]FILE", file="in", named=True,
    )  # fmt: skip
    probabilities: tuple[str, ...] = opt(
        (), "Links as `i-j:probability`, of the --links in the same place, or a system.",
        metavar="[NAME=]FILE", file="in", named=True,
    )  # fmt: skip
    reports: tuple[str, ...] = opt(
        (), "What `align --report` wrote, of the --links in the same place.",
        flag="--report", metavar="FILE", file="in", named=True,
    )  # fmt: skip
    gold: str | None = opt(None, "Gold links, sure and possible.", metavar="FILE", file="in")
    format: str | None = opt(
        None,
        f"Link format: {', '.join(FORMATS)}. Guessed from name and content if not given.",
        metavar="FORMAT",
    )
    gold_format: str | None = opt(None, "Format of the gold links.", metavar="FORMAT")
    first: bool = opt(False, "Gold is for the first lines of the text.")
    ids: str | None = opt(None, "A file with the id of each pair.", metavar="FILE", file="in")
