"""Files of word pairs with weights, to be taken as pseudo-counts in training.

- A dictionary: `source<TAB>target`, then a weight if there is one (1 if not); whatever follows is ignored,
  and so is a first line `source<TAB>target…`, so that a glossary of `dualign dictionary` can be read.
- eflomal's priors: `LEX<TAB>source<TAB>target<TAB>weight`, `<NULL>` stands for no word. Lines about jumps
  and fertilities (HMMF, HMMR, FERF, FERR) are counted and passed over.

Entries with several words on a side are counted and passed over, too: a prior is about words.
"""

from __future__ import annotations

from math import isfinite
from typing import NamedTuple

from dualign._core.errors import DataError
from dualign.text.formats import quoted
from dualign.text.utf8 import parsed, read_lines, tokenize

_OTHERS = ("HMMF", "HMMR", "FERF", "FERR")
_NULL = "<NULL>"


class WordPairs(NamedTuple):
    """Source words, target words and weights, side by side; an empty word is null.

    `phrases`: how many entries had several words on a side; `others`: how many lines were about jumps and
    fertilities.
    """

    source: list[str]
    target: list[str]
    weight: list[float]
    phrases: int = 0
    others: int = 0


def read_word_pairs(path: str, errors: str = "strict") -> WordPairs:
    """Read either kind of file."""
    found = WordPairs([], [], [])
    phrases = others = 0

    def entry(line: str) -> None:
        nonlocal phrases, others
        fields = line.split("\t")
        if not line.strip() or (not found.source and fields[:2] == ["source", "target"]):
            return
        if fields[0] in _OTHERS:
            others += 1
            return
        is_prior = fields[0] == "LEX" and len(fields) == 4
        if is_prior:
            del fields[0]
        if len(fields) < 2:
            raise DataError(f"{quoted(line)}: write source word, tab, target word, and a tab and a weight")
        words = [[""] if field == _NULL and is_prior else tokenize(field) for field in fields[:2]]
        if any(len(side) == 0 for side in words) or words == [[""], [""]]:
            raise DataError(f"{quoted(line)}: no word on one side")
        weight = 1.0
        if len(fields) > 2:
            try:
                weight = float(fields[2])
            except ValueError:
                raise DataError(f"{quoted(fields[2])} is not a weight, which is a number") from None
            if not (isfinite(weight) and weight >= 0):
                raise DataError(f"the weight {quoted(fields[2])} must be finite and not negative")
        if any(len(side) > 1 for side in words):
            phrases += 1
        else:
            found.source.append(words[0][0])
            found.target.append(words[1][0])
            found.weight.append(weight)

    for _ in parsed(path, read_lines(path, errors), entry):
        pass
    if not found.source:
        raise DataError(f"{path}: no pair of single words; write source word, tab, target word, tab, weight")
    return found._replace(phrases=phrases, others=others)
