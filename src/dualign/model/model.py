"""`Model`: everything an aligner knows, in memory and on disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.errors import ModelError
from dualign.model.fertility import Fertilities
from dualign.model.jumps import NULL, STOP, WEIGHTS, Jumps, no_preference
from dualign.model.lexicon import Lexicon, normalized
from dualign.model.options import Options
from dualign.model.positions import Positions, are_probabilities
from dualign.model.storage import read_container, write_container
from dualign.model.vocabulary import Vocabulary

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
    """Vocabularies, lexicon, the chains' weights (see `dualign.model.jumps`) and jumps, the user's options.

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
