"""Exact search: coarse to fine, with a threshold that is a score already found.

Cube pruning finds a derivation; its score is the threshold. Potentials (`state_potentials`) are then moved
to make bounds small, first without context, then with one word of context (both in
`multipliers`), which drops what cannot reach the threshold. Passes with 2, 3, … n − 1 words follow,
each over what the one before could not exclude, and the last one is exact: its best derivation is optimal,
because nothing was dropped but what is provably below the threshold. This is A* with the coarser pass for its
heuristic, level by level instead of item by item.

**When to try the fine passes** depends on the work so far: they get as much as the potentials had, and if
that is not enough, the potentials are moved on before the next try. Work is estimated, not timed, so that
results are the same every time.

**Where potentials gain no more**, the fine passes get more and more work, and thresholds above the best known
score are tried: a pass that finds nothing at T proves the bound T, and one that finds something has found the
optimum. So the bound falls as long as time allows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dualign._core.arrays import Array
from dualign._core.certified import Stage
from dualign._core.progress import Alarm, Clock, never
from dualign.translate.lm.trie import Automaton
from dualign.translate.search.derivations import Incumbents
from dualign.translate.search.intersection import Table
from dualign.translate.search.multipliers import PairSearch
from dualign.translate.search.passes import complete, cube, guide, item_trees, level, one_pass, survivors
from dualign.translate.search.problem import ForestProblem

FIRST_WORK = 0.005
"""Seconds, by estimate, that the first try of the fine passes may take."""

MOST_WORK = 600.0
"""Seconds, by estimate, after which a search without a time limit gives up."""

PAIRS_PER_SECOND = 1e7
"""How many pairs of items a fine pass combines, by estimate."""

CELLS_PER_SECOND = 3e6
"""For how many cells of the pass with one word of context a fine pass can be done, by estimate."""

BEAMS = (20, 200, 1000, 4000)
"""Of cube pruning: at first, and again as long as little of the work goes into it."""

CANDIDATES_PER_SECOND = 1e7
"""How many candidates cube pruning looks at, by estimate."""


def exact(
    problem: ForestProblem, incumbents: Incumbents, clock: Clock, trace: list[Stage], gap: float = 0.0
) -> tuple[float, bool]:
    """Fill `incumbents` with the best derivations; returns a bound and whether they are proved to be the
    best. The search ends when the bound is no more than `gap` above the best score.

    `trace` receives `(what, bound, best score, seconds)` of each stage.
    """
    with Alarm(clock) as alarm:
        return _Exact(problem, incumbents, clock, trace, alarm, gap).search()


def compile_exact(problem: ForestProblem) -> None:
    """Compile the kernels that small forests do not need."""
    incumbents, clock = Incumbents(problem, 1), Clock()
    incumbents.offer(cube(problem, 1, 1))
    threshold = incumbents.threshold - 10.0
    pairs = PairSearch(problem, incumbents, clock)
    pairs.start(threshold, never())
    pairs.round(incumbents)
    pairs.move()
    _Exact(problem, incumbents, clock, [], Alarm(clock))._try(pairs, threshold, FIRST_WORK)


@dataclass
class _Exact:
    """One search; `spent` estimates its seconds since potentials gain no more."""

    problem: ForestProblem
    incumbents: Incumbents
    clock: Clock
    trace: list[Stage]
    alarm: Alarm
    gap: float = 0.0
    bound: float = float("inf")
    spent: float = 0.0
    beams: list[int] = field(default_factory=lambda: list(BEAMS))

    def search(self) -> tuple[float, bool]:
        problem, incumbents = self.problem, self.incumbents
        self._cube()
        if problem.order == 1:
            if (trees := complete(problem, 1 << 40)) is None:
                return self.bound, False
            incumbents.offer(trees.best(incumbents.k))
            self._note("no context", trees.score)
            return self.bound, True
        pairs = PairSearch(problem, incumbents, self.clock)
        self._note("multipliers", pairs.bound)
        if self._is_proved:
            return self.bound, True
        if self._is_over or not pairs.start(incumbents.threshold, self.alarm.flag):
            return self.bound, False
        if pairs.work > FIRST_WORK:
            self.alarm.set()
        failed, spent, more = float("inf"), 0.0, True  # gap and work at the last try of the fine passes
        while more and not self._is_over:
            more = pairs.round(incumbents)
            self._note("one word of context", pairs.bound)
            gap = self.bound - incumbents.score
            if self._is_proved:
                return self.bound, True
            if self._is_over:
                break
            work = max(pairs.spent, FIRST_WORK)
            if (gap < 0.8 * failed or pairs.spent > 2 * spent) and pairs.cells < work * CELLS_PER_SECOND:
                done, proved = self._try(pairs, incumbents.threshold, work)
                if done:
                    return self.bound, proved
                failed, spent = gap, pairs.spent
            self.alarm.set()
            self._cube(pairs.spent)
            pairs.move()
        return self._climb(pairs)

    def _climb(self, pairs: PairSearch) -> tuple[float, bool]:
        """Go on where potentials gain no more: the fine passes with more work, and with higher thresholds."""
        work, share = max(pairs.spent, FIRST_WORK), 0.0
        while not self._is_over:
            threshold = self.incumbents.threshold
            if share > 0.0:
                threshold = self.bound - share * (self.bound - self.incumbents.score)
            done, proved = self._try(pairs, threshold, work)
            if done and (proved or share == 0.0):
                return self.bound, proved
            if not done:
                self._cube(pairs.spent)
                share = 0.5 if share == 0.0 else share / 2
                if share < 0.1 or self.incumbents.k > 1:
                    share, work = 0.0, 4 * work
                    self.spent = pairs.spent = pairs.spent + work
        return self.bound, False

    @property
    def _is_proved(self) -> bool:
        """Whether the bound proves the one derivation that is wanted."""
        return self.incumbents.k == 1 and self.incumbents.meet(self.bound)

    @property
    def _is_over(self) -> bool:
        if self.gap > 0.0 and self.bound - self.incumbents.score <= self.gap:
            return True
        return self.clock.is_over or (self.clock.limit is None and self.spent > MOST_WORK)

    def _note(self, what: str, bound: float) -> None:
        self.bound = max(min(self.bound, bound), self.incumbents.score)
        stage = what, self.bound, self.incumbents.score, self.clock.seconds
        if self.trace and self.trace[-1][0] == what:
            self.trace.pop()
        self.trace.append(stage)

    def _cube(self, spent: float = 0.0) -> None:
        """Offer what the next beam finds, if that is little beside the work that has been done."""
        beams, k = self.beams, self.incumbents.k
        size = len(self.problem.hypergraph.head) / CANDIDATES_PER_SECOND
        if not beams or (beams[0] > BEAMS[0] and size * beams[0] > spent):
            return
        beam = beams.pop(0)
        # The first beam is never stopped: there must be an answer.
        stop = self.alarm.flag if beam > BEAMS[0] else never()
        self.incumbents.offer(cube(self.problem, max(beam, 2 * k), k, stop))

    def _try(self, pairs: PairSearch, threshold: float, work: float) -> tuple[bool, bool]:
        """Do the fine passes; return whether they came to their end, and whether that is a proof."""
        known = pairs.guide(threshold)
        if known is None:
            return False, False
        # For a bigram model, the same level again: the pass before has bounds, this one derivations.
        first = min(2, self.problem.order - 1)
        found, value, complete = self._fine_passes(*known, first, threshold, work)
        if found:
            self._note("complete", value)
        elif complete:
            self._note("threshold", threshold)
        return complete, found or (complete and self._is_proved)

    def _fine_passes(
        self, lm: Automaton, table: Table, joint: Array, first: int, threshold: float, work: float
    ) -> tuple[bool, float, bool]:
        """Passes with `first` … n − 1 words of context: whether there is a derivation of at least the
        threshold, the best score among those, and whether the passes came to their end (if not, nothing is
        known)."""
        problem, incumbents = self.problem, self.incumbents
        known = guide(lm, 1, table, joint)
        value = float("-inf")
        for K in range(first, problem.order):
            effort = int(work * PAIRS_PER_SECOND)
            items = one_pass(problem, level(lm, K), known, threshold, effort, self.alarm.flag)
            if items is None:
                return False, value, False
            trees = item_trees(problem, items)
            if trees is None:
                return False, threshold, True
            value = trees.score
            last = problem.order - 1 == K
            table, kept = survivors(items, trees, threshold)
            known = guide(lm, K, table, joint)
            if last and incumbents.k > 1:
                trees = item_trees(problem, items, kept)
            if trees is not None:
                incumbents.offer(trees.best(incumbents.k if last else 1))
            if incumbents.k == 1:
                threshold = max(threshold, incumbents.threshold)
        return True, value, True
