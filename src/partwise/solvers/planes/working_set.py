"""The planes of one quadratic program, represented by what the program needs of them.

Plane k is the bound b_k - a_k.w on the losses of its group. For the groups of a set, with v' the
part of v that other sets contribute,

    D(alpha) = b.alpha - |v' + sum_k alpha_k a_k|^2 / (2 l2)

so only the offsets b and the inner products of the planes are kept here; the solver keeps the
planes themselves, in the same order.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...errors import DataError
from .bundle_qp import bundle_optimum


class WorkingSet:
    """Offsets, groups, inner products and weights of planes.

    Parameters
    ----------
    l2 : float
        The regulariser.
    patience : int or None
        A plane without weight in this many programs in a row is dropped; None: never.
    """

    remade: ClassVar[tuple[str, ...]] = ("l2", "patience")
    grows: ClassVar[tuple[str, ...]] = ("offset", "group", "gram", "alpha", "idle")

    def __init__(self, l2: float, patience: int | None) -> None:
        self.l2, self.patience = l2, patience
        self.offset: Floats = np.zeros(0)
        self.group: Ints = np.zeros(0, dtype=np.int64)
        self.gram: Floats = np.zeros((0, 0))
        self.alpha: Floats = np.zeros(0)
        self.idle: Ints = np.zeros(0, dtype=np.int64)

    def restored(self) -> None:
        """Check numbers that come from a file."""
        n = len(self.alpha)
        sizes = {len(array) for array in (self.offset, self.group, self.idle)}
        if sizes - {n} or self.gram.shape != (n, n) or (self.group < 0).any():
            raise DataError("the planes of a cutting-plane method do not belong together")

    def __len__(self) -> int:
        return len(self.offset)

    def add(self, offset: Floats, group: Ints, products: Floats, alpha: float = 0.0) -> None:
        """Add planes, given their inner products with all planes, the new ones at the end."""
        old, new = len(self), len(offset)
        gram = np.empty((old + new, old + new))
        gram[:old, :old] = self.gram
        gram[old:] = products
        gram[:old, old:] = products[:, :old].T
        self.gram = gram
        self.offset = np.concatenate([self.offset, offset])
        self.group = np.concatenate([self.group, group])
        self.alpha = np.concatenate([self.alpha, np.full(new, alpha)])
        self.idle = np.concatenate([self.idle, np.zeros(new, dtype=np.int64)])

    def improve(self, elsewhere: Floats | float = 0.0) -> None:
        """Find the best weights; ``elsewhere`` is a_k.v' for every plane."""
        linear = self.offset - elsewhere / self.l2
        self.alpha = bundle_optimum(self.gram / self.l2, linear, self.group, self.alpha)
        self.idle = np.where(self.alpha > 0.0, 0, self.idle + 1)

    def mix(self, labels: list[tuple[Ints, Floats]], mu: Floats) -> None:
        """Add the label of every plane, given by parts and counts, to mu with its weight."""
        for k in np.flatnonzero(self.alpha):
            parts, counts = labels[k]
            mu[parts] += self.alpha[k] * counts

    def drop_idle(self) -> NDArray[np.bool_]:
        """Drop the planes that have long had no weight; returns which planes stay."""
        stay: NDArray[np.bool_] = self.idle < (np.inf if self.patience is None else self.patience)
        if not stay.all():
            self.offset, self.group = self.offset[stay], self.group[stay]
            self.alpha, self.idle = self.alpha[stay], self.idle[stay]
            self.gram = self.gram[np.ix_(stay, stay)]
        return stay
