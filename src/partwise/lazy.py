"""Public names of a package that are imported when they are first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    package: str, homes: Mapping[str, str], kind: str | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the ``__getattr__`` and ``__dir__`` functions of a package.

    Parameters
    ----------
    package : str
        The name of the package.
    homes : mapping of str to str
        For each public name, the module that defines it, relative to the package.
    kind : str or None
        What the folders of tasks add under this word are public names too.
    """

    @cache
    def every() -> Mapping[str, str]:
        if kind is None:
            return homes
        from .registry import added

        return {**homes, **{name: f".{module}" for name, module in added(kind).items()}}

    def lookup(name: str) -> Any:
        home = homes.get(name) or every().get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(home, package), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *every()})

    return lookup, names
