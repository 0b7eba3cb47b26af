"""How kernels are compiled and kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dualign._core import jit
from dualign._core.compile_watch import expecting, watched

PROGRAM = """
import numpy as np
from dualign._core.jit import kernel

@kernel()
def doubled(x):
    return 2 * x

print(doubled(np.arange(3)).tolist(), sum(doubled._cache_hits.values()))
"""


def run(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    return subprocess.run(
        [sys.executable, str(program)],
        env={
            "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
            "PYTHONPATH": os.pathsep.join(sys.path),
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )


def entries(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "dualign").glob("program.doubled-*"))


def test_a_kernel_is_compiled_once_and_loaded_afterwards(tmp_path):
    assert run(tmp_path).stdout.split() == ["[0,", "2,", "4]", "0"]
    assert run(tmp_path).stdout.split() == ["[0,", "2,", "4]", "1"]
    assert len(entries(tmp_path)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_a_damaged_entry_is_compiled_again(tmp_path, damage):
    run(tmp_path)
    (entry,) = entries(tmp_path)
    whole = entry.read_bytes()
    entry.write_bytes(whole[:-10] + bytes(10) if damage is None else damage)
    done = run(tmp_path)
    assert (done.returncode, done.stdout.split()[-1]) == (0, "0")
    assert run(tmp_path).stdout.split()[-1] == "1"


@pytest.mark.slow
def test_bounds_checks_have_entries_of_their_own(tmp_path):
    run(tmp_path)
    run(tmp_path, NUMBA_BOUNDSCHECK="1")
    assert len(entries(tmp_path)) == 2


def test_a_cache_that_cannot_be_written_is_said_once_and_done_without(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path / "missing")
    jit._say_once.cache_clear()

    @jit.kernel()
    def halved(x):
        return x / 2

    assert halved(np.arange(3)).tolist() == [0, 0.5, 1]
    assert halved(np.arange(3.0)).tolist() == [0, 0.5, 1]
    assert caplog.text.count("missing") == 1


def test_kernels_work_without_the_internals_of_numba(monkeypatch):
    def missing():
        raise AttributeError("no such part")

    monkeypatch.setattr(jit, "_cache_class", missing)

    @jit.kernel()
    def tripled(x):
        return 3 * x

    assert tripled(np.arange(3)).tolist() == [0, 3, 6]


@pytest.mark.parametrize("whole", [True, False])
def test_kernels_call_each_other_in_one_piece_or_not(monkeypatch, tmp_path, whole):
    from numba.core import compiler

    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path)
    monkeypatch.setattr(jit._pieces(), "whole", True)
    if not whole:
        compile_extra = compiler.compile_extra

        def changed(*args, library=None, **kwargs):
            if library is not None:
                raise AttributeError("no such part")
            return compile_extra(*args, **kwargs)

        monkeypatch.setattr(compiler, "compile_extra", changed)

    @jit.kernel(allocates=False)
    def squared(x):
        return x * x

    @jit.kernel()
    def squares(x):
        found = np.empty_like(x)
        for k in range(len(x)):
            found[k] = squared(x[k])
        return found

    @jit.kernel()
    def total(x):
        return squares(x).sum()

    assert total(np.arange(4)) == 14
    assert jit._pieces().whole == whole
    assert len(squares.overloads) == (0 if whole else 1)  # callable from Python only if Python calls it
    assert squares(np.arange(4)).tolist() == [0, 1, 4, 9]
    assert squared(5) == 25


def test_errors_and_constants_of_parts_reach_the_caller(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path)

    @jit.kernel()
    def checked(x):
        if x < 0:
            raise ValueError("negative", x)
        return x + CONSTANTS[1]

    @jit.kernel()
    def outer(x):
        return checked(x) + 1

    assert outer(1) == 9
    with pytest.raises(ValueError, match="negative"):
        outer(-1)


CONSTANTS = np.array([3, 7])


def test_kernels_that_differ_in_what_they_close_over_have_different_names():
    def make(number):
        @jit.kernel()
        def add(x):
            return x + number

        return add

    assert make(1).__qualname__ != make(2).__qualname__
    assert make(1).__qualname__ == make(1).__qualname__


def test_who_watches_hears_what_is_compiled(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path)

    @jit.kernel()
    def inner(x):
        return x + 1

    @jit.kernel()
    def outer(x):
        return inner(x) + 1

    heard = []
    with watched(lambda *told: heard.append(told)), expecting(5):
        outer(1)
    outer(1.0)
    assert [(done, expected) for done, expected, _ in heard] == [(0, 5), (1, 5)]
    assert heard[1][2].endswith("inner")


def test_importing_the_kernels_leaves_numba_as_it_was():
    program = (
        "import numba, sys; before = dict(vars(numba.config)); import dualign.decode.choosing\n"
        "assert dict(vars(numba.config)) == before"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_kernels_work_where_the_internals_of_numba_have_changed_after_all(monkeypatch, tmp_path):
    from numba.core.codegen import CPUCodegen

    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path)
    monkeypatch.delattr(CPUCodegen, "magic_tuple")

    @jit.kernel()
    def quadrupled(x):
        return 4 * x

    assert quadrupled(np.arange(3)).tolist() == [0, 4, 8]
    assert list(tmp_path.iterdir()) == []


def test_code_that_holds_addresses_is_not_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path)

    @jit.kernel()
    def looked_up(k):
        return LARGE[k]

    assert looked_up(5) == 5
    assert list(tmp_path.iterdir()) == []


LARGE = np.arange(1 << 20)


def test_a_kernel_made_of_others_depends_on_what_they_are_made_of():
    def make(number):
        @jit.kernel()
        def add(x):
            return x + number

        return add

    def twice(part):
        @jit.kernel()
        def apply(x):
            return part(part(x))

        return apply

    first, second = twice(make(1)), twice(make(100))
    assert first._cache.sources != second._cache.sources
    assert (first(10), second(10)) == (12, 210)


def test_a_kernel_must_not_close_over_what_has_no_name():
    table = np.arange(3)
    with pytest.raises(RuntimeError, match="closes over a ndarray"):

        @jit.kernel()
        def looked_up(k):
            return table[k]
