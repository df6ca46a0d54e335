"""The figures, tables and claims of Schmidt et al. 2015 (003)."""

from __future__ import annotations

from .figure import Figure

FIGURES: tuple[Figure, ...] = ()
