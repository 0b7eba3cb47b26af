"""From a bitext to a model: Model 1, then the HMM or Model 2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError, UsageError
from dualign._core.progress import begin, phase
from dualign._core.threads import ordered_map, spans
from dualign.hmm.constraints import ConstraintSet
from dualign.hmm.cooccurrence import count_words
from dualign.hmm.expected_counts import estimate_fertilities
from dualign.hmm.ibm1 import lift, prune, train_ibm1, uniform_likelihood
from dualign.hmm.jumps import NULL, STOP, classes_of, initial_jumps, initial_weights
from dualign.hmm.lexicon import Lexicon, carried_over, entries_of, pinned_words, with_entries
from dualign.hmm.model import Model, Seen, Vocabulary
from dualign.hmm.positions import Positions
from dualign.hmm.priors import Prior, inherited, joined, pseudo_counts, with_counts
from dualign.hmm.smoothing import NOTHING_KNOWN, Priors, kept_shares, make_priors
from dualign.options import Options
from dualign.text.corpus import Bitext, Numbered

if TYPE_CHECKING:
    from dualign.engines.threads import Engine

LAST_RESORT = 10_000_000
"""Most cells of a pair that is learnt from although it is too long, if there are no others."""

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


def train(
    text: Numbered,
    options: Options,
    engine: Engine,
    report: Callable[[Progress], None] = lambda progress: None,
    judge: Callable[[Model], float] | None = None,
    constraints: ConstraintSet | None = None,
    prior: Prior | None = None,
) -> Model:
    """Learn a model of the pairs that are not empty and not over `options.max_length`.

    With `judge`, which says how good a model is (for example on a few pairs with gold links), training stops
    at the first round of the HMM that does not improve on the one before, and returns the better; rounds with
    a projection get their turn before that. A set of `constraints` of your own joins `options.constraint` in
    the last quarter of the rounds. The `engine` does the rounds, and says how much memory may be used; it
    changes no result. What a `prior` knows of word pairs counts beside what is seen.
    """
    threads = engine.threads
    if constraints is not None and options.model != "hmm":
        raise UsageError(
            "constraints are for the HMM; {model=} has no chain to constrain", model=options.model
        )
    if text.pins.pinned.any() and options.model != "hmm":
        raise UsageError(
            "known links are for the HMM; {model=} has no chain to pin them in", model=options.model
        )
    if len(text.similar.begin) and options.model != "hmm":
        raise UsageError("similarities are for the HMM; {model=} learns without them", model=options.model)
    with phase("choosing pairs"):
        chosen = usable(text, options.max_length, threads)
        if not chosen.any():
            raise NothingToLearn(len(text))
        # Words that occur only in other pairs are unknown to the model.
        bitext = text.chosen(chosen, threads, engine.workspace)
    course = _Course(bitext, options, report, engine)
    model, priors = course.begin(prior)
    model = course.go_on(model, priors, judge, constraints)
    if options.decoder == "submodular":
        # Limits on the links of a word are this decoder's; no other asks how many a word has.
        model = replace(model, fertilities=estimate_fertilities(model, bitext, threads))
    return model


class _Course:
    """One training, from the first count to the last round."""

    def __init__(
        self, bitext: Numbered, options: Options, report: Callable[[Progress], None], engine: Engine
    ) -> None:
        self.bitext, self.options, self.report, self.engine = bitext, options, report, engine
        engine.start(bitext)
        self.tokens = len(bitext.source.tokens) + len(bitext.target.tokens)
        self.ibm1_rounds = options.ibm1_rounds + (options.rounds if options.model == "ibm1" else 0)
        # Of the HMM's, only the first is over all co-occurrences; the others come after pruning.
        self.whole_rounds = 1 if options.model == "hmm" else self.ibm1_rounds

    def tell(self, stage: str, rounds: int) -> Callable[..., None]:
        """A stage begins: what reports its rounds."""
        begin(stage, rounds)
        return lambda number, objective, evaluations=1.0: self.report(
            Progress(stage, number, rounds, objective, self.tokens, len(self.bitext), evaluations)
        )

    def begin(self, prior: Prior | None) -> tuple[Model, Priors]:
        """The model after the rounds of Model 1 over all co-occurrences, pruned, and what smoothing needs."""
        bitext, options = self.bitext, self.options
        threads, workspace = self.engine.threads, self.engine.workspace
        source, target = bitext.source_words, bitext.target_words
        if prior is not None:
            prior = prior.lowered() if options.lowercase else prior
            source, prior_source = joined(source, prior.source_words)
            target, prior_target = joined(target, prior.target_words)
        sizes = len(source), len(target)
        # Sums by word, of every thread and of both sides, and what IBM Model 1 knows of every target token.
        by_word = 24 * (threads + 4) * sum(sizes)
        workspace.demand(by_word + 4 * len(bitext.target.tokens), f"a text of {len(bitext):,} pairs")
        lexicon, together = self._first(sizes)
        rows = lexicon.rows
        seen = Seen(
            frequencies(bitext.source.tokens, sizes[0], threads),
            frequencies(bitext.target.tokens, sizes[1], threads),
        )
        if options.model == "hmm":
            lift(lexicon, seen, threads)
        pinned = pinned_words(bitext)
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
        workspace.demand(by_word + BYTES_PER_ENTRY * entries, f"a lexicon of {entries:,} entries")
        priors = make_priors(
            lexicon, source, target, options.stem_letters, options.stem_weight, options.form_weight, threads
        )._replace(pseudo=pseudo)
        if together is not None:
            together = carried_over(together, rows, lexicon.rows)
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
            lexicon = train_ibm1(bitext, *sizes, self.whole_rounds, threads, tell, workspace)
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


def frequencies(tokens: Array, words: int, threads: int) -> Array:
    """How often each word occurs, int64."""

    def count(bounds: tuple[int, int]) -> Array:
        found = np.zeros(words, np.int64)
        count_words(tokens[slice(*bounds)], found)
        return found

    total = np.zeros(words, np.int64)
    for part in ordered_map(count, spans(len(tokens), max(words, 1 << 20)), threads):
        total += part
    return total


def usable(bitext: Bitext, max_length: int, threads: int = 1) -> Array:
    """Which pairs take part in training: none empty, none over the limit, unless there are no others."""
    short = bitext.fitting(max_length, threads=threads)
    return short if short.any() else bitext.fitting(cells=LAST_RESORT, threads=threads)


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
