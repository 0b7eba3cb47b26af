"""Expectation-maximisation of the HMM, or of IBM Model 2, in both directions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from dualign.core.cards import Card, DeviceError
from dualign.core.threads import ordered_map
from dualign.core.workspace import Workspace, boundless
from dualign.infer.blocks import COLD, Warm
from dualign.infer.constraints import ConstraintSet, give
from dualign.infer.posteriors import constraint_of, constraint_with_rules
from dualign.infer.tallies import Sums
from dualign.learn.expectation import Asked, Expectation, Places, above_counts
from dualign.learn.expected_counts import Counts
from dualign.learn.jump_updates import BOLD, FEW, SAFE, update_jumps, update_starts, update_stops
from dualign.learn.smoothing import Priors, reestimate_lexicon
from dualign.model.model import Model
from dualign.model.options import Options
from dualign.model.positions import Positions
from dualign.text.bitext import Bitext


@dataclass(frozen=True, slots=True)
class Round:
    """The model after a round, and what the round saw before its update.

    `objective` is the log-likelihood of both directions, less the divergence of the projected posteriors
    from the model's own; `evaluations` counts how often the chains of a pair were run.
    """

    model: Model
    objective: float
    evaluations: float


def em_round(
    bitext: Bitext,
    model: Model,
    priors: Priors,
    constraint: str,
    threads: int,
    constraints: ConstraintSet | None = None,
    warm: Warm = COLD,
    workspace: Workspace | None = None,
) -> Round:
    """One E-step over all pairs, none of them empty, block by block; then the M-step.

    `constraint` is one of `dualign.infer.posteriors.KINDS`; if it is a projection, `constraints` may list
    further rules, and `warm` (see `warm_starts`) is where its multipliers begin and end. An `even` round, of
    IBM Model 1, changes the lexicon alone.
    """
    room = workspace or boundless()
    asked = asked_for(model, bitext, constraint, constraints)
    expected: Expected | None = None
    if room.card is not None and not room.card.lost and on_card(bitext, model.options, constraints):
        expected = _found_on(room.card, bitext, model, asked)
    if expected is None:
        expected = here = Expectation(bitext, model, asked, room)
        here.run(threads, warm)
    return maximised(bitext, model, priors, constraint, expected, threads, room)


def _found_on(card: Card, bitext: Bitext, model: Model, asked: Asked) -> Found | None:
    """What the E-step on a card finds; None if the card fails and nobody insists on it."""
    from dualign.device.card_expectation import CardExpectation

    try:
        found = CardExpectation(card, bitext, model, asked.constraint, asked.agree)
    except DeviceError as error:
        card.give_up(error)
        return None
    return Found(Counts(*found.counts), found.sums)


def asked_for(model: Model, bitext: Bitext, constraint: str, constraints: ConstraintSet | None) -> Asked:
    """What the E-step of such a round computes."""
    options = model.options
    usual = without_rules(constraint, options)
    agree = usual == "agreement" or (usual == "even" and options.constraint != "none")
    asked = Asked(constraint_of(options, usual), agree, above_counts(bitext))
    if constraints is None:
        return asked
    return asked._replace(rules=partial(give, constraints), ruled=constraint_with_rules(options, usual))


def without_rules(constraint: str, options: Options) -> str:
    """The constraint of pairs that have no rules of the user's own, which join what the options ask for."""
    if constraint != "given":
        return constraint
    return "agreement" if options.constraint == "agreement" else "none"


class Expected(Protocol):
    """What an E-step has found."""

    @property
    def counts(self) -> Counts:
        """The expected counts of the lexicon."""

    @property
    def places(self) -> Places | None:
        """The expected counts of positions, for IBM Model 2."""

    @property
    def sums(self) -> Sums:
        """The statistics of all pairs."""


class Found(NamedTuple):
    """What an E-step elsewhere has found."""

    counts: Counts
    sums: Sums
    places: Places | None = None


def maximised(
    bitext: Bitext,
    model: Model,
    priors: Priors,
    constraint: str,
    expected: Expected,
    threads: int,
    workspace: Workspace,
) -> Round:
    """The M-step of such a round."""

    def words() -> Any:
        return reestimate_lexicon(model.lexicon, expected.counts, priors, threads, workspace)

    def chains() -> Any:
        sums = expected.sums
        return sums.totals, _chains_from(sums, expected.places, model, bitext, constraint)

    # What is known of chains is added up and updated by one thread, while the others have the lexicon.
    lexicon, (totals, changes) = ordered_map(lambda update: update(), (words, chains), min(threads, 2))
    likelihood, evaluations, pairs, divergence = totals
    new = replace(model, lexicon=lexicon, **changes)
    return Round(new, float(likelihood - divergence), float(evaluations / pairs))


def _chains_from(
    sums: Sums, places: Places | None, model: Model, bitext: Bitext, constraint: str
) -> dict[str, Any]:
    """What the M-step changes in a model apart from its lexicon."""
    if places is not None:
        return {"positions": Positions.estimate(places.lengths, places.counts)}
    if constraint == "even":
        return {}
    lengths = bitext.source.lengths, bitext.target.lengths
    usual = without_rules(constraint, model.options)
    step = SAFE if usual == "none" else max(SAFE, BOLD * min(1, FEW / model.options.rounds))
    return {
        "weights": update_stops(update_starts(model.weights, sums.starts, lengths), sums.stops),
        "jumps": update_jumps(
            model.jumps, sums.jumps, sums.foreseen, sums.chosen, model.options.jump_weight, step
        ),
    }


def on_card(bitext: Bitext, options: Options, constraints: ConstraintSet | None) -> bool:
    """Whether a card, if there is one, can take over the E-step of this text."""
    from dualign.device.card_posteriors import fitting, why_not

    known = bool(bitext.pins.pinned.any()), len(bitext.similar.begin) > 0
    return why_not(options, constraints, *known) is None and bool(fitting(bitext).all())


def warm_starts(bitext: Bitext, workspace: Workspace) -> Warm:
    """Room for the multipliers of every pair, still empty: two for each word.

    That is nearly all that a pair of ordinary length has. Those that find no room start at 0 again, which
    costs time and nothing else.
    """
    lengths, widths = bitext.source.lengths, bitext.target.lengths
    room = np.concatenate(([0], np.cumsum(np.minimum(lengths * widths, 2 * (lengths + widths)))))
    size = int(room[-1])
    key, value = workspace.empty(size, np.int32), workspace.empty(size, np.float32)
    return Warm(room, np.zeros(len(bitext), np.int32), key, value)
