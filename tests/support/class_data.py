"""Problems of classes from plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.arrays import Floats, Ints
from partwise.problem.losses import Loss
from partwise.problem.problem import Problem, build_problem
from partwise.problem.rows import Rows
from partwise.structures.multiclass import Multiclass


def classes(x: Any, y: Any, n_labels: int, sample_weight: Any = None) -> Problem:
    """Build the problem of the log loss."""
    gold = list(np.reshape(y, (-1, 1)).astype(np.int64))
    return build_problem(
        Multiclass(n_labels),
        np.ones(len(gold), dtype=np.int64),
        [Rows.from_dense(np.asarray(x, dtype=float))],
        gold,
        Loss("log", 1.0, False),
        sample_weight=sample_weight,
    )


def drawn(
    seed: int, n: int, n_features: int, n_labels: int, repeats: int = 1
) -> tuple[Floats, Ints]:
    """Rows, every one `repeats` times, with labels that follow them, more or less."""
    rng = np.random.default_rng(seed)
    x = np.repeat(rng.normal(size=(n, n_features)), repeats, axis=0)
    scores = x @ rng.normal(size=(n_features, n_labels)) + rng.gumbel(size=(len(x), n_labels))
    shuffled = rng.permutation(len(x))
    return x[shuffled], scores.argmax(axis=1)[shuffled]
