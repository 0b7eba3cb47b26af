"""Small random bitexts, in the forms that the library and the oracles take."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dualign._core.memory import Workspace, boundless
from dualign.engines.threads import ThreadsEngine
from dualign.hmm.constraints import ConstraintSet
from dualign.hmm.ibm1 import Whole
from dualign.hmm.jumps import Jumps
from dualign.hmm.lexicon import Lexicon
from dualign.hmm.model import Model
from dualign.hmm.smoothing import Priors
from dualign.hmm.training import EMRound
from dualign.text.corpus import Bitext, Sentences

Pairs = list[tuple[list[int], list[int]]]


def random_pairs(
    seed: int, pairs: int, source_words: int, target_words: int, longest: int, shortest: int = 1
) -> Pairs:
    """Words and lengths drawn evenly; each word of either vocabulary may or may not occur."""
    random = np.random.default_rng(seed)
    return [
        (
            random.integers(source_words, size=random.integers(shortest, longest + 1)).tolist(),
            random.integers(target_words, size=random.integers(shortest, longest + 1)).tolist(),
        )
        for _ in range(pairs)
    ]


def encoded(pairs: Pairs) -> Bitext:
    """The arrays of these pairs."""
    return Bitext(*(sentences([pair[side] for pair in pairs]) for side in (0, 1)))


def sentences(lines: list[list[int]]) -> Sentences:
    offsets = np.zeros(len(lines) + 1, np.int64)
    np.cumsum([len(line) for line in lines], out=offsets[1:])
    return Sentences(np.array([word for line in lines for word in line], np.int32), offsets)


def entries(lexicon: Lexicon) -> dict[tuple[int, int], tuple[float, float]]:
    """The lexicon as a dictionary from (source word, target word)."""
    found = {}
    for v in range(len(lexicon.rows) - 1):
        for m in range(lexicon.rows[v], lexicon.rows[v + 1]):
            assert (v, int(lexicon.columns[m])) not in found
            found[v, int(lexicon.columns[m])] = (float(lexicon.table[m, 0]), float(lexicon.table[m, 1]))
    return found


def assert_same_bits(a: Lexicon | Jumps, b: Lexicon | Jumps) -> None:
    for name, left, right in zip(a._fields, a, b, strict=True):
        np.testing.assert_array_equal(left, right, err_msg=name, strict=True)


def train_ibm1(
    bitext: Bitext,
    source_words: int,
    target_words: int,
    rounds: int,
    threads: int,
    report: Callable[[int, float], None] = lambda number, likelihood: None,
    workspace: Workspace | None = None,
) -> Lexicon:
    """The lexicon after these rounds of Model 1."""
    return Whole(bitext, (source_words, target_words), threads, workspace or boundless()).run(rounds, report)


def em_round(
    bitext: Bitext,
    model: Model,
    priors: Priors,
    constraint: str,
    threads: int,
    constraints: ConstraintSet | None = None,
) -> EMRound:
    """A round of training on this text."""
    engine = ThreadsEngine(threads)
    engine.bitext = bitext
    return engine.round(model, priors, constraint, constraints, keep=False)
