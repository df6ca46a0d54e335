"""Taggers of sequences that choose l2 themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from ...arrays import Ints
from ...errors import DataError
from ...models.fit import check_weights
from ..cross_validation import PathEstimator
from .examples import read_labels, read_lengths
from .tagger import SequenceTagger

__all__ = ["SequenceTaggerCV"]


class SequenceTaggerCV(PathEstimator, SequenceTagger):
    """A linear-chain tagger that chooses l2 by cross-validation or by data held out.

    It goes through a range of l2 from large to small, each fit from where the last one ended and
    each certified, and scores every model on data held out: in each fold, on the part of the data
    that the features and weights were not made from. The model of the l2 that is chosen is then
    trained on all of the data.

    Parameters
    ----------
    l2_max, factor, steps : float, float, int
        The values of l2: ``l2_max * factor**k`` for k below `steps`.
    cv : int, splitter or iterable
        The folds, as in scikit-learn; not used if `fit` gets data held out.
    rule : {"best", "one-se"}
        The l2 with the best mean score; or the largest whose mean score is within one standard
        error of it.
    scoring : str, callable or None
        What is scored, as in scikit-learn; None: `score`.
    loss, l1, solver, tol, max_passes, weights, min_count, order, start, end, constraints,
    cost_matrix, class_weight, n_jobs, random_state, verbose, callbacks, solver_options :
        As in :class:`SequenceTagger`. `tol` and `max_passes` are those of the fit of one l2.

    Attributes
    ----------
    l2_ : float
        The l2 that was chosen.
    path_ : list of dict
        A row for each l2, the largest first: ``l2``, ``passes``, ``seconds``, ``relative_gap``,
        ``score``. With folds, passes and seconds are sums over them, the gap is the largest, the
        score the mean of ``scores``, and ``standard_error`` that of this mean.
    scores_ : ndarray of shape (n_values, n_folds)
        The scores; with data held out there is one column.

    Notes
    -----
    What else a :class:`SequenceTagger` has when it is fitted, this has too; ``certificate_``,
    ``trace_`` and ``n_iter_`` are those of the last fit, at ``l2_``.
    """

    _given_l2 = SequenceTagger

    def __init__(
        self,
        l2_max: float = 1000.0,
        factor: float = 0.7,
        steps: int = 24,
        cv: Any = 5,
        rule: str = "best",
        scoring: Any = None,
        loss: str = "log",
        l1: float = 0.0,
        solver: str = "auto",
        tol: float = 0.001,
        max_passes: float = 1000,
        weights: str = "all",
        min_count: int = 1,
        order: int = 1,
        start: bool = False,
        end: bool = False,
        constraints: Any = None,
        cost_matrix: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        callbacks: Any = None,
        solver_options: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            loss=loss,
            l1=l1,
            solver=solver,
            tol=tol,
            max_passes=max_passes,
            weights=weights,
            min_count=min_count,
            order=order,
            start=start,
            end=end,
            constraints=constraints,
            cost_matrix=cost_matrix,
            class_weight=class_weight,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            callbacks=callbacks,
            solver_options=solver_options,
        )
        self.l2_max = l2_max
        self.factor = factor
        self.steps = steps
        self.cv = cv
        self.rule = rule
        self.scoring = scoring

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        lengths: Any = None,
        X_transitions: Any = None,
        *,
        dev: Any = None,
        groups: Any = None,
    ) -> SequenceTaggerCV:
        """Choose l2 and train.

        Parameters
        ----------
        X, y, sample_weight, lengths, X_transitions
            As in :class:`SequenceTagger`.
        dev : tuple or None
            Data held out to choose l2 by, instead of folds: ``(X_dev, y_dev)``, or ``(X_dev,
            y_dev, more)`` with a dict of what else `score` takes. The model is then trained on X
            alone.
        groups : array-like or None
            The group of each example, for splitters that keep groups together.

        Returns
        -------
        SequenceTaggerCV
            The estimator itself.
        """
        counts = read_lengths(lengths)
        if counts is not None:
            y = _cut(read_labels(y, counts, True), counts)
            X = _cut(X, counts)
            if X_transitions is not None:
                X_transitions = _cut(X_transitions, np.maximum(counts - 1, 0))
        data: dict[str, Any] = {
            "X": list(X),
            "y": list(y),
            "sample_weight": sample_weight,
            "X_transitions": None if X_transitions is None else list(X_transitions),
        }
        n = len(data["X"])
        if sample_weight is not None:
            data["sample_weight"] = check_weights(sample_weight, n)
        for name in ("y", "X_transitions"):
            if data[name] is not None and len(data[name]) != n:
                raise DataError(f"{name} has {len(data[name])} sequences where X has {n}")
        self._fit_path(data, n, dev, groups)
        return self


def _cut(stacked: Any, counts: Ints) -> list[Any]:
    """Cut what has an entry for each token of all sequences into one piece a sequence."""
    ends = np.cumsum(counts).tolist()
    total = ends[-1] if ends else 0
    n = stacked.shape[0] if hasattr(stacked, "shape") else len(stacked)
    if n != total:
        raise DataError(f"{n} rows where the lengths add up to {total}")
    stacked = stacked.tocsr() if hasattr(stacked, "tocsr") else stacked
    return [
        _safe_indexing(stacked, slice(a, b)) for a, b in zip([0, *ends[:-1]], ends, strict=True)
    ]
