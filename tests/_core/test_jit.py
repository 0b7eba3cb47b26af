"""How kernels are compiled and kept."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

from dualign._core import jit
from dualign._core.progress import Watcher, expecting, watched

PROGRAM = """
import numpy as np
from dualign._core.jit import kernel

@kernel
def doubled(x):
    return 2 * x

print(doubled(np.arange(3)).tolist(), sum(getattr(doubled, "_cache_hits", {"plain": -1}).values()))
"""


class Compiled(Watcher):
    def __init__(self):
        self.heard = []

    def compiling(self, *told):
        self.heard.append(told)


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


def test_without_compilation_a_kernel_is_plain_python(tmp_path):
    assert run(tmp_path, NUMBA_DISABLE_JIT="1").stdout.split() == ["[0,", "2,", "4]", "-1"]
    assert entries(tmp_path) == []


def test_a_cache_that_cannot_be_written_is_said_once_and_done_without(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path / "missing")
    jit._say_once.cache_clear()

    @jit.kernel
    def halved(x):
        return x / 2

    assert halved(np.arange(3)).tolist() == [0, 0.5, 1]
    assert halved(np.arange(3.0)).tolist() == [0, 0.5, 1]
    assert caplog.text.count("missing") == 1


class Without:
    """A module, or a class, as another version of Numba may have it: one name is missing."""

    def __init__(self, whole, missing):
        self.whole, self.missing = whole, missing

    def __getattr__(self, name):
        first, _, rest = self.missing.partition(".")
        if name == first and not rest:
            raise AttributeError(name)
        return Without(getattr(self.whole, name), rest) if name == first else getattr(self.whole, name)


@pytest.fixture
def lacking(monkeypatch, tmp_path):
    """Let Numba lack a name; kernels are compiled into a folder of their own."""

    def lack(module, name):
        monkeypatch.setattr(
            jit, "import_module", lambda each: Without(import_module(each), name if each == module else "-")
        )

    monkeypatch.setattr(import_module("numba").config, "CACHE_DIR", str(tmp_path / "plain"))
    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path)
    jit._hooks.cache_clear()
    yield lack
    jit._hooks.cache_clear()


COMPILER_HOOKS = {
    "numba.core.compiler": (
        "CompilerBase",
        "DefaultPassBuilder",
        "CompileResult._find_referenced_environments",
    ),
    "numba.core.compiler_machinery": ("LoweringPass", "register_pass"),
    "numba.core.typed_passes": ("NoPythonBackend",),
    "numba.core.codegen": (
        "JITCodeLibrary",
        "JITCodeLibrary._optimize_final_module",
        "JITCodeLibrary._finalize_final_module",
        "JITCodeLibrary._finalize_dynamic_globals",
        "JITCPUCodegen.set_env",
    ),
}


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in COMPILER_HOOKS.items() for name in names]
)
def test_kernels_work_with_a_numba_whose_compiler_is_another(lacking, tmp_path, module, name):
    lacking(module, name)
    assert jit._hooks() is None
    first_in_sorted, squared_norm = kernels_with_parts()
    assert first_in_sorted(np.array([3, 1, 2])) == 1
    assert squared_norm(np.array([3.0, 4.0])) == 25
    with pytest.raises(ValueError, match="empty"):
        first_in_sorted(np.array([], np.int64))
    kept = [path.name for path in (tmp_path / "plain").rglob("*.nbi")]
    assert sorted(name.split(".")[3] for name in kept) == ["first_in_sorted", "squared_norm"]


def test_kernels_are_compiled_plainly_with_a_numba_whose_dispatchers_have_no_such_cache(lacking, monkeypatch):
    uncached = SimpleNamespace(njit=lambda function: function)
    monkeypatch.setattr(
        jit, "import_module", lambda each: uncached if each == "numba" else import_module(each)
    )
    assert jit._hooks() is None


CACHE_HOOKS = [
    ("numba.core.compiler", "CompileResult._rebuild"),
    ("numba.core.runtime", "rtsys"),
    ("numba.core.serialize", "dumps"),
    ("llvmlite.binding", "parse_assembly"),
]


@pytest.mark.parametrize(("module", "name"), CACHE_HOOKS)
def test_kernels_work_with_a_numba_that_keeps_them_in_another_way(lacking, module, name):
    for _ in range(2):
        jit._hooks()
        lacking(module, name)
        first_in_sorted, squared_norm = kernels_with_parts()
        assert first_in_sorted(np.array([3, 1, 2])) == 1
        assert squared_norm(np.array([3.0, 4.0])) == 25


def kernels_with_parts():
    """Two kernels with parts that allocate, raise errors and read constants, or none of it; made anew."""

    @jit.part
    def ordered(x):
        if len(x) == 0:
            raise ValueError("empty", len(x))
        return np.sort(x)

    @jit.kernel
    def first_in_sorted(x):
        return ordered(x)[0]

    @jit.part(allocates=False)
    def squared(x):
        return x * x

    @jit.kernel
    def squared_norm(x):
        norm = 0.0
        for k in range(len(x)):
            norm += squared(x[k])
        return norm

    return first_in_sorted, squared_norm


def test_parts_stay_plain_functions_and_kernels_call_them(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path)

    @jit.part(allocates=False)
    def squared(x):
        return x * x

    @jit.part
    def squares(x):
        found = np.empty_like(x)
        for k in range(len(x)):
            found[k] = squared(x[k])
        return found

    @jit.kernel
    def total(x):
        return squares(x).sum()

    compiled_squares = jit.kernel(squares)
    assert isinstance(squared, FunctionType)
    assert isinstance(squares, FunctionType)
    assert total(np.arange(4)) == 14
    assert squares(np.arange(4)).tolist() == compiled_squares(np.arange(4)).tolist() == [0, 1, 4, 9]
    assert squared(5) == 25


def test_a_part_is_compiled_once_for_all_its_callers(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path)

    @jit.part
    def innermost(x):
        return x + 1

    @jit.part
    def inner(x):
        return innermost(x) + 1

    @jit.kernel
    def outer(x):
        return inner(x) + innermost(x)

    @jit.kernel
    def other(x):
        return inner(x) * 2

    watcher = Compiled()
    with watched(watcher):
        assert (outer(1), other(1)) == (5, 6)
    heard = sorted(told[2].split("<locals>.")[1].split(".")[0] for told in watcher.heard)
    assert heard == ["inner", "innermost", "other", "outer"]


@jit.kernel
def called_from_python(x):
    return x + 1


def test_a_kernel_that_calls_a_kernel_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path)

    @jit.kernel
    def outer(x):
        return called_from_python(x) + 1

    assert called_from_python(1) == 2
    with pytest.raises(Exception, match="a kernel calls a kernel"):
        outer(1)
    with pytest.raises(RuntimeError, match="closes over a CPUDispatcher"):
        jit.kernel(lambda x: outer(x))


def test_errors_and_constants_of_parts_reach_the_caller(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np\n"
        "from dualign._core.jit import kernel, part\n"
        "CONSTANTS = np.array([3, 7])\n"
        "@part\n"
        "def checked(x):\n"
        "    if x < 0:\n"
        "        raise ValueError('negative')\n"
        "    return x + CONSTANTS[1]\n"
        "@kernel\n"
        "def outer(x):\n"
        "    return checked(x) + 1\n"
        "print(outer(1))\n"
        "try:\n"
        "    outer(-1)\n"
        "except ValueError as error:\n"
        "    print(error.args, sum(outer._cache_hits.values()))\n"
    )
    paths = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    for hits in (0, 1):
        done = subprocess.run([sys.executable, program], env=paths, capture_output=True, text=True)
        assert done.stdout.split("\n")[:2] == ["9", f"('negative',) {hits}"], done.stderr


def test_kernels_that_differ_in_what_they_close_over_have_different_names():
    def make(number):
        @jit.kernel
        def add(x):
            return x + number

        return add

    assert make(1).__qualname__ != make(2).__qualname__
    assert make(1).__qualname__ == make(1).__qualname__


def test_who_watches_hears_what_is_compiled(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path)

    @jit.part
    def inner(x):
        return x + 1

    @jit.kernel
    def outer(x):
        return inner(x) + 1

    watcher = Compiled()
    with watched(watcher), expecting(5):
        outer(1)
    outer(1.0)
    assert [(done, expected) for done, expected, _ in watcher.heard] == [(0, 5), (1, 5)]
    assert watcher.heard[1][2].endswith("inner")


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

    @jit.kernel
    def quadrupled(x):
        return 4 * x

    assert quadrupled(np.arange(3)).tolist() == [0, 4, 8]
    assert list(tmp_path.iterdir()) == []


def test_code_that_holds_addresses_is_not_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path)

    @jit.kernel
    def looked_up(k):
        return LARGE[k]

    assert looked_up(5) == 5
    assert list(tmp_path.iterdir()) == []


LARGE = np.arange(1 << 20)


def test_a_part_that_holds_addresses_is_not_kept_either(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path)

    @jit.part
    def looked_up(k):
        return LARGE[k]

    @jit.kernel
    def twice(k):
        return looked_up(k) + looked_up(k)

    assert twice(5) == 10
    assert list(tmp_path.iterdir()) == []


def test_a_kernel_made_of_parts_depends_on_what_they_are_made_of():
    def make(number):
        @jit.part
        def add(x):
            return x + number

        return add

    def twice(add):
        @jit.kernel
        def apply(x):
            return add(add(x))

        return apply

    first, second = twice(make(1)), twice(make(100))
    assert first._cache.sources != second._cache.sources
    assert (first(10), second(10)) == (12, 210)


def test_a_kernel_must_not_close_over_what_has_no_name():
    table = np.arange(3)
    with pytest.raises(RuntimeError, match="closes over a ndarray"):

        @jit.kernel
        def looked_up(k):
            return table[k]
