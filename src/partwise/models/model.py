"""A trained model: weights and all that is needed to predict with them. Immutable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Floats, Ints
from ..errors import DataError, MismatchError
from ..problem.rows import Rows
from ..training.certificate import Certificate
from .features import Encoder

if TYPE_CHECKING:
    from ..problem.layout import Layout
    from ..structures.base import Structure
    from .inference import Batch, Stored

__all__ = ["Label", "Model", "check_label_names"]

Label = str | int | float | bool

_COMPUTED: Final = ("label_index", "stored")


@dataclass(frozen=True, eq=False)
class Model:
    """A trained model.

    Its methods take features as training does: for each kind of site of the structure, rows for
    the sites of all examples, one after the other, or one row for all of them. How examples become
    such rows is known to the encoder. For the labels of positions see
    :class:`partwise.tasks.sequences.labeller.PositionLabeller`.

    Threads may share a model: no method changes it, and every call has buffers of its own.

    Attributes
    ----------
    task : str
        What it does: "classify", "tag", or whatever its maker calls it.
    structure : Structure
        What a label is made of.
    layout : Layout
        Which weights there are.
    weights : ndarray
        The weights.
    labels : tuple
        The labels that parts carry, in the order of their numbers; empty where they carry none.
    encoder : Encoder
        How examples become features.
    constraints : object or None
        What no label may hold, as `structure.mask` takes it.
    loss : str
        The name of the loss.
    l2, l1 : float
        The regulariser: l2/2 |w|^2 + l1 |w|_1.
    certificate : Certificate
        How far the weights are at most from the optimum.
    meta : dict
        What else the maker of the model wants to be kept, as JSON can hold it.
    settings : dict
        How it was trained, as far as JSON can hold it: parameters of estimators by name. Empty
        for models that were made otherwise or saved by versions that did not keep them.
    """

    task: str
    structure: Structure
    layout: Layout
    weights: Floats
    labels: tuple[Label, ...]
    encoder: Encoder
    constraints: Any
    loss: str
    l2: float
    certificate: Certificate
    l1: float = 0.0
    meta: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def label_index(self) -> dict[Label, int]:
        """The number of every label."""
        return {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def stored(self) -> Stored:
        """The weights as prediction takes them."""
        from .inference import Stored

        return Stored.of(self.layout, self.weights)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again from the rest."""
        return {name: held for name, held in vars(self).items() if name not in _COMPUTED}

    def numbers_of(self, labels: Sequence[Any]) -> Ints:
        """Give the number of each label, -1 for one that the model does not know."""
        return np.array([self.label_index.get(label, -1) for label in labels], dtype=np.int64)

    @property
    def probabilistic(self) -> bool:
        """Whether the scores are log-probabilities up to a constant; those of the hinge are not."""
        from ..problem.losses import make_loss

        return make_loss(self.loss, self.structure.n_labels).tau > 0.0

    def predict(
        self,
        features: Sequence[Rows],
        shapes: Sequence[Any] | Ints,
        *,
        own_constraints: Sequence[Any] | None = None,
        n_jobs: int | None = 1,
    ) -> list[Ints]:
        """Predict the best labels.

        Parameters
        ----------
        features : sequence of Rows
            For each kind of site, a row a site, or one row for all sites. Features that the model
            does not know are ignored.
        shapes : sequence
            The shape of each example, as `structure.topology` takes it.
        own_constraints : sequence or None
            For each example None, or constraints of its own, as `structure.mask` takes them. They
            come on top of the model's.
        n_jobs : int or None
            How many threads; None: 1, -1: one a core. They do not change the result.

        Returns
        -------
        list of ndarray
            The label of each example, in the shape that the structure gives it.
        """
        from .inference import best_labels

        return best_labels(self._batch(features, shapes, own_constraints), n_jobs)

    def k_best(
        self,
        features: Sequence[Rows],
        shapes: Sequence[Any] | Ints,
        k: int,
        *,
        own_constraints: Sequence[Any] | None = None,
        n_jobs: int | None = 1,
    ) -> list[tuple[Floats, list[Ints]]]:
        """Predict the k best labels, best first, and their scores w.f(x, y).

        Examples that have fewer than k labels get fewer. Other parameters as in `predict`.
        """
        from .inference import k_best_labels

        if k < 1:
            raise DataError(f"k is {k}; ask for at least 1 label")
        return k_best_labels(self._batch(features, shapes, own_constraints), k, n_jobs)

    def marginals(
        self,
        features: Sequence[Rows],
        shapes: Sequence[Any] | Ints,
        *,
        own_constraints: Sequence[Any] | None = None,
        n_jobs: int | None = 1,
    ) -> list[Floats]:
        """Compute the expected count of every part.

        Parameters as in `predict`.

        Returns
        -------
        list of ndarray
            For each example a number a part, in the order of the structure's parts.

        Raises
        ------
        MismatchError
            If the model was trained with the hinge loss.
        """
        from .inference import part_marginals

        self._need_probabilities()
        return part_marginals(self._batch(features, shapes, own_constraints), n_jobs)

    def log_proba(
        self,
        features: Sequence[Rows],
        shapes: Sequence[Any] | Ints,
        labels: Sequence[Ints | None],
        *,
        own_constraints: Sequence[Any] | None = None,
        n_jobs: int | None = 1,
    ) -> Floats:
        """Compute the log-probability of the labels of each example.

        Parameters
        ----------
        features, shapes, own_constraints, n_jobs
            As in `predict`.
        labels : sequence of ndarray or None
            The label of each example, as the structure takes it; None is one that the model cannot
            give.

        Returns
        -------
        ndarray
            -inf where a label is None or the constraints forbid it.

        Raises
        ------
        MismatchError
            If the model was trained with the hinge loss.
        """
        from .inference import log_probabilities

        self._need_probabilities()
        return log_probabilities(self._batch(features, shapes, own_constraints, labels), n_jobs)

    def sample(
        self,
        features: Sequence[Rows],
        shapes: Sequence[Any] | Ints,
        size: int,
        *,
        seed: int | np.random.Generator = 0,
        own_constraints: Sequence[Any] | None = None,
        n_jobs: int | None = 1,
    ) -> list[list[Ints]]:
        """Draw labels with their probabilities.

        Parameters
        ----------
        features, shapes, own_constraints, n_jobs
            As in `predict`.
        size : int
            How many labels to draw for each example.
        seed : int or Generator
            The same seed gives the same labels, with any number of threads.

        Returns
        -------
        list of lists of ndarray
            For each example, the labels drawn.

        Raises
        ------
        MismatchError
            If the model was trained with the hinge loss.
        """
        from .inference import draw_labels

        self._need_probabilities()
        if size < 1:
            raise DataError(f"size is {size}; draw at least 1 label")
        batch = self._batch(features, shapes, own_constraints)
        return draw_labels(batch, size, np.random.default_rng(seed), n_jobs)

    def _need_probabilities(self) -> None:
        if not self.probabilistic:
            raise MismatchError(
                f"the {self.loss} loss gives scores, not probabilities; train with the log or "
                "softmax-margin loss, or ask for the k best labels, which have scores"
            )

    def _batch(
        self,
        features: Sequence[Rows],
        shapes: Sequence[Any] | Ints,
        own_constraints: Sequence[Any] | None,
        gold: Sequence[Ints | None] | None = None,
    ) -> Batch:
        from .inference import make_batch

        counts = self.layout.n_features
        if len(features) != len(counts):
            raise DataError(
                f"features for {len(features)} kinds of sites where the model has {len(counts)}: "
                f"{', '.join(self.structure.kinds)}"
            )
        return make_batch(
            self.structure,
            self.stored,
            [rows.resize(n) for rows, n in zip(features, counts, strict=True)],
            shapes,
            constraints=self.constraints,
            own_constraints=own_constraints,
            gold=gold,
        )


def check_label_names(structure: Structure, labels: Sequence[Label]) -> None:
    """Raise a DataError unless there is a name for each label that parts tell apart."""
    # Where all parts carry the same label it needs no name.
    if len(labels) != structure.n_labels and (labels or structure.n_labels > 1):
        raise DataError(
            f"{len(labels)} names of labels where the {structure.name} has {structure.n_labels}; "
            "give one name for each label number"
        )
