"""Orthant-wise L-BFGS for l1 > 0.

Andrew and Gao (2007), "Scalable training of L1-regularized log-linear models". Within an orthant
|w|_1 is linear, so a quasi-Newton step can be taken there:

    g     = l2 w - v                                  the gradient of the smooth part
    pg    = the subgradient g + l1 [-1, 1] nearest to 0, sign(w) where w is not 0
    d     = -H pg, with the coordinates that disagree with -pg set to 0
    w'    = w + t d, with the coordinates that leave the orthant set to 0
"""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np

from ...arrays import Floats
from ..papers import ANDREW_2007
from .lbfgs import LBFGS


@final
class OrthantWise(LBFGS):
    """Orthant-wise L-BFGS; with l1 = 0 it is L-BFGS.

    Parameters
    ----------
    goal : Goal
        What to solve.
    memory : int
        How many pairs of steps and gradients are kept.
    """

    name: ClassVar[str] = "owl-qn"
    papers = (ANDREW_2007,)
    takes_l1 = True

    def steepest(self, weights: Floats, gradient: Floats) -> Floats:
        return pseudo_gradient(weights, gradient, self.l1)

    def direction(self, steepest: Floats) -> Floats:
        d = self.pairs.descent(steepest)
        return np.where(d * steepest < 0.0, d, 0.0) if self.l1 else d

    def moved(self, weights: Floats, steepest: Floats, change: Floats) -> Floats:
        new = weights + change
        if self.l1:
            orthant = np.where(weights != 0.0, np.sign(weights), -np.sign(steepest))
            new[new * orthant < 0.0] = 0.0
        return new


def pseudo_gradient(weights: Floats, gradient: Floats, l1: float) -> Floats:
    """Return the subgradient of P nearest to 0, from the gradient of its smooth part."""
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    nearest: Floats = np.where(weights != 0.0, gradient + l1 * np.sign(weights), at_zero)
    return nearest
