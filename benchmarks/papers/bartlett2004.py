"""The figures, tables and claims of Bartlett et al. 2004 (001)."""

from __future__ import annotations

from .figure import Figure

FIGURES: tuple[Figure, ...] = ()
