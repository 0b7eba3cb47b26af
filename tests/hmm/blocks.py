"""Sentence pairs whose two chains are given by their emissions, as the E-step sees them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tests.hmm.chains import both_parameters, random_jumps, random_weights
from tests.hmm.corpora import encoded
from tests.oracles.chain import Parameters

from dualign.hmm.blocks import COLD, Block, Given, Warm
from dualign.hmm.encoding import EncodedText
from dualign.hmm.jumps import CLOSE, NEAR, Jumps
from dualign.hmm.lexicon import Lexicon
from dualign.hmm.model import Model, Vocabulary
from dualign.hmm.multipliers import Constraint
from dualign.hmm.posteriors import NO_SHARES, Output, expectation_calls, jobs_of, make_block
from dualign.hmm.statistics import ChainStatistics, in_numbers, new_tally
from dualign.options import Options

Direction = tuple[Parameters, np.ndarray, np.ndarray]


class OnePair(NamedTuple):
    """`emission` (I, J, 2): p(t_j | s_i) and p(s_i | t_j); null emissions (J), (I); weights (2, WEIGHTS).

    Every word has jumps of its own.
    """

    emission: np.ndarray
    null_target: np.ndarray
    null_source: np.ndarray
    weights: np.ndarray
    jumps: Jumps

    @property
    def directions(self) -> tuple[Direction, Direction]:
        """What the oracles take: the chain in which target words choose, then the other."""
        there, back = both_parameters(self.weights, self.jumps, self.jumps.by_target, self.jumps.by_source)
        return (
            (there, self.emission[:, :, 0].T.astype(float), self.null_target.astype(float)),
            (back, self.emission[:, :, 1].astype(float), self.null_source.astype(float)),
        )

    def block(self, multipliers: np.ndarray | None = None) -> Block:
        """Every word is a word of its own, so that each cell has an entry of its own."""
        I, J, _ = self.emission.shape
        table = self.emission.astype(np.float32)
        if multipliers is not None:
            table = np.stack(
                [table[:, :, 0] * np.exp(-multipliers), table[:, :, 1] * np.exp(multipliers)], axis=2
            ).astype(np.float32)
        lexicon = Lexicon(
            np.arange(I + 1) * J,
            np.tile(np.arange(J, dtype=np.int32), I),
            np.ascontiguousarray(table.reshape(I * J, 2)),
            self.null_target,
            self.null_source,
        )
        words = Vocabulary([f"s{i}" for i in range(I)]), Vocabulary([f"t{j}" for j in range(J)])
        model = Model(*words, lexicon, self.weights, self.jumps, Options())
        return make_block(model, EncodedText(encoded([(list(range(I)), list(range(J)))])))


class Outcome(NamedTuple):
    """Posteriors (I, J) of both directions, log-likelihood of both together, evaluations."""

    target_chooses: np.ndarray
    source_chooses: np.ndarray
    likelihood: float
    evaluations: float


def random_pair(seed: int, I: int, J: int) -> OnePair:
    random = np.random.default_rng(seed)
    factors = np.exp(0.5 * random.standard_normal((2, 1 + max(I, J), NEAR))).astype(np.float32)
    factors[:, 0] = 1
    chosen = np.exp(0.5 * random.standard_normal((2, 2, 1 + max(I, J), CLOSE))).astype(np.float32)
    chosen[:, :, 0] = 1
    return OnePair(
        np.exp(1.5 * random.standard_normal((I, J, 2)) - 2).astype(np.float32),
        np.exp(random.standard_normal(J) - 2).astype(np.float32),
        np.exp(random.standard_normal(I) - 2).astype(np.float32),
        np.stack([random_weights(random), random_weights(random)]),
        Jumps(
            np.stack([random_jumps(random, 1 + max(I, J)) for _ in range(2)]),
            1 + np.arange(J, dtype=np.int32),
            1 + np.arange(I, dtype=np.int32),
            factors,
            chosen,
        ),
    )


def expectations(
    block: Block, rules: Constraint, posterior: np.ndarray, *, collect: bool = False
) -> ChainStatistics:
    """Posteriors of all pairs into `posterior`; what they add up to, also statistics to `collect`."""
    tally = new_tally(block.jumps.classes if collect else 0)
    output = Output(posterior, *NO_SHARES, False)
    for compute, *call in expectation_calls(block, jobs_of(block.pairs), rules):
        compute(*call, tally, output)
    return in_numbers(tally)


def posteriors(
    pair: OnePair,
    rules: Constraint,
    multipliers: np.ndarray | None = None,
    warm: Warm = COLD,
    given: Given | None = None,
) -> Outcome:
    """Run the E-step on one pair."""
    I, J, _ = pair.emission.shape
    posterior = np.full((I * J, 2), np.nan, np.float32)
    block = pair.block(multipliers)._replace(warm=warm)
    if given is not None:
        block = block._replace(given=given)
    sums = expectations(block, rules, posterior)
    there, back = posterior.T.reshape(2, I, J)
    return Outcome(there, back, float(sums.totals[0]), float(sums.totals[1]))
