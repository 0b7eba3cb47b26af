"""Posteriors of a saved model, both directions, before and after projection; and its dictionary.

As in Graça et al. 2010, Figures 1 and 9, the size of the circle in a cell is the posterior, and after
projection its colour says whether it grew or shrank.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from threading import Lock

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import UsageError
from dualign._core.threads import available
from dualign.decode.decoders import MOST_CELLS
from dualign.engines.threads import ThreadsEngine, posteriors_of_part
from dualign.hmm.encoding import CHUNK, EncodedText, parts_of
from dualign.hmm.model import Model
from dualign.hmm.posteriors import matrices_of
from dualign.text.blocks import Pair

LEAST = 0.005
"""Smaller posteriors would be invisible and are left out."""

CANDIDATES = 6


class ModelView:
    """What a saved model thinks of sentence pairs."""

    def __init__(
        self, path: str | os.PathLike[str], projection: str | None = None, threads: int | None = None
    ) -> None:
        model = Model.load(path)
        if model.positions is not None:
            if projection not in (None, "none"):
                raise UsageError(
                    "{projection=} is for the HMM; {value} has IBM Model 1 or 2",
                    projection=projection,
                    value=os.fspath(path),
                )
            projection = "none"
        self.projection = projection or model.options.projection
        self._engine = ThreadsEngine(available(threads))
        self._before = model.with_options(replace(model.options, projection="none"))
        self._after = model.with_options(replace(model.options, projection=self.projection))
        self._lock = Lock()

    def of_pairs(self, pairs: Iterable[Pair]) -> Iterator[Array]:
        """Yield for each pair a float32 array (before/after, direction, I, J).

        Direction 0 has p(b_j = i), in which target words choose, and 1 has p(a_i = j). A pair of more cells
        than the aligner takes has none: shape (2, 2, 0, 0).
        """
        small = (pair if len(pair[0]) * len(pair[1]) <= MOST_CELLS else ([], []) for pair in pairs)
        for part in parts_of(self._before, small, CHUNK):
            text = part.encode(self._before)
            with self._lock:
                models = self._before, self._after
                stages = [*self._engine.map("posteriors", _posteriors, models, text)]
            for before, after in zip(*stages, strict=True):
                yield np.stack((before, after))

    def line(self, pair: Pair) -> str:
        """Return the posteriors of one pair as the page reads them; see `lines`."""
        return next(self.lines([pair]))

    def lines(self, pairs: Iterable[Pair]) -> Iterator[str]:
        """Yield for each pair the cells where something is at least `LEAST`: `i,j,b,a,b',a'` and blanks
        between.

        Posteriors are in thousandths: p(b_j = i) and p(a_i = j), before and (with a dash) after projection.
        """
        for array in self.of_pairs(pairs):
            rows, columns = np.nonzero(array.max(axis=(0, 1)) >= LEAST)
            values = np.rint(1000 * array[:, :, rows, columns].reshape(4, -1)).astype(int).T
            yield " ".join(
                f"{i},{j},{','.join(map(str, cell))}"
                for i, j, cell in zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True)
            )

    def candidates(self, pairs: Iterable[Pair]) -> tuple[list[str], list[str]]:
        """Return the best translations of each word of the pairs: lines `word<TAB>translation<TAB>thousandths
        …`.

        First of source words by p(target | source), then of target words by p(source | target). Words that
        the model does not know are left out.
        """
        model = self._before
        lower = model.options.lowercase
        seen: tuple[set[str], set[str]] = set(), set()
        for pair in pairs:
            for words, known in zip(pair, seen, strict=True):
                known.update(map(str.lower, words) if lower else words)
        return _candidates(model, 0, seen[0]), _candidates(model, 1, seen[1])


def _candidates(model: Model, side: int, seen: set[str]) -> list[str]:
    """Return the best translations of the words of a side that are among the given ones."""
    lexicon, table = model.lexicon, model.distributions
    owner = np.repeat(np.arange(len(lexicon.rows) - 1), np.diff(lexicon.rows))
    word, other = (owner, lexicon.columns) if side == 0 else (lexicon.columns, owner)
    own, others = (model.source, model.target) if side == 0 else (model.target, model.source)
    kept = np.flatnonzero(np.array([each in seen for each in own.words], bool)[word])
    order = kept[np.lexsort((other[kept], -table[kept, side], word[kept]))]
    words, starts = np.unique(word[order], return_index=True)
    lines = []
    for v, entries in zip(words.tolist(), np.split(order, starts[1:]), strict=False):
        best = entries[:CANDIDATES]
        pairs = zip(other[best].tolist(), table[best, side].tolist(), strict=True)
        found = (f"{others.words[w]}\t{round(1000 * p)}" for w, p in pairs)
        lines.append("\t".join([own.words[v], *found]))
    return lines


def _posteriors(model: Model, text: EncodedText) -> list[Array]:
    """The posteriors of each pair, both directions."""
    return [each for block in posteriors_of_part(model, text) for each in matrices_of(*block)]
