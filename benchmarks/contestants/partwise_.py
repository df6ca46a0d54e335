"""partwise, with its own solvers."""

from __future__ import annotations

from .base import Contestant

PARTWISE: tuple[Contestant, ...] = ()
