"""A digest of a problem: whether two fits have the same examples, features, labels and costs."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from .problem import Problem

__all__ = ["problem_digest"]


def problem_digest(problem: Problem) -> str:
    """Return the SHA-256 of everything that the objective of a problem depends on.

    Parameters
    ----------
    problem : Problem
        The problem.
    """
    structure, layout = problem.structure, problem.layout
    digest = hashlib.sha256()
    what = (structure.name, structure.constants(), layout.widths, layout.n_features)
    digest.update(repr(what).encode())
    for array in (layout.first, layout.slot):
        _add(digest, array)
    _add(digest, problem.arrays)
    return digest.hexdigest()


def _add(digest: Any, thing: Any) -> None:
    """Add an array, a number, or all that a tuple holds; compiled functions are left out."""
    if isinstance(thing, np.ndarray):
        digest.update(f"{thing.dtype.str}{thing.shape}".encode())
        digest.update(np.ascontiguousarray(thing).reshape(-1).view(np.uint8).data)
    elif isinstance(thing, tuple):
        for held in thing:
            _add(digest, held)
    elif isinstance(thing, (int, float, np.generic)):
        digest.update(repr(float(thing)).encode())
