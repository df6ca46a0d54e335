"""The tree of sums: exact sums, and draws in proportion."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from partwise.solvers.average.memory import find, make_tree, put

NUMBERS = st.lists(st.sampled_from([0.0, 0.0, 1.0, 0.3, 1e-9, 7.0]), min_size=1, max_size=40)


@given(NUMBERS, st.data())
def test_sums_follow_every_change(numbers: list[float], data: st.DataObject) -> None:
    tree = make_tree(np.zeros(len(numbers)))
    for k in data.draw(st.permutations(range(len(numbers)))):
        put(tree, k, numbers[k])
    np.testing.assert_array_equal(tree, make_tree(np.array(numbers)))
    for k in range(len(numbers)):
        put(tree, k, 0.0)
    assert not tree.any()


@given(NUMBERS, st.floats(0.0, 1.0, exclude_max=True))
def test_finds_where_the_running_sum_passes(numbers: list[float], share: float) -> None:
    tree = make_tree(np.array(numbers))
    ends = np.cumsum(numbers)
    if ends[-1] == 0.0:
        assert tree[1] == 0.0
        return
    k = find(tree, share)
    assert numbers[k] > 0.0
    slack = 1e-12 * ends[-1]
    assert ends[k] - numbers[k] - slack <= share * ends[-1] <= ends[k] + slack


@given(NUMBERS)
def test_the_last_share_finds_the_last_number(numbers: list[float]) -> None:
    tree = make_tree(np.array(numbers))
    if tree[1] > 0.0:
        assert find(tree, np.nextafter(1.0, 0.0)) == np.flatnonzero(numbers)[-1]


def test_draws_in_proportion() -> None:
    numbers = np.array([3.0, 0.0, 1.0, 4.0, 0.5])
    tree = make_tree(numbers)
    shares = np.random.default_rng(0).random(20000)
    drawn = np.bincount([find(tree, share) for share in shares], minlength=5)
    np.testing.assert_allclose(drawn / len(shares), numbers / numbers.sum(), atol=0.015)
