"""Cross-validation and paths over l2, on a cluster and on one machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.dask_clusters import classes

from partwise import LinearClassifier, LinearClassifierCV, path
from partwise.dask import parallel_paths
from partwise.errors import MismatchError
from partwise.training import Checkpoint

pytest.importorskip("distributed")


def plain(rows: Any) -> list[dict[str, Any]]:
    return [{name: row[name] for name in row if name != "seconds"} for row in rows]


def test_folds_are_those_of_one_machine(client: Any) -> None:
    X, y = classes(80)
    how: dict[str, Any] = {"l2_max": 10.0, "steps": 3, "factor": 0.2, "cv": 3}
    alone = LinearClassifierCV(**how).fit(X, y)
    with parallel_paths(client):
        made = LinearClassifierCV(**how).fit(X, y)
    assert plain(made.path_) == plain(alone.path_)
    np.testing.assert_array_equal(made.scores_, alone.scores_)
    np.testing.assert_array_equal(made.model_.weights, alone.model_.weights)


def test_stretches_of_a_path_are_paths_of_one_machine(client: Any) -> None:
    X, y = classes(80)
    dev = classes(120)[0][80:], classes(120)[1][80:]
    with parallel_paths(client):
        made = path(LinearClassifier(), X, y, dev=dev, l2_max=10.0, factor=0.5, steps=5)
    first = path(LinearClassifier(), X, y, dev=dev, l2_max=10.0, factor=0.5, steps=3)
    then = path(LinearClassifier(), X, y, dev=dev, l2_max=1.25, factor=0.5, steps=2)
    assert plain(made.rows) == plain([*first.rows, *then.rows])
    best = max(made.rows, key=lambda row: row["score"])
    assert made.best.l2 == best["l2"]
    assert made.best.score(*dev) == best["score"]


def test_a_path_ends_where_one_machine_ends_it(client: Any) -> None:
    X, y = classes(80)
    how: dict[str, Any] = {"dev": (X, y), "l2_max": 1.0, "factor": 0.1, "steps": 6, "tol": 1e-6}
    with parallel_paths(client):
        made = path(LinearClassifier(max_passes=6.0, solver="online-eg"), X, y, **how)
    gaps = [row["relative_gap"] > 1e-6 for row in made.rows]
    assert len(gaps) < 6
    assert gaps == [False] * (len(gaps) - 1) + [True]


def test_what_needs_one_fit_after_the_other_is_refused(client: Any) -> None:
    X, y = classes(40)
    with parallel_paths(client):
        with pytest.raises(MismatchError, match="extend needs one fit after the other"):
            path(LinearClassifier(), X, y, dev=(X, y), steps=2, extend=1)
        with pytest.raises(ValueError, match="a path on a cluster has no checkpoint"):
            path(LinearClassifier(checkpoint=Checkpoint("x")), X, y, dev=(X, y), steps=2)
