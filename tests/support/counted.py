"""How much work a kernel does: the lines that it runs as plain Python, which no clock decides."""

from __future__ import annotations

import sys
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic


def _plain(kernel: Any) -> Any:
    """The Python function behind a compiled function or callback."""
    return kernel.py_func if isinstance(kernel, Dispatcher) else kernel._pyfunc


def _interpreted(kernel: Any, known: dict[Any, Any]) -> Any:
    """A kernel as Python, and with it all kernels that it calls.

    What is made of intrinsics has no meaning outside of the compiler, and stays compiled.
    """
    if kernel in known:
        return known[kernel]
    plain = _plain(kernel)
    scope = dict(plain.__globals__)
    named = {name: scope[name] for name in plain.__code__.co_names if name in scope}
    if any(isinstance(callee, _Intrinsic) for callee in named.values()):
        known[kernel] = kernel
        return kernel
    made = FunctionType(
        plain.__code__, scope, plain.__name__, plain.__defaults__, plain.__closure__
    )
    known[kernel] = made
    for name, callee in named.items():
        if isinstance(callee, Dispatcher):
            scope[name] = _interpreted(callee, known)
    return made


def lines_run(kernel: Any, *arguments: Any) -> int:
    """How many lines a call of a kernel runs, those of the kernels that it calls included.

    Kernels loop over their numbers one by one, so this grows as the work does.
    """
    known: dict[Any, Any] = {}
    run = _interpreted(kernel, known)
    counted: set[CodeType] = {
        made.__code__ for made in known.values() if isinstance(made, FunctionType)
    }
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if frame.f_code not in counted:
            return None
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with np.errstate(all="ignore"):
            run(*arguments)
    finally:
        sys.settrace(before)
    return lines
