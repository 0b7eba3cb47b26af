"""The chains of a sentence pair under a model, put together word by word for the oracles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tests.hmm.chains import both_parameters
from tests.oracles.chain import Parameters

from dualign.hmm.jumps import FLOOR, NULL_FLOOR
from dualign.hmm.model import Model

Direction = tuple[Parameters, np.ndarray, np.ndarray]


def directions(model: Model, source: Sequence[str], target: Sequence[str]) -> tuple[Direction, Direction]:
    """The chain in which target words choose, then that in which source words do; all words known."""
    lexicon = model.lexicon
    v = [model.source.numbers[word] for word in source]
    w = [model.target.numbers[word] for word in target]
    p = np.zeros((len(v), len(w), 2))
    for i, row in enumerate(v):
        entries = range(lexicon.rows[row], lexicon.rows[row + 1])
        found = {int(lexicon.columns[m]): lexicon.table[m] for m in entries}
        for j, column in enumerate(w):
            p[i, j] = found.get(column, 0)
    p += model.weights[:, FLOOR]
    null_target = lexicon.null_target[w].astype(float) + model.weights[0, NULL_FLOOR]
    null_source = lexicon.null_source[v].astype(float) + model.weights[1, NULL_FLOOR]
    jumps = model.jumps
    there, back = both_parameters(model.weights, jumps, jumps.by_target[w], jumps.by_source[v])
    return (there, p[:, :, 0].T, null_target), (back, p[:, :, 1], null_source)
