"""Modules that earlier versions of the documentation named by another path.

Importing a module by its old path works, with a DeprecationWarning that names the new path.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Final

__all__ = ["MOVED", "MovedModules"]

#: The old path of each module within the package, and its new path; "" is the package itself.
MOVED: Final = {
    "constraints": "tasks.sequences.constraints",
    "estimators": "",
    "encoders.numbered": "models.numbered",
    "fitting.fit": "models.fit",
    "jit": "compiled.jit",
    "kernels.gram": "tasks.kernels.gram",
    "l2_path": "training.path",
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
        """Return a spec for an old path, and None for any other name."""
        package, _, old = fullname.partition(".")
        if package != "partwise" or (old not in MOVED and old not in _PACKAGES):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=old in _PACKAGES)

    def exec_module(self, module: ModuleType) -> None:
        """Make the module of the old path look its names up in the module of the new path."""
        old = module.__name__.partition(".")[2]
        if old not in MOVED:
            return
        new = f"partwise.{MOVED[old]}".rstrip(".")
        warnings.warn(
            f"partwise.{old} is now {new}; import it by that name", DeprecationWarning, stacklevel=2
        )
        home = importlib.import_module(new)

        def lookup(name: str) -> Any:
            # Not what makes a module: its path would lead to second copies of other modules.
            if name.startswith("__"):
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            return getattr(home, name)

        public = [name for name in dir(home) if not name.startswith("_")]
        vars(module).update(__getattr__=lookup, __all__=getattr(home, "__all__", public))
