"""What the driver and the blocks tell each other."""

from __future__ import annotations

from dataclasses import dataclass

from ...arrays import Floats
from .places import Places

__all__ = ["Change", "Fresh", "Pass", "Round", "Update"]


@dataclass(frozen=True)
class Pass:
    """The beginning of a pass.

    Attributes
    ----------
    number : int
        How many passes there were before.
    l2 : float
        The l2 of this pass; larger than the target while annealing.
    k : float
        The factor of the proximal term.
    moves : bool
        Whether the centre of the proximal term moves to the weights of the pass before.
    seed : int
        Each block draws its order by this number and its own.
    exchanges : int
        How many rounds the pass has.
    """

    number: int
    l2: float
    k: float
    moves: bool
    seed: int
    exchanges: int


@dataclass(frozen=True)
class Round:
    """One round: every block visits its next chunk.

    Attributes
    ----------
    turn : int
        Which chunk, counted from 0.
    sigma : float
        By how much a block takes its own changes to be larger than they are, to leave room for
        those of the others.
    final : bool
        Whether the round stands whatever comes of it, so that nothing is kept to undo it.
    """

    turn: int
    sigma: float
    final: bool


@dataclass(frozen=True)
class Change:
    """What a block changed in a round.

    Attributes
    ----------
    places, values : Places, ndarray
        The change of v.
    linear : float
        The change of sum_i c_i (tau H_i + cost_i.mu_i).
    share : float
        The examples' part of the gap in the block, as far as it was seen at their last visits.
    visits : int
        How often an oracle was called.
    """

    places: Places
    values: Floats
    linear: float
    share: float
    visits: int


@dataclass(frozen=True)
class Update:
    """What all blocks changed in a round: the sum of their changes, in the order of the blocks."""

    places: Places
    values: Floats


@dataclass(frozen=True)
class Fresh:
    """The duals of a block, from scratch.

    Attributes
    ----------
    places, values : Places, ndarray
        The v of its examples.
    linear : float
        The sum of c_i (tau H_i + cost_i.mu_i) over its examples.
    """

    places: Places
    values: Floats
    linear: float
