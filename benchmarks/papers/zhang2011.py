"""The figures, tables and claims of Zhang et al. 2011 (004)."""

from __future__ import annotations

from .figure import Figure

FIGURES: tuple[Figure, ...] = ()
