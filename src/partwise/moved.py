"""Modules that the documentation once named by another path.

Importing one by its old path works, with a DeprecationWarning that gives the new path.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Final

__all__ = ["MOVED", "MovedModules"]

#: The old path of each module within the package, and its new path; "" is the package itself.
MOVED: Final = {
    "constraints": "tasks.sequences.constraints",
    "estimators": "",
    "encoders.numbered": "models.numbered",
    "fitting.fit": "models.fit",
    "jit": "compiled.jit",
    "kernels.gram": "tasks.sequences.gram",
    "losses": "problem.losses",
    "rows": "problem.rows",
    "trees.tree": "formats.tree",
}
_PACKAGES: Final = {old.rpartition(".")[0] for old in MOVED} - {""}


class MovedModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules of the package by their old paths."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answer for the old paths only."""
        package, _, old = fullname.partition(".")
        if package != "partwise" or (old not in MOVED and old not in _PACKAGES):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=old in _PACKAGES)

    def exec_module(self, module: ModuleType) -> None:
        """Let the module of the old path hand on what the one of the new path has."""
        old = module.__name__.partition(".")[2]
        if old not in MOVED:
            return
        new = f"partwise.{MOVED[old]}".rstrip(".")
        warnings.warn(
            f"partwise.{old} is now {new}; import it by that name", DeprecationWarning, stacklevel=2
        )
        home = importlib.import_module(new)
        vars(module)["__getattr__"] = functools.partial(getattr, home)
