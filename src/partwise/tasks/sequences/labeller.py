"""Prediction of the labels of positions, by models of classifiers and taggers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ...models.model import Model
from ...problem.rows import Rows
from .features import PositionEncoder

__all__ = ["Allowed", "PositionLabeller", "check_transitions"]

#: For an example, the labels that are allowed at some of its positions.
Allowed = Sequence[tuple[int, Sequence[int]]]


class PositionLabeller:
    """Predicts label numbers from the rows of positions.

    Parameters
    ----------
    model : Model
        A model whose encoder is a :class:`partwise.tasks.sequences.features.PositionEncoder`.
    """

    def __init__(self, model: Model) -> None:
        if not isinstance(model.encoder, PositionEncoder):
            raise DataError(
                f"the model of the task {model.task!r} does not label positions; use it as it is"
            )
        self.model = model
        self.encoder = model.encoder

    def predict(
        self,
        rows: Rows,
        lengths: Ints | None = None,
        *,
        transition_rows: Rows | None = None,
        allowed: Sequence[Allowed | None] | None = None,
        n_jobs: int | None = 1,
    ) -> list[Ints]:
        """Predict the best labels.

        Parameters
        ----------
        rows : Rows
            The features of every position, the examples one after the other.
        lengths : ndarray of int or None
            The number of positions of each example; None: 1 each.
        transition_rows : Rows or None
            The features of every transition, for a model that has such: ``length - 1`` rows an
            example.
        allowed : sequence or None
            For each example None, or pairs of a position and the label numbers allowed there.
        n_jobs : int or None
            How many threads; None: 1, -1: one a core. They do not change the result.

        Returns
        -------
        list of ndarray
            The label numbers of each example.
        """
        features, lengths = self._read(rows, lengths, transition_rows)
        own = _constraints(allowed)
        return self.model.predict(features, lengths, own_constraints=own, n_jobs=n_jobs)

    def k_best(
        self,
        rows: Rows,
        lengths: Ints | None,
        k: int,
        *,
        transition_rows: Rows | None = None,
        allowed: Sequence[Allowed | None] | None = None,
        n_jobs: int | None = 1,
    ) -> list[tuple[Floats, list[Ints]]]:
        """Predict the k best labels, best first, and their scores w.f(x, y).

        Examples that have fewer than k labels get fewer. Other parameters as in `predict`.
        """
        features, lengths = self._read(rows, lengths, transition_rows)
        own = _constraints(allowed)
        return self.model.k_best(features, lengths, k, own_constraints=own, n_jobs=n_jobs)

    def marginals(
        self,
        rows: Rows,
        lengths: Ints | None = None,
        *,
        transition_rows: Rows | None = None,
        allowed: Sequence[Allowed | None] | None = None,
        n_jobs: int | None = 1,
    ) -> list[Floats]:
        """Compute the probability of every label at every position.

        Parameters as in `predict`.

        Returns
        -------
        list of ndarray
            For each example a matrix, positions by labels.

        Raises
        ------
        MismatchError
            If the model was trained with the hinge loss.
        """
        features, lengths = self._read(rows, lengths, transition_rows)
        own = _constraints(allowed)
        found = self.model.marginals(features, lengths, own_constraints=own, n_jobs=n_jobs)
        # The parts of the positions come first.
        n = len(self.model.labels)
        return [mu[: t * n].reshape(t, n) for mu, t in zip(found, lengths.tolist(), strict=True)]

    def log_proba(
        self,
        rows: Rows,
        lengths: Ints | None,
        labels: Sequence[Ints],
        *,
        transition_rows: Rows | None = None,
        n_jobs: int | None = 1,
    ) -> Floats:
        """Compute the log-probability of the labels of each example.

        Parameters
        ----------
        rows, lengths, transition_rows, n_jobs
            As in `predict`.
        labels : sequence of ndarray
            The label numbers of each example; -1 is a label that the model does not know.

        Returns
        -------
        ndarray
            -inf where a label is unknown or the constraints forbid it.

        Raises
        ------
        MismatchError
            If the model was trained with the hinge loss.
        """
        features, lengths = self._read(rows, lengths, transition_rows)
        gold = [np.asarray(y, dtype=np.int64) for y in labels]
        if [len(y) for y in gold] != lengths.tolist():
            raise DataError("log_proba: give one label for each position of each example")
        most = len(self.model.labels) - 1
        if any((y > most).any() for y in gold):
            raise DataError(f"log_proba: there are label numbers above {most}")
        known = [None if (y < 0).any() else y for y in gold]
        return self.model.log_proba(features, lengths, known, n_jobs=n_jobs)

    def _read(
        self, rows: Rows, lengths: Ints | None, transition_rows: Rows | None
    ) -> tuple[list[Rows], Ints]:
        structure = self.model.structure
        if lengths is None:
            lengths = np.ones(len(rows), dtype=np.int64)
        lengths = np.asarray(lengths, dtype=np.int64)
        if (lengths < 0).any() or int(lengths.sum()) != len(rows):
            raise DataError(
                f"the lengths add up to {int(lengths.sum())} where there are {len(rows)} rows; "
                "give the number of rows of each example"
            )
        if structure.name == "multiclass" and (lengths != 1).any():
            raise DataError("a classifier takes one row an example; give lengths of 1, or None")
        features = self.encoder.features(structure, rows, transition_rows)
        if transition_rows is not None:
            check_transitions(transition_rows, lengths)
        return features, lengths


def _constraints(allowed: Sequence[Allowed | None] | None) -> list[Any] | None:
    from ...structures.base import Constraints

    if allowed is None:
        return None
    return [Constraints(allowed=mine) if mine else None for mine in allowed]


def check_transitions(transition_rows: Rows, lengths: Ints) -> None:
    """Raise a DataError unless there is one row for each pair of neighbours."""
    wanted = int(np.maximum(lengths - 1, 0).sum())
    if len(transition_rows) != wanted:
        raise DataError(
            f"{len(transition_rows)} transition rows where there are {wanted} transitions; give "
            "one row for each pair of neighbours, length - 1 a sequence"
        )
