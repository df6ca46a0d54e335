"""The figures, tables and claims of Yu, Huang and Lin 2011 (002)."""

from __future__ import annotations

from .figure import Figure

FIGURES: tuple[Figure, ...] = ()
