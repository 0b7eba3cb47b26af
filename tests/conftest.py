"""One profile for every property test: the same examples on every run, and no clock."""

from __future__ import annotations

from hypothesis import settings

# Kernels compile when first called, which no deadline allows for.
settings.register_profile("dualign", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("dualign")
