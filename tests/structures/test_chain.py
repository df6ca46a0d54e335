from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.laws import Instance, Label, StructureLaws, close, draw_scores, largest, law, log_sum

from partwise.arrays import Floats, Ints
from partwise.structures.base import Constraints, Structure
from partwise.structures.chain import oracles as chain_kernels
from partwise.structures.chain import scaled as chain_scaled
from partwise.structures.chain.structure import Chain


class TestChain(StructureLaws):
    def instances(self) -> st.SearchStrategy[Instance]:
        chains = st.builds(Chain, st.integers(1, 4), st.booleans(), st.booleans(), st.booleans())
        return st.tuples(chains, st.integers(0, 5)).map(lambda d: (d[0], d[0].topology(d[1])))

    def labels(self, structure: Structure, topo: Ints) -> Iterable[Label]:
        return itertools.product(range(structure.n_labels), repeat=int(topo[0]))

    def parts(self, structure: Structure, topo: Ints, label: Label) -> list[int]:
        assert isinstance(structure, Chain)
        n, length = structure.n_labels, len(label)
        parts = [t * n + k for t, k in enumerate(label)]
        for t in range(1, length):
            matrix = 0 if structure.tied else t - 1
            parts.append(length * n + matrix * n * n + label[t - 1] * n + label[t])
        at = length * n + n * n * (1 if structure.tied else max(length - 1, 0))
        if structure.start:
            parts += [at + k for k in label[:1]]
            at += n
        if structure.end:
            parts += [at + k for k in label[-1:]]
        return parts

    def constraints(self, structure: Structure, topo: Ints) -> st.SearchStrategy[Constraints]:
        label = st.integers(0, structure.n_labels - 1)
        few = st.lists(label, max_size=2)
        place = st.integers(0, max(int(topo[0]) - 1, 0))
        return st.builds(
            Constraints,
            labels=st.one_of(st.just([]), few),
            transitions=st.lists(st.tuples(label, label), max_size=5),
            starts=few,
            ends=few,
            allowed=st.lists(
                st.tuples(place, st.lists(label, min_size=1)), max_size=3 if topo[0] else 0
            ),
        )

    @law()
    def test_log_space_agrees_with_scaled_exponentials(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data, "small", "large", "tiny", "steep", "masked")
        if topo[0] == 0:
            return
        scores = table.scores(theta)
        log_z, mu = in_log_space(structure, topo, theta)
        close(log_z, log_sum(scores))
        again, expected = structure.expected_parts(theta, topo)
        close(again, log_z)
        if log_z > -np.inf:
            close(mu, expected)


def in_log_space(chain: Structure, topo: Ints, theta: Floats) -> tuple[float, Floats]:
    mu = np.zeros(chain.n_parts(topo))
    work = np.empty(chain.work_size(topo))
    return chain_kernels._exact(chain.spec, int(topo[0]), theta, mu, work), mu


def is_scaled(chain: Structure, topo: Ints, theta: Floats) -> bool:
    """Whether the scaled exponentials are accepted as right."""
    work = np.empty(chain.work_size(topo))
    return bool(
        np.isfinite(chain_scaled.scaled(chain.spec, int(topo[0]), theta, np.empty(0), work))
    )


def log_sums(x: Floats, axis: int) -> Floats:
    top = x.max(axis=axis, keepdims=True)
    shift = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(x - shift).sum(axis=axis)) + shift.squeeze(axis)


def plain(unary: Floats, pairs: Floats) -> tuple[float, Floats]:
    """Forward-backward in log space for tied transitions: logZ and the expected counts."""
    unary, pairs = unary.astype(np.longdouble), pairs.astype(np.longdouble)
    length = len(unary)
    alpha, beta = unary.copy(), np.zeros_like(unary)
    for t in range(1, length):
        alpha[t] = unary[t] + log_sums(alpha[t - 1][:, None] + pairs, axis=0)
    for t in range(length - 2, -1, -1):
        beta[t] = log_sums(pairs + unary[t + 1] + beta[t + 1], axis=1)
    log_z = float(log_sums(alpha[-1], axis=0))
    counts = np.zeros_like(pairs)
    for t in range(1, length):
        counts += np.exp(alpha[t - 1][:, None] + pairs + unary[t] + beta[t] - log_z)
    return log_z, np.concatenate([np.exp(alpha + beta - log_z).ravel(), counts.ravel()])


def check(unary: Floats, pairs: Floats, scaled: bool | None = None) -> None:
    """Compare the oracle with the plain recursion, for tied and for untied transitions."""
    length, n = unary.shape
    log_z, mu = plain(unary, pairs)
    # Rounding accumulates over the positions, and grows with the scores.
    scale = 1e-4 * max(1.0, largest(unary)) * length
    theta = np.concatenate([unary.ravel(), pairs.ravel()])
    chain = Chain(n)
    topo = chain.topology(length)
    if scaled is not None:
        assert is_scaled(chain, topo, theta) == scaled
    got, got_mu = chain.expected_parts(theta, topo)
    close(got, log_z, scale)
    close(got_mu, mu, scale)
    close(chain.log_partition(theta, topo), got)

    theta = np.concatenate([unary.ravel(), np.tile(pairs.ravel(), length - 1)])
    chain = Chain(n, tied=False)
    got, got_mu = chain.expected_parts(theta, topo)
    close(got, log_z, scale)
    close(got_mu[: length * n], mu[: length * n], scale)
    close(got_mu[length * n :].reshape(length - 1, -1).sum(axis=0), mu[length * n :], scale)


def components(*sizes: int) -> Floats:
    """Transition scores 0 within groups of labels, -inf between them."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    return np.where(group[:, None] == group, 0.0, -np.inf)


def test_a_flushed_path_comes_back() -> None:
    # Label 1 loses 100 nats on each of 8 steps and regains 300 on each of 3 later ones.
    unary = np.zeros((12, 2))
    unary[:8, 1] = -100.0
    unary[9:, 0] = -300.0
    check(unary, components(1, 1), scaled=False)


def test_a_flushed_path_that_regains_too_little() -> None:
    unary = np.zeros((12, 2))
    unary[:8, 1] = -100.0
    unary[9:11, 0] = -300.0
    check(unary, components(1, 1), scaled=True)


@pytest.mark.parametrize(("branches", "length"), [(2, 1100), (8, 360), (32, 220)])
def test_a_flushed_state_comes_back_by_the_number_of_its_paths(branches: int, length: int) -> None:
    # No path of the second component gains on the first; there are branches**length of them.
    unary = np.zeros((length, 1 + branches))
    unary[0, 1:] = -709.0
    check(unary, components(1, branches), scaled=False)


def test_what_was_flushed_backwards_comes_back() -> None:
    unary = np.zeros((12, 2))
    unary[8:, 1] = -200.0
    unary[:3, 0] = -300.0
    check(unary, components(1, 1))


def test_components_of_equal_weight() -> None:
    unary = np.zeros((100, 3))
    unary[:50, 0] = -40.0
    unary[50:, 1] = -40.0
    check(unary, components(1, 1, 1))
    check(unary[:, :2], components(1, 1))


@pytest.mark.parametrize("gap", [0.0, 1e-9, 20.0, 33.0, 36.0])
def test_the_winner_changes_at_the_last_position(gap: float) -> None:
    # Label 1 falls back by 10 nats a step and gets all of it again, up to a gap, at the end.
    unary = np.zeros((200, 2))
    unary[:-1, 1] = -10.0
    unary[-1, 1] = 1990.0 - gap
    check(unary, components(1, 1), scaled=False)


def test_transitions_that_spread_far() -> None:
    # Nothing is forbidden, but going over to label 1 costs more than an exponential can hold.
    unary = np.zeros((60, 2))
    unary[30:, 0] = -50.0
    for cost in (290.0, 310.0, 700.0, 720.0, 1500.0):
        check(unary, np.array([[0.0, -cost], [-cost, 0.0]]))


def test_any_unary_scores_are_scaled_when_transitions_are_mild() -> None:
    rng = np.random.default_rng(0)
    for pattern in ("large", "steep"):
        unary = draw_scores(pattern, 300 * 3, rng).reshape(300, 3)
        check(unary, rng.uniform(-3, 3, (3, 3)), scaled=True)
        check(unary, rng.uniform(-149, 149, (3, 3)), scaled=True)


def test_unary_scores_may_forbid_when_transitions_are_mild() -> None:
    rng = np.random.default_rng(0)
    unary = draw_scores("small", 300 * 3, rng).reshape(300, 3)
    unary[np.arange(300), rng.integers(0, 3, 300)] = -np.inf
    check(unary, rng.uniform(-149, 149, (3, 3)), scaled=True)


def test_long_ordinary_sequences_stay_scaled_under_constraints() -> None:
    rng = np.random.default_rng(0)
    pairs = rng.uniform(-3, 3, (3, 3))
    pairs[0, 2] = pairs[2, 1] = -np.inf
    check(rng.uniform(-3, 3, (100, 3)), pairs, scaled=True)


@settings(max_examples=100)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([(1, 1), (1, 2), (1, 1, 1), (2, 2), (1, 7)]),
    st.integers(60, 300),
    st.sampled_from([3.0, 15.0, 60.0, 110.0, 400.0, 800.0]),
    st.sampled_from(["components", "leaky", "one way", "dear"]),
)
def test_long_sequences_of_far_apart_components(
    seed: int, sizes: tuple[int, ...], length: int, step: float, between: str
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
    pairs[~crossing] += rng.uniform(-1.0, 1.0, (~crossing).sum())
    # A slow walk of each component's lead, and its reversal: what was lost comes back.
    group = np.repeat(np.arange(len(sizes)), sizes)
    half = rng.uniform(-step, step, (length // 2, len(sizes)))
    half *= rng.random(half.shape) < rng.choice([0.05, 0.3, 1.0])
    back = -half[:: rng.choice([-1, 1])] + rng.uniform(-1, 1) / length
    lead = np.concatenate([half, np.zeros((length % 2, len(sizes))), back])
    check(lead[:, group] + rng.uniform(-1.0, 1.0, (length, n)), pairs)


def test_no_transition_allowed() -> None:
    chain = Chain(3)
    for length, expected in ((1, np.log(3.0)), (2, -np.inf), (5, -np.inf)):
        topo = chain.topology(length)
        pairs = [(a, b) for a in range(3) for b in range(3)]
        mask = chain.mask(topo, Constraints(transitions=pairs))
        assert chain.log_partition(mask, topo) == pytest.approx(expected)
        assert chain.best(mask, topo)[0] == (0.0 if length == 1 else -np.inf)


def test_the_empty_sequence_has_one_label() -> None:
    for tied, ends in itertools.product((False, True), repeat=2):
        chain = Chain(3, tied=tied, start=ends, end=ends)
        topo = chain.topology(0)
        theta = np.ones(chain.n_parts(topo))
        log_z, mu = chain.expected_parts(theta, topo)
        assert log_z == 0.0
        assert not mu.any()
        score, label = chain.best(theta, topo)
        assert (score, len(label)) == (0.0, 0)
        scores, labels = chain.k_best(theta, topo, 4)
        assert (scores.tolist(), [len(y) for y in labels]) == ([0.0], [0])


def test_equal_labels_are_won_by_the_first() -> None:
    chain = Chain(3)
    topo = chain.topology(4)
    assert chain.best(np.zeros(chain.n_parts(topo)), topo)[1].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("length", [2, 150])
def test_one_bad_score_in_a_long_sequence(bad: float, length: int) -> None:
    chain = Chain(3, start=True, end=True)
    topo = chain.topology(length)
    for part in (0, 1, 2, length * 3 - 1, length * 3, length * 3 + 8, length * 3 + 12):
        theta = np.zeros(chain.n_parts(topo))
        theta[part] = bad
        assert np.isnan(chain.log_partition(theta, topo))
        assert np.isnan(chain.best(theta, topo)[0])


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 16, 22, 25])
def test_rows_of_any_width(n: int, tied: bool) -> None:
    """Rows are filled up to a multiple of 8; what is in the scratch before does not matter."""
    rng = np.random.default_rng(n)
    chain = Chain(n, tied, start=True, end=True)
    for length in (1, 2, 5):
        topo = chain.topology(length)
        theta = 3.0 * rng.normal(size=chain.n_parts(topo))
        log_z, mu = in_log_space(chain, topo, theta)
        expected = np.full_like(mu, np.nan)
        work = np.full(chain.work_size(topo), np.nan)
        close(chain_scaled.scaled(chain.spec, length, theta, expected, work), log_z)
        close(expected, mu)


@settings(max_examples=50, deadline=None)
@given(
    st.builds(Chain, st.integers(1, 4), st.booleans(), st.booleans(), st.booleans()),
    st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=5),
)
def test_many_labels_are_encoded_as_one_by_one(chain: Chain, drawn: list[list[int]]) -> None:
    labels = [np.array(y, dtype=np.int64) % chain.n_labels for y in drawn]
    topologies = [chain.topology(len(y)) for y in labels]
    ends, parts, counts = chain.encode_all(labels, topologies)
    one_by_one = Structure.encode_all(chain, labels, topologies)
    for found, expected in zip((ends, parts, counts), one_by_one, strict=True):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


def test_a_label_of_another_length_is_an_error() -> None:
    chain = Chain(2)
    with pytest.raises(ValueError, match="not as long as its example"):
        chain.encode_all([np.zeros(2, np.int64)], [chain.topology(3)])


@pytest.mark.parametrize("start", [False, True])
@pytest.mark.parametrize("end", [False, True])
def test_labels_are_found_in_another_chain(start: bool, end: bool) -> None:
    other = Chain(3, start=True, end=True)
    slots = Chain(2, start=start, end=end).match_slots(other, np.array([2, -1]))
    ends = [[2, -1] if wanted else [] for wanted in (start, end)]
    assert [of.tolist() for of in slots] == [[2, -1], [8, -1, -1, -1], *ends]
