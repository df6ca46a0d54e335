"""The steps in which a dynamic program builds labels, so that each step can have a marginal.

A program makes *items* of smaller ones (the label of a position from that of the one before, a
span from two shorter ones) until one item, the last, is a whole label. Each way to make an item is
a *step*. A label is a set of steps, one for each item that it is made of, so that

    u(y) = prod over the steps s of y of p(s | its item),    p(s | item) = mu_s / mu_item
    H(u) = - sum_s mu_s log (mu_s / mu_item),                mu_item = sum of mu_s over its steps

for the distribution u of largest entropy among those with the marginals mu of steps. Conversely,
numbers mu >= 0 are the marginals of such a u if what makes an item is used as often as it is made.
So weight may be taken from any label up to the least mu of its steps. The marginals of parts alone
do not tell that, where parts are tied or a label has steps that no part sees.

Steps are parts here, which have no features and stand behind the parts of the structure itself.
The oracles below know a structure by its steps alone. Times are proportional to their number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ..arrays import Ints
from ..compiled.jit import FAST, cfunc, njit
from ..errors import MismatchError
from ..memory import memory_limit
from .base import ORACLE
from .logspace import any_bad

__all__ = [
    "StepList", "Steps", "check_steps", "flat_steps", "steps_entropy", "steps_marginals",
    "steps_maximum", "steps_work",
]  # fmt: skip

#: Numbers before the arrays of an example: items, steps, parts, and the lengths of two arrays.
_HEAD: Final = 5
#: What the steps of an item are shared by has to be more.
_RARE: Final = 1e-300
#: The bytes that a number of a list takes at most while the list is sorted and written down.
_BUILDING: Final = 48


class Steps(NamedTuple):
    """The steps of one example; what a step is made from has a smaller number than what it makes.

    The steps ``item_ptr[k]`` to ``item_ptr[k+1] - 1`` make item k. Step s is made from the items
    ``tail[tail_ptr[s]]`` to ``tail[tail_ptr[s+1] - 1]``, and adds the parts at ``part_ptr[s]`` to
    ``part_ptr[s+1] - 1`` to the label. The last item is a whole label.
    """

    item_ptr: Ints
    tail_ptr: Ints
    tail: Ints
    part_ptr: Ints
    part: Ints


class StepList:
    """Collects steps, many at a time and in any order."""

    def __init__(self) -> None:
        self._heads: list[Ints] = []
        self._tails: list[Ints] = []
        self._parts: list[Ints] = []
        self._numbers = 0

    def add(self, head: Any, tails: Sequence[Any] = (), parts: Sequence[Any] = ()) -> None:
        """Add steps that make items.

        Parameters
        ----------
        head : array of int
            The items, one per step.
        tails, parts : sequence of arrays
            What each step is made from, and the parts that it adds; -1 is none. They are broadcast
            together with the items.
        """
        columns = np.broadcast_arrays(head, *tails, *parts)
        self._numbers += len(columns) * columns[0].size
        check_steps(_BUILDING * self._numbers, "the steps that build the labels of one example")
        flat = np.stack([np.ravel(column) for column in columns]).astype(np.int64)
        self._heads.append(flat[0])
        self._tails.append(flat[1 : 1 + len(tails)])
        self._parts.append(flat[1 + len(tails) :])

    def steps(self, n_items: int) -> Steps:
        """Return all steps, in the order of what they make."""
        heads = np.concatenate(self._heads)
        order = np.argsort(heads, kind="stable")
        item_ptr = np.searchsorted(heads[order], np.arange(n_items + 1))
        return Steps(item_ptr, *_lists(self._tails, order), *_lists(self._parts, order))


def check_steps(needed: float, what: str) -> None:
    """Raise a MismatchError if steps need more memory than there is.

    Parameters
    ----------
    needed : float
        How many bytes are needed.
    what : str
        What needs them; the subject of the sentence in the message.
    """
    if needed > memory_limit():
        raise MismatchError(
            f"{what} would take {needed / 2**30:,.0f} GiB, and this machine has "
            f"{memory_limit() / 2**30:,.0f}; use a solver that does without them, such as bcfw, or "
            "leave long examples out"
        )


def _lists(blocks: list[Ints], order: Ints) -> tuple[Ints, Ints]:
    """Return pointers to the lists of all steps, and the lists; blocks have a column per step."""
    sizes = np.concatenate([(block >= 0).sum(axis=0) for block in blocks]).astype(np.int64)
    held = np.concatenate([block.T[block.T >= 0] for block in blocks])
    begins = (np.cumsum(sizes) - sizes)[order]
    sizes = sizes[order]
    pointers = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum(sizes, out=pointers[1:])
    return pointers, held[np.arange(pointers[-1]) + np.repeat(begins - pointers[:-1], sizes)]


def flat_steps(steps: Steps, n_parts: int) -> Ints:
    """Write the steps of an example with so many parts down for the oracles."""
    n_items, n_steps = len(steps.item_ptr) - 1, len(steps.tail_ptr) - 1
    head = [n_items, n_steps, n_parts, len(steps.tail), len(steps.part)]
    return np.concatenate([np.array(head), *steps]).astype(np.int64)


def steps_work(steps: Steps) -> int:
    """Return how many numbers the oracles need as scratch."""
    return 3 * (len(steps.item_ptr) - 1) + len(steps.tail_ptr) - 1


class _Read(NamedTuple):
    """The steps of an example as `flat_steps` wrote them."""

    n_parts: int
    item_ptr: Any
    tail_ptr: Any
    tail: Any
    part_ptr: Any
    part: Any


@njit
def _read(spec: Any, topo: Any) -> Any:
    """Return the steps of the example whose shape ends with their place in spec."""
    at = topo[topo.size - 1]
    items, steps, parts = spec[at], spec[at + 1], spec[at + 2]
    a = at + _HEAD
    b = a + items + 1
    c = b + steps + 1
    d = c + spec[at + 3]
    e = d + steps + 1
    return _Read(parts, spec[a:b], spec[b:c], spec[c:d], spec[d:e], spec[e : e + spec[at + 4]])


@njit
def _step_score(s: Any, step: int, theta: Any, value: Any) -> Any:
    """Return the score of a step with what it is made from."""
    total = theta[s.n_parts + step]
    for p in range(s.part_ptr[step], s.part_ptr[step + 1]):
        total += theta[s.part[p]]
    for k in range(s.tail_ptr[step], s.tail_ptr[step + 1]):
        total += value[s.tail[k]]
    return total


@cfunc(ORACLE)
def steps_maximum(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Find a best label; the first of equal steps wins."""
    s = _read(spec, topo)
    n = s.item_ptr.size - 1
    value, chosen, waiting = work[:n], work[n : 2 * n], work[2 * n : 3 * n]
    for r in range(mu.size):
        mu[r] = 0.0
    if any_bad(theta):
        return np.nan
    for item in range(n):
        best, which = -np.inf, -1
        for step in range(s.item_ptr[item], s.item_ptr[item + 1]):
            score = _step_score(s, step, theta, value)
            if score > best:
                best, which = score, step
        value[item] = best
        chosen[item] = which
    if value[n - 1] == -np.inf or mu.size == 0:
        return value[n - 1]
    waiting[0] = n - 1
    depth = 1
    while depth > 0:
        depth -= 1
        step = int(chosen[int(waiting[depth])])
        mu[s.n_parts + step] += 1.0
        for p in range(s.part_ptr[step], s.part_ptr[step + 1]):
            mu[s.part[p]] += 1.0
        for k in range(s.tail_ptr[step], s.tail_ptr[step + 1]):
            waiting[depth] = s.tail[k]
            depth += 1
    return value[n - 1]


@cfunc(ORACLE)
def steps_marginals(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Sum over all labels, in log space, and hand the weight of each item on to its steps."""
    s = _read(spec, topo)
    n, n_steps = s.item_ptr.size - 1, s.tail_ptr.size - 1
    value, flow, score = work[:n], work[n : 2 * n], work[3 * n : 3 * n + n_steps]
    for r in range(mu.size):
        mu[r] = 0.0
    if any_bad(theta):
        return np.nan
    for item in range(n):
        begin, end = s.item_ptr[item], s.item_ptr[item + 1]
        top, total = -np.inf, 0.0
        for step in range(begin, end):
            score[step] = _step_score(s, step, theta, value)
            top = max(top, score[step])
        if top > -np.inf:
            for step in range(begin, end):
                total += math.exp(score[step] - top)
            top += math.log(total)
        value[item] = top
    if value[n - 1] == -np.inf or mu.size == 0:
        return value[n - 1]
    for item in range(n - 1):
        flow[item] = 0.0
    flow[n - 1] = 1.0
    for item in range(n - 1, -1, -1):
        if flow[item] == 0.0:
            continue
        for step in range(s.item_ptr[item], s.item_ptr[item + 1]):
            weight = flow[item] * math.exp(score[step] - value[item])
            mu[s.n_parts + step] = weight
            for p in range(s.part_ptr[step], s.part_ptr[step + 1]):
                mu[s.part[p]] += weight
            for k in range(s.tail_ptr[step], s.tail_ptr[step + 1]):
                flow[s.tail[k]] += weight
    return value[n - 1]


@cfunc(ORACLE, fastmath=FAST)
def steps_entropy(spec: Any, topo: Any, mu: Any, slope: Any, work: Any) -> Any:
    """Return H = - sum_s mu_s log (mu_s / mu_item), and dH/dmu_s = - log (mu_s / mu_item).

    The derivatives are large but finite at 0.
    """
    s = _read(spec, topo)
    for r in range(s.n_parts):
        slope[r] = 0.0
    total = 0.0
    for item in range(s.item_ptr.size - 1):
        begin, end = s.n_parts + s.item_ptr[item], s.n_parts + s.item_ptr[item + 1]
        whole = 0.0
        for r in range(begin, end):
            whole += mu[r]
        for r in range(begin, end):
            # What an item is made of is not known where it is hardly ever made, and the inverse
            # of a smaller sum would be infinite.
            share = mu[r] / whole if whole > _RARE else 1.0 / (end - begin)
            slope[r] = -math.log(max(share, 1e-300))
            total += mu[r] * slope[r]
    return total
