"""A loss is data: a temperature tau and a cost.

    loss_i(w) = tau log sum_y exp((w.f_i(y) + cost_i(y)) / tau) - w.f_i(y_i)     (tau = 0: max)

tau = 1 without a cost is the log loss of conditional random fields and logistic regression;
tau = 0 with a cost is the hinge loss of max-margin Markov networks; tau = 1 with a cost is
softmax-margin. The cost is a sum over the parts of a label (``Structure.part_cost``): as a rule 1
for each wrong position (Hamming), or ``cost_matrix[gold, predicted]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..errors import DataError

if TYPE_CHECKING:
    from ..arrays import Floats

_NAMED: Final = {"log": (1.0, False), "hinge": (0.0, True), "softmax-margin": (1.0, True)}
LOSS_NAMES: Final = tuple(_NAMED)


@dataclass(frozen=True)
class Loss:
    """A temperature and a cost.

    Attributes
    ----------
    name : str
        How the user named it.
    tau : float
        The temperature, from 0 (hinge) to 1 (log).
    has_cost : bool
        Whether wrong labels have a cost.
    cost_matrix : ndarray or None
        ``cost_matrix[gold, predicted]``, zero on the diagonal; None means 1 for each error.
    """

    name: str
    tau: float
    has_cost: bool
    cost_matrix: Floats | None = None


def make_loss(name: str, n_labels: int, cost_matrix: Floats | None = None) -> Loss:
    """Build the loss that a user names.

    Parameters
    ----------
    name : {"log", "hinge", "softmax-margin"}
        Which loss.
    n_labels : int
        How many labels there are.
    cost_matrix : array-like or None
        ``cost_matrix[gold, predicted]``, for the losses that have a cost.

    Returns
    -------
    Loss
        Its temperature and its cost.

    Raises
    ------
    DataError
        If the name is unknown, or the matrix does not fit the loss or the labels.

    Examples
    --------
    >>> from partwise.problem import make_loss
    >>> make_loss("log", 3).tau, make_loss("hinge", 3).tau
    (1.0, 0.0)
    """
    if name not in _NAMED:
        raise DataError(f"unknown loss {name!r}; use one of {', '.join(LOSS_NAMES)}")
    tau, has_cost = _NAMED[name]
    if cost_matrix is None:
        return Loss(name, tau, has_cost)
    if not has_cost:
        raise DataError(f"the {name} loss has no cost; cost_matrix needs hinge or softmax-margin")
    # Help lists the losses, and must come quickly.
    import numpy as np

    matrix = np.asarray(cost_matrix, dtype=np.float64)
    if matrix.shape != (n_labels, n_labels):
        raise DataError(
            f"cost_matrix has shape {matrix.shape}; expected {(n_labels, n_labels)}, "
            "gold labels in rows, predicted labels in columns"
        )
    if not np.isfinite(matrix).all() or (matrix < 0).any() or np.diag(matrix).any():
        raise DataError("cost_matrix must be finite, non-negative, and zero on its diagonal")
    return Loss(name, tau, has_cost, matrix)
