"""A binary tree of sums, which draws an index in proportion to its number in O(log n).

Leaf k of a tree for n numbers is ``tree[size + k]`` with size the next power of two. Every other
node is the sum of its two children, and is always computed from them, never by differences, so the
sums stay those of the leaves after any number of changes. ``tree[1]`` is the sum of all numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Floats
from ...compiled.jit import njit


def make_tree(numbers: Floats) -> Floats:
    """Build the tree of numbers that are not negative."""
    size = 1 << max(0, len(numbers) - 1).bit_length()
    tree = np.zeros(2 * size)
    tree[size : size + len(numbers)] = numbers
    while size > 1:
        half = size // 2
        tree[half:size] = tree[size : 2 * size : 2] + tree[size + 1 : 2 * size : 2]
        size = half
    return tree


@njit
def put(tree: Any, k: int, number: float) -> None:
    """Replace one number."""
    node = tree.size // 2 + k
    tree[node] = number
    while node > 1:
        node //= 2
        tree[node] = tree[2 * node] + tree[2 * node + 1]


@njit
def find(tree: Any, share: float) -> Any:
    """Return the index k whose run of the sum holds ``share`` of it, 0 <= share < 1.

    An index whose number is 0 is never found, unless all are.
    """
    node, size = 1, tree.size // 2
    rest = share * tree[1]
    while node < size:
        node *= 2
        # Rounding may leave a rest as large as all that follows; avoid a side that has nothing.
        if rest >= tree[node] and tree[node + 1] > 0.0:
            rest -= tree[node]
            node += 1
    return node - size
