"""Ask for memory some time before it is needed.

A loop that visits rows in random order waits for memory at every visit; the processor can fetch
the rows of the next visits meanwhile, if it is told which.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


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
