"""The examples to train on: checks, and those that add nothing to the objective left out."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..errors import DataError, Place
from ..problem.example_arrays import make_topologies
from ..problem.partial_labels import says_nothing
from ..problem.rows import Rows
from ..structures.base import Structure
from .features import Features

__all__ = [
    "NO_EXAMPLES", "check_features", "check_weights", "note_left_out", "silent", "take_examples",
]  # fmt: skip

_log = logging.getLogger(__name__)

#: The message if there is nothing to train on.
NO_EXAMPLES: Final = "there are no examples to train on; give at least two, of different labels"


def silent(
    structure: Structure,
    shapes: Sequence[Any] | Ints,
    allowed: Sequence[Any],
    constraints: Any,
    own_constraints: Sequence[Any] | None,
) -> npt.NDArray[np.bool_]:
    """Return for each example whether nothing is known of its label."""
    if len(allowed) != len(shapes):
        raise DataError(f"allowed labels of {len(allowed)} examples where there are {len(shapes)}")
    topologies = make_topologies(structure, shapes)
    return says_nothing(structure, topologies, allowed, constraints, own_constraints)


def note_left_out(
    n: int, kept: npt.NDArray[np.bool_], meta: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Log how many examples are left out for want of a label, and add the number to the meta."""
    if not n:
        return meta
    if not kept.any():
        raise DataError(
            "no example has a label, so there is nothing to train on; give some of them labels"
        )
    _log.info("%d examples have no label at all, add nothing to the objective, and are left out", n)
    meta = meta or {}
    return {**meta, "left_out": n + meta.get("left_out", 0)}


def check_features(structure: Structure, features: Sequence[Rows], encoder: Features) -> None:
    """Raise a DataError unless the rows are finite and fit the structure and the encoder."""
    for kind, rows in zip(structure.kinds, features, strict=False):
        if not isinstance(rows, Rows):
            raise DataError(
                f"the features of {kind} sites are a {type(rows).__name__}; expected Rows: make "
                "them by Rows.from_dense or Rows.from_scipy"
            )
    counts = encoder.feature_counts(structure)
    given = tuple(rows.n_features for rows in features)
    if given != counts:
        raise DataError(
            f"rows of {given} features where the encoder has {counts}, for the sites "
            f"{', '.join(structure.kinds)}; give one Rows for each kind, and an encoder for them"
        )
    for kind, rows in zip(structure.kinds, features, strict=True):
        rows.check_finite(f"the features of {kind} sites")


def take_examples(
    structure: Structure,
    features: Sequence[Rows],
    shapes: Sequence[Any] | Ints,
    kept: npt.NDArray[np.bool_],
) -> list[Rows]:
    """Return the rows of some examples; a single row for all sites is kept."""
    kinds = len(structure.kinds)
    topologies = make_topologies(structure, shapes)
    known = {topo.tobytes(): topo for topo in topologies}
    sizes = {
        key: np.bincount(structure.sites(topo).kind, minlength=kinds) for key, topo in known.items()
    }
    sites = np.array([sizes[topo.tobytes()] for topo in topologies])  # examples x kinds
    return [
        rows.take(np.repeat(kept, sites[:, kind])) if len(rows) == sites[:, kind].sum() else rows
        for kind, rows in enumerate(features)
    ]


def check_weights(given: npt.ArrayLike | None, n: int) -> Floats:
    """Return the weights of n examples as an array; None means 1 for each."""
    if given is None:
        return np.ones(n)
    try:
        weight = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight does not hold numbers: {error}") from error
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise DataError(
            f"sample_weight.shape == {weight.shape}, expected {(n,)}: one number per example"
        )
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0.0)))
    if len(bad):
        raise DataError(
            f"the weight is {weight[bad[0]]}; weights must be finite and not negative",
            place=Place.nth("example", int(bad[0]), argument="sample_weight"),
        )
    if n and not weight.any():
        raise DataError("all sample weights are zero; give some example a positive weight")
    return weight
