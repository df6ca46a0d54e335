"""The machine code of a compiled function, made so that it rounds alike in every process.

With fast-math flags LLVM chooses the order in which a loop adds numbers up, and the last bits of
the sum depend on it. The same source always becomes the same machine code. But two choices were
left to the process that runs it; they are settled here.

- numba copies what a function calls into the code of that function, where LLVM optimises it once
  more, so that copies in two callers may add up in different orders. These copies had one name,
  and a process used the one that it loaded first, for all callers: one copy if it had compiled
  the function itself, another one if it loaded the callers from the cache. Now every caller has
  copies of its own.
- LLVM turns a loop that adds up and stores into wide vectors, with narrow ones for the rest. It
  is run number by number if an array that is read begins too close before one that is written.
  How close is measured in wide vectors even where only narrow ones are needed, so with short
  arrays it depended on which of them were neighbours in memory. Now a function with such a loop
  has no narrow vectors.
"""

from __future__ import annotations

import functools
import logging
import re
from typing import Any, Final

import numba
from llvmlite import binding

_logger = logging.getLogger(__name__)

#: Methods and attributes of the libraries in which numba keeps code.
_METHODS: Final = ("_optimize_final_module", "_finalize_final_module", "enable_object_caching")
_ATTRIBUTES: Final = ("_final_module", "_shared_module")

#: LLVM's option for narrow vectors.
_NARROW: Final = "-enable-epilogue-vectorization"

# LLVM's names in the text of a module: how far apart two arrays are, and a loop of narrow vectors.
_DISTANCE: Final = "%diff.check"
_NARROW_LOOP: Final = "vec.epilog."
_FUNCTION: Final = re.compile(r"^define .*?^}", re.M | re.S)
_BLOCK: Final = re.compile(r'^"?([-\w.$]+)"?:(.*?)(?=^"?[-\w.$]+"?:|^})', re.M | re.S)
_NEXT: Final = re.compile(r'\blabel %"?([-\w.$]+)')
_SUM: Final = re.compile(r"\bphi [a-z ]*<\d+ x (?:double|float)>|@llvm\.vector\.reduce\.f")
#: A check is at most this many jumps away from the narrow vectors of its loop; those of the next
#: loop are farther away.
_JUMPS: Final = 5


@functools.cache
def compiler() -> type[Any] | None:
    """Return numba's compiler with such code, or None if this numba has other internals."""
    try:
        from numba.core.codegen import JITCodeLibrary
        from numba.core.compiler import Compiler
    except ImportError as error:
        _logger.debug("numba %s keeps its code elsewhere: %s", numba.__version__, error)
        return None
    missing = [name for name in _METHODS if not hasattr(JITCodeLibrary, name)]
    if missing or not hasattr(Compiler, "compile_extra"):
        _logger.debug("numba %s has other libraries: no %s", numba.__version__, missing)
        return None

    class Library(JITCodeLibrary):
        _final_module: Any
        _shared_module: Any

        def _optimize_final_module(self) -> None:
            before = self._final_module.as_bitcode()
            super()._optimize_final_module()
            if depends_on_distance(str(self._final_module)):
                self._final_module = binding.parse_bitcode(before)
                binding.set_option("", f"{_NARROW}=false")
                try:
                    super()._optimize_final_module()
                finally:
                    binding.set_option("", f"{_NARROW}=true")

        def _finalize_final_module(self) -> None:
            defined = [f for f in self._final_module.functions if not f.is_declaration]
            copies = [f for f in defined if f.linkage == binding.Linkage.linkonce_odr]
            if copies:
                # Callers link this in, and find one copy of a function in several libraries.
                self._shared_module = self._final_module.clone()
                for function in defined:
                    if function.linkage == binding.Linkage.external:
                        self._shared_module.get_function(function.name).linkage = "linkonce_odr"
                for function in copies:
                    function.linkage = "internal"
            super()._finalize_final_module()

    class LibraryCompiler(Compiler):
        def compile_extra(self, func: Any) -> Any:
            library = Library(self.state.targetctx.codegen(), func.__qualname__)
            if all(hasattr(library, name) for name in _ATTRIBUTES):
                library.enable_object_caching()
                self.state.library = library
            return super().compile_extra(func)

    return LibraryCompiler


def depends_on_distance(text: str) -> bool:
    """Return whether a module has a sum whose order depends on how far apart two arrays are.

    Parameters
    ----------
    text : str
        An optimised module of LLVM.
    """
    if _DISTANCE not in text or _NARROW_LOOP not in text:
        return False
    return any(
        _has_such_a_sum(dict(_BLOCK.findall(function)))
        for function in _FUNCTION.findall(text)
        if _DISTANCE in function
    )


def _has_such_a_sum(blocks: dict[str, str]) -> bool:
    following = {name: set(_NEXT.findall(body)) for name, body in blocks.items()}
    for name, body in blocks.items():
        if _DISTANCE not in body:
            continue
        reached = {name}
        for _ in range(_JUMPS):
            reached = reached.union(*(following[block] for block in reached))
        if any(n.startswith(_NARROW_LOOP) and _SUM.search(blocks[n]) for n in reached):
            return True
    return False
