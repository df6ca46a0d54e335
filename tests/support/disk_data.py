"""The same problems in memory and on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from partwise.problem.batches import Batch, ProblemWriter
from partwise.problem.losses import make_loss
from partwise.problem.numbering import Numbering
from partwise.problem.problem import Problem, build_problem
from partwise.problem.rows import Rows
from partwise.structures.base import Structure
from partwise.structures.chain.structure import Chain
from partwise.structures.multiclass import Multiclass


def twins(
    kind: str,
    loss: str,
    folder: Path,
    *,
    n: int = 60,
    block_bytes: int = 1500,
    resume: bool = False,
    weights: str = "all",
    seed: int = 0,
) -> tuple[Problem, Problem]:
    """Return a problem of chains or of classes, in memory and on disk, in some blocks."""
    rng = np.random.default_rng(seed)
    structure: Structure = Chain(3, end=True) if kind == "chain" else Multiclass(4)
    lengths = rng.integers(1, 7, n) if kind == "chain" else np.ones(n, dtype=np.int64)
    total = int(lengths.sum())
    dense = (rng.random((total, 9)) < 0.4).astype(float)
    truth = dense @ rng.normal(size=(9, structure.n_labels)) + rng.normal(
        size=(total, structure.n_labels)
    )
    gold = np.split(truth.argmax(axis=1), np.cumsum(lengths)[:-1])
    rows = Rows.from_dense(dense)
    one = Rows.from_dense([[1.0]])
    others = [one] * (len(structure.kinds) - 1)
    made = make_loss(loss, structure.n_labels)
    held = build_problem(structure, lengths, [rows, *others], gold, made, weights=weights)
    writer = ProblemWriter(folder, block_bytes=block_bytes, resume=resume)
    for batch in _batches(lengths, rows, others, gold, 17):
        writer.add(batch)
    numbering = Numbering([9, *(other.n_features for other in others)])
    stored = writer.finish(structure, numbering, loss=made, weights=weights)
    return held, stored


def _batches(lengths: Any, rows: Rows, others: list[Rows], gold: Sequence[Any], size: int) -> Any:
    ends = np.concatenate([[0], np.cumsum(lengths)])
    for first in range(0, len(lengths), size):
        last = min(first + size, len(lengths))
        some = rows.take(slice(ends[first], ends[last]))
        yield Batch(lengths[first:last], [some, *others], gold[first:last])
