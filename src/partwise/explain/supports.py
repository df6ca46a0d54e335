"""The scores of kernel models, taken apart into what each supporting position adds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Floats
from .feature_names import columns

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = ["Supports"]

#: How many inputs of a supporting position are named.
_NAMED: Final = 3


class Supports:
    """The supporting positions of a kernel model, as features of positions.

    Parameters
    ----------
    model : Model
        The model.
    rows : Rows
        The inputs of the positions that are explained.
    most : int
        How many supporting positions are named for each label of a position; what the others add is
        one contribution.
    """

    def __init__(self, model: Model, rows: Any, most: int) -> None:
        features: Any = model.features
        self._support, self._most = features.support, most
        self._rows = rows.resize(self._support.rows.n_features)
        self._vocabulary = features.vocabulary
        self._position, self._near = -1, np.zeros(0)

    def contributions(self, position: int, label: int, weight: float) -> list[tuple[str, Any]]:
        """Return what supporting positions add to the score of a label.

        Parameters
        ----------
        position : int
            The position, counted over all examples.
        label : int
            The number of the label.
        weight : float
            The weight of the score of the label, which is 1 as a rule.

        Returns
        -------
        list of (str, (value, weight))
            The name of a supporting position, its similarity, and its coefficient.
        """
        near = self._similarities(position)
        coef = self._support.coef[:, label] * weight
        products = near * coef
        order = np.argsort(-np.abs(products), kind="stable")
        named, rest = order[: self._most], order[self._most :]
        found = [(self._name(j), (float(near[j]), float(coef[j]))) for j in named.tolist()]
        others = rest[products[rest] != 0.0]
        if len(others):
            total = float(products[others].sum())
            found.append((f"{len(others)} further supporting positions", (total, 1.0)))
        return found

    def _similarities(self, position: int) -> Floats:
        if position != self._position:
            own = self._rows.take(slice(position, position + 1))
            self._position, self._near = (
                position,
                self._support.kernel.gram(own, self._support.rows)[0],
            )
        return self._near

    def _name(self, j: int) -> str:
        rows = self._support.rows
        numbers = rows.indices[rows.indptr[j] : rows.indptr[j + 1]].tolist()
        some = columns if self._vocabulary is None else self._vocabulary.some
        shown = ", ".join(some(numbers[:_NAMED]))
        if self._vocabulary is not None and len(numbers) > _NAMED:
            shown += ", ..."
        of = f" ({shown})" if self._vocabulary is not None and numbers else ""
        return f"training position {int(self._support.index[j])}{of}"
