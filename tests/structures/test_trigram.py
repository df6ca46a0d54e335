from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.laws import Instance, Label, StructureLaws, close, draw_scores, largest, law, log_sum

from partwise.arrays import Floats, Ints
from partwise.errors import DataError, MismatchError
from partwise.structures.base import Constraints, Structure
from partwise.structures.chain.structure import Chain
from partwise.structures.second_order import oracles as trigram_kernels
from partwise.structures.second_order.structure import SecondOrderChain


class TestSecondOrderChain(StructureLaws):
    def instances(self) -> st.SearchStrategy[Instance]:
        chains = st.builds(SecondOrderChain, st.integers(1, 3), st.booleans(), st.booleans())
        return st.tuples(chains, st.integers(0, 5)).map(lambda d: (d[0], d[0].topology(d[1])))

    def labels(self, structure: Structure, topo: Ints) -> Iterable[Label]:
        return itertools.product(range(structure.n_labels), repeat=int(topo[0]))

    def parts(self, structure: Structure, topo: Ints, label: Label) -> list[int]:
        assert isinstance(structure, SecondOrderChain)
        n, length = structure.n_labels, len(label)
        parts = [t * n + k for t, k in enumerate(label)]
        at = length * n
        parts += [at + j * n + k for j, k in itertools.pairwise(label)]
        at += n * n
        triples = zip(label, label[1:], label[2:], strict=False)
        parts += [at + (i * n + j) * n + k for i, j, k in triples]
        at += n * n * n
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
    def test_log_space_agrees_with_enumeration(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data)
        if topo[0] == 0:
            return
        mu = np.zeros(structure.n_parts(topo))
        work = np.empty(structure.work_size(topo))
        log_z = trigram_kernels.second_order_exact(structure.spec, int(topo[0]), theta, mu, work)
        close(log_z, log_sum(table.scores(theta)))
        if log_z > -np.inf:
            close(mu, structure.expected_parts(theta, topo)[1])


def is_scaled(chain: Structure, topo: Ints, theta: Floats) -> bool:
    """Whether the scaled exponentials are accepted as right."""
    work = np.empty(chain.work_size(topo))
    length = int(topo[0])
    return bool(np.isfinite(trigram_kernels._scaled(chain.spec, length, theta, np.empty(0), work)))


def log_sums(x: Floats, axis: int) -> Floats:
    top = x.max(axis=axis, keepdims=True)
    shift = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(x - shift).sum(axis=axis)) + shift.squeeze(axis)


def plain(unary: Floats, pairs: Floats, triples: Floats) -> tuple[float, Floats]:
    """Forward-backward in log space over pairs, T > 1: logZ and the expected counts."""
    length, n = unary.shape
    alpha = np.empty((length, n, n), dtype=unary.dtype)
    beta = np.zeros_like(alpha)
    alpha[1] = unary[0][:, None] + pairs + unary[1]
    for t in range(2, length):
        alpha[t] = unary[t] + pairs + log_sums(alpha[t - 1][:, :, None] + triples, axis=0)
    for t in range(length - 2, 0, -1):
        beta[t] = log_sums(triples + pairs + unary[t + 1] + beta[t + 1], axis=2)
    log_z = float(log_sums(alpha[-1].ravel(), axis=0))
    both = np.exp(alpha[1:] + beta[1:] - log_z)
    counts = np.zeros_like(triples)
    for t in range(2, length):
        after = pairs + unary[t] + beta[t] - log_z
        counts += np.exp(alpha[t - 1][:, :, None] + triples + after)
    labels = np.concatenate([both[0].sum(axis=1)[None], both.sum(axis=1)])
    return log_z, np.concatenate([labels.ravel(), both.sum(axis=0).ravel(), counts.ravel()])


def check(unary: Floats, pairs: Floats, triples: Floats, scaled: bool | None = None) -> None:
    """Compare the oracle with the plain recursion in extended precision."""
    length, n = unary.shape
    exact = [scores.astype(np.longdouble) for scores in (unary, pairs, triples)]
    log_z, mu = plain(*exact)
    # Rounding accumulates over the positions, and grows with the scores.
    scale = 1e-4 * max(1.0, largest(unary)) * length
    theta = np.concatenate([unary.ravel(), pairs.ravel(), triples.ravel()])
    chain = SecondOrderChain(n)
    topo = chain.topology(length)
    if scaled is not None:
        assert is_scaled(chain, topo, theta) == scaled
    got, got_mu = chain.expected_parts(theta, topo)
    close(got, log_z, scale)
    close(got_mu, mu, scale)
    close(chain.log_partition(theta, topo), got)


def components(*sizes: int) -> Floats:
    """Transition scores 0 within groups of labels, -inf between them."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    return np.where(group[:, None] == group, 0.0, -np.inf)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_without_triples_it_is_a_first_order_chain(data: st.DataObject) -> None:
    n, length = data.draw(st.integers(1, 5)), data.draw(st.integers(0, 30))
    start, end = data.draw(st.booleans()), data.draw(st.booleans())
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    pattern = data.draw(st.sampled_from(["small", "large", "tiny", "steep", "masked"]))
    chain, second = Chain(n, start=start, end=end), SecondOrderChain(n, start, end)
    topo = chain.topology(length)
    theta = draw_scores(pattern, chain.n_parts(topo), rng)
    at = length * n + n * n
    padded = np.concatenate([theta[:at], np.zeros(n**3), theta[at:]])
    log_z, mu = chain.expected_parts(theta, topo)
    got, got_mu = second.expected_parts(padded, topo)
    scale = 1e-4 * max(1.0, largest(theta)) * max(length, 1)
    close(got, log_z, scale)
    close(second.best(padded, topo)[0], chain.best(theta, topo)[0], scale)
    if log_z > -np.inf:
        close(np.concatenate([got_mu[:at], got_mu[at + n**3 :]]), mu, scale)
        sums = got_mu[at : at + n**3].reshape(n, n, n).sum(axis=0).ravel()
        first = mu[at - n * n : at] if length < 2 else sums
        assert (first <= mu[at - n * n : at] + 1e-9 * max(1.0, scale)).all()


def test_a_flushed_path_comes_back() -> None:
    # Label 1 loses 100 nats on each of 8 steps and regains 300 on each of 3 later ones.
    unary = np.zeros((12, 2))
    unary[:8, 1] = -100.0
    unary[9:, 0] = -300.0
    check(unary, components(1, 1), np.zeros((2, 2, 2)), scaled=False)


def test_a_flushed_path_that_regains_nearly_all() -> None:
    # The exponential of -709 is flushed; after 690 nats the label has e^-19 of the mass again.
    unary = np.zeros((4, 2))
    unary[0, 1] = -709.0
    unary[1:3, 0] = -345.0
    for between in (-np.inf, -1500.0):
        pairs = np.array([[0.0, between], [between, 0.0]])
        check(unary, pairs, np.zeros((2, 2, 2)), scaled=False)


def test_a_flushed_path_that_regains_too_little() -> None:
    unary = np.zeros((12, 2))
    unary[:8, 1] = -100.0
    unary[9:11, 0] = -300.0
    check(unary, components(1, 1), np.zeros((2, 2, 2)), scaled=True)


@pytest.mark.parametrize(("branches", "length"), [(2, 1100), (8, 360)])
def test_a_flushed_state_comes_back_by_the_number_of_its_paths(branches: int, length: int) -> None:
    # No path of the second component gains on the first; there are branches**length of them.
    n = 1 + branches
    unary = np.zeros((length, n))
    unary[0, 1:] = -709.0
    check(unary, components(1, branches), np.zeros((n, n, n)), scaled=False)


def test_triples_that_spread_far() -> None:
    # Nothing is forbidden, but leaving a run of one label costs more than an exponential holds.
    unary = np.zeros((60, 2))
    unary[30:, 0] = -50.0
    i, j, k = np.indices((2, 2, 2))
    change = (i != j) | (j != k)
    for cost in (190.0, 210.0, 390.0, 700.0, 720.0, 1500.0):
        check(unary, np.zeros((2, 2)), np.where(change, -cost, 0.0))
        check(unary, np.array([[0.0, -cost], [-cost, 0.0]]), np.where(change, cost, 0.0))


def test_any_unary_scores_are_scaled_when_pairs_and_triples_are_mild() -> None:
    rng = np.random.default_rng(0)
    for pattern in ("large", "steep"):
        unary = draw_scores(pattern, 200 * 3, rng).reshape(200, 3)
        check(unary, rng.uniform(-3, 3, (3, 3)), rng.uniform(-3, 3, (3, 3, 3)), scaled=True)
        check(unary, rng.uniform(-49, 49, (3, 3)), rng.uniform(-49, 49, (3, 3, 3)), scaled=True)


def test_unary_scores_may_forbid_when_pairs_and_triples_are_mild() -> None:
    rng = np.random.default_rng(0)
    unary = draw_scores("small", 200 * 3, rng).reshape(200, 3)
    unary[np.arange(200), rng.integers(0, 3, 200)] = -np.inf
    check(unary, rng.uniform(-49, 49, (3, 3)), rng.uniform(-49, 49, (3, 3, 3)), scaled=True)


@pytest.mark.parametrize("length", [3, 100, 1000])
def test_ordinary_sequences_stay_scaled_under_constraints(length: int) -> None:
    rng = np.random.default_rng(0)
    pairs = rng.uniform(-3, 3, (4, 4))
    pairs[0, 2] = pairs[2, 1] = pairs[3, 3] = -np.inf
    triples = rng.uniform(-3, 3, (4, 4, 4))
    triples[0, 1, 0] = -np.inf
    check(rng.uniform(-3, 3, (length, 4)), pairs, triples, scaled=True)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([(1, 1), (1, 2), (1, 1, 1), (2, 2)]),
    st.integers(40, 150),
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
    triples = rng.uniform(-1.0, 1.0, (n, n, n))
    if rng.random() < 0.5:
        triples, pairs = triples + pairs, np.zeros((n, n))
    # A slow walk of each component's lead, and its reversal: what was lost comes back.
    group = np.repeat(np.arange(len(sizes)), sizes)
    half = rng.uniform(-step, step, (length // 2, len(sizes)))
    half *= rng.random(half.shape) < rng.choice([0.05, 0.3, 1.0])
    back = -half[:: rng.choice([-1, 1])] + rng.uniform(-1, 1) / length
    lead = np.concatenate([half, np.zeros((length % 2, len(sizes))), back])
    check(lead[:, group] + rng.uniform(-1.0, 1.0, (length, n)), pairs, triples)


def test_the_empty_sequence_has_one_label() -> None:
    chain = SecondOrderChain(3, start=True, end=True)
    topo = chain.topology(0)
    theta = np.ones(chain.n_parts(topo))
    log_z, mu = chain.expected_parts(theta, topo)
    assert log_z == 0.0
    assert not mu.any()
    score, label = chain.best(theta, topo)
    assert (score, len(label)) == (0.0, 0)
    scores, labels = chain.k_best(theta, topo, 4)
    assert (scores.tolist(), [len(y) for y in labels]) == ([0.0], [0])


def test_matching_parts_of_other_labels() -> None:
    slots = SecondOrderChain(2, start=True).match_slots(
        SecondOrderChain(3, True), np.array([2, -1])
    )
    expected = [[2, -1], [8, -1, -1, -1], [26, *[-1] * 7], [2, -1], []]
    assert [part.tolist() for part in slots] == expected
    with pytest.raises(MismatchError, match="cannot start from the weights"):
        SecondOrderChain(2).match_slots(Chain(2), np.arange(2))


def test_too_many_labels_in_a_file() -> None:
    with pytest.raises(DataError, match="expected 1 to 512"):
        SecondOrderChain.check_constants({"n_labels": 513, "start": False, "end": False})


def test_equal_labels_are_won_by_the_first() -> None:
    chain = SecondOrderChain(3)
    topo = chain.topology(4)
    assert chain.best(np.zeros(chain.n_parts(topo)), topo)[1].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("length", [3, 60])
def test_one_bad_score_in_a_long_sequence(bad: float, length: int) -> None:
    chain = SecondOrderChain(3, start=True, end=True)
    topo = chain.topology(length)
    n_parts = chain.n_parts(topo)
    for part in (0, 2, length * 3 - 1, length * 3, length * 3 + 9, n_parts - 7, n_parts - 1):
        theta = np.zeros(n_parts)
        theta[part] = bad
        assert np.isnan(chain.log_partition(theta, topo))
        assert np.isnan(chain.best(theta, topo)[0])
