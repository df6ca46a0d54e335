"""Public names of a package that are imported when they are first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    package: str, names: Mapping[str, str], kind: str | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the ``__getattr__`` and ``__dir__`` functions of a package.

    They also answer ``__all__``. Type checkers see the names by ``from .module import *``, in the
    branch of ``if TYPE_CHECKING`` that they read.

    Parameters
    ----------
    package : str
        The name of the package.
    names : mapping of str to str
        For each module, relative to the package, the public names that it defines, with blanks
        between them; ``"."`` is the package itself.
    kind : str or None
        What the folders of tasks add under this word are public names too.
    """
    homes = {name: module for module, some in names.items() for name in some.split()}

    @cache
    def every() -> Mapping[str, str]:
        if kind is None:
            return homes
        from .registry import added

        return {**homes, **{name: f".{module}" for name, module in added(kind).items()}}

    def lookup(name: str) -> Any:
        value: Any
        if name == "__all__":
            # Constants first, then classes, then functions.
            value = sorted(every(), key=lambda n: (not n.isupper(), not n[0].isupper(), n))
        else:
            home = homes.get(name) or every().get(name)
            if home is None:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            value = getattr(importlib.import_module(home, package), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *every()})

    return lookup, listed
