"""Vectors of numbers as values of compiled code: the same operation on ``LANES`` frames at once.

The compiler vectorises a loop over arrays only where it can prove, at run time and at every entry, that no store hits a
later load. The butterflies of a transform have sixteen arrays and sixteen iterations, and the proof costs more than the
work. Here a load, an operation and a store of ``LANES`` neighbours are single instructions to begin with, of whatever
width the processor has. Measured on one core with 512-bit registers, a transform of 1,024 samples takes a third of
the time that loops take.

Inside functions compiled by `jit`: ``load(array, i)`` and ``store(array, i, v)`` move ``LANES`` neighbours of a float64
or float32 array; ``+``, ``-`` and ``*`` work on two vectors, or a vector and a number of its precision.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import llvmlite.binding
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils, config
from numba.extending import intrinsic, models, overload, register_model

# Two registers of float64 and one of float32 where they have 512 bits. With 256 bits, sixteen of them hold the eight
# values of a radix-4 butterfly at 8 lanes and not at 16.
# The compiler may be told of another processor than this one, by NUMBA_CPU_FEATURES.
_TOLD: Final[str | None] = getattr(config, "CPU_FEATURES", None)
_HAS_512_BITS: Final = (
    bool(llvmlite.binding.get_host_cpu_features().get("avx512f")) if _TOLD is None else "+avx512f" in _TOLD.split(",")
)
LANES: Final = 16 if _HAS_512_BITS else 8

# A sum of products may become one fused operation; no sum is reordered. nnan and the like are not claimed.
_FLAGS = ("contract", "nsz", "arcp")


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function to machine code on its first call, or load it from the compiler's cache."""
    try:
        compiled: Callable[..., Any] = njit(cache=True, nogil=True, boundscheck=False)(function)
    except RuntimeError:
        # Neither this folder nor the user's own cache can be written. Then each process compiles for itself.
        compiled = njit(nogil=True, boundscheck=False)(function)
    return compiled


def _intrinsic(function: Callable[..., Any]) -> Any:
    """Make a function that writes the compiler's intermediate code."""
    return intrinsic(function)


class Lanes(types.Type):
    """The type of a vector of ``LANES`` numbers of 64 or 32 bits."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        super().__init__(name=f"Lanes({LANES} x float{bits})")

    @property
    def scalar(self) -> Any:
        """The type of one of the numbers."""
        return types.float64 if self.bits == 64 else types.float32

    @property
    def vector(self) -> ir.VectorType:
        """The type in the compiler's intermediate code."""
        return ir.VectorType(ir.DoubleType() if self.bits == 64 else ir.FloatType(), LANES)


DOUBLES: Final = Lanes(64)
SINGLES: Final = Lanes(32)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, kind.vector)  # type: ignore[no-untyped-call]


def _element(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Return a pointer to an element of an array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index], inbounds=True)


def _splat(builder: Any, number: Any) -> Any:
    """Return a vector of one number."""
    undefined = ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, undefined, zeros)


@_intrinsic
def load(typing: Any, array: Any, index: Any) -> Any:  # noqa: ARG001 - the compiler calls it so
    """Load ``array[index : index + LANES]``."""
    kind = DOUBLES if array.dtype.bitwidth == 64 else SINGLES

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], *arguments)
        return builder.load(builder.bitcast(pointer, kind.vector.as_pointer()), align=kind.bits // 8)

    return kind(array, types.intp), generate


@_intrinsic
def store(typing: Any, array: Any, index: Any, vector: Any) -> Any:  # noqa: ARG001
    """Store a vector at ``array[index : index + LANES]``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], arguments[0], arguments[1])
        target = builder.bitcast(pointer, vector.vector.as_pointer())
        builder.store(arguments[2], target, align=vector.bits // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), generate


def _arithmetic(symbol: Any, instruction: str) -> None:
    @_intrinsic
    def two_vectors(typing: Any, a: Any, b: Any) -> Any:  # noqa: ARG001
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return getattr(builder, instruction)(*arguments, flags=_FLAGS)

        return a(a, b), generate

    @_intrinsic
    def vector_and_number(typing: Any, a: Any, b: Any) -> Any:  # noqa: ARG001
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return getattr(builder, instruction)(arguments[0], _splat(builder, arguments[1]), flags=_FLAGS)

        return a(a, a.scalar), generate

    # Without types: the compiler compares this signature with those of the functions it returns.
    def implementation(a, b):  # type: ignore[no-untyped-def]
        if isinstance(a, Lanes) and isinstance(b, Lanes):
            return lambda a, b: two_vectors(a, b)
        if isinstance(a, Lanes) and isinstance(b, types.Float):
            return lambda a, b: vector_and_number(a, b)
        return None

    overload(symbol)(implementation)


_arithmetic(operator.add, "fadd")
_arithmetic(operator.sub, "fsub")
_arithmetic(operator.mul, "fmul")


@_intrinsic
def narrow(typing: Any, vector: Any) -> Any:  # noqa: ARG001
    """Round a vector of float64 to float32."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.fptrunc(arguments[0], SINGLES.vector)

    return SINGLES(vector), generate


@_intrinsic
def zeros(typing: Any) -> Any:  # noqa: ARG001
    """Return a float32 vector of zeros."""

    def generate(_context: Any, _builder: Any, _signature: Any, _arguments: Any) -> Any:
        return ir.Constant(SINGLES.vector, [0.0] * LANES)

    return SINGLES(), generate


def _call(builder: Any, name: str, kind: Lanes, arguments: list[Any]) -> Any:
    function = ir.FunctionType(kind.vector, [kind.vector] * len(arguments))
    name = f"llvm.{name}.v{LANES}f{kind.bits}"
    declared = cgutils.get_or_insert_function(builder.module, function, name)  # type: ignore[no-untyped-call]
    return builder.call(declared, arguments)


@_intrinsic
def square_root(typing: Any, vector: Any) -> Any:  # noqa: ARG001
    """Return the square roots."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _call(builder, "sqrt", vector, [arguments[0]])

    return vector(vector), generate


@_intrinsic
def at_least(typing: Any, vector: Any, bound: Any) -> Any:  # noqa: ARG001
    """Return the larger of each number and a bound."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _call(builder, "maxnum", vector, [arguments[0], _splat(builder, arguments[1])])

    return vector(vector, vector.scalar), generate


@_intrinsic
def load_windowed_frames(
    typing: Any,  # noqa: ARG001
    x: Any,
    start: Any,  # noqa: ARG001
    hop: Any,  # noqa: ARG001
    window: Any,
    k: Any,  # noqa: ARG001
    re: Any,
    im: Any,
) -> Any:
    """Turn samples k to k + LANES of LANES frames from frame-major to sample-major, and window them.

    Frame f starts at ``x[start + f · hop]``. Even samples go to ``re``, odd ones to ``im``, both from vector k / 2
    on. The transposition is a network of perfect shuffles in registers: reading across frames would be a load a number.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        samples, first, step, weights, position, *targets = arguments

        def constant(value: int) -> ir.Constant:
            return ir.Constant(first.type, value)

        def shuffle(offset: int) -> ir.Constant:
            picks = [offset + i // 2 + (LANES if i % 2 else 0) for i in range(LANES)]
            return ir.Constant(ir.VectorType(ir.IntType(32), LANES), picks)

        rows = []
        for frame in range(LANES):
            index = builder.add(builder.add(first, position), builder.mul(step, constant(frame)))
            pointer = _element(context, builder, signature.args[0], samples, index)
            rows.append(builder.load(builder.bitcast(pointer, SINGLES.vector.as_pointer()), align=4))
        low, high = shuffle(0), shuffle(LANES // 2)
        for _ in range(LANES.bit_length() - 1):
            pairs = list(zip(rows[: LANES // 2], rows[LANES // 2 :], strict=True))
            rows = [builder.shuffle_vector(a, b, mask) for a, b in pairs for mask in (low, high)]
        for i, row in enumerate(rows):
            sample = builder.add(position, constant(i))
            weight = builder.load(_element(context, builder, signature.args[3], weights, sample))
            values = builder.fmul(builder.fpext(row, DOUBLES.vector), _splat(builder, weight), flags=_FLAGS)
            index = builder.mul(builder.lshr(sample, constant(1)), constant(LANES))
            pointer = _element(context, builder, signature.args[5 + i % 2], targets[i % 2], index)
            builder.store(values, builder.bitcast(pointer, DOUBLES.vector.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(x, types.intp, types.intp, window, types.intp, re, im), generate
