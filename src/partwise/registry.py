"""Registries of classes and functions by name, which other packages can extend."""

from __future__ import annotations

import logging
from collections.abc import Iterator, MutableMapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from .errors import MismatchError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["TASK_FOLDERS", "Registry", "added", "imported"]

_Entry = TypeVar("_Entry")
_log = logging.getLogger(__name__)

#: The folders of ``partwise.tasks``. What each brings is in the ``ADDS`` of its ``__init__.py``.
TASK_FOLDERS: Final = ("sequences", "dependency", "constituency", "graph")


def imported(place: str) -> Any:
    """Import a module of this package and return one of its attributes.

    Parameters
    ----------
    place : str
        ``"module:attribute"``, the module relative to ``partwise``.
    """
    module, _, attribute = place.partition(":")
    return getattr(import_module(f"partwise.{module}"), attribute)


def added(kind: str) -> dict[str, str]:
    """Return the names of a kind that the folders of tasks add, and where each is defined.

    Parameters
    ----------
    kind : str
        "structures", "features", "tasks" or "estimators".
    """
    found: dict[str, str] = {}
    for folder in TASK_FOLDERS:
        found.update(import_module(f"partwise.tasks.{folder}").ADDS.get(kind, {}))
    return found


class Registry(MutableMapping[str, _Entry]):
    """Classes or functions by name, imported when they are first looked up.

    A program may add entries by assignment. Other packages add theirs through entry points in the
    group of the registry, for example in their ``pyproject.toml``::

        [project.entry-points."partwise.solvers"]
        my-solver = "my_package.my_module:MySolver"

    Parameters
    ----------
    group : str
        The group of entry points, ``"partwise.solvers"`` for example. What the folders of tasks
        add under the last word of it is in the registry too.
    places : dict of str to str
        The other entries of this package: for each name ``"module:attribute"``, the module
        relative to ``partwise``.
    """

    def __init__(self, group: str, places: dict[str, str]) -> None:
        self.group = group
        self._given = dict(places)
        self._loaded: dict[str, _Entry] = {}
        self._broken: set[str] = set()

    @cached_property
    def _places(self) -> dict[str, str]:
        """Where the entries of this package are defined."""
        return {**self._given, **added(self.group.rpartition(".")[2])}

    @cached_property
    def _plugins(self) -> dict[str, EntryPoint]:
        """The entry points of other packages; they cannot replace names of this package."""
        from importlib.metadata import entry_points

        found = entry_points(group=self.group)
        return {entry.name: entry for entry in found if entry.name not in self._places}

    def built_in(self, name: object) -> bool:
        """Return whether the name comes from this package or the running program, not a plug-in."""
        return name in self._loaded or name in self._places

    def __getitem__(self, name: str) -> _Entry:
        if name not in self._loaded:
            if name in self._places:
                found = imported(self._places[name])
            else:
                found = self._load(self._plugins[name])
            self._loaded[name] = found
        return self._loaded[name]

    def _load(self, entry: EntryPoint) -> _Entry:
        """Import what an entry point names; whatever fails there is the fault of its package."""
        try:
            found: _Entry = entry.load()
        except Exception as error:
            package = "another package" if entry.dist is None else entry.dist.name
            raise MismatchError(
                f"{entry.name!r} of {self.group}, which {package} provides as {entry.value}, "
                f"cannot be imported: {error!r}; repair or remove that package"
            ) from error
        return found

    def usable(self) -> dict[str, _Entry]:
        """Return all entries by name; plug-ins that cannot be imported are logged and left out."""
        found: dict[str, _Entry] = {}
        for name in self:
            try:
                found[name] = self[name]
            except MismatchError as error:
                if name not in self._broken:
                    _log.warning("%s", error)
                    self._broken.add(name)
        return found

    def __setitem__(self, name: str, entry: _Entry) -> None:
        self._loaded[name] = entry

    def __delitem__(self, name: str) -> None:
        known = name in self
        self._loaded.pop(name, None)
        self._places.pop(name, None)
        self._plugins.pop(name, None)
        if not known:
            raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return self.built_in(name) or name in self._plugins

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._places, *self._loaded, *self._plugins)))

    def __len__(self) -> int:
        return len({*self._places, *self._loaded, *self._plugins})
