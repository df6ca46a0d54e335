"""Lists of the best prefixes of a sequence, for searches that keep more than one per state."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.jit import njit


@njit
def merge_lists(scores: Any, steps: Any, head: Any, out: Any, source: Any, rank: Any) -> None:
    """Fill out with the best numbers of the lists scores[i] + steps[i], each sorted, in order.

    source and rank receive the list of each number and its place there. Numbers that are -inf are
    left out, and what is behind the last number stays as it is. head is scratch.
    """
    n_best = out.size
    head[:] = 0
    for r in range(n_best):
        top, best = -np.inf, -1
        for i in range(scores.shape[0]):
            if head[i] < n_best and scores[i, head[i]] + steps[i] > top:
                top, best = scores[i, head[i]] + steps[i], i
        if best < 0:
            break
        out[r], source[r], rank[r] = top, best, head[best]
        head[best] += 1
