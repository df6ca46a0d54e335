"""Data whose labels depend on products of the inputs."""

from __future__ import annotations

from typing import Any

import numpy as np


def words(seed: int, n: int) -> tuple[list[Any], list[list[str]]]:
    """Sequences whose labels depend on products of the inputs, and on the label before."""
    rng = np.random.default_rng(seed)
    sequences, labels = [], []
    for _ in range(n):
        x = rng.normal(size=(int(rng.integers(1, 6)), 3))
        known = ["a"]
        for a, b, c in x:
            side = 1.0 if known[-1] == "a" else -1.0
            known.append("a" if a * b + 0.3 * side > 0 else "b" if c > 0 else "c")
        sequences.append(x)
        labels.append(known[1:])
    return sequences, labels
