"""What is compiled ahead can be run: a mistake in it would be silent, and every start slow."""

from __future__ import annotations

import pytest

from dualign.jobs import warming


@pytest.mark.parametrize("name", ["others", "chains", "matchings", "agreement", "extraction", "phrases"])
def test_kernels_are_compiled_ahead_without_an_error(name):
    warming._compile(name)
