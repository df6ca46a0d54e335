from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.laws import close, draw_scores, largest

from partwise.arrays import Floats, Ints
from partwise.structures.base import Structure
from partwise.structures.segments import oracles as segments_kernels
from partwise.structures.segments.structure import SemiMarkov


def is_scaled(structure: Structure, topo: Ints, theta: Floats) -> bool:
    """Whether the scaled exponentials are accepted as right."""
    work = np.empty(structure.work_size(topo))
    length = int(topo[0])
    return bool(
        np.isfinite(segments_kernels._scaled(structure.spec, length, theta, np.empty(0), work))
    )


def log_sums(x: Floats, axis: int) -> Floats:
    top = x.max(axis=axis, keepdims=True)
    shift = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(x - shift).sum(axis=axis)) + shift.squeeze(axis)


def plain(structure: SemiMarkov, topo: Ints, theta: Floats) -> tuple[float, Floats]:
    """Forward-backward in log space: logZ and the counts of segments and transitions."""
    n, length, longest = structure.n_labels, int(topo[0]), structure.max_length
    site = {(s, e): number for number, (s, e) in enumerate(structure.segments(topo).tolist())}
    cuts = np.cumsum([length * n, len(site) * n, n * n])
    unary, own, pairs, lengths = np.split(theta, cuts)
    unary, own, pairs = unary.reshape(-1, n), own.reshape(-1, n), pairs.reshape(n, n)
    lengths = lengths.reshape(longest, n)
    too_long = np.arange(1, longest + 1)[:, None] > np.array(structure.label_lengths)
    lengths = np.where(too_long, -np.inf, lengths)
    w = {
        (s, e): unary[s:e].sum(axis=0) + own[number] + lengths[e - s - 1]
        for (s, e), number in site.items()
    }
    alpha = np.full((length + 1, n), -np.inf, dtype=theta.dtype)
    gamma, beta, opening = alpha.copy(), alpha.copy(), alpha.copy()
    gamma[0] = beta[length] = 0.0
    for e in range(1, length + 1):
        starts = range(max(0, e - longest), e)
        alpha[e] = log_sums(np.stack([gamma[s] + w[s, e] for s in starts]), axis=0)
        gamma[e] = log_sums(alpha[e][:, None] + pairs, axis=0)
    for s in range(length - 1, -1, -1):
        ends = range(s + 1, min(s + longest, length) + 1)
        opening[s] = log_sums(np.stack([w[s, e] + beta[e] for e in ends]), axis=0)
        beta[s] = log_sums(pairs + opening[s], axis=1)
    log_z = log_sums(alpha[length], axis=0)
    counts = [np.exp(gamma[s] + w[s, e] + beta[e] - log_z) for s, e in site]
    moves = sum(
        (np.exp(alpha[s][:, None] + pairs + opening[s] - log_z) for s in range(1, length)),
        start=np.zeros((n, n)),
    )
    return float(log_z), np.concatenate([np.ravel(counts), np.ravel(moves)])


def check(structure: SemiMarkov, length: int, theta: Floats, scaled: bool | None = None) -> None:
    """Compare the oracle with the plain recursion in extended precision."""
    topo = structure.topology(length)
    log_z, mu = plain(structure, topo, theta.astype(np.longdouble))
    # Rounding accumulates over the positions, and grows with the scores.
    scale = 1e-4 * max(1.0, largest(theta)) * length
    if scaled is not None:
        assert is_scaled(structure, topo, theta) == scaled
    got, got_mu = structure.expected_parts(theta, topo)
    close(got, log_z, scale)
    close(got_mu[length * structure.n_labels :][: len(mu)], mu, scale)
    close(got_mu[: length * structure.n_labels].reshape(length, -1).sum(axis=1), 1.0, scale)
    close(structure.log_partition(theta, topo), got)


def scores(
    structure: SemiMarkov, unary: Floats, own: float | Floats, pairs: Floats, lengths: Any = 0.0
) -> Floats:
    sizes = len(structure.segments(structure.topology(len(unary)))), structure.n_labels
    tied = np.broadcast_to(lengths, (structure.max_length, structure.n_labels))
    segments = np.broadcast_to(own, sizes)
    return np.concatenate([unary.ravel(), segments.ravel(), pairs.ravel(), tied.ravel()])


def components(*sizes: int) -> Floats:
    """Transition scores 0 within groups of labels, -inf between them."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    return np.where(group[:, None] == group, 0.0, -np.inf)


def test_a_flushed_path_comes_back() -> None:
    # Label 1 loses 100 nats on each of 8 positions and regains 300 on each of 3 later ones.
    unary = np.zeros((12, 2))
    unary[:8, 1] = -100.0
    unary[9:, 0] = -300.0
    structure = SemiMarkov(2, 2)
    check(structure, 12, scores(structure, unary, 0.0, components(1, 1)), scaled=False)


def test_a_flushed_path_that_regains_nearly_all() -> None:
    # The exponential of -709 is flushed; after 690 nats the label has e^-19 of the mass again.
    unary = np.zeros((4, 2))
    unary[0, 1] = -709.0
    unary[1:3, 0] = -345.0
    structure = SemiMarkov(2, 1)
    for between in (-np.inf, -1500.0):
        pairs = np.array([[0.0, between], [between, 0.0]])
        check(structure, 4, scores(structure, unary, 0.0, pairs), scaled=False)


def test_a_flushed_path_that_regains_too_little() -> None:
    unary = np.zeros((12, 2))
    unary[:8, 1] = -100.0
    unary[9:11, 0] = -300.0
    structure = SemiMarkov(2, 2)
    check(structure, 12, scores(structure, unary, 0.0, components(1, 1)), scaled=True)


@pytest.mark.parametrize(("branches", "length"), [(2, 1400), (8, 430)])
def test_a_flushed_label_comes_back_by_the_number_of_its_paths(branches: int, length: int) -> None:
    # No path of the second component gains on the first, and there are far more of them.
    n = 1 + branches
    unary = np.zeros((length, n))
    unary[0, 1:] = -709.0
    structure = SemiMarkov(n, 2)
    check(structure, length, scores(structure, unary, 0.0, components(1, branches)), scaled=False)


def test_long_segments_that_are_dear_or_forced() -> None:
    # Two ways through the positions, in steps of one and of three, that are far apart and back.
    rng = np.random.default_rng(0)
    structure = SemiMarkov(2, 3)
    size = (
        structure.segments(structure.topology(40))[:, 1]
        - structure.segments(structure.topology(40))[:, 0]
    )
    for cost in (-3000.0, -800.0, -300.0, 300.0, 800.0, 3000.0):
        own = np.where(size == 3, cost, 0.0)[:, None]
        own = own + rng.uniform(-1, 1, (len(size), 2))
        unary = rng.uniform(-1, 1, (40, 2))
        check(structure, 40, scores(structure, unary, own, np.zeros((2, 2))), scaled=True)
        check(structure, 40, scores(structure, unary, own, components(1, 1)))
        lengths = np.array([[0.0], [0.0], [-cost]])
        check(structure, 40, scores(structure, unary, own, np.zeros((2, 2)), lengths), scaled=True)


def test_any_scores_are_scaled_when_transitions_are_mild() -> None:
    rng = np.random.default_rng(0)
    structure = SemiMarkov(3, 4, [1, 4, 2])
    for pattern in ("large", "steep"):
        unary = draw_scores(pattern, 200 * 3, rng).reshape(200, 3)
        own = draw_scores(pattern, (200 * 4 - 6) * 3, rng).reshape(-1, 3)
        pairs = rng.uniform(-149, 149, (3, 3))
        check(structure, 200, scores(structure, unary, own, pairs), scaled=True)


def test_segments_may_be_forbidden_when_transitions_are_mild() -> None:
    rng = np.random.default_rng(0)
    structure = SemiMarkov(3, 4)
    own = rng.uniform(-3, 3, (200 * 4 - 6, 3))
    own[rng.random(own.shape) < 0.4] = -np.inf
    # No segment may end at 50 or at 120, so nothing but segments across them is left.
    ends = structure.segments(structure.topology(200))[:, 1]
    own[(ends == 50) | (ends == 120)] = -np.inf
    theta = scores(structure, np.zeros((200, 3)), own, rng.uniform(-149, 149, (3, 3)))
    check(structure, 200, theta, scaled=True)


@pytest.mark.parametrize("length", [2, 100, 800])
def test_ordinary_sequences_stay_scaled_under_constraints(length: int) -> None:
    rng = np.random.default_rng(0)
    structure = SemiMarkov(4, 3, [1, 3, 3, 2])
    pairs = rng.uniform(-3, 3, (4, 4))
    pairs[0, 2] = pairs[2, 1] = pairs[3, 3] = -np.inf
    own = rng.uniform(-3, 3, (len(structure.segments(structure.topology(length))), 4))
    theta = scores(structure, rng.uniform(-3, 3, (length, 4)), own, pairs)
    check(structure, length, theta, scaled=True)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([(1, 1), (1, 2), (1, 1, 1), (2, 2)]),
    st.integers(30, 80),
    st.integers(1, 4),
    st.sampled_from([3.0, 15.0, 60.0, 110.0, 400.0, 800.0]),
    st.sampled_from(["components", "leaky", "one way", "dear"]),
)
def test_long_sequences_of_far_apart_components(
    seed: int, sizes: tuple[int, ...], length: int, longest: int, step: float, between: str
) -> None:
    rng = np.random.default_rng(seed)
    pairs = components(*sizes)
    n = len(pairs)
    crossing = np.isneginf(pairs)
    if between == "leaky":
        pairs[crossing] = rng.choice([-np.inf, -700.0, -400.0, -5.0], crossing.sum())
    elif between == "one way":
        pairs[np.triu(crossing)] = -1.0
    elif between == "dear":
        pairs[crossing] = rng.uniform(-1500.0, -250.0)
    structure = SemiMarkov(n, longest, rng.integers(1, longest + 1, n).tolist())
    # A slow walk of each component's lead, and its reversal: what was lost comes back.
    group = np.repeat(np.arange(len(sizes)), sizes)
    half = rng.uniform(-step, step, (length // 2, len(sizes)))
    half *= rng.random(half.shape) < rng.choice([0.05, 0.3, 1.0])
    back = -half[:: rng.choice([-1, 1])] + rng.uniform(-1, 1) / length
    lead = np.concatenate([half, np.zeros((length % 2, len(sizes))), back])
    own = rng.uniform(-1, 1, (len(structure.segments(structure.topology(length))), n))
    check(structure, length, scores(structure, lead[:, group], own, pairs))
