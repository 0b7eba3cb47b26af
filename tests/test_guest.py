"""A program that imports and uses dualign finds everything else as it was."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import logging, signal, sys, warnings
import numba, numpy as np

def state():
    loggers = [logging.getLogger(), *(logging.getLogger(name) for name in ("numba", "dualign"))]
    return {
        "numba": {name: value for name, value in vars(numba.config).items() if name.isupper()},
        "numpy errors": np.geterr(),
        "numpy printing": np.get_printoptions(),
        "logging": [(each.level, list(each.handlers), each.propagate, each.disabled) for each in loggers],
        "logging disabled": logging.root.manager.disable,
        "warnings": list(warnings.filters),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "hooks": (sys.excepthook, sys.displayhook, sys.getrecursionlimit(), sys.getswitchinterval()),
        "scipy": sys.modules.get("scipy", "not imported"),
    }

before = state()
STATEMENTS
after = state()
assert after == before, [(name, before[name], after[name]) for name in before if before[name] != after[name]]
"""

IMPORT = "import dualign; [getattr(dualign, name) for name in dualign.__all__]"
USE = """import dualign
pairs = [("das Haus", "the house"), ("ein Buch", "a book")] * 4
aligner = dualign.Aligner(threads=2).fit(pairs)
assert len(aligner.align(pairs)) == 8
"""


@pytest.mark.parametrize("statements", [IMPORT, USE], ids=["import", "use"])
def test_the_host_program_stays_as_it_was(statements):
    subprocess.run([sys.executable, "-c", PROGRAM.replace("STATEMENTS", statements)], check=True, timeout=500)
