"""The duals that dual coordinate descent starts from, since 0 is none of them.

Section 3.4 and (51) of Yu, Huang and Lin (2011). alpha = C of the paper is the weight of an example
here, so a part of C is the same part of that weight.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np

from ...arrays import Floats
from ...errors import MismatchError
from ..options import Within
from .contexts import Contexts

STARTS: Final = ("near-gold", "keerthi", "uniform")


class Epsilons(NamedTuple):
    """How close to the gold labels "near-gold" is."""

    #: Two classes: alpha is at most this part of C ...
    part: Annotated[float, Within("a number between 0 and 1", 0.0, 1.0, True, True)] = 1e-3
    #: ... and at most this (36).
    most: Annotated[float, Within("a positive number", above=True)] = 1e-8
    #: More classes: what the labels that were not seen with a context share (51).
    unseen: Annotated[float, Within("a number between 0 and 1", 0.0, 1.0, True, True)] = 1e-10


def starting_point(
    contexts: Contexts, start: str, epsilons: Epsilons, c: float | None = None
) -> Floats:
    """Return alpha, X x L.

    c: the C of the paper for an example of weight 1 if one vector stands for two classes.
    """
    counts, total = contexts.counts, contexts.total
    n_labels = counts.shape[1]
    if start == "uniform":
        return np.repeat(total[:, None] / n_labels, n_labels, axis=1)
    if start == "keerthi":
        if n_labels != 2:
            raise MismatchError(
                f"start='keerthi' is for two classes, and there are {n_labels}; use "
                "start='near-gold' or start='uniform'"
            )
        # C / l+ and C / l-, counted in examples of mean weight; C itself, with one, is no dual.
        mean = total.sum() / contexts.size.sum()
        wrong = counts / np.maximum(counts.sum(axis=0) / mean, 2.0)
        moved: Floats = counts - wrong + wrong[:, ::-1]
        return moved
    unseen = counts == 0.0
    n_unseen = unseen.sum(axis=1, keepdims=True)
    if c is not None:
        small = np.minimum(epsilons.part * total, epsilons.most / c)[:, None]
    else:
        small = epsilons.unseen * total[:, None]
    seen_part = np.where(n_unseen > 0, 1.0 - small / total[:, None], 1.0)
    return np.where(unseen, small / np.maximum(n_unseen, 1), seen_part * counts)
