"""`constrain`: the relaxation, safe pruning, and violated constraints put back (Chang et al. 2014, §5-6).

400 rounds of `baselines.relax` with pruning come first. If a gap remains, what pruning left becomes a lattice
(`baselines.lattice`). Then every 25 rounds the five constraints that were violated most are put back, as long
as the lattice does not grow too large.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import part
from dualign._core.progress import Clock
from dualign._search.dual import FACTOR, IMPOSSIBLE, OPEN, ROUNDS, Record, descent, new_record, run
from dualign.decode.joint.baselines import relax
from dualign.decode.joint.baselines.lattice import Lattice, Terms, lattice_of, new_terms, weigh_terms
from dualign.decode.joint.baselines.lattice_paths import best_path, intersect, prune_edges
from dualign.decode.joint.baselines.relax import MOST_ROUNDS, RULE, JointRelaxation, new_relaxation, slope
from dualign.decode.joint.bound import prune_by_chains, rounds_at_once
from dualign.decode.joint.feasible import JointOutcome, new_incumbent, outcome_of
from dualign.decode.joint.model import JointProblem, all_allowed, compiled_propagate

EVERY, AT_ONCE = 25, 5
"""Every 25 rounds, 5 constraints are put back."""

MOST_EDGES = 300_000
"""The lattice does not grow beyond this."""


class Constrained(NamedTuple):
    """The relaxation, its lattice, what the edges are worth, and room for the best way to each node."""

    relaxation: JointRelaxation
    lattice: Lattice
    terms: Terms
    best: Array


@part
def evaluate(state: Constrained) -> tuple[float, float]:
    """The best path, and the squared norm of what it violates."""
    relaxation, lattice, terms, best = state
    weigh_terms(terms, relaxation)
    value = best_path(lattice, terms, relaxation, best)
    return value, slope(relaxation) if value > IMPOSSIBLE else 0.0


@part
def improve(state: Constrained, record: Record, t: int, norm: float) -> float:
    """As in the relaxation."""
    return relax.improve(state.relaxation, record, t, norm)


@part
def prune(state: Constrained, value: float, least: float) -> bool:
    """Remove the edges of the lattice that no good solution uses."""
    prune_edges(state.lattice, state.terms, state.relaxation, state.best, least)
    return True


@part
def move(state: Constrained, step: float) -> None:
    """As in the relaxation."""
    relax.move(state.relaxation, step)


descend = descent(evaluate, improve, move, RULE, prune=prune)
"""`descend(state, record, rounds, tolerance)`: rounds on the lattice."""


def put_back(lattice: Lattice, terms: Terms, relaxation: JointRelaxation) -> tuple[bool, Lattice]:
    """Put back the constraints that were violated most; False if the lattice would grow too large."""
    violations: Array = np.where(terms.active > 0, 0.0, relaxation.violations)
    for place in np.argsort(-violations, axis=None, kind="stable")[:AT_ONCE]:
        column, row = (int(k) for k in np.unravel_index(place, violations.shape))
        if violations[column, row] == 0:
            break
        done, lattice = intersect(lattice, terms, relaxation, column, row, MOST_EDGES)
        if not done:
            return False, lattice
    return True, lattice


def search(problem: JointProblem, tolerance: float, clock: Clock) -> JointOutcome:
    """400 rounds without constraints, 400 with. The bound need not meet the score."""
    I, J = len(problem.theta), len(problem.omega)
    masks, incumbent, record = all_allowed(I, J), new_incumbent(I, J), new_record(2 * MOST_ROUNDS)
    plain = float(prune_by_chains(problem, masks, incumbent, tolerance))
    if plain < IMPOSSIBLE or not compiled_propagate(masks, problem.gamma < IMPOSSIBLE):
        return JointOutcome(incumbent, float(incumbent.value[0]))
    relaxation = new_relaxation(problem, masks, incumbent)
    terms = new_terms(I, J, AT_ONCE * (MOST_ROUNDS // EVERY))

    def advance(rounds: int) -> int:
        return relax.descend_and_prune(relaxation, record, rounds, tolerance)

    chunk = min(EVERY, rounds_at_once(I, J))
    status = OPEN if clock.is_over else run(advance, record, MOST_ROUNDS, chunk, clock)
    if status == OPEN and not clock.is_over and relax.compiled_value_of(relaxation) > IMPOSSIBLE:
        lattice: Lattice = lattice_of(relaxation, terms, MOST_EDGES)
        growing = int(lattice.size.max()) <= MOST_EDGES
        if growing:

            def advance(rounds: int) -> int:
                state = Constrained(relaxation, lattice, terms, np.empty(lattice.size[1]))
                return descend(state, record, rounds, tolerance)

        while status == OPEN and record.numbers[ROUNDS] < 2 * MOST_ROUNDS and not clock.is_over:
            if growing:
                growing, lattice = put_back(lattice, terms, relaxation)
                record.numbers[FACTOR] = 1.0
            most = min(2 * MOST_ROUNDS, int(record.numbers[ROUNDS]) + EVERY)
            status = run(advance, record, most, chunk, clock)
    return outcome_of(incumbent, plain, record, int(terms.number[0]))
