"""The state of a solver as plain data and arrays, so that a fit can go on in another process.

The state is everything that a solver holds, except for what its constructor makes alike from the
goal and the options: the attributes that a class names in ``remade``, and the objects in `_GIVEN`.
So nothing can be forgotten, and a solver that says nothing about its state is saved correctly. A
state is data and never code. It is put into a solver that was just made, and anything that does not
fit there is refused: arrays must have the shapes that they have in the new solver, unless a class
names them in ``grows`` (``"atoms.part"`` is the field of an attribute). The method ``restored`` of
a class is called when its state is complete, to check it further and to rebuild what follows from
it; the method ``captured`` before its state is read, to bring it up to date if it is elsewhere.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import DataError
from ..problem.evaluation import Evaluator, Slope
from ..problem.problem import Problem
from ..structures.base import Structure
from .goal import Goal

__all__ = ["capture", "restore"]

Arrays = dict[str, npt.NDArray[Any]]

#: What a new solver has been given, or shares with others.
_GIVEN: Final = (Problem, Evaluator, Goal, Structure, np.random.Generator)
#: Tuples with names that may stand where a new solver still has None.
_KINDS: Final[tuple[type[Any], ...]] = (Slope,)
_SPECIAL: Final = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def capture(
    thing: Any, name: str, elsewhere: Callable[[npt.NDArray[Any]], bool] = lambda array: False
) -> tuple[dict[str, Any], Arrays]:
    """Return the state of an object: plain data as JSON holds them, and arrays by name.

    Parameters
    ----------
    thing : object
        A solver, or another object of the package.
    name : str
        The first part of the names of the arrays.
    elsewhere : callable
        Returns whether the values of an array are preserved elsewhere, so that only its place is
        noted.
    """
    writer = _Writer(elsewhere)
    return writer.attributes(thing, name), writer.arrays


def restore(
    thing: Any,
    tree: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    kinds: Sequence[type[Any]] = (),
) -> None:
    """Put a state that `capture` returned into a new object of the same kind.

    Parameters
    ----------
    thing : object
        An object that was made for the same goal with the same options.
    tree, arrays
        What `capture` returned, or anything else from a file.
    kinds : sequence of classes
        Named tuples and dataclasses that may stand where the new object has None or nothing.

    Raises
    ------
    DataError
        If the state does not fit the object.
    """
    try:
        known = {kind.__name__: kind for kind in (*_KINDS, *kinds)}
        _Reader(arrays, known).attributes(thing, tree, type(thing).__name__)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"the state of a solver is not sound: {error!r}") from error


def _named(kind: type[Any], what: str) -> set[str]:
    """Return the names that a class and its base classes list under a word."""
    return {name for each in kind.__mro__ for name in vars(each).get(what, ())}


def _attributes(thing: Any) -> Iterator[tuple[str, Any]]:
    left_out = _named(type(thing), "remade")
    for name, value in vars(thing).items():
        if name not in left_out and not isinstance(value, _GIVEN) and not callable(value):
            yield name, value


class _Writer:
    """Turns objects into plain data; an array that occurs twice is stored once."""

    def __init__(self, elsewhere: Callable[[npt.NDArray[Any]], bool]) -> None:
        self.elsewhere = elsewhere
        self.arrays: Arrays = {}
        self.known: dict[int, str] = {}

    def attributes(self, thing: Any, path: str) -> dict[str, Any]:
        captured = getattr(thing, "captured", None)
        if captured is not None:
            captured()
        return {name: self.value(held, f"{path}.{name}") for name, held in _attributes(thing)}

    def value(self, value: Any, path: str) -> Any:
        if isinstance(value, np.bool_):
            return bool(value)
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, (int, np.integer)):
            return int(value)
        if isinstance(value, (float, np.floating)):
            number = float(value)
            return number if math.isfinite(number) else {"number": str(number)}
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            named = zip(value._fields, value, strict=True)
            inner = {name: self.value(held, f"{path}.{name}") for name, held in named}
            return {"kind": type(value).__name__, "fields": inner}
        if isinstance(value, (tuple, list, deque)):
            items = [self.value(held, f"{path}.{k}") for k, held in enumerate(value)]
            return {"tuple" if isinstance(value, tuple) else "list": items}
        if is_dataclass(value):
            names = [field.name for field in fields(value)]
            inner = {n: self.value(getattr(value, n), f"{path}.{n}") for n in names}
            return {"kind": type(value).__name__, "fields": inner}
        found = {"object": self.attributes(value, path)}
        name = getattr(type(value), "name", None)
        return {**found, "solver": name} if isinstance(name, str) else found

    def _array(self, array: npt.NDArray[Any], path: str) -> dict[str, Any]:
        if self.elsewhere(array):
            return {"kept": list(array.shape)}
        if id(array) not in self.known:
            self.known[id(array)] = path
            self.arrays[path] = array
        return {"array": self.known[id(array)]}


class _Reader:
    """Puts plain data back into objects."""

    def __init__(
        self, arrays: Mapping[str, npt.NDArray[Any]], kinds: Mapping[str, type[Any]]
    ) -> None:
        self.arrays, self.kinds = arrays, kinds
        self.made: Arrays = {}

    def attributes(self, thing: Any, tree: Any, path: str) -> None:
        names = {name for name, _ in _attributes(thing)}
        if not isinstance(tree, Mapping) or tree.keys() != names:
            raise DataError(f"the state of {path} does not hold just {', '.join(sorted(names))}")
        grows = _named(type(thing), "grows")
        for name, held in tree.items():
            wanted = held.get("solver") if isinstance(held, dict) else None
            if wanted is not None and wanted != getattr(thing, name).name:
                thing.turn_to(wanted)
            inside = frozenset(n[len(name) :] for n in grows if f"{n}.".startswith(f"{name}."))
            setattr(thing, name, self.value(held, getattr(thing, name), f"{path}.{name}", inside))
        restored = getattr(thing, "restored", None)
        if restored is not None:
            restored()

    def value(self, held: Any, now: Any, path: str, grows: frozenset[str] = frozenset()) -> Any:
        if not isinstance(held, dict):
            return self._plain(held, now, path)
        if "number" in held:
            return self._plain(_SPECIAL[held["number"]], now, path)
        if "kept" in held:
            if not isinstance(now, np.ndarray) or list(now.shape) != held["kept"]:
                raise DataError(f"{path} has another shape than where its values are")
            return now
        if "array" in held:
            return self._array(held["array"], now, path, "" in grows)
        if "fields" in held:
            return self._fields(held, now, path, grows)
        if "object" in held:
            return self._object(held, now, path)
        items: Sequence[Any] = held["tuple" if "tuple" in held else "list"]
        before = list(now) if isinstance(now, (tuple, list, deque)) else []
        before += [None] * (len(items) - len(before))
        # The arrays of a list that may grow may do so too.
        found = [
            self.value(item, was, f"{path}.{k}", grows & {""})
            for k, (item, was) in enumerate(zip(items, before, strict=False))
        ]
        if "tuple" in held:
            return tuple(found)
        return deque(found, now.maxlen) if isinstance(now, deque) else found

    def _plain(self, held: Any, now: Any, path: str) -> Any:
        """Return a plain value, which must be of the kind that is there; None may become any."""
        numbers = (int, float, np.integer, np.floating)
        if held is None:
            alike = now is None or isinstance(now, tuple) or is_dataclass(now)
        else:
            both = isinstance(now, numbers) and isinstance(held, (int, float))
            alike = now is None or both or type(now) is type(held)
        if not alike or not isinstance(held, (bool, int, float, str, type(None))):
            raise DataError(f"{path} is {held!r} where {now!r} was expected")
        return held

    def _array(self, name: str, now: Any, path: str, grows: bool) -> npt.NDArray[Any]:
        array = self.arrays[name]
        if isinstance(now, np.ndarray):
            fits = array.dtype == now.dtype and array.ndim == now.ndim
            if not fits or (array.shape != now.shape and not grows):
                raise DataError(
                    f"{path} is an array of {array.dtype} and shape {array.shape} where "
                    f"{now.dtype} and {now.shape} were expected"
                )
        if name not in self.made:
            self.made[name] = _copied(array)
        return self.made[name]

    def _fields(self, held: dict[str, Any], now: Any, path: str, grows: frozenset[str]) -> Any:
        kind = self.kinds[held["kind"]] if now is None else type(now)
        given = held["fields"]
        names = getattr(kind, "_fields", None) or [field.name for field in fields(kind)]
        if set(given) != set(names):
            raise DataError(f"{path} does not hold just {', '.join(names)}")
        found = {}
        for name in names:
            inside = frozenset({""} if f".{name}" in grows else ())
            found[name] = self.value(
                given[name], getattr(now, name, None), f"{path}.{name}", inside
            )
        return kind(**found)

    def _object(self, held: dict[str, Any], now: Any, path: str) -> Any:
        name = held.get("solver")
        if now is None or name != getattr(type(now), "name", None):
            raise DataError(f"{path} is a {name or 'thing'} that is not there")
        self.attributes(now, held["object"], path)
        return now


def _copied(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a copy of an array that begins at a cache line, as compiled code likes it."""
    room = np.empty(array.nbytes + 64, dtype=np.uint8)
    skipped = -room.ctypes.data % 64
    copy = room[skipped : skipped + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
