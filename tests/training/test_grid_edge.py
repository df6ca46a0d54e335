"""The best l2 at an end of the grid: it is said, and the path goes on beyond it if asked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from partwise import LinearClassifier, LinearClassifierCV, path
from partwise.errors import DataError
from partwise.tasks.cross_validation import path as path_function
from partwise.tasks.descent import descend_grid
from partwise.tasks.sequences.sources import Table
from partwise.training.path_table import Grid, GridEdgeWarning, PathRow, at_edge

assert path is path_function

GRID: dict[str, Any] = {"l2_max": 8.0, "factor": 0.5, "steps": 3}


@pytest.fixture(scope="module")
def digits() -> tuple[Any, Any]:
    X, y = load_digits(return_X_y=True)
    return X[:200] / 16.0, y[:200]


def rows(*scores: float) -> list[PathRow]:
    return [
        PathRow(l2=2.0**-k, passes=1.0, seconds=0.0, relative_gap=0.0, score=score)
        for k, score in enumerate(scores)
    ]


@pytest.mark.parametrize(
    ("scores", "chosen", "edge"),
    [
        ((0.1, 0.3, 0.2), 1, None),
        ((0.3, 0.2, 0.1), 0, "largest"),
        ((0.1, 0.2, 0.3), 2, "smallest"),
        ((0.1, 0.3, 0.3), 1, None),
        ((0.3, 0.3, 0.3), 0, "largest"),
        # One standard error: the chosen one and the best one are not the same.
        ((0.1, 0.29, 0.3), 1, "smallest"),
        ((0.29, 0.3, 0.1), 0, "largest"),
        ((0.3,), 0, None),
        ((math.nan, 0.3, 0.2), 1, None),
    ],
)
def test_at_edge(scores: tuple[float, ...], chosen: int, edge: str | None) -> None:
    assert at_edge(rows(*scores), chosen) == edge


def test_the_values_of_a_grid() -> None:
    grid = Grid(**GRID, extend=2)
    assert (grid.larger, grid.values, grid.smaller) == ((32.0, 16.0), (8.0, 4.0, 2.0), (1.0, 0.5))
    assert Grid(**GRID).smaller == Grid(**GRID).larger == ()
    for wrong in (-1, 1.5, "2", None):
        with pytest.raises(DataError, match=r"extend is .*; give a whole number from 0"):
            Grid(**GRID, extend=wrong)


def scripted(best: float) -> Any:
    """Return a score that is larger the nearer l2 is to some value."""
    return lambda model: -abs(math.log(model.l2 / best))


@pytest.mark.parametrize(
    ("best", "extend", "values", "edge"),
    [
        (4.0, 3, [8, 4, 2], None),
        (2.0, 0, [8, 4, 2], "smallest"),
        (2.0, 3, [8, 4, 2, 1], None),
        (0.5, 3, [8, 4, 2, 1, 0.5, 0.25], None),
        (0.01, 2, [8, 4, 2, 1, 0.5], "smallest"),
        (8.0, 0, [8, 4, 2], "largest"),
        (8.0, 2, [32, 16, 8, 4, 2], None),
        (16.0, 2, [32, 16, 8, 4, 2], None),
        (99.0, 2, [32, 16, 8, 4, 2], "largest"),
    ],
)
def test_a_path_goes_on_while_the_best_is_at_an_end(
    digits: tuple[Any, Any], best: float, extend: int, values: list[float], edge: str | None
) -> None:
    trainer = LinearClassifier(tol=1e-2)
    found = descend_grid(trainer, Grid(**GRID, extend=extend), Table(*digits), None, scripted(best))
    assert [row["l2"] for row in found.best.rows] == values
    assert found.edge == edge
    nearest = min(values, key=lambda l2: abs(math.log(l2 / best)))
    assert trainer.model_.l2 == nearest
    alone = LinearClassifier(tol=1e-2, l2=nearest).fit(*digits)
    assert trainer.certificate_.dual <= alone.certificate_.primal
    assert trainer.certificate_.primal >= alone.certificate_.dual
    assert list(trainer.classes_) == list(range(10))


def test_a_path_that_a_function_ends_is_not_at_an_end(digits: tuple[Any, Any]) -> None:
    trainer = LinearClassifier(tol=1e-2)
    given = (trainer, Grid(**GRID, extend=2), Table(*digits), None, scripted(0.01))
    assert descend_grid(*given, lambda row, model: row["l2"] == 4.0).edge is None


def test_estimators_warn(digits: tuple[Any, Any]) -> None:
    X, y = digits
    how: Any = {"l2_max": 1e3, "factor": 0.1, "steps": 2}
    dev = (X, y)
    with pytest.warns(GridEdgeWarning, match="100, is the smallest that was tried; a smaller"):
        path(LinearClassifier(), X, y, dev=dev, **how)
    with pytest.warns(GridEdgeWarning, match="give more steps, or extend=N"):
        made = LinearClassifierCV(**how).fit(X, y, dev=dev)
    assert made.edge_ == "smallest"
    with pytest.warns(GridEdgeWarning):
        folds = LinearClassifierCV(**how, cv=2).fit(X, y)
    assert folds.edge_ == "smallest"
    assert len(folds.path_) == 2


def test_folds_go_on(digits: tuple[Any, Any]) -> None:
    X, y = digits
    # Close to the optimum, since the fits of both start from different weights.
    how: Any = {"l2_max": 1e4, "factor": 0.1, "steps": 2, "cv": 2, "tol": 1e-8}
    made = LinearClassifierCV(**how, extend=5).fit(X, y)
    assert [row["l2"] for row in made.path_] == pytest.approx([1e4 * 0.1**k for k in range(7)])
    assert made.scores_.shape == (7, 2)
    assert made.edge_ is None
    assert made.l2_ < 1e3
    whole = LinearClassifierCV(**{**how, "steps": 7}).fit(X, y)
    assert np.allclose([r["score"] for r in made.path_], [r["score"] for r in whole.path_])
    top: Any = {"l2_max": 1e-2, "factor": 0.1, "steps": 2, "cv": 2, "extend": 4}
    above = LinearClassifierCV(**top).fit(X, y)
    assert [row["l2"] for row in above.path_] == sorted(
        (row["l2"] for row in above.path_), reverse=True
    )
    assert above.path_[0]["l2"] == pytest.approx(100.0) or above.edge_ is None
