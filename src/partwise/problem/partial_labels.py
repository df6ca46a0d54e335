"""Labels that are known in part: which labels an example may have, and their expected counts.

An example whose label is known in part has a set A_i of allowed labels. Its loss is that of all
labels together in that set, which is not convex:

    loss_i(w) = log sum_y exp(w.f_i(y)) - log sum_{y in A_i} exp(w.f_i(y))

The second term is convex, so it lies above its tangent at any weights w':

    loss_i(w) <= log sum_y exp(w.f_i(y)) - q_i.F_i w - H(q_i),     q_i = p(. | A_i; w')

with equality at w = w'. The right side is the log loss of a label that has the expected counts of
the parts under q_i, up to the constant H(q_i). So a problem holds such counts in the place of a
gold label, and `AllowedLabels` in `training/partial_labels.py` computes them for other weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..errors import DataError, Place
from ..structures.base import Structure
from .example_arrays import make_masks, pointers

__all__ = ["PartialLabels", "encode_partial", "says_nothing"]


@dataclass(frozen=True)
class PartialLabels:
    """The examples of a problem whose labels are known in part.

    Attributes
    ----------
    examples : ndarray of int64
        Their numbers.
    mask : ndarray
        0 or -inf per part: what their allowed labels are made of.
    mask_ptr : ndarray of int64
        Where the mask of each of them begins.
    """

    examples: Ints
    mask: Floats
    mask_ptr: Ints


def says_nothing(
    structure: Structure,
    topologies: Sequence[Ints],
    allowed: Sequence[Any],
    constraints: Any,
    own_constraints: Sequence[Any] | None,
) -> npt.NDArray[np.bool_]:
    """Return for each example whether all its labels are allowed, so that its loss is 0.

    Parameters
    ----------
    structure, topologies, allowed, constraints, own_constraints
        As in `encode_partial`.
    """
    silent = np.zeros(len(topologies), dtype=np.bool_)
    for i, (topo, mine) in enumerate(zip(topologies, allowed, strict=True)):
        if mine is None:
            continue
        own = None if own_constraints is None else [own_constraints[i]]
        without, _ = make_masks(structure, [topo], constraints, own)
        forbidden = np.isneginf(structure.mask(topo, mine))
        # What is forbidden anyway may be forbidden once more.
        silent[i] = not (forbidden & ~np.isneginf(without) if without.size else forbidden).any()
    return silent


def encode_partial(
    structure: Structure,
    topologies: Sequence[Ints],
    gold: Sequence[Ints],
    allowed: Sequence[Any],
    constraints: Any,
    own_constraints: Sequence[Any] | None,
) -> tuple[tuple[Ints, Ints, Floats], PartialLabels, Floats]:
    """Encode labels of which some are known in part.

    Parameters
    ----------
    structure : Structure
        What a label is made of.
    topologies : sequence of ndarray
        The shape of each example.
    gold : sequence of ndarray
        The label of each example; it is not looked at where `allowed` holds something.
    allowed : sequence
        For each example None if its label is known, or what its label may be, as
        `structure.mask` takes it.
    constraints, own_constraints
        As in :func:`partwise.problem.problem.build_problem`.

    Returns
    -------
    encoded, partial, entropy
        The parts and their counts, as `Structure.encode_all` returns them; the examples whose
        labels are known in part; and the entropy of every label. A label that is known in part has
        the expected counts if all allowed labels are equally likely, with every part that some
        allowed label has.
    """
    which = [i for i, mine in enumerate(allowed) if mine is not None]
    whole = [i for i, mine in enumerate(allowed) if mine is None]
    some = [topologies[i] for i in which]
    own = None if own_constraints is None else [own_constraints[i] for i in which]
    base, base_ptr = make_masks(structure, some, constraints, own)
    masks, found = [], {}
    entropy = np.zeros(len(topologies))
    for j, (i, topo) in enumerate(zip(which, some, strict=True)):
        mask = structure.mask(topo, allowed[i])
        if base.size:
            mask = mask + base[base_ptr[j] : base_ptr[j] + len(mask)]
        log_z, mu = structure.expected_parts(mask, topo)
        if not np.isfinite(log_z):
            raise DataError(
                "no label agrees with all that is known of it; "
                "correct or widen what is allowed, or relax the constraints",
                place=Place.nth("example", i),
            )
        masks.append(mask)
        parts = np.flatnonzero(mu > 0.0)
        found[i] = (parts, mu[parts])
        entropy[i] = log_z  # all allowed labels have the score 0
    ends, parts, counts = structure.encode_all(
        [gold[i] for i in whole], [topologies[i] for i in whole]
    )
    for k, i in enumerate(whole):
        found[i] = (parts[ends[k] : ends[k + 1]], counts[ends[k] : ends[k + 1]])
    encoded = [found[i] for i in range(len(topologies))]
    partial = PartialLabels(
        examples=np.array(which, dtype=np.int64),
        mask=np.concatenate([np.zeros(0), *masks]),
        mask_ptr=pointers([len(mask) for mask in masks])[:-1],
    )
    joined = (
        pointers([len(parts) for parts, _ in encoded]),
        np.concatenate([np.zeros(0, dtype=np.int64), *(parts for parts, _ in encoded)]),
        np.concatenate([np.zeros(0), *(counts for _, counts in encoded)]),
    )
    return joined, partial, entropy
