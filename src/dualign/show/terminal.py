"""A sentence pair on a terminal: both sentences, linked words in the same colour, and a grid.

Column heads are written from top to bottom, so that every column is two places wide. Marks say the same
without colour: `■` a link, `▪` one that is less probable than not, `✗` a link that gold does not have, `□` a
sure gold link that is missing, `○` a possible one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from dualign.text.links import Alignment, Link

COLOURS = ("cyan", "yellow", "magenta", "green", "blue", "bright_red")
"""For groups of linked words, in turn; they have no meaning of their own."""

TALLEST = 14
"""At most this many letters of a column head are shown."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One pair with all that is to be shown of it; `number` counts from 1."""

    number: int
    source: Sequence[str]
    target: Sequence[str]
    links: Alignment
    gold: Alignment | None = None
    probabilities: dict[Link, float] | None = None


def pair_on_terminal(shown: Shown, width: int) -> Iterator[Text]:
    """Return lines of text with colours, none wider than `width` where that is possible."""
    groups = _groups(shown)
    head = Text(f"{shown.number}", style="bold")
    if shown.gold is not None:
        wrong = len(set(shown.links.links) - {*shown.gold.links, *shown.gold.possible})
        missed = len(set(shown.gold.links) - set(shown.links.links))
        head.append(f"  {wrong} wrong, {missed} missing", style="dim")
    yield head
    for side, words in enumerate((shown.source, shown.target)):
        line = Text()
        for at, word in enumerate(words):
            group = groups[side].get(at)
            style = "dim" if group is None else COLOURS[group % len(COLOURS)]
            line.append(" " if at else "")
            line.append(printable(word), style=style)
        yield line if words else Text("(empty)", style="dim")
    if shown.source and shown.target:
        yield Text()
        yield from _grid(shown, width)


def printable(word: str) -> str:
    """Return a word without characters that control the terminal or change the direction of the line."""
    control = ("Cc", "Cf", "Cs", "Zl", "Zp")
    joiners = "\u200c\u200d"  # part of the spelling in many scripts
    return "".join(
        "\ufffd" if unicodedata.category(letter) in control and letter not in joiners else letter
        for letter in word
    )


def _groups(shown: Shown) -> tuple[dict[int, int], dict[int, int]]:
    """Return numbers of the connected parts of the links, by source and by target position."""
    groups: tuple[dict[int, int], dict[int, int]] = {}, {}
    number = 0
    for i, j in shown.links:
        there = groups[1].get(j, number)
        here = groups[0].get(i, there)
        number += here == number
        if there not in (here, number):
            for side in groups:
                side.update({at: here for at, group in side.items() if group == there})
        groups[0][i] = groups[1][j] = here
    return groups


def _grid(shown: Shown, width: int) -> Iterator[Text]:
    names = [printable(word) for word in shown.source]
    left = min(max(map(cell_len, names)), max(12, width // 3))
    room = max(1, (width - left - 2) // 2)
    for begin in range(0, len(shown.target), room):
        if begin:
            yield Text()
        columns = range(begin, min(begin + room, len(shown.target)))
        yield from _heads([printable(shown.target[j]) for j in columns], left)
        for i, name in enumerate(names):
            line = Text(_fitted(name, left) + " ")
            for j in columns:
                mark, style = _mark(shown, (i, j))
                line.append(" ")
                line.append(mark, style=style)
            line.rstrip()
            yield line


def _heads(words: Sequence[str], left: int) -> Iterator[Text]:
    """Return words from top to bottom, standing on the grid."""
    letters = [_letters(word) for word in words]
    height = max(map(len, letters))
    for row in range(height):
        line = Text(" " * (left + 1))
        for column in letters:
            at = row - (height - len(column))
            letter = column[at] if at >= 0 else " "
            # A wide letter takes the place of the blank before it.
            line.append(letter if cell_len(letter) == 2 else f" {letter}")
        line.rstrip()
        yield line


def _letters(word: str) -> list[str]:
    """Return letters, each with the marks that belong to it; cut after `TALLEST`."""
    found: list[str] = []
    for letter in word:
        if found and (unicodedata.combining(letter) or cell_len(letter) == 0):
            found[-1] += letter
        else:
            found.append(letter)
    return found if len(found) <= TALLEST else [*found[: TALLEST - 1], "…"]


def _fitted(word: str, width: int) -> str:
    """Return a word aligned right in `width` places, cut if necessary."""
    if cell_len(word) > width:
        while cell_len(word) > width - 1:
            word = word[:-1]
        word += "…"
    return " " * (width - cell_len(word)) + word


def _mark(shown: Shown, link: Link) -> tuple[str, str]:
    gold = shown.gold
    if link in shown.links:
        if gold is not None and link not in gold.links and link not in gold.possible:
            return "✗", "bold red"
        probability = None if shown.probabilities is None else shown.probabilities.get(link)
        style = "bold green" if gold is not None else "bold cyan"
        return ("▪" if probability is not None and probability < 0.5 else "■"), style
    if gold is not None and link in gold.links:
        return "□", "bold yellow"
    if link in shown.links.possible or (gold is not None and link in gold.possible):
        return "○", "yellow"
    return "·", "dim"


def legend(*, gold: bool) -> Iterable[str]:
    """Return what the marks mean."""
    yield "■ link  ▪ link, improbable"
    if gold:
        yield "✗ not in gold  □ gold, missing  ○ gold, possible"
