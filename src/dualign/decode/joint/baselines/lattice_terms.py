"""What the edges of a lattice are worth at given multipliers (`dualign.decode.joint.baselines.lattice`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.decode.joint.baselines.relax import Relaxation, only_choice, predecessors
from dualign.decode.joint.masks import Masks
from dualign.decode.joint.objective import Problem
from dualign.decode.joint.tied_chain import share_of
from dualign.search.dual import IMPOSSIBLE, NEVER


class Terms(NamedTuple):
    """What edges refer to. With K = (I + 1)(J + 1) and k = (J + 1) · i + j, of whatever i and j:

    1 + k: y(i, j) with the best predecessor that no constraint speaks of; 1 + K + k, 1 + 2K + k: what
    insisting on y(i, j), or on its absence, costs; 1 + 3K + k: all links that row i does not see from column
    j; 1 + 4K + (I + 1) · q + i: y(i, j + 1) with the predecessor that constraint q = (j, i') speaks of.

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
    """No constraints yet, room for so many."""
    total = 1 + 4 * (I + 1) * (J + 1) + room * (I + 1)
    return Terms(
        np.zeros(total), np.zeros(total), np.zeros((I + 1, J + 1), np.int32),
        np.zeros((room, 2), np.int64), np.zeros(1, np.int64), np.zeros((J + 1, I + 1), np.uint8),
    )  # fmt: skip


@kernel()
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


@kernel()
def sees(j: int, c: int) -> bool:
    """Whether a row in column j sees its links in column c."""
    return j > 0 and abs(c - j) <= 1


@kernel()
def weigh_terms(terms: Terms, relaxation: Relaxation, problem: Problem, masks: Masks) -> None:
    """All values at these multipliers."""
    theta, omega, _, gamma = problem
    I, J = len(theta), len(omega)
    K = (I + 1) * (J + 1)
    multipliers, arcs, rho, values = relaxation.multipliers, relaxation.arcs, relaxation.rho, terms.values
    predecessors(relaxation, problem, masks)
    for j in range(1, J + 1):
        for i in range(I + 1):
            values[1 + (J + 1) * i + j] = rho[i, j]
            terms.before[i, j] = relaxation.before[i, j]
        if terms.active[j - 1].any():
            for i in range(I + 1):
                most = NEVER
                if masks.y[i, j]:
                    for p in range(I + 1 if j > 1 else 1):
                        if arcs[j - 1, p, i] and not terms.active[j - 1, p] and (j == 1 or masks.y[p, j - 1]):
                            z = omega[j - 1, p, i] + multipliers[j - 1, p]
                            if z > most:
                                most = z
                                terms.before[i, j] = p
                values[1 + (J + 1) * i + j] = most - (multipliers[j, i] if j < J else 0.0)
    for q in range(terms.number[0]):
        j, p = terms.constraints[q, 0] + 1, terms.constraints[q, 1]
        for i in range(I + 1):
            own = multipliers[j, i] if j < J else 0.0
            values[1 + 4 * K + (I + 1) * q + i] = omega[j - 1, p, i] + multipliers[j - 1, p] - own
    if gamma < IMPOSSIBLE:
        return
    for j in range(1, J + 1):
        only = only_choice(masks, j)
        for i in range(1, I + 1):
            k = (J + 1) * i + j
            present = rho[i, j] + gamma
            free = present if i == only else max(0.0, present)
            share = share_of(masks.x, False, i, j)
            values[1 + K + k] = share * (present - free)
            values[1 + 2 * K + k] = share * -free
            values[1 + 3 * K + k] = free
    for i in range(1, I + 1):
        row = values[2 + 3 * K + (J + 1) * i : 1 + 3 * K + (J + 1) * (i + 1)].copy()
        total = row.sum()
        for j in range(J + 1):
            unseen = total
            for c in range(max(1, j - 1), min(J, j + 1) + 1):
                if sees(j, c):
                    unseen -= row[c - 1]
            values[1 + 3 * K + (J + 1) * i + j] = unseen
