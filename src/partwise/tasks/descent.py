"""Fits along a path of l2, for all data and for folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import DataError, MismatchError, level_outside
from ..models.prepared import Prepared
from ..training.path import Descent
from ..training.path_table import (
    BestModel,
    Grid,
    GridEdgeWarning,
    PathRow,
    at_edge,
    best_of,
    choose,
    edge_words,
    pooled,
)
from .source import Source
from .stretches import Stretch, Walkers, replayed, walkers_now
from .trainer import Trainer

if TYPE_CHECKING:
    from ..models.model import Model
    from ..training.result import Fit

__all__ = [
    "Descended",
    "deal_out",
    "descend",
    "descend_grid",
    "fold_tables",
    "grid_tables",
    "warn_at_edge",
]


class Descended(NamedTuple):
    """The result of :func:`descend`.

    Attributes
    ----------
    best
        The table, and the best model.
    prepared
        The examples that were trained on.
    fit
        The last fit.
    interrupted
        Whether Ctrl-C ended the path.
    edge
        At which end of the grid the best model lies, see `at_edge`; None if it lies between them,
        or if the path did not get to that end.
    """

    best: BestModel
    prepared: Prepared
    fit: Fit
    interrupted: bool
    edge: str | None = None


def _descend_apart(
    walkers: Walkers,
    trainer: Trainer,
    grid: Grid,
    source: Any,
    weight: Any,
    score: Callable[[Model], float],
    each: Callable[[PathRow, Model], Any] | None,
) -> Descended:
    """Do what `descend_grid` does, in stretches that other processes walk."""
    if grid.extend:
        raise MismatchError("extend needs one fit after the other; leave it or the cluster out")
    values, n = grid.values, walkers.stretch
    stretches = [
        Stretch(trainer, values[k : k + n], source, weight, grid.warm_start)
        for k in range(0, len(values), n)
    ]
    found = BestModel(score, each)
    with closing(walkers(stretches)) as walked:  # type: ignore[type-var]
        last = replayed(walked, found)
    assert found.model is not None
    trainer._adopt(found.model)
    trainer.classes_, trainer.trace_ = last.classes, found.trace
    edge = at_edge(found.rows, found.at)
    fit = last.models[-1][1]
    whole = len(found.rows) == len(values) and fit.certificate.converged
    edge = None if edge == "smallest" and not whole else edge
    return Descended(found, last.prepared, fit, False, edge)


def descend(
    trainer: Trainer,
    values: Sequence[float],
    source: Any,
    weight: Any = None,
    score: Callable[[Model], float] | None = None,
    each: Callable[[PathRow, Model], Any] | None = None,
    warm_start: str = "extrapolated",
) -> Descended:
    """Fit along a path, and leave the trainer with the best model.

    Parameters
    ----------
    trainer : Trainer
        The trainer to fit; it is changed.
    values : sequence of float
        The values of l2, the largest first.
    source, weight
        Labelled examples and their weights.
    score : callable or None
        Returns the score of a model. If None, there are no scores, and the last model is the best.
    each : callable or None
        Called with each row and its model as soon as they are known; a true result ends the path.
    warm_start : {"extrapolated", "plain"}
        Where each fit starts, as in `train_path`.
    """
    found = BestModel(score, each)
    descent = Descent(values, found, warm_start)
    trainer.__dict__["_descent"] = descent
    try:
        prepared, fit = trainer._train(source, weight)
    finally:
        del trainer.__dict__["_descent"]
    assert found.model is not None
    classes = trainer.classes_
    trainer._adopt(found.model)
    # The labels as they were given, because a model only has plain values.
    trainer.classes_ = classes
    trainer.trace_ = found.trace
    return Descended(found, prepared, fit, descent.interrupted)


def descend_grid(
    trainer: Trainer,
    grid: Grid,
    source: Any,
    weight: Any,
    score: Callable[[Model], float],
    each: Callable[[PathRow, Model], Any] | None = None,
) -> Descended:
    """Fit along a path, and beyond its ends as far as the grid allows while the best lies there.

    Smaller values follow one by one, each from where the last one ended, until one is not the best.
    Larger ones, whose fits are cheap, are all fitted if the largest value is the best.

    Parameters
    ----------
    trainer, source, weight, score, each
        As in :func:`descend`.
    grid : Grid
        The values of l2.
    """
    walkers = walkers_now()
    if walkers is not None:
        return _descend_apart(walkers, trainer, grid, source, weight, score, each)
    rows: list[PathRow] = []
    ended = False

    def row_done(row: PathRow, model: Model) -> bool:
        nonlocal ended
        rows.append(row)
        ended = each is not None and bool(each(row, model))
        done = len(rows) >= grid.steps and at_edge(rows, best_of(rows)) != "smallest"
        return ended or done

    values = (*grid.values, *grid.smaller)
    found = descend(trainer, values, source, weight, score, row_done, grid.warm_start)
    edge = at_edge(found.best.rows, found.best.at)
    whole = len(rows) >= grid.steps and found.fit.certificate.converged
    found = found._replace(edge=None if edge == "smallest" and not whole else edge)
    if ended or found.interrupted or not grid.extend or edge != "largest":
        return found
    before = vars(trainer).copy()
    above = descend(trainer, grid.larger, source, weight, score, each, grid.warm_start)
    best = found.best.below(above.best)
    if best.model is found.best.model:
        vars(trainer).update(before)
    edge = at_edge(best.rows, best.at)
    return Descended(best, found.prepared, found.fit, above.interrupted, edge)


def deal_out(trainer: Trainer, source: Source, n_folds: int) -> list[tuple[list[int], list[int]]]:
    """Deal examples out to folds at random; those of a classifier class by class.

    Parameters
    ----------
    trainer : Trainer
        Its seed decides which example comes into which fold.
    source : Source
        The examples.
    n_folds : int
        The number of folds.

    Returns
    -------
    list
        For each fold the examples to train on and those to score.
    """
    n = len(source)
    if n < n_folds:
        raise DataError(f"{n} examples cannot make {n_folds} folds")
    order = np.random.default_rng(trainer.seed).permutation(n)
    if trainer.task == "classify":
        labels = source.given()[1]
        # Missing labels and sets of labels have no order.
        if np.asarray(labels).dtype == object:
            labels = [repr(label) for label in labels]
        codes = np.unique(np.asarray(labels), return_inverse=True)[1]
        order = order[np.argsort(codes[order], kind="stable")]
    fold = np.empty(n, dtype=np.int64)
    fold[order] = np.arange(n) % n_folds
    return [
        (np.flatnonzero(fold != k).tolist(), np.flatnonzero(fold == k).tolist())
        for k in range(n_folds)
    ]


def fold_tables(
    plain: Trainer,
    values: Sequence[float],
    source: Source,
    weight: Any,
    parts: Sequence[tuple[list[int], list[int]]],
    scorer: Callable[[Any, Source, Any], Callable[[Model], float]],
    each: Callable[[PathRow, Model], Any] | None = None,
    begin: Callable[[int], Any] | None = None,
    warm_start: str = "extrapolated",
) -> Iterator[list[PathRow]]:
    """Yield the table of each fold.

    Parameters
    ----------
    plain : Trainer
        The trainer; each fold fits a new one with the same parameters.
    values : sequence of float
        The values of l2, the largest first.
    source, weight
        Labelled examples and their weights.
    parts : sequence
        For each fold the examples to train on and those to score.
    scorer : callable
        ``scorer(trainer, test, weight)`` returns a function that scores a model on the test part.
    each : callable or None
        Called with each row and its model.
    begin : callable or None
        Called with the number of each fold, from 0, before it begins.
    warm_start : {"extrapolated", "plain"}
        Where each fit starts, as in `train_path`.
    """
    walkers = walkers_now()
    folds = _folds(plain, values, source, weight, parts, warm_start)
    walked = None if walkers is None else walkers([stretch for stretch, _, _ in folds])
    for number, (stretch, test, its_weight) in enumerate(folds):
        if begin is not None:
            begin(number)
        score = scorer(stretch.trainer, test, its_weight)
        try:
            if walked is not None:
                best = BestModel(score, each)
                replayed(iter([next(walked)]), best)
                yield best.rows
                continue
            found = descend(
                stretch.trainer, values, stretch.source, stretch.weight, score, each, warm_start
            )
        except DataError as error:
            where = f"fold {number} (counted from 0, and so are its examples)"
            raise DataError(f"{where}: {error}") from error
        if found.interrupted:
            # There is no model of all examples yet, so there is nothing to keep.
            raise KeyboardInterrupt
        yield found.best.rows


def _folds(
    plain: Trainer,
    values: Sequence[float],
    source: Source,
    weight: Any,
    parts: Sequence[tuple[list[int], list[int]]],
    warm_start: str,
) -> list[tuple[Stretch, Source, Any]]:
    """Return for each fold what is trained, what is scored, and the weights of that."""
    found = []
    every = None if weight is None else np.asarray(weight)
    for train, test in parts:
        mine, its = (None, None) if every is None else (every[train], every[test])
        stretch = Stretch(plain.fresh(), values, source.take(train), mine, warm_start)
        found.append((stretch, source.take(test), its))
    return found


def grid_tables(
    plain: Trainer,
    grid: Grid,
    rule: str,
    source: Source,
    weight: Any,
    parts: Sequence[tuple[list[int], list[int]]],
    scorer: Callable[[Any, Source, Any], Callable[[Model], float]],
    each: Callable[[PathRow, Model], Any] | None = None,
    begin: Callable[[int], Any] | None = None,
) -> list[list[PathRow]]:
    """Return the table of each fold, with values beyond an end of the grid if the best is there.

    Parameters
    ----------
    grid : Grid
        The values of l2.
    rule : str
        How the best is chosen, see `choose`.
    plain, source, weight, parts, scorer, each, begin
        As in :func:`fold_tables`.
    """

    def tables(values: Sequence[float]) -> list[list[PathRow]]:
        given = plain, values, source, weight, parts, scorer, each, begin, grid.warm_start
        return list(fold_tables(*given))

    found = tables(grid.values)
    rows = pooled(found)
    edge = at_edge(rows, choose(rows, rule))
    if not grid.extend or edge is None:
        return found
    if edge == "largest":
        return [above + below for above, below in zip(tables(grid.larger), found, strict=True)]
    # A path that ended at a fit that is not certified has no smaller values.
    if len(rows) < grid.steps or rows[-1]["relative_gap"] > plain.tol:
        return found
    return [above + below for above, below in zip(found, tables(grid.smaller), strict=True)]


def warn_at_edge(rows: Sequence[Any], edge: str | None) -> None:
    """Issue a warning if the best l2 lies at an end of the table; see `at_edge`."""
    if edge is not None:
        more = "a larger l2_max" if edge == "largest" else "more steps"
        text = edge_words(edge, rows, f"give {more}, or extend=N for up to N further values")
        warnings.warn(text, GridEdgeWarning, stacklevel=level_outside())
