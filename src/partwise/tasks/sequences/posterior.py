"""The distribution of the labels of a sequence as a Markov chain, from the scores of its parts.

With beta_t(a), the log of the sum of the scores of all that may follow label a at position t,

    p(y_t+1 = b | y_t = a) = exp(transition(a, b) + unary(t+1, b) + beta_t+1(b) - beta_t(a))

and the same with pairs of labels for chains of order 2. All sums are computed in log space, so
that what is nearly impossible keeps its digits, and what is forbidden has probability 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...errors import DataError

if TYPE_CHECKING:
    from ...structures.base import Structure

__all__ = ["Posterior"]


@dataclass(frozen=True, eq=False)
class Posterior:
    """The distribution of the labels of one sequence.

    The state at a position is its label or, for order 2 and from the second position on, the pair
    of the label before and its own. A mass has one number per state, with the shape (1, labels) or
    (labels, labels).

    Attributes
    ----------
    first : ndarray of shape (1, labels)
        The probability of every label at the first position.
    steps : list of ndarray
        For each position but the last, the probability of the next label given the state: an array
        with the shape of the state, and one more axis for the next label.
    order : int
        The number of preceding labels that a label depends on.
    """

    first: Floats
    steps: list[Floats]
    order: int

    @classmethod
    def of(cls, structure: Structure, theta: Floats, topo: Ints) -> Posterior:
        """Compute the distribution.

        Parameters
        ----------
        structure : Chain or SecondOrderChain
            The structure.
        theta : ndarray
            The scores of the parts; -inf for those that are forbidden.
        topo : ndarray
            The shape of the sequence, which is not empty.
        """
        chain: Any = structure
        n, length = chain.n_labels, int(topo[0])
        unary = theta[: length * n].reshape(length, n)
        pairs = theta[chain.parts_of("transition", topo)].reshape(-1, n, n)
        ends = {
            name: theta[chain.parts_of(name, topo)] if getattr(chain, name) else np.zeros(n)
            for name in ("start", "end")
        }
        order = 2 if "triple" in chain.kinds else 1
        triples = None
        if order == 2:
            triples = theta[chain.parts_of("triple", topo)].reshape(n, n, n)
        after: Floats = np.broadcast_to(ends["end"], (n, n) if order == 2 else (1, n))
        steps: list[Floats] = []
        for t in range(length - 2, -1, -1):
            # scores[a, b, c] is the sum of everything after the state (a, b) if label c is next.
            scores = pairs[t if len(pairs) > 1 else 0][None] + unary[t + 1]
            if order == 1 or t == 0:
                scores = scores + (after if order == 2 else after[0])
            else:
                assert triples is not None
                scores = scores + triples + after
            after, step = _normalised(scores)
            steps.append(step)
        total, first = _normalised((ends["start"] + unary[0] + after[0])[None, None])
        if not np.isfinite(total).all():
            raise DataError("a sequence has no possible labels; relax what is forbidden or known")
        return cls(first[0], steps[::-1], order)

    def step(self, t: int, mass: Floats, allowed: npt.NDArray[np.bool_]) -> Floats:
        """Move mass from position t to the next one, along the allowed pairs of labels.

        Parameters
        ----------
        t : int
            The position.
        mass : ndarray
            The probability of every state.
        allowed : ndarray of bool, labels x labels
            Which label may follow which.
        """
        moved: Floats = np.einsum("ab,abc->bc", mass, self.steps[t]) * allowed
        return moved if self.order == 2 else moved.sum(axis=0, keepdims=True)

    def pairs(self) -> Floats:
        """Return the probability of every pair of labels at every two neighbouring positions."""
        n = self.first.shape[1]
        found = np.empty((len(self.steps), n, n))
        mass = self.first
        for t, step in enumerate(self.steps):
            found[t] = np.einsum("ab,abc->bc", mass, step)
            mass = found[t] if self.order == 2 else found[t].sum(axis=0, keepdims=True)
        return found


def _normalised(scores: Floats) -> tuple[Floats, Floats]:
    """Return the log of the sum over the last axis, and the probabilities along it.

    Both are those of states that nothing can follow where the sum is 0: -inf, and 0.
    """
    top = scores.max(axis=-1, keepdims=True)
    odds = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    sums = odds.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        total = top[..., 0] + np.log(sums[..., 0])
    return total, np.divide(odds, sums, out=np.zeros_like(odds), where=sums > 0.0)
