from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.errors import DataError
from partwise.structures.dependency.projectivity import (
    Arc,
    crossing_arcs,
    find_cycle,
    is_projective,
    projectivise,
)

# "A hearing is scheduled on the issue today", after McDonald and others.
HEARING = [2, 3, 0, 3, 2, 7, 5, 4]


@st.composite
def trees(draw, most=12):
    """Draw heads that form a tree: a random order in which every word hangs from an earlier one."""
    n = draw(st.integers(1, most))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for place, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from([0, *order[:place]]))
    return heads


def descends(heads, word, top):
    while word not in (top, 0):
        word = heads[word - 1]
    return word == top


def crossings(heads):
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads, 1)]
    return sum(a < c < b < d or c < a < d < b for (a, b), (c, d) in combinations(arcs, 2))


def every_tree(n):
    return [h for h in product(range(n + 1), repeat=n) if not find_cycle(h)]


def test_a_sentence_with_crossing_arcs():
    assert not is_projective(HEARING)
    pairs = crossing_arcs(HEARING)
    assert (Arc(2, 5), Arc(4, 8)) in pairs
    assert (Arc(0, 3), Arc(2, 5)) in pairs
    assert len(pairs) == crossings(HEARING) == 2
    assert crossing_arcs(HEARING, limit=1) == pairs[:1]
    assert crossing_arcs(HEARING, limit=0) == []


def test_lifting_takes_the_shortest_arc_first():
    # 2 -> 5 spans words of 3, and so does 4 -> 8; the shorter one is lifted to 3.
    assert projectivise(HEARING) == ([2, 3, 0, 3, 3, 7, 5, 3], [5, 8])


def test_lifting_may_take_several_steps():
    # 4 hangs from 1 across the root 3; 1 hangs from 2 and 2 from 3.
    assert projectivise([2, 3, 0, 1]) == ([2, 3, 0, 3], [4])


def test_small_cases():
    assert is_projective([])
    assert is_projective([0])
    assert is_projective([0, 0, 0])
    assert projectivise([]) == ([], [])
    assert projectivise([0, 1]) == ([0, 1], [])
    # An arc over the root word crosses the root's arc.
    assert not is_projective([3, 0, 2])


def test_all_small_trees_have_the_right_number_of_projective_ones():
    # Trees: (n + 1)^(n - 1). Projective ones with any number of roots: C(3n, n) / (2n + 1).
    for n, total, projective in [(1, 1, 1), (2, 3, 3), (3, 16, 12), (4, 125, 55), (5, 1296, 273)]:
        found = every_tree(n)
        assert len(found) == total
        assert sum(map(is_projective, found)) == projective


@given(trees())
def test_projectivity_agrees_with_its_definitions(heads):
    nothing_crosses = crossings(heads) == 0
    assert is_projective(heads) == nothing_crosses
    assert len(crossing_arcs(heads)) == crossings(heads)
    covered = all(
        descends(heads, k, h)
        for m, h in enumerate(heads, 1)
        for k in range(min(h, m) + 1, max(h, m))
    )
    assert covered == nothing_crosses


@given(trees())
def test_lifting_gives_a_projective_tree(heads):
    result, lifted = projectivise(heads)
    assert is_projective(result)
    assert not find_cycle(result)
    assert lifted == [m for m, (a, b) in enumerate(zip(heads, result, strict=True), 1) if a != b]
    if is_projective(heads):
        assert not lifted
    for word in lifted:
        assert descends(heads, word, result[word - 1])  # a lift goes to an ancestor
    if heads.count(0) == 1:
        assert result.count(0) == 1
    assert projectivise(result) == (result, [])


@given(st.lists(st.integers(0, 8), min_size=8, max_size=8))
def test_cycles(heads):
    cycle = find_cycle(heads)
    assert all(heads[a - 1] == b for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True))
    ends = list(range(1, 9))
    for _ in heads:
        ends = [heads[word - 1] if word else 0 for word in ends]
    assert bool(cycle) == any(ends)
    if cycle:
        with pytest.raises(DataError, match="heads of each other"):
            projectivise(heads)


def test_a_word_that_is_its_own_head():
    assert find_cycle([0, 2]) == [2]


@pytest.mark.parametrize("heads", [[3, 0], [-1, 0]])
def test_heads_out_of_range(heads):
    for function in (is_projective, find_cycle, projectivise, crossing_arcs):
        with pytest.raises(DataError, match=r"word 1 has head .*words 1 to 2"):
            function(heads)


def test_a_long_sentence_is_quick():
    n = 100_000
    assert is_projective(list(range(n)))
    assert find_cycle(list(range(n))) == []
