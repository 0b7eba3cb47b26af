"""Defaults that the help texts of the command line mention; they stand apart from what imports NumPy."""

from __future__ import annotations

PAIRS = 10_000
"""Sentence pairs of the synthetic text that `bench` measures on."""

PORT = 8017
"""The port of the local page, if it is free."""

SERVICE_PORT = 8018
"""The port of the alignment server."""

RARE = 4
"""The most occurrences of a rare word: less than five, as in Graça et al. 2010."""

POSITIONS = ("tokens", "words", "characters")
"""What the links of raw text can be on."""
