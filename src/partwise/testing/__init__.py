"""Checks for structures of your own: see :func:`check_structure`."""

from .check import check_law, check_structure

__all__ = ["check_law", "check_structure"]
