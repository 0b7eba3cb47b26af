"""The words of one side, numbered, with what their spelling tells about words that are not among them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from itertools import count
from threading import Lock

import numpy as np

from dualign.core.arrays import Array
from dualign.model.forms import Forms, forms_of, stem_of
from dualign.text.word_table import Words, table_of

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
    def table(self) -> Words:
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
