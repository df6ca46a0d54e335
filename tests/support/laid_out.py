"""What a trainer makes of examples before it trains on them, in memory or on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np

from partwise.models.features import Features
from partwise.models.fit import Settings
from partwise.models.prepared import Prepared

__all__ = ["LaidOut", "laid_out", "same"]


class _Enough(Exception):
    """Ends a fit before its first epoch."""


@dataclass
class LaidOut:
    """A problem as plain arrays, and what a model would hold."""

    arrays: dict[str, Any]
    on_disk: bool
    features: Features
    more: dict[str, Any]


def laid_out(fit: Callable[[], Any]) -> LaidOut:
    """Call what fits an estimator, and return the problem that it would train on."""
    found: list[LaidOut] = []

    def train_model(task: str, prepared: Prepared, settings: Settings, **more: Any) -> Any:
        problem = prepared.problem
        assert problem is not None
        design = problem.arrays.design
        every = {**problem.arrays._asdict(), **design._asdict(), "reach": problem.reach}
        every.update(first=problem.layout.first, layout_slot=problem.layout.slot)
        arrays = {
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in every.items()
            if name not in ("marginals", "maximum", "design")
        }
        kept = {name: getattr(prepared, name) for name in ("labels", "constraints", "meta")}
        kept["structure"] = problem.structure.constants()
        kept["counts"] = prepared.features.feature_counts(problem.structure)
        found.append(LaidOut(arrays, problem.room.on_disk, prepared.features, kept))
        raise _Enough

    with patch("partwise.models.fit.train_model", train_model):
        try:
            fit()
        except _Enough:
            return found[0]
    raise AssertionError("the fit did not come to its problem")


def same(disk: LaidOut, memory: LaidOut) -> None:
    """Check that a problem on disk is the one in memory, array for array, and its model too."""
    assert disk.on_disk
    assert not memory.on_disk
    for name, value in memory.arrays.items():
        np.testing.assert_array_equal(disk.arrays[name], value, err_msg=name)
    for name, held in memory.more.items():
        ours = disk.more[name]
        assert (list(ours) == list(held)) if name == "labels" else repr(ours) == repr(held), name
    assert disk.features.to_json() == memory.features.to_json()
    ours, theirs = disk.features.arrays(), memory.features.arrays()
    assert ours.keys() == theirs.keys()
    for name, array in theirs.items():
        np.testing.assert_array_equal(ours[name], array, err_msg=name)
