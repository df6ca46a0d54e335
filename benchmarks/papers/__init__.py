"""The figures, tables and claims of the five papers, drawn again: one module per paper."""

from __future__ import annotations

from importlib import import_module

from .figure import Figure

#: Modules in the order of the papers.
MODULES = ("collins2008", "bartlett2004", "yu2011", "schmidt2015", "zhang2011")


def all_figures() -> tuple[Figure, ...]:
    """Return the figures, tables and claims of all papers."""
    modules = [import_module(f"{__name__}.{name}") for name in MODULES]
    return tuple(figure for module in modules for figure in module.FIGURES)
