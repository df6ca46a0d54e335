"""What training in blocks decides from the data and the options alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...arrays import Floats, Ints
from ...problem.problem import Problem
from ..eg.base import Annealing, default_annealing, is_small, refuse_l1_with_hinge, sum_of_squares
from .places import Places

__all__ = [
    "BlockPlan",
    "Change",
    "Extent",
    "Fresh",
    "Pass",
    "Round",
    "Update",
    "block_ends",
    "make_plan",
]

#: How many blocks there are, unless there are fewer examples.
BLOCKS: Final = 8
#: A chunk has at least this many examples ...
_CHUNK: Final = 4
#: ... and a pass has at most this many exchanges.
_EXCHANGES: Final = 256
#: The examples' part of the gap, divided by the weights' part, that a proximal term is steered to:
#: for smooth losses, and for the hinge.
_SMOOTH, _HINGE = 0.1, 10.0


@dataclass(frozen=True)
class Extent:
    """How much data there are.

    Attributes
    ----------
    examples, parts, sites : int
        Their numbers.
    squares : float
        The sum of the squared values of the features of all sites.
    """

    examples: int
    parts: int
    sites: int
    squares: float

    @staticmethod
    def of(problem: Problem) -> Extent:
        """Count what a problem has."""
        n_sites = len(problem.arrays.design.site_part)
        return Extent(problem.n_examples, problem.n_parts, n_sites, sum_of_squares(problem))

    @staticmethod
    def total(several: Iterable[Extent]) -> Extent:
        """Add up what blocks have, in their order."""
        every = list(several)
        return Extent(
            sum(one.examples for one in every),
            sum(one.parts for one in every),
            sum(one.sites for one in every),
            sum(one.squares for one in every),
        )

    @property
    def easy_l2(self) -> float:
        """Half the mean squared norm of a position's features, an l2 for which EG is fast."""
        return 0.5 * self.squares / max(1, self.sites)


@dataclass(frozen=True)
class BlockPlan:
    """How blocks are trained.

    Attributes
    ----------
    method : {"online-eg", "plain-eg", "bcfw", "crammer-singer"}
        The solver that visits the examples of a block; "plain-eg" is online EG that visits all of
        them in each pass.
    blocks, exchanges : int
        The number of blocks, and of exchanges in a pass.
    annealing : Annealing or None
        How l2 approaches its target.
    nearness : float
        The first factor of the proximal term; 0 is no such term.
    proportion : float
        The examples' part of the gap, divided by the weights' part, that this factor is steered to.
    smooth : bool
        Whether the loss is smooth.
    """

    method: str
    blocks: int
    exchanges: int
    annealing: Annealing | None
    nearness: float
    proportion: float
    smooth: bool

    @property
    def keeps_theta(self) -> bool:
        """Whether the duals of a block are theta, or else mu."""
        return self.method in ("online-eg", "plain-eg")


def make_plan(
    extent: Extent,
    n_weights: int,
    tau: float,
    multiclass: bool,
    l2: float,
    l1: float = 0.0,
    *,
    warm: bool = False,
    blocks: int | None = None,
    exchanges: int | str | None = None,
    method: str | None = None,
) -> BlockPlan:
    """Choose the method of the blocks, as the automatic solver does, and their number.

    Parameters
    ----------
    extent : Extent
        How much data there are.
    n_weights : int
        The number of weights.
    tau : float
        The temperature of the loss; 0 is the hinge.
    multiclass : bool
        Whether examples are classified.
    l2, l1 : float
        The regulariser.
    warm : bool
        Whether the fit starts from the result of an earlier one.
    blocks, exchanges : int or None
        Given numbers; for exchanges also "each".
    method : {"online-eg"} or None
        Given: online EG for every loss, without annealing or a proximal term.
    """
    refuse_l1_with_hinge(l1, tau)
    k = min(blocks or BLOCKS, extent.examples)
    if exchanges == "each":
        exchanges = -(-extent.examples // k)
    elif exchanges is None:
        most = max(1, extent.examples // (_CHUNK * k))
        exchanges = min(_EXCHANGES, 1 << (most.bit_length() - 1))
    exchanges, easy = int(exchanges), extent.easy_l2
    if method is not None:
        return BlockPlan("plain-eg", k, exchanges, None, 0.0, _SMOOTH, tau > 0.0)
    if tau == 0.0:
        visits = "crammer-singer" if multiclass else "bcfw"
        return BlockPlan(visits, k, exchanges, None, max(easy, l2), _HINGE, False)
    if l1 > 0.0 or is_small(l2, easy, n_weights, extent.sites):
        nearness = max(easy - l2, 0.0)
        if warm and l1 == 0.0:
            nearness = min(nearness, 10.0 * l2)
        return BlockPlan("online-eg", k, exchanges, None, nearness, _SMOOTH, True)
    annealing = None if warm else default_annealing(easy, l2)
    return BlockPlan("online-eg", k, exchanges, annealing, 0.0, _SMOOTH, True)


def block_ends(sizes: Ints, blocks: int) -> Ints:
    """Return where contiguous blocks of about the same size end; each has at least one example.

    Parameters
    ----------
    sizes : ndarray of int64
        The number of parts of each example.
    blocks : int
        The number of blocks, at most that of the examples.
    """
    n = len(sizes)
    done = np.cumsum(sizes)
    aims = done[-1] * np.arange(1, blocks) / blocks
    ends = np.searchsorted(done, aims) + 1
    # As many examples as blocks must be left on either side of an end.
    ends = np.maximum.accumulate(np.maximum(ends, np.arange(1, blocks)))
    ends = np.minimum(ends, n - blocks + np.arange(1, blocks))
    ends = np.maximum.accumulate(ends - np.arange(blocks - 1)) + np.arange(blocks - 1)
    return np.append(ends, n).astype(np.int64)


# What the driver and the blocks tell each other.


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
