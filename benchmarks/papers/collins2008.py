"""The figures, tables and claims of Collins et al. 2008 (000)."""

from __future__ import annotations

from .figure import Figure

FIGURES: tuple[Figure, ...] = ()
