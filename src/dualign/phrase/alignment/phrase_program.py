"""Phrase alignment as an integer program, solved by HiGHS (DeNero & Klein 2008, §4.2).

max Σ w_a a     s.t.  (1) Σ_{spans over x} e = 1 for each source word x     (3) e_ij = Σ_{links on ij} a
                      (2) Σ_{spans over y} f = 1 for each target word y     (4) f_kl = Σ_{links on kl} a
"""

from __future__ import annotations

import math

import numpy as np

from dualign.core.clocks import Clock
from dualign.phrase.alignment.found import Found, tolerance_of
from dualign.phrase.alignment.weighted import WeightedPair
from dualign.search.certificate import PRECISION
from dualign.search.highs import Program, fits

ENTRIES = 3
"""Entries of the program for each link, about."""


def solve_program(pair: WeightedPair, clock: Clock) -> Found:
    """The best alignment by HiGHS, with its bound; none, and ∞, if there is no time to build the program."""
    if not fits(ENTRIES * len(pair.weights), clock.left):
        return Found(None, math.inf, max(PRECISION, tolerance_of(pair)), 0)
    program = Program()
    links = program.add_variables(pair.weights, whole=True)
    sides = [np.unique(spans, axis=0, return_inverse=True) for spans in np.hsplit(pair.spans, 2)]
    variables = [program.add_variables(np.zeros(len(spans)), whole=True) for spans, _ in sides]
    lengths = pair.source_length, pair.target_length
    for length, (spans, _), chosen in zip(lengths, sides, variables, strict=True):
        words = program.add_constraints(np.ones(length), np.ones(length))
        sizes = spans[:, 1] - spans[:, 0]
        number = np.repeat(np.arange(len(spans)), sizes)
        within = np.arange(len(number)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        program.add_entries(words[spans[number, 0] + within], chosen[number], 1.0)
    for (_, span_of), chosen in zip(sides, variables, strict=True):
        rows = program.add_constraints(np.zeros(len(chosen)), np.zeros(len(chosen)))
        program.add_entries(rows[span_of.ravel()], links, 1.0)
        program.add_entries(rows, chosen, -1.0)
    solved = program.solve(clock.left)
    used = None if solved.values is None else np.flatnonzero(solved.values[: len(links)] > 0.5)
    return Found(used, solved.bound, max(PRECISION, tolerance_of(pair)), solved.nodes)
