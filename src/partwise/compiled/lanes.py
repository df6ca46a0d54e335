"""Eight numbers at a time.

LLVM makes vector instructions of a plain loop over arrays, but the sums of the loop go through
memory in every round, as they might overlap with what is read. *Lanes* stay in registers: eight
float64, a cache line, as one variable of a compiled function.

The functions are for use inside ``njit``. ``at`` is an index into a contiguous array, from 0 to
eight below its end, of the first of eight numbers: nothing is checked.
"""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

#: Numbers in a cache line; the inner loops take as many at a time.
LINE: Final = 8

_NUMBER = ir.DoubleType()
_VECTOR = ir.VectorType(_NUMBER, LINE)


class _Lanes(types.Type):
    def __init__(self) -> None:
        super().__init__(name="Lanes")


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


_LANES = _Lanes()


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return a pointer to array[at]; array and at are the first two arguments."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]])


def _shuffled(builder: Any, x: Any, order: Any) -> Any:
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LINE), order)
    return builder.shuffle_vector(x, ir.Constant(_VECTOR, ir.Undefined), mask)


def _filled(builder: Any, number: Any) -> Any:
    start = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(start, number, ir.IntType(32)(0))
    return _shuffled(builder, first, [0] * LINE)


def _larger(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


@intrinsic
def load(typing_context: Any, array: Any, at: Any) -> Any:
    """Return array[at : at + 8]."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments)
        return builder.load(builder.bitcast(place, _VECTOR.as_pointer()), align=8)

    return _LANES(array, types.intp), codegen


@intrinsic
def where(typing_context: Any, array: Any, at: Any, x: Any) -> Any:
    """Return x where array[at : at + 8], of uint8, is not 0, and 0 elsewhere."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        small = ir.VectorType(ir.IntType(8), LINE)
        place = builder.bitcast(_place(context, builder, signature, arguments), small.as_pointer())
        marked = builder.icmp_unsigned("!=", builder.load(place, align=1), ir.Constant(small, None))
        return builder.select(marked, arguments[2], ir.Constant(_VECTOR, None))

    return _LANES(array, types.intp, x), codegen


@intrinsic
def store(typing_context: Any, array: Any, at: Any, x: Any) -> Any:
    """Set array[at : at + 8] = x."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments)
        builder.store(arguments[2], builder.bitcast(place, _VECTOR.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.none(array, types.intp, x), codegen


@intrinsic
def fill(typing_context: Any, number: Any) -> Any:
    """Return one number eight times."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _filled(builder, arguments[0])

    return _LANES(types.float64), codegen


@intrinsic
def repeat(typing_context: Any, array: Any, at: Any) -> Any:
    """Return array[at] eight times."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _filled(builder, builder.load(_place(context, builder, signature, arguments)))

    return _LANES(array, types.intp), codegen


@intrinsic
def add(typing_context: Any, x: Any, y: Any) -> Any:
    """Return x + y."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(*arguments)

    return _LANES(x, y), codegen


@intrinsic
def multiply(typing_context: Any, x: Any, y: Any) -> Any:
    """Return x y."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fmul(*arguments)

    return _LANES(x, y), codegen


@intrinsic
def add_product(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    """Return x + y z, rounded once where the machine can."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, y, z = arguments
        return builder.fadd(x, builder.fmul(y, z, flags=["contract"]), flags=["contract"])

    return _LANES(x, y, z), codegen


@intrinsic
def larger(typing_context: Any, x: Any, y: Any) -> Any:
    """Return x where x > y, and y elsewhere, so that a nan in x is ignored."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _larger(builder, *arguments)

    return _LANES(x, y), codegen


@intrinsic
def total(typing_context: Any, x: Any) -> Any:
    """Return the sum of the eight."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (x,) = arguments
        for turn in (4, 2, 1):
            x = builder.fadd(x, _shuffled(builder, x, [(k + turn) % LINE for k in range(LINE)]))
        return builder.extract_element(x, ir.IntType(32)(0))

    return types.float64(x), codegen


@intrinsic
def largest(typing_context: Any, x: Any) -> Any:
    """Return the largest of the eight, none of which is nan."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (x,) = arguments
        for turn in (4, 2, 1):
            x = _larger(builder, x, _shuffled(builder, x, [(k + turn) % LINE for k in range(LINE)]))
        return builder.extract_element(x, ir.IntType(32)(0))

    return types.float64(x), codegen


# Ask for memory some time before it is needed.
#
# A loop that visits rows in random order waits for memory at every visit; the processor can fetch
# the rows of the next visits meanwhile, if it is told which.


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Fetch the cache line of ``array[index]``; an index outside does no harm.

    The array has one dimension, or is C-contiguous and counted through.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        place = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        # 0: for reading; 3: into the nearest cache; 1: data, not code.
        builder.call(fetch, [place, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen
