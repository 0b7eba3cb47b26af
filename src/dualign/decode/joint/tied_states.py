"""The states of a chain that knows its links' counterparts (docs/agreement.md).

A row i that picks column j > 0 is in one of 16 states (u, S):

- S ⊆ {−1, 0, 1}: the offsets k for which the counterpart y(i, j + k) is chosen, links of the other direction
  that this row supports;
- u: where the support of the row's own link is, y(i + u, j) = 1, u ∈ {−1, 0, 1}, or nowhere (`NONE`, soft
  agreement only). A column holds one y, so u = 0 ⇔ 0 ∈ S.

Neighbouring rows must agree. With d = j − j' for row i − 1 in column j': u = −1 ⇔ d ∈ S',
u' = +1 ⇔ −d ∈ S (if |d| ≤ 1: otherwise the link lies outside the other row's window), and no column is in
both sets.
"""

from __future__ import annotations

import numpy as np

NONE = 2
"""Support u of a link that has none."""

_STATES = [(0, S) for S in range(8) if S & 2] + [(u, S) for u in (-1, 1, NONE) for S in range(8) if not S & 2]
STATES = len(_STATES)

SUPPORT = np.array([u for u, _ in _STATES])
"""int64 (16): u of each state."""

OFFSETS = np.array([[S >> (k + 1) & 1 for k in (-1, 0, 1)] for _, S in _STATES])
"""int64 (16, 3): whether −1, 0, 1 are in S."""


def _fits(d: int, before: int, state: int) -> bool:
    support, chosen = int(SUPPORT[state]), {k for k in (-1, 0, 1) if OFFSETS[state][k + 1]}
    support_before, chosen_before = (int(SUPPORT[before]), {k for k in (-1, 0, 1) if OFFSETS[before][k + 1]})
    if abs(d) <= 1 and ((support == -1) != (d in chosen_before) or (support_before == 1) != (-d in chosen)):
        return False
    return not any(k - d in chosen for k in chosen_before)


FITS = np.array([[[_fits(d, p, s) for s in range(STATES)] for p in range(STATES)] for d in (-2, -1, 0, 1, 2)])
"""bool (5, 16, 16): whether the state may follow the state before it, d − 2 columns further on."""
