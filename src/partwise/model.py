"""A trained model: weights and all that is needed to predict with them. Immutable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .certificate import Certificate
from .errors import DataError, MismatchError
from .rows import Rows
from .templates import TemplateSet
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .design import Layout
    from .inference import Batch
    from .structures.base import Constraints, Structure

__all__ = ["Label", "Model", "check_transitions", "site_features"]

Label = str | int | float | bool
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
#: For an example, the labels that are allowed at some of its positions.
Allowed = Sequence[tuple[int, Sequence[int]]]


@dataclass(frozen=True, eq=False)
class Model:
    """A trained model.

    Threads may share a model: no method changes it, and every call has buffers of its own.

    Attributes
    ----------
    task : {"classify", "tag"}
        What it does.
    structure : Structure
        What a label is made of.
    layout : Layout
        Which weights there are.
    weights : ndarray
        The weights.
    labels : tuple
        The labels, in the order of their numbers.
    vocabulary : Vocabulary or None
        The names of the features; None if features are numbered.
    templates : TemplateSet or None
        How features are made of column files.
    constraints : Constraints or None
        What no label sequence may hold.
    intercept : float
        The value of the constant last feature of every position; 0: there is none.
    loss : str
        The name of the loss.
    l2 : float
        The regulariser.
    certificate : Certificate
        How far the weights are at most from the optimum.
    n_inputs : int
        The number of input columns of a column file; else the number of features, the intercept
        not counted.
    transition_vocabulary : Vocabulary or None
        The names of the features of transitions, where these depend on the input.
    meta : dict
        What else the maker of the model wants to be kept, as JSON can hold it.
    """

    task: str
    structure: Structure
    layout: Layout
    weights: Floats
    labels: tuple[Label, ...]
    vocabulary: Vocabulary | None
    templates: TemplateSet | None
    constraints: Constraints | None
    intercept: float
    loss: str
    l2: float
    certificate: Certificate
    n_inputs: int
    transition_vocabulary: Vocabulary | None = None
    meta: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def label_index(self) -> dict[Label, int]:
        """The number of every label."""
        return {label: number for number, label in enumerate(self.labels)}

    @property
    def n_features(self) -> int:
        """How many features a position may have, the intercept not counted."""
        return self.layout.n_features[0] - (self.intercept != 0.0)

    @property
    def n_transition_features(self) -> int:
        """How many features a transition may have, the constant not counted."""
        return max(self.layout.n_features[1] - 1, 0) if self.input_transitions else 0

    @property
    def input_transitions(self) -> bool:
        """Whether transitions have features of their own."""
        return not getattr(self.structure, "tied", True)

    @property
    def probabilistic(self) -> bool:
        """Whether the scores are log-probabilities up to a constant; those of the hinge are not."""
        from .losses import make_loss

        return make_loss(self.loss, len(self.labels)).tau > 0.0

    def problem_features(self, rows: Rows, transition_rows: Rows | None = None) -> list[Rows]:
        """Lay features out by kind of site; those that the model does not know are dropped.

        Parameters
        ----------
        rows : Rows
            The features of every position.
        transition_rows : Rows or None
            The features of every transition, for a model that has such.
        """
        if self.input_transitions != (transition_rows is not None):
            raise DataError(
                f"the model has {'' if self.input_transitions else 'no '}features for transitions; "
                f"{'give transition rows too' if self.input_transitions else 'leave them out'}"
            )
        if transition_rows is not None:
            transition_rows = transition_rows.resize(self.n_transition_features)
        rows = rows.resize(self.n_features)
        return site_features(self.structure, rows, self.intercept, transition_rows)

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
        from .inference import best_labels

        return best_labels(self._batch(rows, lengths, transition_rows, allowed), n_jobs)

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
        from .inference import k_best_labels

        if k < 1:
            raise DataError(f"k is {k}; ask for at least 1 label")
        return k_best_labels(self._batch(rows, lengths, transition_rows, allowed), k, n_jobs)

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
        from .inference import part_marginals

        self._need_probabilities()
        found = part_marginals(self._batch(rows, lengths, transition_rows, allowed), n_jobs)
        # The parts of the positions come first.
        n = len(self.labels)
        counts = self._lengths(rows, lengths).tolist()
        return [mu[: t * n].reshape(t, n) for mu, t in zip(found, counts, strict=True)]

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
        from .inference import log_probabilities

        self._need_probabilities()
        lengths = self._lengths(rows, lengths)
        gold = [np.asarray(y, dtype=np.int64) for y in labels]
        if [len(y) for y in gold] != lengths.tolist():
            raise DataError("log_proba: give one label for each position of each example")
        if any((y >= len(self.labels)).any() for y in gold):
            raise DataError(f"log_proba: there are label numbers above {len(self.labels) - 1}")
        unknown = np.array([bool((y < 0).any()) for y in gold], dtype=bool)
        known = [np.maximum(y, 0) for y in gold]
        batch = self._batch(rows, lengths, transition_rows, None, known)
        found = log_probabilities(batch, n_jobs)
        found[unknown] = -np.inf
        return found

    def _need_probabilities(self) -> None:
        if not self.probabilistic:
            raise MismatchError(
                f"the {self.loss} loss gives scores, not probabilities; train with the log or "
                "softmax-margin loss, or use predict with k for scores"
            )

    def _lengths(self, rows: Rows, lengths: Ints | None) -> Ints:
        if lengths is None:
            return np.ones(len(rows), dtype=np.int64)
        lengths = np.asarray(lengths, dtype=np.int64)
        if (lengths < 0).any() or int(lengths.sum()) != len(rows):
            raise DataError(
                f"the lengths add up to {int(lengths.sum())} where there are {len(rows)} rows; "
                "give the number of rows of each example"
            )
        if self.task == "classify" and (lengths != 1).any():
            raise DataError("a classifier takes one row an example; give lengths of 1, or None")
        return lengths

    def _batch(
        self,
        rows: Rows,
        lengths: Ints | None,
        transition_rows: Rows | None,
        allowed: Sequence[Allowed | None] | None,
        gold: Sequence[Ints] | None = None,
    ) -> Batch:
        from .inference import make_batch
        from .structures.base import Constraints

        own = None
        if allowed is not None:
            own = [Constraints(allowed=mine) if mine else None for mine in allowed]
        lengths = self._lengths(rows, lengths)
        if transition_rows is not None:
            check_transitions(transition_rows, lengths)
        return make_batch(
            self.structure,
            self.layout,
            self.weights,
            self.problem_features(rows, transition_rows),
            lengths,
            constraints=self.constraints,
            own_constraints=own,
            gold=gold,
        )


def site_features(
    structure: Structure, rows: Rows, intercept: float, transition_rows: Rows | None
) -> list[Rows]:
    """Give every kind of site its features.

    Positions get `rows` and the intercept. Transitions, starts and ends have a constant feature;
    transitions that depend on the input have theirs before it.
    """
    constant = Rows(np.array([0, 1]), np.zeros(1, np.int32), None, 1)
    nothing = Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), None, 0)
    features = [rows.append_constant(intercept) if intercept else rows]
    for kind in structure.kinds[1:]:
        if kind == "transition":
            own = None if transition_rows is None else transition_rows.append_constant(1.0)
            features.append(constant if own is None else own)
        else:
            features.append(constant if getattr(structure, kind) else nothing)
    return features


def check_transitions(transition_rows: Rows, lengths: Ints) -> None:
    """Raise a DataError unless there is one row for each pair of neighbours."""
    wanted = int(np.maximum(lengths - 1, 0).sum())
    if len(transition_rows) != wanted:
        raise DataError(
            f"{len(transition_rows)} transition rows where there are {wanted} transitions; give "
            "one row for each pair of neighbours, length - 1 a sequence"
        )
