from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.arc_laws import ArcLaws, head_vectors, is_tree
from support.laws import close, draw_scores, law, log_sum, probabilities
from support.matrix_tree import check, in_wide_numbers, is_scaled, plain

from partwise.arrays import Floats
from partwise.structures.dependency import spanning_oracles as kernels
from partwise.structures.dependency.arcs import ArcConstraints, arc_ends
from partwise.structures.dependency.spanning import SpanningTree, _draw_heads


def trees(length: int, single: bool) -> list[tuple[int, ...]]:
    return [
        heads
        for heads in head_vectors(length)
        if (not single or heads.count(0) <= 1) and is_tree(heads)
    ]


SHAPES = [(1, t) for t in range(6)] + [(2, t) for t in range(4)] + [(3, t) for t in range(3)]


class TestSpanningTree(ArcLaws):
    structure = SpanningTree
    shapes = SHAPES

    def trees(self, length: int, single: bool) -> list[tuple[int, ...]]:
        return trees(length, single)

    @law()
    def test_wide_numbers(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data)
        if topo[0] == 0:
            return
        log_z, mu = in_wide_numbers(structure, topo, theta)
        scores = table.scores(theta)
        close(log_z, log_sum(scores))
        if log_z > -np.inf:
            close(mu, probabilities(scores) @ table.counts)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5])
def test_trees_are_listed(length: int, single: bool) -> None:
    tree = SpanningTree(single_root=single)
    listed = trees(length, single)
    scores, labels = tree.k_best(np.zeros(length**2), tree.topology(length), len(listed) + 1)
    assert {tuple(y[:, 0].tolist()) for y in labels} == set(listed)
    assert len(labels) == len(listed)
    assert not scores.any()


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("n_labels", [1, 4])
@pytest.mark.parametrize("length", [1, 2, 7, 25, 64, 150, 400])
def test_trees_are_counted(length: int, n_labels: int, single: bool) -> None:
    tree = SpanningTree(n_labels, single)
    topo = tree.topology(length)
    theta = np.zeros(tree.n_parts(topo))
    n_trees = length ** (length - 1) if single else (length + 1) ** (length - 1)
    log_z, mu = tree.expected_parts(theta, topo)
    close(log_z, math.log(n_trees) + length * math.log(n_labels))
    assert is_scaled(tree, topo, theta) == (True, True)
    heads, _ = arc_ends(length)
    from_root = mu.reshape(-1, n_labels).sum(axis=1)[heads == 0]
    close(from_root, 1.0 / length if single else 2.0 / (length + 1))


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("pattern", ["small", "large", "steep", "masked", "masked steep"])
def test_six_words(pattern: str, single: bool) -> None:
    tree = SpanningTree(single_root=single)
    topo = tree.topology(6)
    listed = np.array(trees(6, single))
    slots = np.arange(6) * 6 + listed - (listed > np.arange(1, 7))
    rng = np.random.default_rng(0)
    for _ in range(20):
        theta = draw_scores(pattern, 36, rng)
        scores = theta.astype(np.longdouble)[slots].sum(axis=1)
        log_z, mu = tree.expected_parts(theta, topo)
        close(log_z, log_sum(scores))
        close(tree.best(theta, topo)[0], scores.max())
        if log_z > -np.inf:
            p = probabilities(scores)
            close(mu, [p[(slots == r).any(axis=1)].sum() for r in range(36)])


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(
    ("length", "n_labels", "scale"),
    [(15, 1, 3.0), (15, 2, 100.0), (25, 1, 30.0), (18, 1, 1e3), (15, 1, 1e4), (25, 3, 1e2)],
)
def test_long_sentences(length: int, n_labels: int, scale: float, single: bool) -> None:
    tree = SpanningTree(n_labels, single)
    theta = np.random.default_rng(length).uniform(-scale, scale, length**2 * n_labels)
    check(tree, length, theta)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_long_sentences_with_forbidden_arcs(seed: int, single: bool) -> None:
    tree = SpanningTree(2, single)
    topo = tree.topology(15)
    rng = np.random.default_rng(seed)
    theta = draw_scores(("small", "large", "steep")[seed], tree.n_parts(topo), rng)
    kept = tree.encode(tree.sample(theta, topo, 1, rng)[0], topo)[0]
    masked = np.where(rng.random(len(theta)) < 0.7, -np.inf, theta)
    masked[kept] = theta[kept]  # so that a tree is left
    check(tree, 15, masked)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 2),
    st.booleans(),
    st.sampled_from([1.0, 20.0, 60.0, 150.0, 400.0, 800.0]),
    st.sampled_from([0.0, 0.3, 0.8]),
    st.integers(0, 2**32 - 1),
)
def test_float64_agrees_with_wide_numbers(
    length: int, n_labels: int, single: bool, scale: float, rare: float, seed: int
) -> None:
    # Few large differences among many small ones: single arcs underflow, and trees come back.
    tree = SpanningTree(n_labels, single)
    topo = tree.topology(length)
    rng = np.random.default_rng(seed)
    theta = rng.uniform(-scale, scale, tree.n_parts(topo))
    small = rng.random(len(theta)) < rare
    theta[small] = rng.uniform(-2.0, 2.0, small.sum())
    log_z, mu = tree.expected_parts(theta, topo)
    close(tree.log_partition(theta, topo), log_z)
    expected, expected_mu = in_wide_numbers(tree, topo, theta)
    close(log_z, expected)
    close(mu, expected_mu)


def pairs_that_want_each_other(n_pairs: int, by: float) -> Floats:
    """Words 1 and 2, 3 and 4, ... each prefer the other as their head."""
    heads, modifiers = arc_ends(2 * n_pairs)
    return np.where((heads - 1) ^ 1 == modifiers - 1, by, 0.0)


@pytest.mark.parametrize("single", [False, True])
def test_cycles_are_better_than_trees(single: bool) -> None:
    # Each cycle must be broken, at the price of `by`: Z is small against what heads alone allow.
    tree = SpanningTree(single_root=single)
    for by, scaled in [(30.0, True), (150.0, True), (220.0, False), (1000.0, False)]:
        theta = pairs_that_want_each_other(4, by)
        assert is_scaled(tree, tree.topology(8), theta)[0] == scaled
        check(tree, 8, theta)


@pytest.mark.parametrize(("by", "whole"), [(200.0, True), (300.0, True), (800.0, False)])
def test_a_word_that_is_hardly_ever_at_the_root(by: float, whole: bool) -> None:
    # With word 1 at the root, words 2 and 3 must leave the heads they want, at 2 by.
    tree = SpanningTree()
    topo = tree.topology(3)
    heads, modifiers = arc_ends(3)
    theta = np.where((heads == 1) & (modifiers > 1), -by, 0.0)
    assert is_scaled(tree, topo, theta) == (True, whole)
    check(tree, 3, theta)


def test_the_value_is_the_same_where_only_the_marginals_need_wide_numbers() -> None:
    tree = SpanningTree()
    rng = np.random.default_rng(0)
    topo = tree.topology(12)
    heads, _ = arc_ends(12)
    for word in range(1, 12):
        theta = rng.uniform(-1.0, 1.0, 144)
        theta[heads == word] -= 900.0
        assert is_scaled(tree, topo, theta) == (True, False)
        check(tree, 12, theta)


def test_words_without_another_head_than_the_root() -> None:
    tree = SpanningTree()
    for forced in range(1, 6):
        mask = tree.mask(tree.topology(5), ArcConstraints(heads=[(forced, [0])]))
        log_z, mu = tree.expected_parts(mask, tree.topology(5))
        close(log_z, 3 * math.log(5.0))  # trees over 5 nodes with a given root
        close(mu.reshape(5, 5)[:, 0], np.arange(1, 6) == forced)
    mask = tree.mask(tree.topology(5), ArcConstraints(heads=[(1, [0]), (4, [0])]))
    assert tree.expected_parts(mask, tree.topology(5))[0] == -np.inf
    assert tree.best(mask, tree.topology(5))[0] == -np.inf
    assert SpanningTree(single_root=False).best(mask, tree.topology(5))[0] == 0.0


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("length", [2, 9, 30, 80])
def test_the_best_tree_has_all_the_mass_of_steep_scores(length: int, single: bool) -> None:
    # Sums over trees and the search share no code; at a low temperature they must agree.
    tree = SpanningTree(2, single)
    topo = tree.topology(length)
    rng = np.random.default_rng(length)
    heads, _ = arc_ends(length)
    for root in (-3.0, 0.0, 3.0):
        theta = rng.uniform(-1.0, 1.0, tree.n_parts(topo)) + np.repeat((heads == 0) * root, 2)
        score, best = tree.best(theta, topo)
        log_z, mu = tree.expected_parts(1e8 * theta, topo)
        close(1e-8 * log_z, score)
        np.testing.assert_array_equal(tree.decode(mu, topo), best)
        parts, _ = tree.encode(best, topo)  # which refuses what is no tree
        assert (best[:, 0] == 0).sum() == 1 or not single
        close(theta[parts].sum(), score)


@pytest.mark.parametrize("single", [False, True])
def test_no_penalty_blurs_the_scores_of_single_roots(single: bool) -> None:
    # The second best tree is 1e-9 worse, among root arcs that are 1e6 better than all others.
    tree = SpanningTree(single_root=single)
    topo = tree.topology(3)
    theta = np.array([[1e6, 0.0, 0.0], [1e6, 1e-9, 0.0], [1e6, 0.0, 0.0]])
    _, best = tree.best(theta.ravel(), topo)
    assert (best[:, 0] == 0).sum() == (1 if single else 3)
    if single:
        assert best[1, 0] == 1


@pytest.mark.parametrize("single", [False, True])
def test_samples_where_a_walk_would_never_end(single: bool) -> None:
    tree = SpanningTree(single_root=single)
    topo = tree.topology(6)
    theta = pairs_that_want_each_other(3, 5000.0) + np.random.default_rng(0).uniform(-1, 1, 36)
    _, mu = tree.expected_parts(theta, topo)
    drawn = np.zeros(36)
    for label in tree.sample(theta, topo, 4000, np.random.default_rng(1)):
        drawn[tree.encode(label, topo)[0]] += 1
    deviation = np.abs(drawn - 4000 * mu) / np.sqrt(4000 * mu * (1 - mu) + 1.0)
    assert deviation.max() < 5.0


@pytest.mark.parametrize("single", [False, True])
def test_float64_and_wide_numbers_draw_the_same_trees(single: bool) -> None:
    rng = np.random.default_rng(0)
    for length in (2, 5, 20):
        theta = rng.uniform(-3.0, 3.0, length**2)
        size = length * (length + 1)
        graphs, exponents = np.empty((2, size)), np.zeros(size, dtype=np.int64)
        kernels.fill(1, single, length, theta, graphs[0], np.empty(2 * length), np.empty(length))
        kernels.fill_wide(1, single, length, theta, graphs[1], exponents)
        room = (length + 1) * (2 * length + 5)
        for _ in range(20):
            uniform = rng.random(length)
            heads = np.zeros((2, length), dtype=np.int64)
            for wide in (False, True):
                assert _draw_heads(
                    graphs[int(wide)], exponents, length, single, wide, uniform, heads[int(wide)],
                    np.empty(room), np.zeros(room, dtype=np.int64),
                )  # fmt: skip
            np.testing.assert_array_equal(heads[0], heads[1])


def test_samples_of_long_sentences() -> None:
    tree = SpanningTree(2)
    topo = tree.topology(30)
    theta = np.random.default_rng(0).uniform(-3.0, 3.0, tree.n_parts(topo))
    _, mu = tree.expected_parts(theta, topo)
    seen: Counter[int] = Counter()
    for label in tree.sample(theta, topo, 1000, np.random.default_rng(1)):
        seen.update(tree.encode(label, topo)[0].tolist())
    drawn = np.array([seen[r] for r in range(len(mu))])
    deviation = np.abs(drawn - 1000 * mu) / np.sqrt(1000 * mu * (1 - mu) + 1.0)
    assert deviation.max() < 6.0


def test_scores_too_large_for_exponents() -> None:
    tree = SpanningTree()
    theta = np.zeros(9)
    theta[2] = -1e300
    assert math.isnan(tree.log_partition(theta, tree.topology(3)))
    assert tree.best(theta, tree.topology(3))[0] == 0.0


@pytest.mark.parametrize("single", [False, True])
def test_plain_numpy(single: bool) -> None:
    tree = SpanningTree(single_root=single)
    rng = np.random.default_rng(0)
    for length in (1, 2, 5, 20, 60):
        theta = rng.uniform(-2.0, 2.0, length**2)
        log_z, mu = tree.expected_parts(theta, tree.topology(length))
        expected, expected_mu = plain(theta, length, single)
        close(log_z, expected)
        close(mu, expected_mu)
