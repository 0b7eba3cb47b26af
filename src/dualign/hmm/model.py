"""`Model`: everything an aligner knows, in memory and on disk; and how it translates single words.

A `Vocabulary` has the words of one side, numbered, with what their spelling tells about others.
"""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import ModelError
from dualign._core.fields import check_value
from dualign._core.files.container import read_container, write_container
from dualign.hmm.jumps import CLOSE, LEAST_CHOSEN, NEAR, NULL, STOP, WEIGHTS, Jumps
from dualign.hmm.lexicon import Lexicon, normalized
from dualign.hmm.positions import GRID, LONGEST, MOST_LINKS, Fertilities, Positions, table_sizes
from dualign.hmm.word_forms import Forms, forms_of, stem_of
from dualign.options import Options
from dualign.text.numbering import WordTable, table_of

_making = Lock()
"""Held by the thread that works out what all others will need, too."""


class Vocabulary:
    """Words in the order of their numbers.

    A vocabulary that was read from a file is bytes at first; strings are made of them when somebody asks.
    """

    def __init__(self, words: list[str]) -> None:
        self.words = words

    @classmethod
    def of_text(cls, text: Array, name: str) -> Vocabulary:
        """The words of UTF-8 text (uint8), each ended by a line feed; a ValueError if these are not words."""
        if text.dtype != np.uint8 or text.ndim != 1 or (len(text) and text[-1] != 10):
            raise ValueError(f"`{name}` is not a list of words")
        text.tobytes().decode("utf-8", "surrogatepass")
        vocabulary = cls.__new__(cls)
        vocabulary.text = text
        return vocabulary

    def __repr__(self) -> str:
        return f"Vocabulary({self.words!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.words == other.words

    def __len__(self) -> int:
        return self._size

    @cached_property
    def words(self) -> list[str]:
        """The words."""
        return self.text.tobytes().decode("utf-8", "surrogatepass").split("\n")[:-1]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return dict(zip(self.words, count()))

    @cached_property
    def table(self) -> WordTable:
        """The words by their bytes."""
        return table_of(self.text)

    @cached_property
    def is_lower(self) -> bool:
        """Whether lower case leaves all words as they are."""
        text = self.text.tobytes().decode("utf-8", "surrogatepass")
        return text.lower() == text

    @property
    def forms(self) -> Forms:
        """How the words are written, to compare them with others; worked out once."""
        with _making:
            return self._forms

    @cached_property
    def _forms(self) -> Forms:
        return forms_of(self.words)

    def stems(self, letters: int) -> dict[str, list[int]]:
        """The numbers of the words with the same stem; worked out once."""
        with _making:
            if letters not in self._stems:
                groups: dict[str, list[int]] = defaultdict(list)
                for number, word in enumerate(self.words):
                    groups[stem_of(word, letters)].append(number)
                self._stems[letters] = dict(groups)
        return self._stems[letters]

    @cached_property
    def text(self) -> Array:
        """The words as UTF-8, each ended by a line feed (no token contains one)."""
        text = "".join(f"{word}\n" for word in self.words).encode("utf-8", "surrogatepass")
        return np.frombuffer(text, np.uint8)

    @cached_property
    def _size(self) -> int:
        return len(self.words) if "words" in self.__dict__ else int(np.count_nonzero(self.text == 10))

    @cached_property
    def _stems(self) -> dict[int, dict[str, list[int]]]:
        return {}


class Unknowns(dict[str, int]):
    """Numbers for the words of a text: a vocabulary's own, and the next free ones for words it lacks.

    Made anew for each block of text, so that what a pair gets does not depend on the blocks before it.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.known = vocabulary.numbers
        self.new: list[str] = []

    def __missing__(self, word: str) -> int:
        number = self.known.get(word)
        if number is None:
            number = len(self.known) + len(self.new)
            self.new.append(word)
        self[word] = number
        return number


MOST_SEEN = 1e15
"""A whole number that floating-point numbers can tell from its neighbours."""

ONE = 1.001
"""The greatest probability, rounded to 32 bits."""

MOST_FACTOR = 1.01 / LEAST_CHOSEN
LEAST_REAL, MOST_REAL = float(np.finfo(np.float32).smallest_subnormal), float(np.finfo(np.float32).max)
"""Positive numbers of 32 bits."""


class Seen(NamedTuple):
    """How often training has seen each word: int64 (words) of either side."""

    source: Array
    target: Array

    def added(self, more: tuple[Array, Array], places: tuple[Array, Array]) -> Seen:
        """With the numbers of `more`, rounded, at these places."""
        sides = zip(self, more, places, strict=True)
        sums = (old + np.rint(np.bincount(at, new, len(old))) for old, new, at in sides)
        return Seen(*(np.minimum(array, MOST_SEEN).astype(np.int64) for array in sums))


RECORDS: dict[str, Any] = {
    "lexicon": Lexicon, "jumps": Jumps, "positions": Positions, "fertility": Fertilities, "seen": Seen,
}  # fmt: skip
NEEDED = "lexicon", "jumps"
"""Records of arrays, by what their names in a file begin with; and those that every model has."""


@dataclass(frozen=True)
class Model:
    """Vocabularies, lexicon, the chains' weights (see `dualign.hmm.jumps`) and jumps, the user's options.

    `positions` belongs to IBM Models 1 and 2 and is None for the HMM; `fertilities` are counted if the
    options name the submodular decoder. `seen` is None for a model of an older version.
    """

    source: Vocabulary
    target: Vocabulary
    lexicon: Lexicon
    weights: Array
    jumps: Jumps
    options: Options
    positions: Positions | None = None
    fertilities: Fertilities | None = None
    seen: Seen | None = None

    def with_options(self, options: Options) -> Model:
        """The same parameters, decoded differently."""
        return replace(self, options=options)

    @cached_property
    def distributions(self) -> Array:
        """The lexicon's table, `normalized`; worked out once."""
        return normalized(self.lexicon)

    def arrays(self) -> dict[str, Array]:
        """All parameters."""
        arrays = {"weights": self.weights, "source_words": self.source.text, "target_words": self.target.text}
        for prefix, record in self._records.items():
            arrays |= {f"{prefix}_{name}": array for name, array in record._asdict().items()}
        return arrays

    @property
    def _records(self) -> dict[str, Any]:
        """The `RECORDS` that it has."""
        all_records = self.lexicon, self.jumps, self.positions, self.fertilities, self.seen
        return {name: record for name, record in zip(RECORDS, all_records, strict=True) if record is not None}

    def save(self, path: str | os.PathLike[str], *, sync: bool = True) -> None:
        """Write one file, whole or not at all; see `write_container`."""
        header = {"kind": "word-alignment", "options": self.options.as_dict()}
        write_container(path, header, self.arrays(), sync=sync)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mapped: bool = False) -> Model:
        """Read what `save` wrote, into memory or `mapped`; see `read_container`."""
        header, arrays = read_container(path, mapped=mapped)
        if header.get("kind") != "word-alignment":
            raise ModelError(f"{os.fspath(path)}: not a word-alignment model but `{header.get('kind')}`")
        try:
            weight = arrays["jumps_weight"]
            # A model from before there were factors has none.
            arrays.setdefault("jumps_factor", np.ones_like(weight))
            arrays.setdefault("jumps_chosen", np.ones((2, 2, weight.shape[1], CLOSE), np.float32))
            source, target = (
                Vocabulary.of_text(arrays[name], name) for name in ("source_words", "target_words")
            )
            records: dict[str, Any] = {
                prefix: kind(*(arrays[f"{prefix}_{name}"] for name in kind._fields))
                for prefix, kind in RECORDS.items()
                if prefix in NEEDED or f"{prefix}_{kind._fields[0]}" in arrays
            }
            model = cls(
                source, target, records["lexicon"], arrays["weights"], records["jumps"],
                Options.of(header["options"]), *(records.get(name) for name in list(RECORDS)[2:]),
            )  # fmt: skip
            model.check()
            return model
        except (IndexError, KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise ModelError(
                f"{os.fspath(path)}: written by another version of dualign ({error}); train it again"
            ) from None

    def check(self) -> None:
        """Raise ValueError if the arrays do not fit together: kernels trust them."""
        source, target, entries = len(self.source), len(self.target), len(self.lexicon.columns)
        (_, classes, _), real = self.jumps.weight.shape, np.float32
        weight, chosen = (2, classes, NEAR), (1 / MOST_FACTOR, MOST_FACTOR)
        # Each array's type and shape, and between which numbers all of its own lie; no NaN does.
        expected: dict[str, list[tuple[Any, tuple[int, ...], float, float]]] = {
            "weights": [(real, (2, WEIGHTS), 0, ONE)],
            "lexicon": [
                (np.int64, (source + 1,), 0, entries), (np.int32, (entries,), 0, target - 1),
                (real, (entries, 2), 0, ONE), (real, (target,), 0, ONE), (real, (source,), 0, ONE),
            ],
            "jumps": [
                (real, weight, LEAST_REAL, MOST_REAL), (np.int32, (target,), 0, classes - 1),
                (np.int32, (source,), 0, classes - 1), (real, weight, LEAST_REAL, MOST_REAL),
                (real, (2, 2, classes, CLOSE), *chosen),
            ],
            "fertility": [(real, (words, MOST_LINKS + 1), 0, MOST_REAL) for words in (source, target)],
            "seen": [(np.int64, (words,), 0, MOST_SEEN) for words in (source, target)],
        }  # fmt: skip
        if self.positions is not None:
            grid, lengths, _ = self.positions
            expected["positions"] = [
                (np.float64, (2, GRID, GRID + 1) if grid.size else (2, 0, 0), 0, ONE),
                (np.int32, (len(lengths), 2), 1, LONGEST - 1),
                (real, (table_sizes(lengths).sum(),), 0, ONE),
            ]
        records: dict[str, Any] = {"weights": (self.weights,), **self._records}
        rows = self.lexicon.rows
        if not (
            all(
                array.dtype == dtype and array.shape == shape and within(array, least, most)
                for name, record in records.items()
                for array, (dtype, shape, least, most) in zip(record, expected[name], strict=True)
            )
            and classes > 0
            and (self.weights[:, NULL:] > 0).all()
            and (self.weights[:, [NULL, *range(STOP, WEIGHTS)]] < 1).all()
            and (rows[0], rows[-1]) == (0, entries)
            and (np.diff(rows) >= 0).all()
            and (self.positions is None) == (self.options.model == "hmm")
        ):
            raise ValueError("its parts do not fit together")


def within(array: Array, least: float, most: float) -> bool:
    """Whether all numbers are in this range; NaN is not."""
    return array.size == 0 or bool(array.min() >= least and array.max() <= most)


class Translation(NamedTuple):
    """A translation: the word, its probability given the other, and that of the other given it."""

    word: str
    probability: float
    backward: float


def translations(model: Model, word: str, most: int, of: str) -> list[Translation]:
    """The most probable translations of a word, by the lexicon; equal ones in the order of their numbers."""
    check_value("of", of, choices=("source", "target"))
    check_value("most", most, least=1)
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
