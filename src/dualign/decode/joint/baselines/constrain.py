"""`constrain`: the relaxation, safe pruning, and violated constraints put back (Chang et al. 2014, §5-6).

400 rounds of `baselines.relax` with pruning come first. If a gap remains, what pruning left
becomes a lattice (`baselines.lattice`), and every 25 rounds the five constraints that were
violated most of late are put back, as long as the lattice stays below a size.
"""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.clocks import Clock
from dualign.core.jit import kernel
from dualign.decode.joint.baselines.lattice import Lattice, lattice_of
from dualign.decode.joint.baselines.lattice_paths import best_path, intersect, prune_edges
from dualign.decode.joint.baselines.lattice_terms import Terms, new_terms, weigh_terms
from dualign.decode.joint.baselines.relax import (
    MOST_ROUNDS,
    PATIENCE,
    REPAIR_EVERY,
    SHRINK,
    Relaxation,
    descend,
    evaluate,
    move,
    new_relaxation,
    repair,
    slope,
)
from dualign.decode.joint.bound import prune_by_chains, rounds_at_once
from dualign.decode.joint.masks import Masks, all_allowed, propagate
from dualign.decode.joint.objective import Problem
from dualign.decode.joint.outcome import Outcome
from dualign.decode.joint.primal import Incumbent, new_incumbent
from dualign.search.dual import (
    BOUND,
    CLOSED,
    FACTOR,
    IMPOSSIBLE,
    MET,
    OPEN,
    ROUNDS,
    Record,
    aim,
    new_record,
    observe,
    polyak_step,
    run,
    trace_of,
)

EVERY, AT_ONCE = 25, 5
"""So many constraints are put back every so many rounds."""

MOST_EDGES = 300_000
"""The lattice grows no further."""


@kernel()
def descend_lattice(
    problem: Problem,
    masks: Masks,
    relaxation: Relaxation,
    lattice: Lattice,
    terms: Terms,
    incumbent: Incumbent,
    record: Record,
    rounds: int,
    tolerance: float,
) -> int:
    """Up to so many rounds on the lattice; returns OPEN, CLOSED or MET."""
    best = np.empty(lattice.size[1])
    gap_pruned = np.inf
    for _ in range(rounds):
        weigh_terms(terms, relaxation, problem, masks)
        value = best_path(lattice, terms, relaxation, problem, masks, best)
        if value < IMPOSSIBLE:
            # Nothing is left that could be better than the best.
            record.numbers[BOUND] = min(record.numbers[BOUND], incumbent.value[0])
            return CLOSED
        norm = slope(relaxation)
        if norm == 0 or record.numbers[ROUNDS] % REPAIR_EVERY == 0:
            repair(relaxation, problem, masks, incumbent)
        least = incumbent.value[0]
        observe(record, value, least, PATIENCE, SHRINK)
        if record.numbers[BOUND] <= least + tolerance:
            return CLOSED
        if norm == 0:
            return MET
        if value - least < 0.7 * gap_pruned:
            gap_pruned = value - least
            prune_edges(lattice, terms, relaxation, problem, best, least - tolerance)
        move(relaxation, polyak_step(record, value, norm, aim(value, least)))
    return OPEN


def put_back(lattice: Lattice, terms: Terms, relaxation: Relaxation, masks: Masks) -> tuple[bool, Lattice]:
    """Put back the constraints that were violated most; False when the lattice would grow too large."""
    violations: Array = np.where(terms.active > 0, 0.0, relaxation.violations)
    for place in np.argsort(-violations, axis=None, kind="stable")[:AT_ONCE]:
        column, row = (int(k) for k in np.unravel_index(place, violations.shape))
        if violations[column, row] == 0:
            break
        done, lattice = intersect(lattice, terms, relaxation.arcs, masks, column, row, MOST_EDGES)
        if not done:
            return False, lattice
    return True, lattice


def search(
    problem: Problem, tolerance: float, time_limit: float | None = None, trace: int = 2 * MOST_ROUNDS
) -> Outcome:
    """400 rounds without constraints, 400 with. The bound need not meet the score."""
    clock = Clock(time_limit)
    I, J = len(problem.theta), len(problem.omega)
    masks, incumbent, record = all_allowed(I, J), new_incumbent(I, J), new_record(trace)
    plain = float(prune_by_chains(problem, masks, incumbent, tolerance))
    if plain < IMPOSSIBLE or not propagate(masks, problem.gamma < IMPOSSIBLE):
        least = float(incumbent.value[0])
        return Outcome(incumbent, least, 0, ())
    relaxation = new_relaxation(problem)
    terms = new_terms(I, J, AT_ONCE * (MOST_ROUNDS // EVERY))

    def advance(rounds: int) -> int:
        return descend(problem, masks, relaxation, incumbent, record, rounds, tolerance, True)

    chunk = min(EVERY, rounds_at_once(I, J))
    status = run(advance, record, MOST_ROUNDS, chunk, clock)
    if status == OPEN and not clock.is_over and evaluate(relaxation, problem, masks)[0] > IMPOSSIBLE:
        lattice: Lattice = lattice_of(relaxation, problem, masks, MOST_EDGES)
        growing = int(lattice.size.max()) <= MOST_EDGES
        if growing:

            def advance(rounds: int) -> int:
                return descend_lattice(
                    problem, masks, relaxation, lattice, terms, incumbent, record, rounds, tolerance
                )

        while status == OPEN and record.numbers[ROUNDS] < 2 * MOST_ROUNDS and not clock.is_over:
            if growing:
                growing, lattice = put_back(lattice, terms, relaxation, masks)
                record.numbers[FACTOR] = 1.0
            most = min(2 * MOST_ROUNDS, int(record.numbers[ROUNDS]) + EVERY)
            status = run(advance, record, most, chunk, clock)
    bound = min(plain, float(record.numbers[BOUND]))
    return Outcome(
        incumbent,
        max(bound, float(incumbent.value[0])),
        int(record.numbers[ROUNDS]),
        trace_of(record),
        constraints=int(terms.number[0]),
    )
