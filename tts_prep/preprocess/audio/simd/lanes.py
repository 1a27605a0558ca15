"""Vector types for compiled code, which apply an operation to ``LANES`` frames in parallel.

The compiler vectorizes a loop over arrays only after checking, at run time before each loop, that arrays do not
overlap. The butterflies of a transform have sixteen arrays and sixteen iterations, so the checks take longer than the
loop. With these types, a load, an operation or a store of ``LANES`` adjacent elements is a single instruction, for any
vector width of the processor. On one core with 512-bit registers, a transform of 1,024 samples takes a third of the
time of loops.

In functions compiled by `jit`, ``load(array, i)`` and ``store(array, i, v)`` move ``LANES`` adjacent elements of a
float64 or float32 array; ``+``, ``-`` and ``*`` operate on two vectors, or on a vector and a scalar of its precision.
"""

import operator
from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

from tts_prep.preprocess.audio.simd.tables import LANES

# Fused multiply-add is allowed; reordering of sums is not, and no assumptions are made about NaN.
_FLAGS = ("contract", "nsz", "arcp")

_Decorator = Callable[[Callable[..., Any]], Any]
jit: _Decorator = njit(nogil=True, boundscheck=False)
"""Compile a function of the kernel, which `machine_code` keeps in files."""
_intrinsic: _Decorator = intrinsic


class Lanes(types.Type):
    """The type of a vector of ``LANES`` numbers of 64 or 32 bits."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        super().__init__(name=f"Lanes({LANES} x float{bits})")

    @property
    def scalar(self) -> Any:
        """The type of an element."""
        return types.float64 if self.bits == 64 else types.float32

    @property
    def vector(self) -> ir.VectorType:
        """The type in LLVM IR."""
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
    """Return a vector with all elements equal to a number."""
    undefined = ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, undefined, zeros)


@_intrinsic
def load(typing: Any, array: Any, index: Any) -> Any:  # noqa: ARG001 - the signature is the compiler's
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

    # Without annotations, because the compiler compares this signature with those of the returned functions.
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
    """Return the square root of each element."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _call(builder, "sqrt", vector, [arguments[0]])

    return vector(vector), generate


@_intrinsic
def at_least(typing: Any, vector: Any, bound: Any) -> Any:  # noqa: ARG001
    """Return the maximum of each element and a bound."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _call(builder, "maxnum", vector, [arguments[0], _splat(builder, arguments[1])])

    return vector(vector, vector.scalar), generate


@_intrinsic
def load_windowed_frames(typing: Any, x: Any, start: Any, hop: Any, window: Any, k: Any, re: Any, im: Any) -> Any:  # noqa: ARG001
    """Transpose samples k to k + LANES of LANES frames from frame-major to sample-major, and window them.

    Frame f starts at ``x[start + f · hop]``; samples are float32 or int16. Even samples are stored in ``re``, odd ones
    in ``im``, both from vector k / 2. The transposition is a network of perfect shuffles in registers: reading across
    frames would need one load per sample.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        samples, first, step, weights, position, *targets = arguments

        def constant(value: int) -> ir.Constant:
            return ir.Constant(first.type, value)

        def shuffle(offset: int) -> ir.Constant:
            picks = [offset + i // 2 + (LANES if i % 2 else 0) for i in range(LANES)]
            return ir.Constant(ir.VectorType(ir.IntType(32), LANES), picks)

        is_16 = isinstance(signature.args[0].dtype, types.Integer)
        vector = ir.VectorType(ir.IntType(16), LANES) if is_16 else SINGLES.vector
        rows = []
        for frame in range(LANES):
            index = builder.add(builder.add(first, position), builder.mul(step, constant(frame)))
            pointer = _element(context, builder, signature.args[0], samples, index)
            rows.append(builder.load(builder.bitcast(pointer, vector.as_pointer()), align=2 if is_16 else 4))
        low, high = shuffle(0), shuffle(LANES // 2)
        for _ in range(LANES.bit_length() - 1):
            pairs = list(zip(rows[: LANES // 2], rows[LANES // 2 :], strict=True))
            rows = [builder.shuffle_vector(a, b, mask) for a, b in pairs for mask in (low, high)]
        for i, row in enumerate(rows):
            sample = builder.add(position, constant(i))
            weight = builder.load(_element(context, builder, signature.args[3], weights, sample))
            wide = builder.sitofp(row, DOUBLES.vector) if is_16 else builder.fpext(row, DOUBLES.vector)
            values = builder.fmul(wide, _splat(builder, weight), flags=_FLAGS)
            index = builder.mul(builder.lshr(sample, constant(1)), constant(LANES))
            pointer = _element(context, builder, signature.args[5 + i % 2], targets[i % 2], index)
            builder.store(values, builder.bitcast(pointer, DOUBLES.vector.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(x, types.intp, types.intp, window, types.intp, re, im), generate
