"""How kernels are compiled and kept: the one home of Numba's options, and of what we use of its internals.

Kernels are compiled when they are first called, release the GIL, and are kept on disk in a cache of our own.
An entry of the cache is named after everything that its machine code depends on: the content of the kernel's
file and of every file of ours that it imports, the types of its arguments, the processor, and the versions of
Python and Numba. Numba's own cache looks only at the time stamp of the kernel's file, so it misses an edit to
a kernel that is called from another file; and it has one folder for a whole process, which belongs to the
program that imports us.

A kernel that Python calls is compiled in one piece with all that it calls. Numba would optimise and translate
each function with everything below it, and again as part of each of its callers, and it would make each of
them callable from Python: more than half of the time.

All this needs parts of Numba that may change between its versions. Where they have, kernels are compiled
function by function (`_Pieces`), or fall back on Numba's own cache (`_plainly_compiled`).
"""

from __future__ import annotations

import hashlib
import inspect
import logging
import pickle
import sys
from collections.abc import Callable
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from dualign._core.compile_watch import announce
from dualign._core.files.atomic import Temporary
from dualign._core.kernel_folder import kernel_folder, sources_digest

F = TypeVar("F", bound=Callable[..., Any])

_log = logging.getLogger("dualign")


def kernel(*, allocates: bool = True) -> Callable[[F], F]:
    """Compile a hot loop: arrays in, arrays out, no exceptions, no Python objects, no GIL.

    Use `allocates=False` for a part of a kernel that is called very often and creates no arrays (views do not
    count). It then skips the reference counting of its arguments, which can cost more than the call itself.
    Such parts are cached with the kernels that call them, not on their own.
    """
    numba = import_module("numba")
    # No fastmath: sums keep the order that is written, so that the same input gives the same bits
    # however LLVM arranges the code, on whatever processor.
    options = {"nogil": True, "error_model": "numpy"}

    def compiled(function: F) -> F:
        try:
            if function.__closure__:
                # Code finds what it calls by name, also what another process has compiled.
                function.__qualname__ += f".{_digest(_sources(function))[:8]}"
            dispatcher = numba.njit(**options, _nrt=allocates)(function)
            if dispatcher is not function:
                pieces = _pieces()
                dispatcher.__class__ = pieces.kernel
                dispatcher._compiler.__class__ = pieces.compiler
                if allocates:
                    dispatcher._cache = _cache_class()(function)
        except (AttributeError, ImportError, KeyError, OSError, TypeError):
            return _plainly_compiled(function, options)
        return dispatcher

    return compiled


def _plainly_compiled(function: F, options: dict[str, Any]) -> F:
    """The same kernel by what Numba documents, for versions whose internals are not those we know."""
    numba = import_module("numba")
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # Numba finds no place to write to
        return numba.njit(**options)(function)


class _Pieces:
    """Classes of Numba's, changed so that a kernel is compiled in one piece with all that it calls.

    `kernel` is the class of its dispatcher, `compiler` that of the dispatcher's compiler; `part` holds the
    code of a function that is called by the kernel: it is neither optimised as a whole nor translated.
    """

    whole = True
    """False once something has gone wrong: every function is then compiled by itself, as is Numba's way."""

    def __init__(self) -> None:
        numba = import_module("numba")
        compiling = import_module("numba.core.compiler")
        entry_points = import_module("numba.core.entrypoints")
        dispatcher_class = import_module("numba.core.registry").CPUDispatcher
        usual_library = import_module("numba.core.codegen").JITCodeLibrary
        pieces = self

        class Part(usual_library):  # type: ignore[misc, valid-type]
            """The code of a function that will be optimised and translated in its callers."""

            def _optimize_final_module(self) -> None:
                """Left to the kernel's own library."""

            def _finalize_final_module(self) -> None:
                self._finalize_dynamic_globals()
                self._verify_declare_only_symbols()
                self._finalized = True

            def get_pointer_to_function(self, name: str) -> int:
                self._ensure_finalized()
                return 0

            @property
            def codegen(self) -> Any:
                return self

            def set_env(self, name: str, environment: Any) -> None:
                """Left to the kernel, whose code is the one that has an address."""

        class Announced(import_module("numba.core.dispatcher")._FunctionCompiler):  # type: ignore[misc]
            """Compiles a part."""

            def _compile_core(self, args: Any, return_type: Any) -> Any:
                announce(self.py_func.__qualname__)
                return super()._compile_core(args, return_type)

        class Compiler(Announced):
            """Compiles a kernel that Python calls."""

            def _compile_core(self, args: Any, return_type: Any) -> Any:
                entry_points.init_all()
                if pieces.whole:
                    try:
                        return self._in_one_piece(args, return_type)
                    except numba.core.errors.NumbaError:
                        raise
                    except Exception:
                        _log.debug("%s: not in one piece", self.py_func.__qualname__, exc_info=True)
                        pieces.whole = False
                return super()._compile_core(args, return_type)

            def _in_one_piece(self, args: Any, return_type: Any) -> Any:
                announce(self.py_func.__qualname__)
                flags = compiling.Flags()
                self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
                context = self.targetdescr.target_context
                codegen = context.codegen()
                library = codegen.create_library(self.py_func.__qualname__)
                library.enable_object_caching()
                codegen._library_class = Part  # Numba's lock for compilation is held
                try:
                    result = compiling.compile_extra(
                        self.targetdescr.typing_context,
                        context,
                        self.py_func,
                        args=args,
                        return_type=return_type,
                        flags=flags,
                        locals=self.locals,
                        library=library,
                        pipeline_class=self.pipeline_class,
                    )
                finally:
                    del codegen._library_class
                if result.typing_error is not None:
                    raise result.typing_error
                for environment in result._find_referenced_environments():
                    codegen.set_env(environment.env_name, environment)
                return result

        class Kernel(dispatcher_class):  # type: ignore[misc, valid-type]
            """A kernel for Python; where other kernels call it, it is a part of theirs."""

            _part = None

            def part(self) -> Any:
                if self._part is None:
                    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
                    self._part = dispatcher_class(self.py_func, {}, self.targetoptions | options)
                    self._part._compiler.__class__ = Announced
                return self._part

            def get_call_template(self, args: Any, kws: Any) -> Any:
                if pieces.whole:
                    return self.part().get_call_template(args, kws)
                return super().get_call_template(args, kws)

            def get_overload(self, sig: Any) -> Any:
                return self.part().get_overload(sig) if pieces.whole else super().get_overload(sig)

            def _compilation_chain_init_hook(self) -> None:
                """Looking for extensions of Numba takes time at every start; only compilation needs them."""

            @property
            def _reduce_class(self) -> Any:
                return dispatcher_class

        self.kernel, self.compiler, self.part = Kernel, Compiler, Part


@cache
def _pieces() -> _Pieces:
    return _Pieces()


@cache
def _cache_class() -> Any:
    """The class of kernels' caches, in terms of Numba's internals."""
    caching = import_module("numba.core.caching")
    dumps = import_module("numba.core.serialize").dumps
    result = import_module("numba.core.compiler").CompileResult
    rebuild, reduce = result._rebuild, result._reduce

    class KernelCache(caching._Cache):  # type: ignore[misc, name-defined]
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
            return str(kernel_folder())

        def path(self, signature: Any, codegen: Any) -> Path:
            processor, whole = codegen.magic_tuple(), _pieces().whole
            depends = self.sources, self.name, str(signature), processor, versions(), whole
            return kernel_folder() / f"{self.name}-{_digest(depends)[:24]}"

        def load_overload(self, signature: Any, target_context: Any) -> Any:
            """The compiled kernel, or None if it has to be compiled, whatever is wrong with the cache."""
            # Numba would first import its implementation of all of NumPy, 0.4 to 0.7 s at every start of the
            # program. Machine code needs none of it but the memory allocator; if not, all of it is loaded.
            for prepare in (_start_allocator, _refresh):
                try:
                    path = self.path(signature, target_context.codegen())
                    digest, data = (content := path.read_bytes())[:32], content[32:]
                    if hashlib.sha256(data).digest() != digest:
                        return None
                    prepare(target_context)
                    return rebuild(target_context, *pickle.loads(data))
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
                library, *rest, environments = reduce(compiled)
                if _pieces().whole:
                    library = _without_bitcode(library, compiled.fndesc.llvm_cpython_wrapper_name)
                # Environments hold constants. Those without any would still import the module they are from.
                data = dumps((library, *rest, tuple(each for each in environments if each.consts)))
                path = self.path(signature, compiled.codegen)
                temporary = Temporary(str(path.parent))
                with temporary.file as file:
                    file.write(hashlib.sha256(data).digest() + data)
                temporary.rename(str(path))
            except BaseException as error:
                if temporary is not None:
                    temporary.remove()
                if not isinstance(error, Exception):
                    raise
                reason = getattr(error, "strerror", None) or error
                _say_once(f"{kernel_folder()}: compiled kernels cannot be kept there ({reason})")

        def enable(self) -> None:
            """Always on."""

        def disable(self) -> None:
            """Always on."""

        def flush(self) -> None:
            """Nothing is held back."""

    return KernelCache


def _without_bitcode(library: Any, symbol: str) -> Any:
    """What Numba keeps of a library, without the code that callers would be compiled with.

    Callers have parts of their own. Reading that code would take longer than all else at every start; all
    that is asked of it is whether the function has that name.
    """
    name, kind, (machine_code, _) = library
    module = import_module("llvmlite.binding").parse_assembly(f'define void @"{symbol}"() {{ ret void }}')
    return name, kind, (machine_code, module.as_bitcode())


def _start_allocator(target_context: Any) -> None:
    import_module("numba.core.runtime").rtsys.initialize(target_context)


def _refresh(target_context: Any) -> None:
    target_context.refresh()


def _sources(function: Any) -> list[str]:
    """What a kernel depends on: its file, and for one made of others, what these depend on."""
    file = inspect.getfile(function)
    found = [Path(file).stem, function.__qualname__, sources_digest(file)]
    for cell in function.__closure__ or ():
        value = cell.cell_contents
        if (part := getattr(value, "py_func", None)) is not None:
            found += _sources(part)
        elif isinstance(value, bool | int | float | str):
            found.append(repr(value))
        else:
            raise RuntimeError(f"{function.__qualname__} closes over a {type(value).__name__}: not cacheable")
    return found


def _digest(depends: Any) -> str:
    return hashlib.sha256(repr(depends).encode()).hexdigest()


@cache
def versions() -> tuple[Any, ...]:
    """What all kernels depend on, beside their sources and the processor."""
    numba, llvmlite = import_module("numba"), import_module("llvmlite")
    return sys.version_info[:3], numba.__version__, llvmlite.__version__, numba.config.BOUNDSCHECK


@cache
def _say_once(message: str) -> None:
    _log.warning(message)
