"""How a model translates single words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.errors import UsageError
from dualign.model.model import Model


class Translation(NamedTuple):
    """A translation: the word, its probability given the other, and that of the other given it."""

    word: str
    probability: float
    backward: float


def translations(model: Model, word: str, most: int, of: str) -> list[Translation]:
    """The most probable translations of a word, by the lexicon; equal ones in the order of their numbers."""
    if of not in ("source", "target"):
        raise UsageError("{of=} is not one of source, target", of=of)
    if most < 1:
        raise UsageError("{most=} must be at least 1", most=most)
    ours, others = (model.source, model.target) if of == "source" else (model.target, model.source)
    number = ours.numbers.get(word.lower() if model.options.lowercase else word)
    if number is None:
        return []
    rows, columns, table = model.lexicon.rows, model.lexicon.columns, model.distributions
    if of == "source":
        entries = np.arange(rows[number], rows[number + 1])
        words, there = columns[entries], 0
    else:
        entries = np.flatnonzero(columns == number)
        words, there = np.searchsorted(rows, entries, side="right") - 1, 1
    best = np.lexsort((words, -table[entries, there]))[:most]
    return [
        Translation(others.words[w], float(table[m, there]), float(table[m, 1 - there]))
        for w, m in zip(words[best].tolist(), entries[best].tolist(), strict=True)
    ]
