"""Predictions for collections of Dask: a part at a time, where the parts are."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["in_memory", "predicted"]


def predicted(local: Any, method: str, X: Any) -> Any:
    """Call a method of an estimator of one machine for every part of a collection.

    Parameters
    ----------
    local : Estimator
        The fitted estimator.
    method : str
        The method: ``"predict"`` or another one that takes examples alone.
    X : Bag, Array, DataFrame, Delayed or list of Delayed
        The examples.

    Returns
    -------
    Bag, Array, Series, Delayed or list of Delayed
        The predictions, of the kind of X. Nothing is computed yet.
    """
    import dask
    from dask.delayed import Delayed

    if isinstance(X, (list, tuple)):
        return [predicted(local, method, part) for part in X]
    # One copy of the model for all parts.
    model = dask.delayed(local)
    if isinstance(X, Delayed):  # it says that it has every attribute
        return dask.delayed(_part)(X, model, method)
    if type(X).__name__ == "Bag":
        return X.map_partitions(_part, model, method)
    if hasattr(X, "map_blocks"):
        X = X.rechunk({1: -1}) if X.ndim > 1 else X
        return X.map_blocks(
            _part,
            model,
            method,
            drop_axis=list(range(1, X.ndim)),
            dtype=_kind(local),
            meta=np.empty(0, dtype=_kind(local)),
        )
    return X.map_partitions(_series, model, method, meta=(None, _kind(local)))


def _part(X: Any, local: Any, method: str) -> Any:
    """Return the predictions for one part."""
    X = X if hasattr(X, "__len__") else list(X)
    return getattr(local, method)(X) if len(X) else []


def _series(X: Any, local: Any, method: str) -> Any:
    import pandas as pd

    return pd.Series(_part(X, local, method), index=X.index, dtype=_kind(local))


def _kind(local: Any) -> Any:
    """Return the type of the labels in an array."""
    kind = np.asarray(local.classes_).dtype
    return np.dtype(object) if kind.kind in "US" else kind


def in_memory(*collections: Any) -> tuple[Any, ...]:
    """Compute collections, those that are there; lists of parts become one list."""
    import dask

    there = [column for column in collections if column is not None]
    found = iter(dask.compute(*there))
    made = []
    for column in collections:
        value = None if column is None else next(found)
        if isinstance(column, (list, tuple)) and value is not None:
            value = [item for part in value for item in part]
        made.append(value)
    return tuple(made)
