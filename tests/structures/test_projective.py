from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.arc_laws import ArcLaws, head_vectors, is_tree
from support.laws import close, draw_scores, law, log_sum

from partwise.arrays import Floats, Ints
from partwise.errors import DataError
from partwise.structures.base import Structure
from partwise.structures.dependency import projective_oracles as kernels
from partwise.structures.dependency.arcs import ArcConstraints, arc_ends
from partwise.structures.dependency.projective import ProjectiveTree, crossing_arcs


def is_projective(heads: tuple[int, ...]) -> bool:
    """Whether all words between a head and its modifier are below the head."""
    for m, h in enumerate(heads, start=1):
        for word in range(min(h, m) + 1, max(h, m)):
            while word not in (0, h):
                word = heads[word - 1]
            if word != h:
                return False
    return True


def trees(length: int, single: bool) -> list[tuple[int, ...]]:
    return [
        heads
        for heads in head_vectors(length)
        if (not single or heads.count(0) <= 1) and is_tree(heads) and is_projective(heads)
    ]


SHAPES = [(1, t) for t in range(6)] + [(2, t) for t in range(5)] + [(3, t) for t in range(4)]


class TestProjectiveTree(ArcLaws):
    structure = ProjectiveTree
    shapes = SHAPES

    def trees(self, length: int, single: bool) -> list[tuple[int, ...]]:
        return trees(length, single)

    @law()
    def test_log_space_agrees_with_scaled_exponentials(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data, "small", "tiny", "masked", "zero")
        if topo[0] == 0:
            return
        shift, z, t = in_semiring(kernels.LOG, structure, topo, theta)
        scores = table.scores(theta)
        close(shift + z, log_sum(scores))
        if shift + z > -np.inf:
            assert is_scaled(structure, topo, theta)
            n, n_labels = int(topo[0]), structure.n_labels
            kernels.outside(kernels.LOG, n, bool(structure.spec[1]), t)
            mu = np.empty(structure.n_parts(topo))
            kernels._spread(kernels.LOG, n, n_labels, theta, mu, t)
            close(mu, structure.expected_parts(theta, topo)[1])


def in_semiring(
    semiring: int, structure: Structure, topo: Ints, theta: Floats
) -> tuple[float, float, kernels.Charts]:
    """The inside pass: the shift, Z or its logarithm, and the charts."""
    n, n_labels = int(topo[0]), structure.n_labels
    t = kernels.cut_charts(n, n_labels, np.empty(structure.work_size(topo)))
    shift = kernels.weigh_arcs(semiring, n, n_labels, theta, np.empty(0), t)
    if not np.isfinite(shift):
        return shift, 0.0, t
    return shift, kernels.inside(semiring, n, bool(structure.spec[1]), t), t


def is_scaled(structure: Structure, topo: Ints, theta: Floats) -> bool:
    """Whether the scaled exponentials are accepted as right."""
    return in_semiring(kernels.SUM, structure, topo, theta)[1] > kernels._SMALLEST_Z


def log_dot(x: Floats, y: Floats) -> float:
    return float(log_sum(x + y))


def plain(theta: Floats, length: int, n_labels: int, single: bool) -> tuple[float, Floats]:
    """Inside-outside in log space, with NumPy: log Z and the marginals of all parts.

    Nodes are 0 .. T with the root at 0; an arc to h from h is never used.
    """
    n = length + 1
    parts = theta.reshape(length, length, n_labels)
    arc = np.full((n, n), -np.inf)  # arc[h, m]
    heads, modifiers = arc_ends(length)
    totals = np.array([log_sum(row) for row in parts.reshape(-1, n_labels)])
    arc[heads, modifiers] = totals
    right, left = np.full((2, n, n), -np.inf)  # C headed by the first or the last node of a span
    open_right, open_left = np.full((2, n, n), -np.inf)
    np.fill_diagonal(right, 0.0)
    np.fill_diagonal(left, 0.0)
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            splits = right[i, i:j] + left[i + 1 : j + 1, j]
            if single and i == 0:
                splits[1:] = -np.inf  # the root has no modifier before
            inner = log_sum(splits)
            open_right[i, j], open_left[i, j] = arc[i, j] + inner, arc[j, i] + inner
            right[i, j] = log_dot(open_right[i, i + 1 : j + 1], right[i + 1 : j + 1, j])
            left[i, j] = log_dot(left[i, i:j], open_left[i:j, j])
    log_z = right[0, length]
    g_right, g_left, g_arc = np.full((3, n, n), -np.inf)
    g_right[0, length] = -log_z
    g_open_right, g_open_left = np.full((2, n, n), -np.inf)
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            j = i + width
            into = slice(i + 1, j + 1)
            g = g_right[i, j]
            g_open_right[i, into] = np.logaddexp(g_open_right[i, into], g + right[into, j])
            g_right[into, j] = np.logaddexp(g_right[into, j], g + open_right[i, into])
            into = slice(i, j)
            g = g_left[i, j]
            g_open_left[into, j] = np.logaddexp(g_open_left[into, j], g + left[i, into])
            g_left[i, into] = np.logaddexp(g_left[i, into], g + open_left[into, j])
            g = np.logaddexp(g_open_right[i, j] + arc[i, j], g_open_left[i, j] + arc[j, i])
            g_arc[i, j] = g_open_right[i, j] + open_right[i, j]
            g_arc[j, i] = g_open_left[i, j] + open_left[i, j]
            last = i + 1 if single and i == 0 else j
            into, after = slice(i, last), slice(i + 1, last + 1)
            g_right[i, into] = np.logaddexp(g_right[i, into], g + left[after, j])
            g_left[after, j] = np.logaddexp(g_left[after, j], g + right[i, into])
    shared = parts.reshape(-1, n_labels) - np.where(totals > -np.inf, totals, 0.0)[:, None]
    return log_z, np.exp(shared + g_arc[heads, modifiers][:, None]).ravel()


def check(tree: ProjectiveTree, length: int, theta: Floats, scaled: bool | None = None) -> None:
    """Compare the oracle with the plain recursion."""
    topo = tree.topology(length)
    if scaled is not None:
        assert is_scaled(tree, topo, theta) == scaled
    with np.errstate(invalid="ignore"):
        expected, expected_mu = plain(theta, length, tree.n_labels, tree.single_root)
    log_z, mu = tree.expected_parts(theta, topo)
    close(tree.log_partition(theta, topo), log_z)
    # The plain recursion adds up to T large numbers before it takes exponentials.
    scale = 1e-4 * max(1.0, float(np.abs(theta[np.isfinite(theta)]).max())) * length
    close(log_z, expected, scale)
    close(mu, expected_mu, scale)
    close(mu.reshape(length, -1).sum(axis=1), 1.0, scale)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 6])
def test_trees_are_counted(length: int, single: bool) -> None:
    tree = ProjectiveTree(single_root=single)
    topo = tree.topology(length)
    listed = trees(length, single)
    assert len(listed) == n_trees(length, single)
    close(tree.log_partition(np.zeros(length**2), topo), math.log(len(listed)))
    scores, labels = tree.k_best(np.zeros(length**2), topo, len(listed) + 1)
    assert {tuple(y[:, 0].tolist()) for y in labels} == set(listed)
    assert len(labels) == len(listed)
    assert not scores.any()


def n_trees(length: int, single: bool) -> int:
    if length == 0:
        return 1
    if single:
        return math.comb(3 * length - 2, length - 1) // length
    return math.comb(3 * length, length) // (2 * length + 1)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("n_labels", [1, 4])
@pytest.mark.parametrize("length", [10, 31, 64, 150, 230])
def test_trees_of_long_sentences_are_counted(length: int, n_labels: int, single: bool) -> None:
    tree = ProjectiveTree(n_labels, single)
    topo = tree.topology(length)
    expected = math.log(n_trees(length, single)) + length * math.log(n_labels)
    theta = np.zeros(tree.n_parts(topo))
    # The probability that uniform heads form a tree is about (6.75 / T)^T.
    assert is_scaled(tree, topo, theta) == (length < 200)
    log_z, mu = tree.expected_parts(theta, topo)
    close(log_z, expected)
    close(mu.reshape(length, -1).sum(axis=1), 1.0)
    # A sentence and its mirror image have the same trees, but for the root, on the left.
    if single:
        words = np.zeros((length + 1, length + 1))
        heads, modifiers = arc_ends(length)
        words[heads, modifiers] = mu.reshape(-1, n_labels).sum(axis=1)
        close(words[1:, 1:], words[:0:-1, :0:-1])
        close(words[0], np.concatenate([[0.0], words[0, :0:-1]]))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 18),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from(["small", "tiny", "large", "steep"]),
    st.integers(0, 2**32 - 1),
)
def test_long_sentences(length: int, n_labels: int, single: bool, pattern: str, seed: int) -> None:
    tree = ProjectiveTree(n_labels, single)
    theta = draw_scores(pattern, length**2 * n_labels, np.random.default_rng(seed))
    check(tree, length, theta)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 18), st.integers(1, 3), st.booleans(), st.integers(0, 2**32 - 1))
def test_long_sentences_with_forbidden_arcs(
    length: int, n_labels: int, single: bool, seed: int
) -> None:
    tree = ProjectiveTree(n_labels, single)
    rng = np.random.default_rng(seed)
    theta = draw_scores("small", length**2 * n_labels, rng)
    drawn = tree.sample(theta, tree.topology(length), 1, rng)[0]
    kept = tree.encode(drawn, tree.topology(length))[0]
    masked = np.where(rng.random(len(theta)) < 0.5, -np.inf, theta)
    masked[kept] = theta[kept]  # so that a tree is left
    check(tree, length, masked)


def pairs_that_want_each_other(n_pairs: int, by: float) -> Floats:
    """Words 1 and 2, 3 and 4, ... each prefer the other as their head."""
    length = 2 * n_pairs
    heads, modifiers = arc_ends(length)
    return np.where((heads - 1) ^ 1 == modifiers - 1, by, 0.0)


@pytest.mark.parametrize("single", [False, True])
def test_cycles_are_better_than_trees(single: bool) -> None:
    # Each cycle must be broken, at the price of `by`: Z is small against what heads alone allow.
    tree = ProjectiveTree(single_root=single)
    for n_pairs, by, scaled in [(4, 100.0, True), (4, 170.0, False), (8, 100.0, False)]:
        check(tree, 2 * n_pairs, pairs_that_want_each_other(n_pairs, by), scaled)


def test_a_small_probability_is_not_lost() -> None:
    # All trees but two are forbidden, and both are 300 nats below what each word would choose.
    theta = np.zeros((3, 3))
    theta[0] = [-300.0, 0.0, -np.inf]
    theta[1] = [-300.0 + math.log(3.0), 0.0, -np.inf]
    theta[2] = [-np.inf, -np.inf, 0.0]
    tree = ProjectiveTree()
    log_z, mu = tree.expected_parts(theta.ravel(), tree.topology(3))
    close(log_z, -300.0 + math.log(4.0))
    close(mu.reshape(3, 3)[:, :2], [[0.25, 0.75], [0.75, 0.25], [0.0, 0.0]])


@pytest.mark.parametrize("length", [2, 3, 4, 5])
def test_crossing_arcs(length: int) -> None:
    for heads in filter(is_tree, head_vectors(length)):
        assert (crossing_arcs(np.array(heads)) is None) == is_projective(heads)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ([[0, 0]], r"shape \(1, 2\) for 4 words"),
        ([[5, 0], [0, 0], [2, 0], [2, 0]], "word 1 has head 5; heads are 0"),
        ([[2, 0], [0, 0], [2, 3], [2, 0]], "word 3 has label number 3; labels are 0 to 2"),
        ([[2, 0], [1, 0], [0, 0], [3, 0]], "above word 1 form a cycle"),
        ([[0, 0], [1, 0], [0, 0], [3, 0]], "2 words have head 0"),
        ([[3, 0], [4, 0], [0, 0], [3, 0]], "from 3 to 1 and from 4 to 2 cross"),
    ],
)
def test_labels_that_are_no_trees(label: list[list[int]], message: str) -> None:
    tree = ProjectiveTree(3)
    with pytest.raises(DataError, match=message):
        tree.encode(np.array(label), tree.topology(4))


@pytest.mark.parametrize(
    "rules",
    [
        ArcConstraints(arcs=[(1, 1)]),
        ArcConstraints(arcs=[(0, 4)]),
        ArcConstraints(heads=[(0, [1])]),
        ArcConstraints(heads=[(2, [4])]),
        ArcConstraints(allowed=[((-1, 1), [0])]),
    ],
)
def test_constraints_on_arcs_that_are_not_there(rules: ArcConstraints) -> None:
    tree = ProjectiveTree()
    with pytest.raises(DataError, match="in a sentence of 3 words"):
        tree.mask(tree.topology(3), rules)
