"""`Model`: everything an aligner knows, in memory and on disk."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np

from dualign.core.arrays import Array
from dualign.core.errors import ModelError, UsageError
from dualign.model.lexicon import Lexicon
from dualign.model.options import Options
from dualign.model.positions import Positions
from dualign.model.storage import read_container, write_container
from dualign.model.vocabulary import Vocabulary

__all__ = ["Model"]


@dataclass(frozen=True, slots=True)
class Model:
    """Vocabularies, lexicon, the chains' weights (see `dualign.model.chain`), and the options of the user.

    `positions` belongs to IBM Models 1 and 2 and is None for the HMM.
    """

    source: Vocabulary
    target: Vocabulary
    lexicon: Lexicon
    weights: Array
    options: Options
    positions: Positions | None = None

    def with_options(self, options: Options) -> Model:
        """The same parameters, decoded differently."""
        return replace(self, options=options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one file, whole or not at all."""
        arrays = {f"lexicon_{name}": array for name, array in self.lexicon._asdict().items()}
        arrays["weights"] = self.weights
        for side, vocabulary in (("source", self.source), ("target", self.target)):
            arrays |= {f"{side}_{name}": array for name, array in vocabulary.arrays().items()}
        if self.positions is not None:
            arrays |= {f"positions_{name}": array for name, array in self.positions.arrays().items()}
        write_container(path, {"kind": "word-alignment", "options": self.options.as_dict()}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read what `save` wrote; the arrays stay on disk until they are used."""
        header, arrays = read_container(path)
        if header.get("kind") != "word-alignment":
            raise ModelError(f"{os.fspath(path)}: not a word-alignment model but `{header.get('kind')}`")
        try:
            return cls(
                Vocabulary.from_arrays(arrays, "source_"),
                Vocabulary.from_arrays(arrays, "target_"),
                Lexicon(*(arrays[f"lexicon_{name}"] for name in Lexicon._fields)),
                np.array(arrays["weights"]),
                Options.of(header["options"]),
                Positions.from_arrays(arrays, "positions_") if "positions_grid" in arrays else None,
            )
        except (KeyError, UsageError) as error:
            raise ModelError(
                f"{os.fspath(path)}: written by another version of dualign ({error}); train it again"
            ) from None
