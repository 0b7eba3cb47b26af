"""How kernels are compiled."""

from __future__ import annotations

import sys

from dualign.core import jit


def test_only_the_first_import_of_numba_hides_scipy(monkeypatch):
    jit.kernel()  # the first, if no other test was
    monkeypatch.delitem(sys.modules, "scipy", raising=False)
    seen = []
    monkeypatch.setattr(jit, "import_module", lambda name: seen.append("scipy" in sys.modules))
    jit.compiler()
    assert seen == [False]
