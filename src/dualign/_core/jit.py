"""How kernels are compiled and kept: the one home of Numba's options, and of what we use of its internals.

A `kernel` is a hot loop that Python calls. It is compiled when it is first called, releases the GIL, and is
kept on disk. A `part` is called by kernels and by other parts; to Python it stays the function that it is.
A kernel is compiled in one piece with its parts. Left to itself, Numba would optimise and translate each
function with everything below it, and again as part of each of its callers, which takes twice as long.

An entry of the cache is one file, named by a digest of everything that the machine code depends on: the
content of the kernel's file and of every file of ours that it imports, the types of its arguments, the
processor, and the versions of Python and Numba. Numba's own cache looks only at the kernel's file, so it
misses an edit to a part in another one; and it has one folder for a whole process, which belongs to the
program that imports us. Names depend on content alone, never on places or time stamps: a copy of dualign, or
a new installation of the same version, finds what was compiled before.

Numba documents `pipeline_class` and `register_jitable`. The rest that we use of it may change between its
versions: where it has, each function is compiled by itself and kept by Numba's own cache.
"""

from __future__ import annotations

import atexit
import hashlib
import inspect
import logging
import os
import pickle
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import cache, cached_property, partial
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, NoReturn, TypeVar, overload

from dualign._core.errors import UsageError
from dualign._core.files.atomic import Temporary, temporary_folder
from dualign._core.progress import announce

F = TypeVar("F", bound=Callable[..., Any])

# No fastmath: sums keep the order that is written, so that the same input gives the same bits
# however LLVM arranges the code, on whatever processor.
OPTIONS = {"nogil": True, "error_model": "numpy"}

UNUSED = 30 * 24 * 3600.0
"""Seconds after which a file of the cache that nobody has read may be removed."""

PACKAGE = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(rb"^from (dualign[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
_NAME = re.compile(rb"\w+")

temporary_folders: list[Path] = []
"""The folder of kernels that is removed at the end, if there is one."""
_at_exit = ExitStack()
"""Removes it."""

_log = logging.getLogger("dualign")


def kernel(function: F) -> F:
    """Compile a hot loop that Python calls: arrays in, arrays out, no exceptions, no Python objects, no GIL.

    A kernel calls parts, never another kernel. Where Python calls a part `f`, too: `compiled_f = kernel(f)`.
    """
    _name_by_content(function)
    if (hooks := _hooks()) is None:
        return _plainly_compiled(function)
    dispatcher = import_module("numba").njit(**OPTIONS, pipeline_class=hooks[0])(function)
    dispatcher._cache = KernelCache(function)
    # Looking for extensions of Numba takes time at every start; compilation does so anyway.
    dispatcher._compilation_chain_init_hook = _do_nothing
    dispatcher.get_call_template = _refuse
    return dispatcher


@overload
def part(function: F) -> F: ...
@overload
def part(*, allocates: bool) -> Callable[[F], F]: ...
def part(function: Any = None, *, allocates: bool = True) -> Any:
    """Let kernels call a function; Python goes on calling it as it is.

    Use `allocates=False` for a part that is called very often and creates no arrays (views do not count). It
    then skips the reference counting of its arguments, which can cost more than the call itself.
    """
    if function is None:
        return partial(part, allocates=allocates)
    _name_by_content(function)
    options: dict[str, Any] = OPTIONS | {"_nrt": allocates}
    if (hooks := _hooks()) is not None:
        # It is the compiler that leaves out the wrapper. Were that an option, Numba would compile a part
        # again for callers with other options, and kernels have a wrapper.
        options |= {"pipeline_class": hooks[1], "no_cpython_wrapper": False}
    return import_module("numba.extending").register_jitable(**options)(function)


def _plainly_compiled(function: F) -> F:
    """The same kernel by what Numba documents, for versions whose internals are not those we know."""
    njit = import_module("numba").njit
    function.__qualname__ += f".{_digest(_sources(function))[:8]}"  # Numba looks at the kernel's file alone
    try:
        return njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # Numba finds no place to write to
        return njit(**OPTIONS)(function)


def _name_by_content(function: Any) -> None:
    """Give a closure a name of its own: code finds what it calls by name, in other processes' code, too."""
    if function.__closure__:
        function.__qualname__ += f".{_digest(_sources(function))[:8]}"


def _do_nothing() -> None:
    pass


def _refuse(arguments: Any, keywords: Any) -> NoReturn:
    # What is kept of a kernel, only Python can call.
    raise TypeError("a kernel calls a kernel; make that a part")


@cache
def _hooks() -> tuple[Any, Any] | None:
    """The compilers of kernels and of parts; None if what they need of Numba is missing."""
    try:
        import_module("numba")
    except ValueError as error:  # Numba reads its settings when it is imported
        what = "Numba refuses the settings in the environment ({error}); look at the variables NUMBA_…"
        raise UsageError(what, error=str(error).rstrip(".")) from None
    try:
        return _compilers()
    except (AttributeError, ImportError, TypeError):
        _log.debug("kernels are compiled function by function", exc_info=True)
        return None


def _compilers() -> tuple[Any, Any]:
    compiling, machinery, code = (
        import_module(f"numba.core.{name}") for name in ("compiler", "compiler_machinery", "codegen")
    )
    # What is missing shows here, not when a kernel is compiled.
    backend = import_module("numba.core.typed_passes").NoPythonBackend
    nopython_passes = compiling.DefaultPassBuilder.define_nopython_pipeline
    environments_of = compiling.CompileResult._find_referenced_environments
    set_environment = code.JITCPUCodegen.set_env
    usual = code.JITCodeLibrary
    find_globals = usual._finalize_dynamic_globals
    if not all(hasattr(usual, name) for name in ("_optimize_final_module", "_finalize_final_module")):
        raise AttributeError("libraries are finished in another way")
    import_module("numba").njit(_do_nothing)._cache.load_overload  # noqa: B018

    class PartLibrary(usual):  # type: ignore[misc, valid-type]
        """The code of a part: it is optimised and translated in the kernels that call it."""

        def _optimize_final_module(self) -> None:
            """Left to the kernel's own library."""

        def _finalize_final_module(self) -> None:
            find_globals(self)
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            return 0

        @property
        def codegen(self) -> Any:
            return self

        def set_env(self, name: str, environment: Any) -> None:
            """Left to the kernel, whose code is the one that has an address."""

    @machinery.register_pass(mutates_CFG=False, analysis_only=True)
    class SetEnvironments(machinery.LoweringPass):  # type: ignore[misc, name-defined]
        """Hands the parts of a kernel the constants that they refer to."""

        _name = "dualign_set_environments"

        def __init__(self) -> None:
            super().__init__()

        def run_pass(self, state: Any) -> bool:
            for environment in environments_of(state.cr):
                set_environment(state.cr.codegen, environment.env_name, environment)
            return False

    class KernelCompiler(compiling.CompilerBase):  # type: ignore[misc, name-defined]
        """Compiles a kernel in one piece with its parts."""

        def define_pipelines(self) -> list[Any]:
            announce(self.state.func_id.func_qualname)
            self.state.flags.no_cfunc_wrapper = True
            passes = nopython_passes(self.state)
            passes.add_pass_after(SetEnvironments, backend)
            passes.finalize()
            return [passes]

    class PartCompiler(compiling.CompilerBase):  # type: ignore[misc, name-defined]
        """Compiles a part as far as its callers need it."""

        def define_pipelines(self) -> list[Any]:
            name = self.state.func_id.func_qualname
            announce(name)
            self.state.flags.no_cpython_wrapper = self.state.flags.no_cfunc_wrapper = True
            self.state.library = PartLibrary(self.state.targetctx.codegen(), name)
            return [nopython_passes(self.state)]

    return KernelCompiler, PartCompiler


class KernelCache:
    """One file for each kernel and types of its arguments, with a digest in front of the content."""

    def __init__(self, function: Any) -> None:
        stem = Path(inspect.getfile(function)).stem
        self.name = f"{stem}.{function.__qualname__}".replace("<", "").replace(">", "")
        self.function = function

    @cached_property
    def sources(self) -> list[str]:
        return _sources(self.function)

    @property
    def cache_path(self) -> str:
        """The folder, which Numba shows in statistics."""
        return str(kernel_folder())

    def path(self, signature: Any, codegen: Any) -> Path:
        depends = self.sources, self.name, str(signature), codegen.magic_tuple(), versions()
        return kernel_folder() / f"{self.name}-{_digest(depends)[:24]}"

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled kernel, or None if it has to be compiled, whatever is wrong with the cache."""
        # Numba would first import its implementation of all of NumPy, 0.4 to 0.7 s at every start of the
        # program. Machine code needs none of it but the memory allocator; if not, all of it is loaded.
        for prepare in (_start_allocator, lambda context: context.refresh()):
            try:
                path = self.path(signature, target_context.codegen())
                digest, data = (content := path.read_bytes())[:32], content[32:]
                if hashlib.sha256(data).digest() != digest:
                    return None
                prepare(target_context)
                result = import_module("numba.core.compiler").CompileResult
                return result._rebuild(target_context, *pickle.loads(data))
            except OSError:
                return None
            except Exception:
                _log.debug("%s: cannot be loaded", self.name, exc_info=True)
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a compiled kernel; where that cannot be done, say so once and go on without."""
        temporary = None
        try:
            if compiled.lifted or compiled.library.has_dynamic_globals:
                return  # its code holds addresses of this process
            library, *rest, environments = compiled._reduce()
            library = _without_bitcode(library, compiled.fndesc.llvm_cpython_wrapper_name)
            # Environments hold constants. Those without any would still import the module they are from.
            kept = library, *rest, tuple(each for each in environments if each.consts)
            data = import_module("numba.core.serialize").dumps(kept)
            path = self.path(signature, compiled.codegen)
            temporary = Temporary(str(path))
            with temporary.file as file:
                file.write(hashlib.sha256(data).digest() + data)
            temporary.rename()
        except BaseException as error:
            if temporary is not None:
                temporary.remove()
            if not isinstance(error, Exception):
                raise
            reason = getattr(error, "strerror", None) or error
            _say_once(f"{kernel_folder()}: compiled kernels cannot be kept there ({reason})")


def _without_bitcode(library: Any, symbol: str) -> Any:
    """What Numba keeps of a library, without the code that callers would be compiled with.

    A kernel has no compiled callers. Reading that code would take longer than all else at every start; all
    that is asked of it is whether the function has that name.
    """
    name, kind, (machine_code, _) = library
    module = import_module("llvmlite.binding").parse_assembly(f'define void @"{symbol}"() {{ ret void }}')
    return name, kind, (machine_code, module.as_bitcode())


def _start_allocator(target_context: Any) -> None:
    import_module("numba.core.runtime").rtsys.initialize(target_context)


@cache
def _say_once(message: str) -> None:
    _log.warning(message)


@cache
def kernel_folder() -> Path:
    """Where compiled kernels are kept: in `NUMBA_CACHE_DIR` if that is set, else in the user's cache.

    A folder that can only be read will do if there are kernels in it. Where there is no folder at all, a
    temporary one serves this process and those that it starts, and is removed in the end.
    """
    for place in _places():
        with suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):
            if os.access(place, os.W_OK | os.X_OK) or any(place.iterdir()):
                return place
    # Not a fixed name in a folder that others may write to: whatever is found there will be run.
    root = Path(_at_exit.enter_context(temporary_folder()))
    temporary_folders.append(root)
    (place := root / "dualign").mkdir()
    atexit.register(remove_temporary_kernels)
    _log.warning(
        "no folder to keep compiled kernels in, so every run compiles them again; "
        "set HOME or NUMBA_CACHE_DIR to a folder that can be written"
    )
    return place


def _places() -> Iterator[Path]:
    """The folders to try, in this order."""
    if root := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(root) / "dualign"
    if root := os.environ.get("XDG_CACHE_HOME"):
        yield Path(root) / "dualign" / "kernels"
    variable, below = {
        "win32": ("LOCALAPPDATA", "dualign/Cache"),
        "darwin": ("HOME", "Library/Caches/dualign"),
    }.get(sys.platform, ("HOME", ".cache/dualign"))
    if root := os.environ.get(variable):
        yield Path(root) / below / "kernels"


def with_kernel_folder(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that keeps its kernels where this one does."""
    kernel_folder()
    return dict(environment) | ({"NUMBA_CACHE_DIR": str(temporary_folders[0])} if temporary_folders else {})


def remove_temporary_kernels() -> None:
    """Remove the temporary folder, if there is one; what is loaded stays usable."""
    _at_exit.close()


def remove_unused() -> None:
    """Remove what has not been read for a month: kernels of other versions of dualign, Numba or Python."""
    folder = kernel_folder()
    former = folder.parent.glob("kernels-*/**/*") if folder.name == "kernels" else ()
    files = []
    for path in (*folder.iterdir(), *former):
        with suppress(OSError):  # another process may do the same
            if path.is_file():
                files.append((path, path.stat()))
    last = max((status.st_mtime for _, status in files), default=0.0)
    for path, status in files:
        if max(status.st_atime, status.st_mtime) < last - UNUSED:
            with suppress(OSError):
                path.unlink()


def not_compiled(jobs: Iterable[str]) -> dict[str, Path]:
    """Those of the jobs whose kernels are not known to be there, for this state of our sources; and the empty
    file of each that will say so."""
    marks = {
        job: kernel_folder() / f"{job}-compiled-{_digest((job, versions(), _state()))[:24]}" for job in jobs
    }
    return {job: mark for job, mark in marks.items() if not mark.exists()}


@cache
def _state() -> list[tuple[str, int, int]]:
    """Places, sizes and times of our sources. Where only these have changed, all is found in the cache."""
    found = []
    for folder, _, names in os.walk(PACKAGE):
        paths = (os.path.join(folder, name) for name in names if name.endswith(".py"))
        found += [(path, (status := os.stat(path)).st_mtime_ns, status.st_size) for path in paths]
    return sorted(found)


@cache
def versions() -> tuple[Any, ...]:
    """What all kernels depend on, beside their sources and the processor."""
    numba, llvmlite = import_module("numba"), import_module("llvmlite")
    return sys.version_info[:3], numba.__version__, llvmlite.__version__, numba.config.BOUNDSCHECK


def _digest(depends: Any) -> str:
    return hashlib.sha256(repr(depends).encode()).hexdigest()


def _sources(function: Any) -> list[str]:
    """What a kernel depends on: its file, and for one made of parts, what these depend on."""
    file = inspect.getfile(function)
    found = [Path(file).stem, function.__qualname__, sources_digest(file)]
    for cell in function.__closure__ or ():
        value = cell.cell_contents
        if isinstance(value, FunctionType):
            found += _sources(value)
        elif isinstance(value, bool | int | float | str):
            found.append(repr(value))
        else:
            raise RuntimeError(f"{function.__qualname__} closes over a {type(value).__name__}: not cacheable")
    return found


@cache
def sources_digest(path: str) -> str:
    """A digest of a file's content and of all modules of dualign that it imports, directly or not."""
    found: dict[str, bytes] = {}
    waiting = [path]
    while waiting:
        if (each := waiting.pop()) not in found:
            found[each], imports = digest_and_imports(each)
            waiting += imports
    digest = hashlib.sha256()
    for content in sorted(found.values()):
        digest.update(content)
    return digest.hexdigest()


@cache
def digest_and_imports(path: str) -> tuple[bytes, tuple[str, ...]]:
    """The digest of one file, and the files of ours that it imports by `from dualign… import` at its top."""
    content = Path(path).read_bytes()
    files = []
    for match in _IMPORT.finditer(content):
        module = PACKAGE.joinpath(*match[1].decode().split(".")[1:])
        if (file := module.with_suffix(".py")).is_file():
            files.append(str(file))
        else:
            names = (module / f"{name.decode()}.py" for name in _NAME.findall(match[2]))
            files += [str(name) for name in (module / "__init__.py", *names) if name.is_file()]
    return hashlib.sha256(content).digest(), tuple(files)
