"""The words of one side, numbered, with what their spelling tells about words that are not among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dualign.core.arrays import Array


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words in the order of their numbers."""

    words: list[str]
    numbers: dict[str, int] = field(init=False, repr=False, compare=False)
    _stems: dict[int, dict[str, list[int]]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", {word: number for number, word in enumerate(self.words)})

    def __len__(self) -> int:
        return len(self.words)

    def stems(self, letters: int) -> dict[str, list[int]]:
        """The numbers of the words with the same first letters; worked out once."""
        if letters not in self._stems:
            groups: dict[str, list[int]] = {}
            for number, word in enumerate(self.words):
                groups.setdefault(word[:letters], []).append(number)
            self._stems[letters] = groups
        return self._stems[letters]

    def arrays(self) -> dict[str, Array]:
        """The words as UTF-8, each ended by a line feed (no token contains one)."""
        text = "".join(f"{word}\n" for word in self.words).encode("utf-8", "surrogatepass")
        return {"words": np.frombuffer(text, np.uint8)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], prefix: str) -> Vocabulary:
        """The inverse of `arrays`."""
        text = arrays[f"{prefix}words"].tobytes().decode("utf-8", "surrogatepass")
        return cls(text.split("\n")[:-1])


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
