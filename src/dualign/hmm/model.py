"""`Model`: everything an aligner knows, in memory and on disk.

The words of one side, numbered, with what their spelling tells about words that are not among them.

How a model translates single words.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from threading import Lock
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import ModelError
from dualign._core.fields import check_value
from dualign._core.files.container import read_container, write_container
from dualign.hmm.fertility import Fertilities
from dualign.hmm.jumps import NULL, STOP, WEIGHTS, Jumps, no_preference
from dualign.hmm.lexicon import Lexicon, normalized
from dualign.hmm.positions import Positions, are_probabilities
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
    def of_text(cls, text: Array) -> Vocabulary:
        """The words of UTF-8 text (uint8), each ended by a line feed."""
        vocabulary = cls.__new__(cls)
        vocabulary._text = text
        return vocabulary

    def __repr__(self) -> str:
        return f"Vocabulary({self.words!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.words == other.words

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return self._size

    @cached_property
    def words(self) -> list[str]:
        """The words."""
        return self._text.tobytes().decode("utf-8", "surrogatepass").split("\n")[:-1]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return dict(zip(self.words, count()))

    @cached_property
    def table(self) -> WordTable:
        """The words by their bytes."""
        return table_of(self._text)

    @cached_property
    def is_lower(self) -> bool:
        """Whether lower case leaves all words as they are."""
        text = self._text.tobytes().decode("utf-8", "surrogatepass")
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

    def arrays(self) -> dict[str, Array]:
        """The words as UTF-8, each ended by a line feed (no token contains one)."""
        return {"words": self._text}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], prefix: str) -> Vocabulary:
        """The inverse of `arrays`; a ValueError if these are not words."""
        text = arrays[f"{prefix}words"]
        if text.dtype != np.uint8 or text.ndim != 1 or (len(text) and text[-1] != 10):
            raise ValueError(f"`{prefix}words` is not a list of words")
        text.tobytes().decode("utf-8", "surrogatepass")
        return cls.of_text(text)

    @cached_property
    def _text(self) -> Array:
        text = "".join(f"{word}\n" for word in self.words).encode("utf-8", "surrogatepass")
        return np.frombuffer(text, np.uint8)

    @cached_property
    def _size(self) -> int:
        return len(self.words) if "words" in self.__dict__ else int(np.count_nonzero(self._text == 10))

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


class Seen(NamedTuple):
    """How often training has seen each word: int64 (words) of either side."""

    source: Array
    target: Array

    def added(self, more: tuple[Array, Array], places: tuple[Array, Array]) -> Seen:
        """With the numbers of `more`, rounded, at these places."""
        sides = zip(self, more, places, strict=True)
        sums = (old + np.rint(np.bincount(at, new, len(old))) for old, new, at in sides)
        return Seen(*(np.minimum(array, MOST_SEEN).astype(np.int64) for array in sums))


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
        arrays = {f"lexicon_{name}": array for name, array in self.lexicon._asdict().items()}
        arrays["weights"] = self.weights
        arrays |= {f"jumps_{name}": array for name, array in self.jumps._asdict().items()}
        for side, vocabulary in (("source", self.source), ("target", self.target)):
            arrays |= {f"{side}_{name}": array for name, array in vocabulary.arrays().items()}
        if self.positions is not None:
            arrays |= {f"positions_{name}": array for name, array in self.positions.arrays().items()}
        if self.fertilities is not None:
            arrays |= {f"fertility_{name}": array for name, array in self.fertilities.arrays().items()}
        if self.seen is not None:
            arrays |= {f"seen_{name}": array for name, array in self.seen._asdict().items()}
        return arrays

    def save(self, path: str | os.PathLike[str], *, sync: bool = True) -> None:
        """Write one file, whole or not at all; see `write_container`."""
        header = {"kind": "word-alignment", "options": self.options.as_dict()}
        write_container(path, header, self.arrays(), sync=sync)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read what `save` wrote; the arrays stay on disk until they are used."""
        header, arrays = read_container(path)
        if header.get("kind") != "word-alignment":
            raise ModelError(f"{os.fspath(path)}: not a word-alignment model but `{header.get('kind')}`")
        try:
            model = cls(
                Vocabulary.from_arrays(arrays, "source_"),
                Vocabulary.from_arrays(arrays, "target_"),
                Lexicon(*(arrays[f"lexicon_{name}"] for name in Lexicon._fields)),
                np.array(arrays["weights"]),
                stored_jumps(arrays),
                Options.of(header["options"]),
                Positions.from_arrays(arrays, "positions_") if "positions_grid" in arrays else None,
                Fertilities.from_arrays(arrays, "fertility_") if "fertility_source" in arrays else None,
                Seen(arrays["seen_source"], arrays["seen_target"]) if "seen_source" in arrays else None,
            )
            model.check()
            return model
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise ModelError(
                f"{os.fspath(path)}: written by another version of dualign ({error}); train it again"
            ) from None

    def check(self) -> None:
        """Raise ValueError if the arrays do not fit together: kernels trust them."""
        rows, columns, table, null_target, null_source = self.lexicon
        fits = (
            self.weights.shape == (2, WEIGHTS)
            and self.weights.dtype == np.float32
            and are_probabilities(self.weights)
            and bool(
                (self.weights[:, NULL:] > 0).all()
                and (self.weights[:, [NULL, *range(STOP, WEIGHTS)]] < 1).all()
            )
            and self.jumps.fit(len(self.source), len(self.target))
            and [array.dtype for array in self.lexicon] == [np.int64, np.int32, *[np.float32] * 3]
            and rows.shape == (len(self.source) + 1,)
            and rows[0] == 0
            and bool((np.diff(rows) >= 0).all())
            and columns.shape == (rows[-1],)
            and table.shape == (rows[-1], 2)
            and (len(columns) == 0 or (columns.min() >= 0 and columns.max() < len(self.target)))
            and null_target.shape == (len(self.target),)
            and null_source.shape == (len(self.source),)
            and all(map(are_probabilities, (table, null_target, null_source)))
            and (self.positions is None) == (self.options.model == "hmm")
            and (self.positions is None or self.positions.fit())
            and (self.fertilities is None or self.fertilities.fit(len(self.source), len(self.target)))
        )
        if self.seen is not None:
            sides = zip(self.seen, (self.source, self.target), strict=True)
            fits = fits and all(
                a.dtype == np.int64 and a.shape == (len(side),) and bool(((a >= 0) & (a <= MOST_SEEN)).all())
                for a, side in sides
            )
        if not fits:
            raise ValueError("its parts do not fit together")


def stored_jumps(arrays: Mapping[str, Array]) -> Jumps:
    """The jumps of a model file; one without factors was written when there were none."""
    weight, by_target, by_source = (np.array(arrays[f"jumps_{name}"]) for name in Jumps._fields[:3])
    factor = np.array(arrays.get("jumps_factor", np.ones_like(weight)))
    chosen = np.array(arrays.get("jumps_chosen", no_preference(weight.shape[1] if weight.ndim == 3 else 0)))
    return Jumps(weight, by_target, by_source, factor, chosen)


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
