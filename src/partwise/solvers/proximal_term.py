"""A proximal term, which keeps the weights near earlier ones and makes each epoch's problem easier.

    min_w  P(w) + k/2 |w - z|^2,    w(u) = (v(u) + k z) / (l2 + k)    where l1 = 0

This is the proximal point method of Rockafellar (1976). The dual points of such a problem are those
of P itself, so the certificate is that of P, and it is split in two:

    P(w) - D(u) = [examples] + [R(w) + R*(v) - w.v],    R = l2/2 |.|^2 + l1 |.|_1

The first part is the examples' part of the gap; a large k makes it small. The second is the
weights' part, about k^2 |w - z|^2 / (2 l2); a small k makes it small. Both are known after every
epoch. k is steered so that they stay in proportion. z does not move while the examples' part grows
beyond its proportion, since weights that run ahead of the duals overshoot.

A fit that starts from weights alone has duals that fit these weights, and good weights are not to
be lost while the duals find their places. Its first k is so large that an epoch cannot lead far
away. z always moves on, and k only falls: faster, the more of the gap is the weights' part, and
also where the gap hardly falls.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Final

import numpy as np

from ..arrays import Floats
from ..compiled.vectors import inner, shrunk

#: k changes by a factor within these bounds whenever z moves.
_SLOWEST: Final = 0.8
_FASTEST: Final = 1.1
#: Below this fraction of l2, k becomes 0.
_NOTHING: Final = 0.1
#: z waits while the examples' part is this many times what it was when z last moved ...
_GROWTH: Final = 1.2
#: ... but never for more than this many epochs.
_PATIENCE: Final = 5
#: A term holds the weights back if the gap falls over this many epochs ...
_WINDOW: Final = 50
#: ... by less than this factor.
_FALL: Final = math.exp(-0.5)
#: The first k for some weights is so large that a whole step is at most this part of them.
_FAR: Final = 0.3
#: After an epoch that starts from weights, k falls at most by this factor ...
_HALF: Final = 0.5
#: ... and by this one if the gap is still more than ...
_LESS: Final = 0.7
#: ... this part of what it was before.
_STALLED: Final = 0.6


class ProximalTerm:
    """The factor k and the centre z of a proximal term.

    Parameters
    ----------
    k : float
        The first factor.
    centre : ndarray
        The first z.
    l2 : float
        The l2 of P.
    proportion : float
        The examples' part of the gap, divided by the weights' part, that k is steered to.
    leaves : bool
        Whether the fit starts from weights alone, so that k only falls.
    """

    def __init__(
        self, k: float, centre: Floats, l2: float, proportion: float, leaves: bool = False
    ) -> None:
        self.k, self.centre = k, centre
        self.l2, self.proportion, self.leaves = l2, proportion, leaves
        self.gap = math.inf  # after the last epoch of a fit that starts from weights
        self.own, self.waited = 0.0, 0
        self.estimates: deque[float] = deque(maxlen=_WINDOW)

    def holds_back(self, estimate: float) -> bool:
        """Take note of the gap after an epoch; return whether it hardly falls any more.

        This happens where there are few examples and many weights: without the term, the gap falls
        faster.
        """
        hardly = len(self.estimates) == _WINDOW and estimate > _FALL * self.estimates[0]
        self.estimates.append(estimate)
        return hardly

    def steer(self, own: float, others: float, weights: Floats) -> None:
        """Move z to the weights and k towards the proportion, after an epoch.

        Parameters
        ----------
        own, others : float
            The examples' part of the gap, and the weights' part.
        weights : ndarray
            The weights after the epoch.
        """
        if self.leaves:
            self._leave(own, others, weights)
            return
        if own > max(_GROWTH * self.own, self.proportion * others) and self.waited < _PATIENCE:
            self.waited += 1
            return
        self.own, self.waited = own, 0
        self.centre = weights
        if not (0.0 < own < math.inf and others > 0.0):
            return
        factor = math.sqrt(own / (self.proportion * others))
        self.k *= min(max(factor, _SLOWEST), _FASTEST)
        if self.k < _NOTHING * self.l2:
            self.k = 0.0

    def _leave(self, own: float, others: float, weights: Floats) -> None:
        """Move z to the weights and lower k, after an epoch of a fit that starts from weights."""
        factor, gap = 1.0, own + others
        if own > 0.0 and others > 0.0:
            factor = max(math.sqrt(own / others), _HALF)
        factor = min(factor, _LESS if gap > _STALLED * self.gap else 1.0)
        self.centre, self.gap = weights, gap
        self.k *= factor
        if self.k < _NOTHING * self.l2:
            self.k = 0.0


def holding_factor(weights: Floats, v: Floats, l2: float, l1: float) -> float:
    """Return a k for which the first step from some weights is short, beside these weights.

    A step that takes the duals as they are leads from w to w - r / (l2 + k), where r is the slope
    of the objective at w; for the duals p(.|x; w) it is l2 w - v where l1 = 0.

    Parameters
    ----------
    weights : ndarray
        The weights w.
    v : ndarray
        The v(u) of their duals.
    l2, l1 : float
        The regulariser.
    """
    slope = l2 * weights - v
    if l1:
        slope = np.where(weights != 0.0, slope + l1 * np.sign(weights), -shrunk(v, l1))
    size = math.sqrt(inner(weights, weights))
    return math.sqrt(inner(slope, slope)) / (_FAR * size) if size > 0.0 else 0.0
