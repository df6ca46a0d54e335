"""Data for clusters, and clusters on this machine whose processes can be killed."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np

from partwise.datasets import tagged_text
from partwise.formats.brackets import write_brackets
from partwise.formats.columns import write_columns
from partwise.formats.conll import write_conll

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.cluster_processes import Processes, kill, processes

__all__ = ["Processes", "classes", "kill", "processes", "weights_hash", "write_data"]
from support import grammar_of_arcs, grammar_of_phrases


def weights_hash(estimator: Any) -> str:
    return hashlib.sha256(estimator.model_.weights.tobytes()).hexdigest()


def classes(n: int = 240) -> tuple[Any, Any]:
    """Examples whose features are whole numbers, so that sums of squares are exact."""
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, size=(n, 6)).astype(float)
    return X, (X @ rng.normal(size=(6, 3)) + rng.normal(size=(n, 3))).argmax(axis=1)


def write_data(folder: Path) -> dict[str, str]:
    """Write one file per task."""
    X, y = classes()
    lines = (
        f"{label} " + " ".join(f"{j + 1}:{x:g}" for j, x in enumerate(row) if x)
        for row, label in zip(X, y, strict=True)
    )
    paths = {name: folder / name for name in ("tag", "classify", "parse", "brackets")}
    paths["classify"].write_text("\n".join(lines) + "\n")
    write_columns(paths["tag"], tagged_text(60))
    write_conll(paths["parse"], grammar_of_arcs.treebank(40))
    write_brackets(paths["brackets"], grammar_of_phrases.treebank(40))
    return {name: str(path) for name, path in paths.items()}
