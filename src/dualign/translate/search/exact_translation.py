"""Exact search: coarse to fine, with a threshold that is a score already found.

Cube pruning finds a derivation; its score is the threshold. Multipliers on words and a complete pass with
one word of context bound what every part of the forest can still contribute (`word_multipliers`,
`bigram_pass`). Passes with 2, 3, … n − 1 words follow, each over what the one before could not exclude, and
the last one is exact: its best derivation is optimal, because nothing was dropped but what is provably
below the threshold. This is A* with the coarser pass for its heuristic, level by level instead of item by
item.

**Where that is too much**, thresholds above the best known score are tried: a pass that finds nothing at T
proves the bound T, and one that finds something has found the optimum. So the bound falls as long as time
allows.
"""

from __future__ import annotations

from typing import Any

from dualign.core.certified import Stage
from dualign.core.clocks import Clock
from dualign.search.certificate import have_met
from dualign.translate.search.context_levels import guide, unguided
from dualign.translate.search.incumbents import Incumbents, rounding
from dualign.translate.search.passes import (
    BigramPass,
    affordable,
    cube,
    item_trees,
    one_pass,
    survivors,
    word_bound,
)
from dualign.translate.search.translation_problem import Problem

FIRST_EFFORT = 30_000_000
"""Pairs of items for the first try of the fine passes, before other thresholds are tried."""

BEAMS = (20, 200, 1000, 4000)
"""Of cube pruning: at first, and again where the first answer leaves too much, as long as time allows."""


def exact(problem: Problem, incumbents: Incumbents, clock: Clock, trace: list[Stage]) -> tuple[float, bool]:
    """Fill `incumbents` with the best derivations; returns a bound and whether they are proved to be the
    best.

    `trace` receives `(what, bound, best score, seconds)` of each stage.
    """
    k = incumbents.k
    cubes = _Cubes(problem, incumbents, clock)
    cubes.next()

    def note(what: str, bound: float) -> None:
        trace.append((what, bound, incumbents.score, clock.seconds))

    if problem.order == 1:
        found, bound, _ = _fine_passes(problem, incumbents, None, 0, incumbents.threshold, affordable(clock))
        note("no context", bound)
        return bound, found
    bound, multipliers = word_bound(problem, incumbents.score)
    note("multipliers", bound)
    if clock.is_over:
        return bound, False
    coarse = BigramPass.of(problem, multipliers, incumbents.threshold)
    if coarse is None:
        return bound, False
    bound = min(bound, coarse.bound)
    note("one word of context", bound)
    if bound - incumbents.score > 10.0 and not clock.is_over:
        cubes.next()
    effort = min(affordable(clock), FIRST_EFFORT)
    share = 0.0
    while not clock.is_over:
        gap = bound - incumbents.score
        threshold = incumbents.threshold if share == 0.0 else bound - share * gap
        table = coarse.table(threshold)
        # For a bigram model, the same level again: the pass before has bounds, this one derivations.
        first = min(2, problem.order - 1)
        found, value, complete = _fine_passes(problem, incumbents, (table, 1), first, threshold, effort)
        if found:
            note("complete", value)
            return value, True
        if complete:
            # Nothing reaches this threshold.
            bound = min(bound, max(threshold, incumbents.score))
            note("threshold", bound)
            if have_met(incumbents.score, bound, rounding(bound)):
                return bound, k == 1
        if k > 1:
            break
        if not complete:
            # Too much; come closer to the bound, or when that has been tried, work longer.
            if share in (0.0, 0.25):
                cubes.next()
            share = 0.25 if share == 0.0 else share / 2
            if share < 0.01:
                share, effort = 0.25, effort * 4
                if clock.limit is None and effort > 64 * FIRST_EFFORT:
                    break
        effort = min(effort, affordable(clock))
    return bound, False


class _Cubes:
    """Cube pruning with one beam after the other."""

    def __init__(self, problem: Problem, incumbents: Incumbents, clock: Clock) -> None:
        self.problem, self.incumbents, self.clock = problem, incumbents, clock
        self.beams = list(BEAMS)
        self.pace = 0.0  # seconds for one item per vertex

    def next(self) -> None:
        """Offer what the next beam finds, if that takes no more than half of the time that is left."""
        if not self.beams or self.pace * self.beams[0] > max(self.clock.left, 0.0) / 2:
            return
        beam, began = self.beams.pop(0), self.clock.seconds
        k = self.incumbents.k
        self.incumbents.offer(cube(self.problem, max(beam, 2 * k), k))
        self.pace = (self.clock.seconds - began) / beam


def _fine_passes(
    problem: Problem,
    incumbents: Incumbents,
    coarse: tuple[Any, int] | None,
    first: int,
    threshold: float,
    effort: int,
) -> tuple[bool, float, bool]:
    """Passes with `first` … n − 1 words of context: whether there is a derivation of at least the
    threshold, the best score among those, and whether the passes came to their end (if not, nothing is
    known)."""
    value = float("-inf")
    lm = problem.automaton
    for K in range(first, problem.order):
        known = unguided() if coarse is None else guide(lm, coarse[1], coarse[0])
        items = one_pass(problem, K, known, threshold, effort)
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
