"""From a bitext to a model: Model 1, then the HMM or Model 2."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError, UsageError
from dualign._core.memory import Workspace
from dualign.hmm.blocks import Block
from dualign.hmm.constraints import ConstraintSet
from dualign.hmm.ibm1 import Kept, Whole, frequencies, lift, prune, uniform_likelihood
from dualign.hmm.jumps import (
    BOLD,
    FEW,
    NULL,
    SAFE,
    STOP,
    classes_of,
    initial_jumps,
    initial_weights,
    update_jumps,
    update_starts,
    update_stops,
)
from dualign.hmm.lexicon import Lexicon, carried_over, entries_of, pinned_words, with_entries
from dualign.hmm.model import Model, Seen, Vocabulary
from dualign.hmm.multipliers import Constraint
from dualign.hmm.positions import Fertilities, PositionCounts, Positions
from dualign.hmm.posteriors import constraint_of, constraint_with_rules
from dualign.hmm.priors import Prior, inherited, joined, pseudo_counts, with_counts
from dualign.hmm.smoothing import NOTHING_KNOWN, Priors, kept_shares, make_priors, reestimate_lexicon
from dualign.hmm.statistics import ChainStatistics, ExpectedCounts, above_counts
from dualign.options import Options
from dualign.text.corpus import Bitext, Numbered

BYTES_PER_ENTRY = 52
"""Of the lexicon in training: word, old and new probabilities, counts, and what smoothing knows of it."""

STAGES = {"hmm": "HMM", "ibm1": "IBM 1", "ibm2": "IBM 2"}


class NothingToLearn(DataError):  # noqa: N818 - what happened, in words
    """No sentence pair has words on both sides; `place` names the text, if it has a name."""

    def __init__(self, pairs: int, place: str = "") -> None:
        self.pairs = pairs
        self.what = (
            "the only sentence pair does not have words on both sides"
            if pairs == 1
            else f"none of the {pairs} sentence pairs has words on both sides"
        )
        if place:
            self.what = f"{place}: {self.what if pairs else 'no lines'}"
        remedy = ": give a text with words on both sides" if place else ""
        super().__init__(f"{self.what}; nothing to learn from{remedy}")


@dataclass(frozen=True, slots=True)
class Progress:
    """A finished round: its stage, number, and what it measured before its update.

    `evaluations`: how often, on average, both chains of a pair were run.
    """

    stage: str
    number: int
    rounds: int
    likelihood: float
    tokens: int
    pairs: int
    evaluations: float = 1.0

    @property
    def bits(self) -> float:
        """Cross-entropy of a word given the other side, mean of both directions, in bits."""
        return -self.likelihood / self.tokens / float(np.log(2))


class Expectation(NamedTuple):
    """What an E-step computes.

    `agree`: both directions count the product of their posteriors (Liang et al. 2006). Pairs for which
    `constraints` of the user's own have rules are constrained as `ruled` says. `above`: see `ExpectedCounts`;
    it is that of the whole text, also where only a part of it is counted.
    """

    constraint: Constraint
    agree: bool
    above: float
    constraints: ConstraintSet | None = None
    ruled: Constraint | None = None


@dataclass(frozen=True, slots=True)
class EMRound:
    """The model after a round, and what the round saw before its update.

    `objective` is the log-likelihood of both directions, less the divergence of the projected posteriors
    from the model's own; `evaluations` counts how often the chains of a pair were run.
    """

    model: Model
    objective: float
    evaluations: float


class Statistics(NamedTuple):
    """What an E-step has found: the expected counts of the lexicon, the statistics of all pairs, and for IBM
    Model 2 the expected counts of positions."""

    counts: ExpectedCounts
    sums: ChainStatistics
    places: PositionCounts | None = None


class Learner(Protocol):
    """What goes over the text in training; another one, for other machines or a device, changes no result."""

    threads: int

    @property
    def workspace(self) -> Workspace:
        """The room for large arrays."""

    def demand(self, size: int, what: str) -> None:
        """Refuse `what` takes that many bytes, if there is no room for them."""

    def begin(self, stage: str, rounds: int) -> None:
        """Tell whoever watches that a stage begins."""

    def start(self, text: Numbered, max_length: int) -> Numbered:
        """Take up the text of a training; returns the pairs that take part, or raises `NothingToLearn`."""

    def first_lexicon(self, sizes: tuple[int, int], least: float) -> Kept:
        """The first round of Model 1, with that many words on each side; then `dualign.hmm.ibm1.prune`."""

    def round(
        self, model: Model, priors: Priors, constraint: str, constraints: ConstraintSet | None, keep: bool
    ) -> EMRound:
        """A round over all pairs; `keep` its multipliers: another projection follows.

        `constraint` is one of `dualign.hmm.posteriors.KINDS`; if it is a projection, `constraints` may list
        further rules. An `even` round, of IBM Model 1, changes the lexicon alone.
        """

    def posteriors_of_text(self, model: Model) -> Iterator[tuple[Array, Block]]:
        """The posteriors of all pairs, block by block."""

    def close(self) -> None:
        """Let go of the text, when the training has ended."""


def train(
    text: Numbered,
    options: Options,
    engine: Learner,
    report: Callable[[Progress], None] = lambda progress: None,
    judge: Callable[[Model], float] | None = None,
    constraints: ConstraintSet | None = None,
    prior: Prior | None = None,
    history: list[Progress] | None = None,
) -> Model:
    """Learn a model of the pairs that are not empty and not over `options.max_length`.

    With `judge`, which says how good a model is (for example on a few pairs with gold links), training stops
    at the first round of the HMM that does not improve on the one before, and returns the better; rounds with
    a projection get their turn before that. A set of `constraints` of your own joins `options.constraint` in
    the last quarter of the rounds. The `engine` does the rounds, and says how much memory may be used; it
    changes no result. What a `prior` knows of word pairs counts beside what is seen. `history` gets the
    rounds, in order.
    """
    for given, refusal in (
        (constraints is not None, "constraints are for the HMM; {model=} has no chain to constrain"),
        (text.pins.pinned.any(), "known links are for the HMM; {model=} has no chain to pin them in"),
        (len(text.similar.begin), "similarities are for the HMM; {model=} learns without them"),
    ):
        if given and options.model != "hmm":
            raise UsageError(refusal, model=options.model)
    training = Training(engine.start(text, options.max_length), options, engine, report, history)
    model, priors = training.begin(prior)
    model = training.go_on(model, priors, judge, constraints)
    if options.decoder == "submodular":
        # Limits on the links of a word are this decoder's; no other asks how many a word has.
        plain = model.with_options(replace(options, projection="none"))
        words = len(model.source), len(model.target)
        model = replace(model, fertilities=Fertilities.estimate(words, engine.posteriors_of_text(plain)))
    return model


class Training:
    """One training, from the first count to the last round."""

    def __init__(
        self,
        bitext: Numbered,
        options: Options,
        engine: Learner,
        report: Callable[[Progress], None],
        history: list[Progress] | None = None,
    ) -> None:
        self.bitext, self.options, self.engine = bitext, options, engine
        self.report, self.history = report, [] if history is None else history
        self.pairs = len(bitext.source.offsets) - 1
        self.tokens = len(bitext.source.tokens) + len(bitext.target.tokens)
        self.ibm1_rounds = options.ibm1_rounds + (options.rounds if options.model == "ibm1" else 0)
        # Of the HMM's, only the first is over all co-occurrences; the others come after pruning.
        self.whole_rounds = 1 if options.model == "hmm" else self.ibm1_rounds

    def tell(self, stage: str, rounds: int) -> Callable[..., None]:
        """A stage begins: what reports its rounds."""
        self.engine.begin(stage, rounds)

        def tell(number: int, objective: float, evaluations: float = 1.0) -> None:
            done = Progress(stage, number, rounds, objective, self.tokens, self.pairs, evaluations)
            self.history.append(done)
            self.report(done)

        return tell

    def begin(self, prior: Prior | None) -> tuple[Model, Priors]:
        """The model after the rounds of Model 1 over all co-occurrences, pruned, and what smoothing needs."""
        bitext, options = self.bitext, self.options
        threads = self.engine.threads
        source, target = bitext.source_words, bitext.target_words
        if prior is not None:
            source, prior_source = joined(source, prior.source_words, options.lowercase)
            target, prior_target = joined(target, prior.target_words, options.lowercase)
        sizes = len(source), len(target)
        # Sums by word, of every thread and of both sides, and what IBM Model 1 knows of every target token.
        by_word = 24 * (threads + 4) * sum(sizes)
        self.engine.demand(by_word + 4 * len(bitext.target.tokens), f"a text of {self.pairs:,} pairs")
        lexicon, together = self._first(sizes)
        rows = lexicon.rows
        seen = Seen(frequencies(bitext.source.tokens, sizes[0]), frequencies(bitext.target.tokens, sizes[1]))
        if options.model == "hmm":
            lift(lexicon, seen, threads)
        pinned = pinned_words(bitext) if len(bitext.pins.source) else None
        if pinned is not None:
            lexicon = with_entries(lexicon, *pinned)
        own = options.jump_words if options.model == "hmm" else 0
        jumps = initial_jumps(classes_of(seen.target, own), classes_of(seen.source, own))
        weights, pseudo = initial_weights(options.null, options.floor), NOTHING_KNOWN
        if prior is not None:
            lexicon, pseudo = pseudo_counts(lexicon, prior, prior_source, prior_target)
            lexicon = with_counts(lexicon, pseudo, seen)
            if prior.begin is not None and options.model == "hmm":
                for part in (slice(NULL), slice(STOP, None)):  # null and floors are the options'
                    weights[:, part] = prior.begin.weights[:, part]
                jumps = inherited(jumps, prior.begin, source, target)
            seen = seen.added(prior.seen, (prior_source, prior_target))
        entries = len(lexicon.columns)
        self.engine.demand(by_word + BYTES_PER_ENTRY * entries, f"a lexicon of {entries:,} entries")
        priors = make_priors(
            lexicon, source, target, options.stem_letters, options.stem_weight, options.form_weight, threads
        )._replace(pseudo=pseudo)
        if together is not None:
            if len(together) < len(lexicon.columns):
                together = carried_over(together, rows, lexicon.rows)
            if pinned is not None:
                together[entries_of(lexicon, *pinned)] = 0  # what is known is no guess
            priors = priors._replace(kept=kept_shares(together, options.leave_out))
        positions = None if options.model == "hmm" else Positions.uniform()
        words = Vocabulary(source), Vocabulary(target)
        return Model(*words, lexicon, weights, jumps, options, positions, seen=seen), priors

    def _first(self, sizes: tuple[int, int]) -> tuple[Lexicon, Array | None]:
        """The lexicon after the rounds of Model 1 over all co-occurrences, pruned; and how often the words of
        its entries occur together, if part of their counts is to be left out."""
        bitext, options = self.bitext, self.options
        threads, workspace = self.engine.threads, self.engine.workspace
        tell = self.tell("IBM 1", self.ibm1_rounds)
        if self.whole_rounds > 1:
            lexicon = Whole(bitext, sizes, threads, workspace).run(self.whole_rounds, tell)
            return prune(lexicon, options.prune, threads, workspace), None
        lexicon, together = self.engine.first_lexicon(sizes, options.prune)
        tell(1, uniform_likelihood(bitext, *sizes))
        return lexicon, together if options.model == "hmm" and options.leave_out > 0 else None

    def go_on(
        self,
        model: Model,
        priors: Priors,
        judge: Callable[[Model], float] | None,
        constraints: ConstraintSet | None,
    ) -> Model:
        """The model after all other rounds; see `train`."""
        tell = self.tell("IBM 1", self.ibm1_rounds)
        for number in range(self.whole_rounds + 1, self.ibm1_rounds + 1):
            done = self.engine.round(model, priors, "even", None, keep=False)
            tell(number, done.objective)
            model = done.model
        tell = self.tell(STAGES[self.options.model], self.options.rounds)
        best, enough = -np.inf, False
        rounds_to_come = schedule(self.options, constraints)
        for number, constraint in enumerate(rounds_to_come, 1):
            projected = constraint not in ("none", "agreement")
            if enough and not projected:
                continue
            given = constraints if projected else None
            keep = projected and number < len(rounds_to_come)
            done = self.engine.round(model, priors, constraint, given, keep)
            tell(number, done.objective, done.evaluations)
            if judge is not None:
                value = judge(done.model)
                enough = value <= best
                if enough and projected:
                    break
                if enough:
                    continue  # a projection, if there is to be one, begins with the better model
                best = value
            model = done.model
        return model


def expectation_for(
    model: Model, bitext: Bitext, constraint: str, constraints: ConstraintSet | None
) -> Expectation:
    """What the E-step of such a round computes."""
    options = model.options
    usual = without_rules(constraint, options)
    agree = usual == "agreement" or (usual == "even" and options.constraint != "none")
    asked = Expectation(constraint_of(options, usual), agree, above_counts(bitext))
    if constraints is None:
        return asked
    return asked._replace(constraints=constraints, ruled=constraint_with_rules(options, usual))


def without_rules(constraint: str, options: Options) -> str:
    """The constraint of pairs that have no rules of the user's own, which join what the options ask for."""
    if constraint != "given":
        return constraint
    return "agreement" if options.constraint == "agreement" else "none"


def maximised(
    bitext: Bitext,
    model: Model,
    priors: Priors,
    constraint: str,
    expected: Statistics,
    threads: int,
    table: Array,
) -> EMRound:
    """The M-step of such a round; the lexicon's new probabilities go to `table`."""
    sums, places, options = expected.sums, expected.places, model.options
    if places is not None:
        model = replace(model, positions=Positions.estimate(places.lengths, places.counts))
    elif constraint != "even":
        step = SAFE
        if without_rules(constraint, options) != "none":
            step = max(SAFE, BOLD * min(1, FEW / options.rounds))
        lengths = np.diff(bitext.source.offsets), np.diff(bitext.target.offsets)
        model = replace(
            model,
            weights=update_stops(update_starts(model.weights, sums.starts, lengths), sums.stops),
            jumps=update_jumps(
                model.jumps, sums.jumps, sums.foreseen, sums.chosen, options.jump_weight, step
            ),
        )
    lexicon = reestimate_lexicon(model.lexicon, expected.counts, priors, threads, table)
    likelihood, evaluations, pairs, divergence = sums.totals
    new = replace(model, lexicon=lexicon)
    return EMRound(new, float(likelihood - divergence), float(evaluations / pairs))


def schedule(options: Options, constraints: ConstraintSet | None = None) -> list[str]:
    """The constraint of each round after Model 1: a projection comes in the last quarter, after agreement.

    Directions that still know nothing would be made to agree on nothing; one round of four has proved better
    than two.
    """
    if options.model == "ibm1":
        return []
    constraint = options.constraint
    if options.model == "ibm2" and constraint == "symmetric":
        constraint = "agreement"  # it has no chains to project
    if constraint in ("none", "agreement"):
        if constraints is None:
            return [constraint] * options.rounds
        constraint = "given"
    first = options.rounds - (options.rounds + 3) // 4
    if options.constraint == "none":
        return ["none"] * first + [constraint] * (options.rounds - first)
    return ["agreement"] * first + [constraint] * (options.rounds - first)
