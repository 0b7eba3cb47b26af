"""Arithmetic on vectors of eight float32, for kernels that do the same to eight problems at once.

A kernel written for vectors handles eight sentence pairs in step, each in a lane of its own. No lane reads
another, so the result in one lane does not depend on what the others hold; sums run over memory, never
across lanes. The vectors are LLVM's: a machine with narrower registers does the same in several steps, to
the same bits. `fused` is rounded once, whether or not the machine has an instruction for it.

Memory is a flat float32 array in which the eight lanes of a value are neighbours: `load(like, a, k)` reads
those from `a[k]` on. `like` is any value of the wanted kind. A float32 serves as a vector of one lane: the
same kernel then handles one problem at a time, in an eighth of the memory.

The operators `+ - * /` take vectors and float32 numbers; a number applies to all lanes. A *window* is a
tuple of vectors, as many as neighbouring positions of an array take part in a sum.
"""

from __future__ import annotations

import operator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir as _ir

from dualign._core.arrays import Array
from dualign._core.errors import UsageError
from dualign._core.jit import part

if TYPE_CHECKING:
    from collections.abc import Callable

LANES = 8

Vector = Any
"""Eight float32 in a kernel, or one."""

_numba = import_module("numba")
_types, _extending = _numba.types, _numba.extending
_unpack = _numba.core.cgutils.unpack_tuple
_CHECKED = bool(_numba.config.BOUNDSCHECK)
if _numba.config.DISABLE_JIT:
    raise UsageError("NUMBA_DISABLE_JIT is set, but vectors of lanes have to be compiled; unset it")


class _Lanes(_types.Type):  # type: ignore[misc, name-defined]
    """Numba's type of a vector."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes({LANES})")


_EIGHT, _ONE = _Lanes(), _types.float32
_FLOAT, _INT = _ir.FloatType(), _ir.IntType(32)
_FLOATS, _INTS = _ir.VectorType(_FLOAT, LANES), _ir.VectorType(_INT, LANES)


@_extending.register_model(_Lanes)
class _LanesModel(_extending.models.PrimitiveModel):  # type: ignore[misc, name-defined]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _FLOATS)


def _splat(builder: Any, value: Any) -> Any:
    """A number in every lane."""
    undefined = _ir.Constant(_FLOATS, _ir.Undefined)
    first = builder.insert_element(undefined, value, _INT(0))
    return builder.shuffle_vector(first, undefined, _ir.Constant(_INTS, [0] * LANES))


def _typed(build: Callable[..., Any], kinds: tuple[Any, ...]) -> Any:
    """Signature and code of an operation lane by lane on vectors and numbers; a number goes to all lanes."""
    if not all(kind in (_EIGHT, _ONE) for kind in kinds):
        return None
    result = _EIGHT if _EIGHT in kinds else _ONE

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        del context, signature
        wide = [
            value if kind is result else _splat(builder, value)
            for kind, value in zip(kinds, values, strict=True)
        ]
        return build(builder, *wide)

    return result(*kinds), generate


def _intrinsic(builder: Any, name: str, *values: Any) -> Any:
    """A call of LLVM's function of that name for the type of the values."""
    kind = values[0].type
    suffix = f"v{LANES}f32" if kind == _FLOATS else "f32"
    declared = _ir.FunctionType(kind, [kind] * len(values))
    function = _numba.core.cgutils.get_or_insert_function(builder.module, declared, f"{name}.{suffix}")
    return builder.call(function, values)


def _power_of_two(builder: Any, exponent: Any) -> Any:
    kind = exponent.type
    whole = _INTS if kind == _FLOATS else _INT
    constant = (lambda x: _ir.Constant(_INTS, [x] * LANES)) if kind == _FLOATS else _INT
    biased = builder.add(builder.fptosi(exponent, whole), constant(127))
    return builder.bitcast(builder.shl(biased, constant(23)), kind)


def _chosen(builder: Any, condition: Any, x: Any, y: Any) -> Any:
    zero = _ir.Constant(condition.type, [0.0] * LANES if condition.type == _FLOATS else 0.0)
    return builder.select(builder.fcmp_ordered(">", condition, zero), x, y)


@_extending.intrinsic
def fused(typing, x, y, z):  # type: ignore[no-untyped-def]
    """`x · y + z`, rounded once."""
    return _typed(lambda builder, *v: _intrinsic(builder, "llvm.fma", *v), (x, y, z))


@_extending.intrinsic
def where_positive(typing, condition, x, y):  # type: ignore[no-untyped-def]
    """`x` where the condition is over 0, else `y`."""
    return _typed(_chosen, (condition, x, y))


@_extending.intrinsic
def _power(typing, exponent):  # type: ignore[no-untyped-def]
    """`2 ** exponent` of a whole number from −126 to 127."""
    return _typed(_power_of_two, (exponent,))


@_extending.intrinsic
def spread(typing, like, x):  # type: ignore[no-untyped-def]
    """The number x in every lane of a vector like that one."""
    return _typed(lambda builder, like, x: x, (like, x))


@_extending.intrinsic
def eight(typing):  # type: ignore[no-untyped-def]
    """A vector of eight zeros."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        del context, builder, signature, values
        return _ir.Constant(_FLOATS, [0.0] * LANES)

    return _EIGHT(), generate


def _address(context: Any, builder: Any, kinds: Any, array: Any, k: Any, kind: Any) -> Any:
    """Pointer to a vector that begins at element k of a flat float32 array, or to its number k."""
    made = context.make_array(kinds)(context, builder, value=array)
    place = made.data
    if kinds.layout != "C":
        (stride,) = _unpack(builder, made.strides)
        place, k = builder.bitcast(made.data, _ir.IntType(8).as_pointer()), builder.mul(k, stride)
    return builder.bitcast(builder.gep(place, [k]), (_FLOATS if kind is _EIGHT else _FLOAT).as_pointer())


def _flat(array: Any, kind: Any) -> bool:
    """Whether these lanes can be read from the array; single numbers need not be neighbours."""
    return bool(array.dtype == _ONE and array.ndim == 1 and (array.layout == "C" or kind is _ONE))


@_extending.intrinsic
def _read(typing, like, array, k):  # type: ignore[no-untyped-def]
    if not _flat(array, like):
        return None

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        del signature
        return builder.load(_address(context, builder, array, values[1], values[2], like), align=4)

    return like(like, array, _types.intp), generate


@_extending.intrinsic
def _write(typing, array, k, x):  # type: ignore[no-untyped-def]
    if not _flat(array, x):
        return None

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        del signature
        builder.store(values[2], _address(context, builder, array, values[0], values[1], x), align=4)
        return context.get_dummy_value()

    return _types.void(array, _types.intp, x), generate


@_extending.intrinsic
def prefetch(typing, array, k):  # type: ignore[no-untyped-def]
    """Ask for element k of a C-ordered array, counted over all its axes, which will be read soon.

    It changes nothing but the time; k may be out of bounds.
    """

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        del signature
        data = context.make_array(array)(context, builder, value=values[0]).data
        pointer = builder.bitcast(builder.gep(data, [values[1]]), _ir.IntType(8).as_pointer())
        declared = _ir.FunctionType(_ir.VoidType(), [pointer.type, _INT, _INT, _INT])
        function = _numba.core.cgutils.get_or_insert_function(builder.module, declared, "llvm.prefetch.p0i8")
        # To be read, and kept in every cache; data, not code.
        builder.call(function, [pointer, _INT(0), _INT(3), _INT(1)])
        return context.get_dummy_value()

    return _types.void(array, _types.intp), generate


@_extending.intrinsic
def width(typing, like):  # type: ignore[no-untyped-def]
    """The number of lanes."""
    lanes = LANES if like is _EIGHT else 1

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        del builder, values
        return context.get_constant(signature.return_type, lanes)

    return _types.intp(like), generate


def _lanes(context: Any, builder: Any, array: tuple[Any, Any], k: Any, d: int, kind: Any) -> Any:
    """The vector of this kind that begins d vectors after element k of an array, given as type and value."""
    place = builder.add(k, k.type(d * (LANES if kind is _EIGHT else 1)))
    return builder.load(_address(context, builder, *array, place, kind), align=4)


@_extending.intrinsic
def repeated(typing, x, count):  # type: ignore[no-untyped-def]
    """A tuple of `count` vectors x; the count must be a constant."""
    if not isinstance(count, _types.IntegerLiteral):
        return None
    kind = _types.UniTuple(x, count.literal_value)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        del signature
        return context.make_tuple(builder, kind, [values[0]] * len(kind))

    return kind(x, count), generate


@_extending.intrinsic
def _dot_window(typing, array, k, taps, base):  # type: ignore[no-untyped-def]
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        del signature
        even, odd = values[3], None
        for d, tap in enumerate(_unpack(builder, values[2])):
            x = _lanes(context, builder, (array, values[0]), values[1], d, base)
            if d % 2 == 0:
                even = _intrinsic(builder, "llvm.fma", x, tap, even)
            else:
                odd = builder.fmul(x, tap) if odd is None else _intrinsic(builder, "llvm.fma", x, tap, odd)
        return even if odd is None else builder.fadd(even, odd)

    return (base(array, _types.intp, taps, base), generate) if _flat(array, base) else None


@_extending.intrinsic
def _add_window(typing, x, array, k, sums):  # type: ignore[no-untyped-def]
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        del signature
        added = []
        for d, y in enumerate(_unpack(builder, values[3])):
            z = _lanes(context, builder, (array, values[1]), values[2], d, x)
            added.append(_intrinsic(builder, "llvm.fma", values[0], z, y))
        return context.make_tuple(builder, sums, added)

    return (sums(x, array, _types.intp, sums), generate) if _flat(array, x) else None


def _overload(operation: Any, method: str) -> None:
    """Let an operator of Python's stand for an instruction of LLVM's if a vector takes part."""

    @_extending.intrinsic
    def made(typing, x, y):  # type: ignore[no-untyped-def]
        return _typed(lambda builder, *v: getattr(builder, method)(*v), (x, y))

    @_extending.overload(operation)
    def _operate(x, y):  # type: ignore[no-untyped-def]
        if _EIGHT in (x, y) and all(kind in (_EIGHT, _ONE) for kind in (x, y)):
            return lambda x, y: made(x, y)
        return None


for _operation, _method in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _overload(_operation, _method)


@part(allocates=False)
def load(like: Vector, array: Array, k: int) -> Vector:
    """The lanes from `array[k]` on."""
    if _CHECKED and (k < 0 or k + width(like) > len(array)):
        raise IndexError("lanes out of bounds")
    return _read(like, array, k)


@part(allocates=False)
def store(array: Array, k: int, x: Vector) -> None:
    """Put the lanes of x at `array[k]` and after."""
    if _CHECKED and (k < 0 or k + width(x) > len(array)):
        raise IndexError("lanes out of bounds")
    _write(array, k, x)


@part(allocates=False)
def dot_window(array: Array, k: int, taps: tuple[Vector, ...], base: Vector) -> Vector:
    """`base + Σ_d taps[d] · array[k + d · lanes]`, even and odd taps added apart so that neither waits."""
    if _CHECKED and (k < 0 or k + len(taps) * width(base) > len(array)):
        raise IndexError("lanes out of bounds")
    return _dot_window(array, k, taps, base)


@part(allocates=False)
def add_window(x: Vector, array: Array, k: int, sums: tuple[Vector, ...]) -> tuple[Vector, ...]:
    """`sums[d] + x · array[k + d · lanes]` for each d."""
    if _CHECKED and (k < 0 or k + len(sums) * width(x) > len(array)):
        raise IndexError("lanes out of bounds")
    return _add_window(x, array, k, sums)


@part(allocates=False)
def store_window(array: Array, k: int, values: tuple[Vector, ...]) -> None:
    """Put the lanes of several vectors at `array[k]` and after."""
    for x in values:
        store(array, k, x)
        k += width(x)


@part(allocates=False)
def lesser(x: Vector, y: Vector) -> Vector:
    """The smaller of two, lane by lane; y if they cannot be compared."""
    return where_positive(y - x, x, y)


@part(allocates=False)
def greater(x: Vector, y: Vector) -> Vector:
    """The larger of two, lane by lane; y if they cannot be compared."""
    return where_positive(x - y, x, y)


@part(allocates=False)
def exponential(x: Vector) -> Vector:
    """`exp(x)` for |x| ≤ 80, to 4e-7 of itself: a power of two, times a polynomial on ±½ log 2."""
    shift = np.float32(12582912)  # 1.5 · 2^23: adding it rounds to a whole number
    n = fused(x, np.float32(1.4426950408889634), shift) - shift
    r = fused(n, np.float32(-0.693145751953125), x)
    r = fused(n, np.float32(-1.428606765330187e-6), r)
    p = fused(r, np.float32(1 / 720), np.float32(1 / 120))
    p = fused(p, r, np.float32(1 / 24))
    p = fused(p, r, np.float32(1 / 6))
    p = fused(p, r, np.float32(1 / 2))
    p = fused(p, r, np.float32(1))
    p = fused(p, r, np.float32(1))
    return p * _power(n)
