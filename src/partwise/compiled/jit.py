"""The decorators of numba: functions are compiled once and reused by every later process.

numba stamps an entry of its on-disk cache with the one file that holds the function. A compiled
function of partwise calls others in other files, and a change in one of those would go unnoticed:
the caller would run with the old code. Here the stamp covers the file of the function and every
source of the package that it imports, directly or through others; structures that users write in
files of their own are cached by the same rule. (A helper that such a file imports from another
file outside the package is not covered.)

Entries live in ``NUMBA_CACHE_DIR`` if that is set, else in the ``__pycache__`` beside the source,
else in the user's cache folder. Where none of these can be written, functions are compiled in
every process and one warning is logged; that is slow and never an error. A ``NUMBA_CACHE_DIR`` that
holds entries and cannot be written, as in an image of a container, is read.
"""

from __future__ import annotations

import functools
import inspect
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, overload

import numba
import numba.extending
import numpy as np

from .compilation import listen
from .library import compiler
from .sources import stamp

_logger = logging.getLogger(__name__)

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Tuple = TypeVar("_Tuple", bound=tuple[Any, ...])

#: Fast-math flags that keep inf and nan meaningful; ``nnan`` and ``ninf`` would not.
FAST: Final = frozenset({"reassoc", "contract", "arcp", "nsz"})

#: The flags of an array that numba's types tell apart: contiguous in rows or columns, aligned,
#: writeable.
_LAYOUT: Final = 0x0001 | 0x0002 | 0x0100 | 0x0400

# Without the word fastmath a function would take the flags of whichever caller is compiled first.
_OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "fastmath": False}

#: Two threads that need the same callback must not both compile it.
_compiling: Final = threading.RLock()


#: Which compiler numba runs, if it is not its own.
_COMPILER: Final[dict[str, Any]] = {"pipeline_class": compiler()} if compiler() else {}

# numba is imported here, so whoever waits for the compiler can be told from here on.
listen()


@functools.cache
def _warn_once() -> None:
    _logger.warning(
        "compiled code cannot be kept on disk, so every process compiles it again; "
        "set NUMBA_CACHE_DIR to a folder that can be written"
    )


def _warn_uncached(reason: str) -> None:
    _logger.debug("not cached: %s", reason)
    _warn_once()


@functools.cache
def _stamped_cache() -> type[Any] | None:
    """Return numba's function cache with our stamp, or None if this numba has other internals."""
    try:
        from numba.core.caching import FunctionCache, IndexDataCacheFile
    except ImportError as error:
        _logger.debug("numba %s keeps its cache elsewhere: %s", numba.__version__, error)
        return None

    class StampedFile(IndexDataCacheFile):
        # Two processes that save at once may number their data files alike; the index of one
        # would then lead to the code of the other. So each entry repeats what it is.
        def save(self, key: Any, data: Any) -> None:
            super().save(key, (self._source_stamp, key, data))

        def _load_index(self) -> Any:
            # A damaged index must not stop the next save, which replaces it.
            try:
                return super()._load_index()
            except Exception as error:
                _logger.debug("cannot read the index %s: %s", self._index_path, error)
                return {}

        def load(self, key: Any) -> Any:
            entry = super().load(key)
            if entry is None or entry[:2] != (self._source_stamp, key):
                return None
            return entry[2]

    class StampedCache(FunctionCache):
        _impl_class = _reading_too(FunctionCache._impl_class)

        def __init__(self, py_func: Callable[..., Any]) -> None:
            super().__init__(py_func)
            path = inspect.getfile(py_func)
            locator = self._impl.locator
            # A cell of a notebook has no file; numba's own stamp is then the text of the cell.
            own = stamp(Path(path)) if os.path.isfile(path) else locator.get_source_stamp()
            self._cache_file = StampedFile(
                cache_path=self._cache_path,
                filename_base=self._impl.filename_base,
                source_stamp=own,
            )

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            # A cache entry is never needed: whatever is wrong with it, compiling mends it.
            try:
                return super().load_overload(sig, target_context)
            except Exception as error:
                _logger.debug("cannot load %s from the cache: %s", self._name, error)
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            try:
                super().save_overload(sig, data)
            except OSError as error:
                _warn_uncached(str(error))

    return StampedCache


def _reading_too(kind: type[Any]) -> type[Any]:
    """Let numba also use a given folder of entries that it cannot write.

    numba takes a folder only if it can write there. Entries that another user has made, the one
    who built an image for example, would be left alone and made again in every process.
    """
    known = tuple(getattr(kind, "_locator_classes", ()))
    if not known:
        _logger.debug("numba %s looks for its cache otherwise", numba.__version__)
        return kind
    given = known[0]

    class Filled(given):  # type: ignore[valid-type, misc]
        def ensure_cache_path(self) -> None:
            if not os.path.isdir(self.get_cache_path()):
                raise NotADirectoryError(self.get_cache_path())

    class Reading(kind):
        _locator_classes = (given, Filled, *known[1:])

    return Reading


def _enable_caching(compiled: Any, function: Callable[..., Any]) -> None:
    """Set up the cache on disk of a dispatcher or a callback that is not yet compiled."""
    if not os.path.isfile(__file__):
        _warn_uncached("the sources of partwise are not on disk")
        return
    stamped = _stamped_cache()
    if stamped is not None and hasattr(compiled, "_cache"):
        try:
            compiled._cache = stamped(function)
            return
        except (AttributeError, TypeError) as error:
            _logger.debug("numba %s has another cache: %s", numba.__version__, error)
        except (OSError, RuntimeError) as error:
            _warn_uncached(str(error))
            return
    try:
        compiled.enable_caching()
    except (OSError, RuntimeError) as error:
        _warn_uncached(str(error))


@overload
def njit(function: _Function, /) -> _Function: ...
@overload
def njit(**options: Any) -> Callable[[_Function], _Function]: ...
def njit(
    function: _Function | None = None, /, **options: Any
) -> _Function | Callable[[_Function], _Function]:
    """Compile a function at its first call, without the GIL, and cache it on disk.

    Parameters
    ----------
    function : callable, optional
        The function, when used as ``@njit``.
    **options
        What ``numba.njit`` takes, when used as ``@njit(fastmath=FAST)`` or the like. ``nogil``
        is always on and division follows numpy (``1 / 0`` is inf). Eager signatures are not
        taken: they would compile at import.

    Returns
    -------
    callable
        The dispatcher, or a decorator.
    """

    def decorate(plain: _Function) -> _Function:
        merged = {**_OPTIONS, **_COMPILER, **_normalised(options), "nogil": True}
        compiled = numba.njit(**merged)(plain)
        if compiled is not plain:  # NUMBA_DISABLE_JIT hands the function back
            _enable_caching(compiled, plain)
        return compiled  # type: ignore[no-any-return]

    return decorate if function is None else decorate(function)


class Callback:
    """A callback that is compiled, or loaded from the cache on disk, when it is first used.

    As an attribute of a class it stands for the numba ``CFunc``: ``structure.maximum`` compiles the
    oracle and returns it. A call from Python runs the plain function.
    """

    def __init__(self, plain: Callable[..., Any], compile_: Callable[[], Any]) -> None:
        self.plain = plain
        self._compile = compile_
        self._compiled: Any = None

    @property
    def compiled(self) -> Any:
        """The numba ``CFunc``, which compiled functions take as an argument."""
        if self._compiled is None:
            with _compiling:
                if self._compiled is None:
                    self._compiled = self._compile()
        return self._compiled

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.compiled

    def __call__(self, *arguments: Any) -> Any:
        """Run the function in Python."""
        return self.plain(*arguments)


def cfunc(signature: Any, **options: Any) -> Callable[[_Function], Callback]:
    """Mark a function as a callback of a fixed signature, to be compiled when it is first used.

    Callbacks of one signature are one type to numba: passed inside a NamedTuple they may be
    exchanged without compiling their caller again.

    Parameters
    ----------
    signature : str or numba signature
        For example ``"float64(float64[::1])"``.
    **options
        What ``numba.cfunc`` takes, ``fastmath=FAST`` for example.

    Returns
    -------
    callable
        A decorator that returns a `Callback`.

    Notes
    -----
    A callback that raises prints to stderr and returns 0. Return nan instead, and let the caller
    find it.
    """

    def decorate(plain: _Function) -> Callback:
        merged = {**_OPTIONS, **_normalised(options)}
        try:
            from numba.core.ccallback import CFunc
            from numba.core.sigutils import normalize_signature

            callback = CFunc(
                plain, normalize_signature(signature), locals={}, options=merged, **_COMPILER
            )
        except (ImportError, TypeError) as error:
            _logger.debug("numba %s builds callbacks otherwise: %s", numba.__version__, error)
            return Callback(plain, lambda: _plain_cfunc(plain, signature, merged))
        # The stamp is taken now, as the source may have changed when the callback is compiled.
        _enable_caching(callback, plain)

        def compiled() -> Any:
            callback.compile()
            return callback

        return Callback(plain, compiled)

    return decorate


def typed_by_looks(kind: type[_Tuple]) -> type[_Tuple]:
    """Let numba remember the types of a NamedTuple of arrays, numbers and callbacks.

    Without this decorator numba works out the type of a tuple that holds a callback anew at every
    call, one field after the other, which takes ten times as long as labelling a sentence.

    Parameters
    ----------
    kind : class
        The NamedTuple. Its whole numbers must fit into 64 bits.
    """
    typeof = numba.extending.typeof_impl
    plain = typeof.dispatch(tuple)
    known: dict[Any, Any] = {}

    def remembered(value: Any, context: Any) -> Any:
        looks = (context.purpose, _looks(value))
        if looks not in known:
            known[looks] = plain(value, context)
        return known[looks]

    typeof.register(kind, remembered)
    return kind


def _looks(value: Any) -> Any:
    """Return all that numba derives the type of a value from."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num & _LAYOUT
    if isinstance(value, tuple):
        return (type(value), *map(_looks, value))
    # Two callbacks may have two signatures.
    return type(value) if isinstance(value, (int, float, np.generic)) else value


def _plain_cfunc(plain: Callable[..., Any], signature: Any, options: dict[str, Any]) -> Any:
    try:
        return numba.cfunc(signature, cache=True, **options)(plain)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        _warn_uncached(str(error))
        return numba.cfunc(signature, **options)(plain)


def _normalised(options: dict[str, Any]) -> dict[str, Any]:
    """Turn a frozenset of fast-math flags into the plain set that numba insists on."""
    flags = options.get("fastmath")
    return {**options, "fastmath": set(flags)} if isinstance(flags, frozenset) else options
