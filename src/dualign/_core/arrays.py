"""Names for the types that kernels and their callers share."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
"""An array whose dtype and shape the docstring states."""

Rows = Any
"""An array (rows, …) of a kernel, or a tuple of its rows, where these do not follow one another in memory."""
