"""Exact search: coarse to fine, with a threshold that is a score already found.

Cube pruning finds a derivation; its score is the threshold. Potentials (`state_potentials`) are then moved to
make bounds small, first without context (`word_multipliers`), then with one word of context
(`pair_multipliers`), which drops what cannot reach the threshold. Passes with 2, 3, … n − 1 words follow, each
over what the one before could not exclude, and the last one is exact: its best derivation is optimal, because
nothing was dropped but what is provably below the threshold. This is A* with the coarser pass for its
heuristic, level by level instead of item by item.

**When to try the fine passes** is decided by work that has been done: they get as much as the potentials had
so far, and if that is not enough, the potentials are moved on for as long again. So no more than a fixed
multiple of the least that would do is spent.

**Where that is too much**, thresholds above the best known score are tried: a pass that finds nothing at T
proves the bound T, and one that finds something has found the optimum. So the bound falls as long as time
allows.
"""

from __future__ import annotations

from typing import Any

from dualign.core.arrays import Array
from dualign.core.certified import Stage
from dualign.core.clocks import Clock, alarm
from dualign.search.certificate import have_met
from dualign.search.dual import OPEN
from dualign.translate.lm.trie import Automaton
from dualign.translate.search.context_levels import guide, level, unguided
from dualign.translate.search.incumbents import Incumbents, rounding
from dualign.translate.search.passes import (
    PAIRS_PER_SECOND,
    PairSearch,
    cube,
    item_trees,
    one_pass,
    survivors,
    word_bound,
)
from dualign.translate.search.translation_problem import Problem

FIRST_WORK = 0.005
"""Seconds, by estimate, that the first try of the fine passes may take."""

MOST_WORK = 600.0
"""Seconds, by estimate, after which a search without a time limit gives up."""

CHUNK = 10
"""Rounds of potentials after which the work is looked at."""

BEAMS = (20, 200, 1000, 4000)
"""Of cube pruning: at first, and again as long as little of the work goes into it."""

CANDIDATES_PER_SECOND = 1e7
"""How many candidates cube pruning looks at, by estimate."""


def exact(problem: Problem, incumbents: Incumbents, clock: Clock, trace: list[Stage]) -> tuple[float, bool]:
    """Fill `incumbents` with the best derivations; returns a bound and whether they are proved to be the
    best.

    `trace` receives `(what, bound, best score, seconds)` of each stage.
    """
    with alarm(clock) as stop:
        return _Exact(problem, incumbents, clock, trace, stop).search()


class _Exact:
    """One search. `work` is what has been spent, in seconds by estimate: that no time is measured keeps
    results the same."""

    def __init__(
        self, problem: Problem, incumbents: Incumbents, clock: Clock, trace: list[Stage], stop: Array
    ) -> None:
        self.problem, self.incumbents, self.clock, self.stop = problem, incumbents, clock, stop
        self.trace = trace
        self.bound = float("inf")
        self.work = 0.0
        self.beams = list(BEAMS)

    def search(self) -> tuple[float, bool]:
        problem, incumbents = self.problem, self.incumbents
        self._cube()
        if problem.order == 1:
            found, value, _ = self._fine_passes(problem.automaton, None, 0, incumbents.threshold, MOST_WORK)
            self._note("no context", value)
            return self.bound, found
        bound, potential = word_bound(problem, incumbents.score)
        self._note("multipliers", bound)
        if self._is_met or self._is_over:
            return self.bound, self._is_met
        pairs = PairSearch(problem, potential, incumbents.threshold, self.stop)
        if not pairs.is_possible:
            return self.bound, False
        rounds, share, tried = 1, 0.0, 0.0
        open_ = True
        while not self._is_over:
            if open_:
                status = pairs.descend(rounds, incumbents)
                self.work += rounds * pairs.work
                self._note("one word of context", pairs.bound)
                open_, rounds = status == OPEN, CHUNK
                if self._is_met and incumbents.k == 1:
                    return self.bound, True
                if open_ and self.work < 2 * tried:
                    continue
            limit = max(self.work, FIRST_WORK)
            gap = self.bound - incumbents.score
            threshold = incumbents.threshold if share == 0.0 else self.bound - share * gap
            found, complete = self._try(pairs, threshold, limit)
            if found:
                return self.bound, True
            tried = self.work
            self._cube()
            if complete and share == 0.0:
                # Nothing but what is known reaches the threshold.
                return self.bound, incumbents.k == 1
            if not open_ and incumbents.k == 1 and not complete:
                share = 0.5 if share == 0.0 else (share / 2 if share > 0.1 else 0.0)
        return self.bound, False

    @property
    def _is_met(self) -> bool:
        return have_met(self.incumbents.score, self.bound, rounding(self.bound))

    @property
    def _is_over(self) -> bool:
        return self.clock.is_over or (self.clock.limit is None and self.work > MOST_WORK)

    def _note(self, what: str, bound: float) -> None:
        self.bound = max(min(self.bound, bound), self.incumbents.score)
        stage = what, self.bound, self.incumbents.score, self.clock.seconds
        if self.trace and self.trace[-1][0] == what:
            self.trace.pop()
        self.trace.append(stage)

    def _cube(self) -> None:
        """Offer what the next beam finds, if that is little work beside what has been done."""
        beams, k = self.beams, self.incumbents.k
        size = len(self.problem.hypergraph.head) / CANDIDATES_PER_SECOND
        if not beams or (beams[0] > BEAMS[0] and size * beams[0] > self.work / 2):
            return
        beam = beams.pop(0)
        self.work += size * beam
        # The first beam is never stopped: there must be an answer.
        stop = self.stop if beam > BEAMS[0] else None
        self.incumbents.offer(cube(self.problem, max(beam, 2 * k), k, stop))

    def _try(self, pairs: PairSearch, threshold: float, limit: float) -> tuple[bool, bool]:
        """The fine passes: whether they found something, and whether they came to their end."""
        known = pairs.guide(threshold)
        if known is None:
            return False, False
        lm, table = known
        # For a bigram model, the same level again: the pass before has bounds, this one derivations.
        first = min(2, self.problem.order - 1)
        found, value, complete = self._fine_passes(lm, (table, 1), first, threshold, limit)
        if found:
            self._note("complete", value)
        elif complete:
            self._note("threshold", threshold)
        return found, complete

    def _fine_passes(
        self, lm: Automaton, coarse: tuple[Any, int] | None, first: int, threshold: float, limit: float
    ) -> tuple[bool, float, bool]:
        """Passes with `first` … n − 1 words of context: whether there is a derivation of at least the
        threshold, the best score among those, and whether the passes came to their end (if not, nothing is
        known)."""
        problem, incumbents = self.problem, self.incumbents
        value = float("-inf")
        for K in range(first, problem.order):
            known = unguided() if coarse is None else guide(lm, coarse[1], coarse[0])
            effort = int(limit * PAIRS_PER_SECOND)
            items = one_pass(problem, level(lm, K), known, threshold, effort, self.stop)
            self.work += limit if items is None else len(items.arc) / PAIRS_PER_SECOND
            if items is None:
                return False, value, False
            trees = item_trees(problem, items)
            if trees is None:
                return False, threshold, True
            value = float(items.score[trees.goal])
            last = problem.order - 1 == K
            table, kept = survivors(items, trees, threshold)
            coarse = table, K
            if last and incumbents.k > 1:
                trees = item_trees(problem, items, kept)
            if trees is not None:
                incumbents.offer(trees.best(incumbents.k if last else 1))
            if incumbents.k == 1:
                threshold = max(threshold, incumbents.threshold)
        return True, value, True
