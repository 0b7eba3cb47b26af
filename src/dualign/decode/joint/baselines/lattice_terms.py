"""What the edges of a lattice are worth at given multipliers (`dualign.decode.joint.baselines.lattice`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.decode.joint.baselines.relax import Relaxation, only_choice, predecessors
from dualign.decode.joint.tied_chain import share_of
from dualign.search.dual import IMPOSSIBLE, NEVER

LINK, PRESENT, ABSENT, UNSEEN = range(4)
"""Kinds of terms for each i and j: y(i, j) with the best predecessor that no constraint speaks of; what
requiring y(i, j), or its absence, costs; all links that row i does not see from column j."""


class Terms(NamedTuple):
    """What edges refer to by number, 0 standing for nothing: see `term_of` and `constrained_term`.

    `values`, `most` float64: their values and max-marginals; `before` int32 (I + 1, J + 1): those best
    predecessors; `constraints` int64 (…, 2), `number` int64 (1): how many there are; `active` uint8
    (J + 1, I + 1): the same as a mask.
    """

    values: Array
    most: Array
    before: Array
    constraints: Array
    number: Array
    active: Array


def new_terms(I: int, J: int, room: int) -> Terms:
    """No constraints yet, and room for that many."""
    total = 1 + 4 * (I + 1) * (J + 1) + room * (I + 1)
    return Terms(
        np.zeros(total), np.zeros(total), np.zeros((I + 1, J + 1), np.int32),
        np.zeros((room, 2), np.int64), np.zeros(1, np.int64), np.zeros((J + 1, I + 1), np.uint8),
    )  # fmt: skip


@kernel(allocates=False)
def term_of(kind: int, i: int, j: int, terms: Terms) -> int:
    """The number of a term of that kind."""
    rows, columns = terms.before.shape
    return 1 + kind * rows * columns + columns * i + j


@kernel(allocates=False)
def constrained_term(q: int, i: int, terms: Terms) -> int:
    """The number of the term of y(i, j + 1) with the predecessor that constraint q = (j, i') speaks of."""
    return 1 + 4 * terms.before.size + terms.before.shape[0] * q + i


@kernel(allocates=False)
def link_of(term: int, terms: Terms) -> tuple[int, int, int]:
    """Row, column and predecessor of a link's term; predecessor −1: the best; row −1: not a link's."""
    I, J = terms.before.shape[0] - 1, terms.before.shape[1] - 1
    K = (I + 1) * (J + 1)
    if 1 <= term <= K:
        return (term - 1) // (J + 1), (term - 1) % (J + 1), -1
    if term > 4 * K:
        q, i = (term - 1 - 4 * K) // (I + 1), (term - 1 - 4 * K) % (I + 1)
        return i, terms.constraints[q, 0] + 1, terms.constraints[q, 1]
    return -1, -1, -1


@kernel(allocates=False)
def sees(j: int, c: int) -> bool:
    """Whether a row in column j sees its links in column c."""
    return j > 0 and abs(c - j) <= 1


@kernel()
def weigh_terms(terms: Terms, relaxation: Relaxation) -> None:
    """All values at these multipliers."""
    omega, gamma = relaxation.problem.omega, relaxation.problem.gamma
    I, J = terms.before.shape[0] - 1, terms.before.shape[1] - 1
    multipliers, values = relaxation.multipliers, terms.values
    predecessors(relaxation)
    for j in range(1, J + 1):
        constrained = terms.active[j - 1].any()
        for i in range(I + 1):
            value, before = relaxation.rho[i, j], relaxation.before[i, j]
            if constrained:
                value, before = best_unconstrained(terms, relaxation, i, j)
            values[term_of(LINK, i, j, terms)] = value
            terms.before[i, j] = before if before >= 0 else relaxation.before[i, j]
    for q in range(terms.number[0]):
        j, p = terms.constraints[q, 0] + 1, terms.constraints[q, 1]
        for i in range(I + 1):
            own = multipliers[j, i] if j < J else 0.0
            values[constrained_term(q, i, terms)] = omega[j - 1, p, i] + multipliers[j - 1, p] - own
    if gamma > IMPOSSIBLE:
        weigh_unseen(terms, relaxation)


@kernel(allocates=False)
def best_unconstrained(terms: Terms, relaxation: Relaxation, i: int, j: int) -> tuple[float, int]:
    """Value of y(i, j) with the best predecessor that no constraint speaks of, and that; −1: none."""
    omega, y, multipliers = relaxation.problem.omega, relaxation.masks.y, relaxation.multipliers
    most, before = NEVER, -1
    for p in range(y.shape[0] if j > 1 else 1):
        free = relaxation.arcs[j - 1, p, i] and not terms.active[j - 1, p]
        if y[i, j] and free and (j == 1 or y[p, j - 1]):
            z = omega[j - 1, p, i] + multipliers[j - 1, p]
            if z > most:
                most, before = z, p
    return most - (multipliers[j, i] if j < y.shape[1] - 1 else 0.0), before


@kernel()
def weigh_unseen(terms: Terms, relaxation: Relaxation) -> None:
    """Soft agreement: what links outside the rows' windows are worth, and what requiring them costs."""
    I, J = terms.before.shape[0] - 1, terms.before.shape[1] - 1
    masks, values = relaxation.masks, terms.values
    for j in range(1, J + 1):
        only = only_choice(masks, j)
        for i in range(1, I + 1):
            present = relaxation.rho[i, j] + relaxation.problem.gamma
            free = present if i == only else max(0.0, present)
            share = share_of(masks.x, i, j)
            values[term_of(PRESENT, i, j, terms)] = share * (present - free)
            values[term_of(ABSENT, i, j, terms)] = share * -free
            values[term_of(UNSEEN, i, j, terms)] = free
    for i in range(1, I + 1):
        row = values[term_of(UNSEEN, i, 1, terms) : term_of(UNSEEN, i, J, terms) + 1].copy()
        total = row.sum()
        for j in range(J + 1):
            unseen = total
            for c in range(max(1, j - 1), min(J, j + 1) + 1):
                if sees(j, c):
                    unseen -= row[c - 1]
            values[term_of(UNSEEN, i, j, terms)] = unseen
