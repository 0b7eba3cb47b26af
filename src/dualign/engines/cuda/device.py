"""The graphics card: whether there is one, its memory, kernels for it. The one home of numba's CUDA target.

Kernels of the processor that allocate nothing can be called by those of the card. With
`NUMBA_ENABLE_CUDASIM=1` numba simulates a card, whose memory is then the program's own.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import numpy.typing as npt

from dualign._core.arrays import Array
from dualign._core.errors import DualignError, UsageError
from dualign._core.jit import kernel_folder, sources_digest
from dualign._core.memory import as_bytes, in_words

_log = logging.getLogger("dualign")

OLDEST_DRIVER = (12, 0)
"""CUDA version that a driver must know, at least."""

SHARE = 0.85
"""Of the memory that is free on the card, what is used unless a budget is given."""

REGISTERS = 128
"""Of a thread, at most: with more, too few threads would be under way at the same time."""

ERRORS = (
    "CudaSupportError", "CudaAPIError", "CudaDriverError", "CUDAError", "NvvmSupportError", "LinkerError",
)  # fmt: skip
"""Names of exceptions that are the card's."""

INSTEAD = ", or choose cpu as the device"

FAILURES = (
    (("NO_DEVICE", "no CUDA-capable device"),
     "there is no NVIDIA card that CUDA can use on this machine", "check nvidia-smi{instead}"),
    (("driver library cannot be found", "libcuda"),
     "the NVIDIA driver was not found", "install it{instead}"),
    (("INSUFFICIENT_DRIVER", "UNSUPPORTED_PTX", "SYSTEM_DRIVER_MISMATCH"),
     "the NVIDIA driver is too old for this version of numba-cuda", "install a newer one{instead}"),
    (("OUT_OF_MEMORY",),
     "the card's memory is used up", "give it a smaller budget, or end other programs that use it"),
    (("NvvmSupportError", "LinkerError"),
     "numba-cuda cannot compile for the card ({first})", "pip install 'dualign[gpu]'{instead}"),
    (("",), "the card failed ({first})", "check nvidia-smi and run the command again{instead}"),
)  # fmt: skip
"""What goes wrong with a card: an exception's name or words in its text, what users are told, what they can
do."""


class DeviceError(DualignError):
    """There is no graphics card that can be used, or it failed."""


class DeviceMemoryError(UsageError, DeviceError):
    """The memory that the card may use is not enough."""


def simulated() -> bool:
    """Whether numba simulates the card."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def __getattr__(name: str) -> Any:
    """numba's module as `cuda`, for kernels; asked for by those who have a card."""
    if name == "cuda":
        return _cuda()
    raise AttributeError(name)


def _cuda() -> Any:
    try:
        with _with_row_stack():
            cuda = import_module("numba.cuda")
            if not simulated():
                import_module("numba.cuda.np.arrayobj")  # which would be imported by the first compilation
        return cuda
    except Exception as error:
        raise DeviceError(
            "a card needs numba-cuda; {found} cannot be loaded beside {numpy} ({error})",
            remedy="numba-cuda 0.30 with NumPy 2.4 or 2.5 works: pip install 'dualign[gpu]'{instead}",
            found=_installed("numba-cuda"),
            numpy=_installed("numpy"),
            error=error,
            instead=INSTEAD,
        ) from None


@contextmanager
def _with_row_stack() -> Iterator[None]:
    """Give NumPy back a name that it has dropped, and that numba-cuda asks for while it is imported."""
    if hasattr(np, "row_stack"):
        yield
        return
    np.row_stack = np.vstack  # type: ignore[attr-defined, unused-ignore]
    try:
        yield
    finally:
        del np.row_stack  # type: ignore[attr-defined, unused-ignore]


def _installed(package: str) -> str:
    """A package and its version."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} (not installed)"


def rounded(number: int) -> int:
    """The next power of two."""
    return 1 << (number - 1).bit_length()


DEVICES = ("cpu", "cuda", "auto")


def card_of(device: str, memory: str | int | None = None) -> Card | None:
    """The card that `device` names: none for `cpu`; for `auto` none if there is none that can be used."""
    if device not in DEVICES:
        raise UsageError("{device=} is not one of {choices}", device=device, choices=", ".join(DEVICES))
    limit = None if memory is None else as_bytes(memory, "device_memory")
    if limit is not None and limit <= 0:
        raise UsageError("{device_memory=} must be more than nothing", device_memory=memory)
    if device == "cpu":
        return None
    try:
        return Card(limit, needed=device == "cuda")
    except DeviceError as error:
        if device == "cuda":
            raise
        _log.warning("computing on the processor: %s", error.with_remedy(error.remedy, instead=""))
        return None


class Card:
    """A card, with a budget of its memory in bytes; one thread at a time works with it (`held`).

    If it fails and is not `needed`, it is `lost`, and the processor goes on.
    """

    def __init__(self, memory: int | None = None, needed: bool = True) -> None:
        self.needed, self.lost = needed, False
        self.cuda = _cuda()
        if not simulated():
            _check_driver(self.cuda)
        free = self._free = self.free
        self.memory = int(SHARE * free) if memory is None else memory
        if self.memory > free:
            raise DeviceError(
                f"{in_words(self.memory)} of the memory of {self.name} are asked for, {in_words(free)} are "
                "free; ask for less, or end the other programs that use it"
            )
        self._lock = threading.RLock()
        self._rooms: dict[str, Any] = {}
        self._kept: dict[str, tuple[object, Any]] = {}

    @property
    def name(self) -> str:
        """What the maker calls it."""
        if simulated():
            return "a simulated card"
        name = self.cuda.get_current_device().name
        return name.decode() if isinstance(name, bytes) else str(name)

    @property
    def free(self) -> int:
        """Bytes that nobody has taken."""
        return 1 << 28 if simulated() else int(self.cuda.current_context().get_memory_info()[0])

    @property
    def warps(self) -> int:
        """Warps that run at the same time, if their threads have as many registers as they may."""
        if simulated():
            return 2
        return int(self.cuda.get_current_device().MULTIPROCESSOR_COUNT) * (1 << 16) // (REGISTERS * 32)

    @property
    def left(self) -> int:
        """Bytes of the budget that are free, or taken by rooms, which can be used again."""
        return self.memory - (self._free - self.free) + self.taken()

    def taken(self, but: str | None = None) -> int:
        """Bytes of the rooms, but those whose name begins so."""
        rooms = self._rooms.items()
        return sum(room.nbytes for name, room in rooms if but is None or not name.startswith(but))

    @contextmanager
    def held(self) -> Iterator[None]:
        """The card to ourselves; whatever goes wrong with it is a `DeviceError`."""
        with self._lock, _explained(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a small text leaves most of the card idle
            yield

    def give_up(self, error: DeviceError) -> None:
        """Go on without the card, which has failed, unless somebody has asked for it."""
        if self.needed:
            raise error
        if not self.lost:
            _log.warning("going on with the processor: %s", error.with_remedy(error.remedy, instead=""))
        self.lost = True
        self._rooms.clear()
        self._kept.clear()

    def put(self, array: Array) -> Any:
        """A copy of an array on the card."""
        array = np.ascontiguousarray(array)
        if simulated():
            return array.copy()
        return self.cuda.to_device(array) if array.size else self.cuda.device_array(array.shape, array.dtype)

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> Any:
        """Room for an array on the card."""
        return np.empty(shape, dtype) if simulated() else self.cuda.device_array(shape, dtype)

    def filled(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike, byte: int = 0) -> Any:
        """An array of zeros on the card, or of numbers all of whose bytes are `byte`."""
        array = self.empty(shape, dtype)
        if simulated():
            array.view(np.uint8)[...] = byte
        elif array.size:
            self.cuda.driver.device_memset(array, byte, array.nbytes)
        return array

    def get(self, array: Any) -> Array:
        """A copy of an array of the card."""
        return np.asarray(array).copy() if simulated() else array.copy_to_host()

    def room(self, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Any:
        """An array of at least this shape with no particular content; the same memory again and again."""
        old = self._rooms.get(name)
        if old is None or any(have < want for have, want in zip(old.shape, shape, strict=True)):
            self._rooms.pop(name, None)
            del old
            self._rooms[name] = self.empty(shape, dtype)
        return self._rooms[name]

    def put_again(self, name: str, array: Array) -> Any:
        """A copy of a list of numbers on the card, in the place of the last one of that name if it fits."""
        part = self.room(name, (rounded(len(array)),), array.dtype)[: len(array)]
        if simulated():
            part[...] = array
        else:
            part.copy_to_device(np.ascontiguousarray(array))
        return part

    def kept(self, name: str, owner: object, make: Callable[[], Any]) -> Any:
        """What was made for this owner, made now if it was made for another or not at all."""
        if name not in self._kept or self._kept[name][0] is not owner:
            self._kept.pop(name, None)
            self._kept[name] = owner, make()
        return self._kept[name][1]

    def forget(self, owner: object) -> None:
        """Drop what is kept for this owner."""
        with self._lock:
            self._kept = {name: kept for name, kept in self._kept.items() if kept[0] is not owner}

    def wait(self) -> None:
        """Wait until all launches are done."""
        if not simulated():
            self.cuda.synchronize()


def card_kernel(function: Callable[..., Any]) -> Any:
    """Compile a function for the card, to be launched as `kernel[blocks, threads](arguments)`.

    What is compiled is kept beside our other kernels, under a digest of all that it is made of.
    """
    cuda = _cuda()
    if simulated():
        return cuda.jit(function)
    made = cuda.jit(max_registers=REGISTERS)(function)
    # In a version of numba-cuda that we do not know it is compiled each time.
    with suppress(AttributeError, ImportError, OSError, RuntimeError, TypeError):
        _keep(made, function)
    return made


def card_function(function: Callable[..., Any]) -> Any:
    """A function that kernels of the card call; in the simulator it is called as it is."""
    return function if simulated() else _cuda().jit(device=True)(function)


def simulated_block() -> Any:
    """What a kernel knows as `cuda` in the simulator, for functions that it calls."""
    return import_module("numba.cuda.simulator.kernel")._get_kernel_context()


def _keep(made: Any, function: Any) -> None:
    """Give a kernel a cache in our folder; numba's own would miss edits of the kernels that it calls."""
    made.enable_caching()
    cache, files = made._cache, import_module("numba.cuda.core.caching")
    cache._cache_path = str(kernel_folder())
    cache._cache_file = files.IndexDataCacheFile(
        cache_path=cache._cache_path,
        filename_base=f"card-{function.__name__}",
        source_stamp=sources_digest(function.__code__.co_filename),
    )
    cache._launch_config_marker_path = os.path.join(cache._cache_path, f"card-{function.__name__}.lcs")


def _check_driver(cuda: Any) -> None:
    """Say what is missing, if anything is."""
    with _explained():
        known = tuple(cuda.driver.driver.get_version())
    if known < OLDEST_DRIVER:
        raise DeviceError(
            "the NVIDIA driver knows CUDA {known}, but {oldest} is the oldest that will do",
            remedy="install a newer driver{instead}",
            known="{}.{}".format(*known),
            oldest="{}.{}".format(*OLDEST_DRIVER),
            instead=INSTEAD,
        )
    with _explained():
        cuda.current_context()


@contextmanager
def _explained() -> Iterator[None]:
    """Turn the exceptions of numba's CUDA target into a `DeviceError` that says what to do."""
    try:
        yield
    except DualignError:
        raise
    except Exception as error:
        if (found := failure(type(error).__name__, str(error))) is None:
            raise
        raise found from error


def failure(kind: str, text: str) -> DeviceError | None:
    """What to tell the user about an exception; None if it is not the card's."""
    if kind not in ERRORS:
        return None
    what, remedy = next(
        told for marks, *told in FAILURES if kind in marks or any(mark in text for mark in marks)
    )
    return DeviceError(what, remedy=remedy, first=" ".join(text.split())[:200], instead=INSTEAD)
