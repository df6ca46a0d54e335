from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.laws import Instance, Label, StructureLaws, close, draw_scores, largest, law, log_sum

from partwise.arrays import Floats, Ints
from partwise.errors import DataError, MismatchError
from partwise.structures.base import Constraints, Structure, call
from partwise.structures.chain.structure import Chain
from partwise.structures.segments import oracles as segments_oracles
from partwise.structures.segments.structure import SegmentConstraints, SemiMarkov

Segment = tuple[int, int, int]


def rows(label: Label) -> list[Segment]:
    return list(zip(label[::3], label[1::3], label[2::3], strict=True))


def tokens(label: Label) -> list[int]:
    return [k for start, end, k in rows(label) for _ in range(start, end)]


def segmentations(structure: SemiMarkov, start: int, length: int) -> Iterator[Label]:
    if start == length:
        yield ()
    for k, most in enumerate(structure.label_lengths):
        for end in range(start + 1, min(start + most, length) + 1):
            for rest in segmentations(structure, end, length):
                yield (start, end, k, *rest)


def site_of(structure: SemiMarkov, length: int) -> dict[tuple[int, int], int]:
    pairs = [
        (s, e) for s in range(length) for e in range(s + 1, length + 1)
        if e - s <= structure.max_length
    ]  # fmt: skip
    return {pair: number for number, pair in enumerate(pairs)}


@st.composite
def structures(draw: Any) -> SemiMarkov:
    n, longest = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    each = st.lists(st.integers(1, longest), min_size=n, max_size=n)
    lengths = draw(st.one_of(st.none(), each))
    return SemiMarkov(n, longest, lengths, draw(st.booleans()), draw(st.booleans()))


class TestSemiMarkov(StructureLaws):
    def instances(self) -> st.SearchStrategy[Instance]:
        return st.tuples(structures(), st.integers(0, 5)).map(
            lambda drawn: (drawn[0], drawn[0].topology(drawn[1]))
        )

    def labels(self, structure: Structure, topo: Ints) -> Iterable[Label]:
        assert isinstance(structure, SemiMarkov)
        return segmentations(structure, 0, int(topo[0]))

    def parts(self, structure: Structure, topo: Ints, label: Label) -> list[int]:
        assert isinstance(structure, SemiMarkov)
        n, length = structure.n_labels, int(topo[0])
        site, segments = site_of(structure, length), rows(label)
        parts = [t * n + k for t, k in enumerate(tokens(label))]
        parts += [(length + site[start, end]) * n + k for start, end, k in segments]
        at = (length + len(site)) * n
        parts += [at + a[2] * n + b[2] for a, b in pairwise(segments)]
        at += n * n
        parts += [at + (end - start - 1) * n + k for start, end, k in segments]
        at += structure.max_length * n
        if structure.start:
            parts += [at + k for _, _, k in segments[:1]]
            at += n
        if structure.end:
            parts += [at + k for _, _, k in segments[-1:]]
        return parts

    def constraints(
        self, structure: Structure, topo: Ints
    ) -> st.SearchStrategy[Constraints | SegmentConstraints]:
        assert isinstance(structure, SemiMarkov)
        label = st.integers(0, structure.n_labels - 1)
        few = st.lists(label, max_size=2)
        place = st.integers(0, max(int(topo[0]) - 1, 0))
        some = {
            "labels": st.one_of(st.just([]), few),
            "transitions": st.lists(st.tuples(label, label), max_size=5),
            "starts": few,
            "ends": few,
            "allowed": st.lists(
                st.tuples(place, st.lists(label, min_size=1)), max_size=2 if topo[0] else 0
            ),
        }
        possible = [
            (s, e, k) for s, e in site_of(structure, int(topo[0]))
            for k, most in enumerate(structure.label_lengths) if e - s <= most
        ]  # fmt: skip
        fixed = st.lists(st.sampled_from(possible), max_size=2) if possible else st.just([])
        only_fixed = fixed.map(lambda segments: SegmentConstraints(segments=segments))
        both = st.builds(SegmentConstraints, **some, segments=fixed)
        return st.one_of(st.builds(Constraints, **some), only_fixed, both)

    def permitted(self, structure: Structure, topo: Ints, label: Label, rules: Any) -> bool:
        segments, tags = rows(label), tokens(label)
        labels = [k for _, _, k in segments]
        return (
            not any(k in rules.labels for k in labels)
            and not any(pair in rules.transitions for pair in pairwise(labels))
            and not any(k in rules.starts for k in labels[:1])
            and not any(k in rules.ends for k in labels[-1:])
            and all(tags[t] in only for t, only in rules.allowed)
            and all(fixed in segments for fixed in getattr(rules, "segments", ()))
        )

    def array(self, structure: Structure, topo: Ints, label: Label) -> Ints:
        return np.array(label, dtype=np.int64).reshape(-1, 3)

    def cost(
        self, structure: Structure, topo: Ints, gold: Label, label: Label, matrix: Floats | None
    ) -> float:
        return super().cost(structure, topo, tuple(tokens(gold)), tuple(tokens(label)), matrix)

    @law()
    def test_log_space_agrees_with_enumeration(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data)
        if topo[0] == 0:
            return
        mu = np.zeros(structure.n_parts(topo))
        work = np.empty(structure.work_size(topo))
        log_z = segments_oracles.semi_markov_exact(structure.spec, int(topo[0]), theta, mu, work)
        close(log_z, log_sum(table.scores(theta)))
        if log_z > -np.inf:
            close(mu, structure.expected_parts(theta, topo)[1])

    @law(20)
    def test_segments_are_listed_in_the_order_of_their_sites(self, data: st.DataObject) -> None:
        structure, topo = data.draw(self.instances())
        assert isinstance(structure, SemiMarkov)
        listed = list(site_of(structure, int(topo[0])))
        assert [tuple(pair) for pair in structure.segments(topo).tolist()] == listed


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_segments_of_one_position_are_a_chain(data: st.DataObject) -> None:
    n, length = data.draw(st.integers(1, 5)), data.draw(st.integers(0, 30))
    start, end = data.draw(st.booleans()), data.draw(st.booleans())
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    pattern = data.draw(st.sampled_from(["small", "large", "tiny", "steep", "masked"]))
    chain, semi = Chain(n, start=start, end=end), SemiMarkov(n, 1, None, start, end)
    topo = chain.topology(length)
    theta = draw_scores(pattern, chain.n_parts(topo), rng)
    unary, tied = length * n, length * n + n * n
    nothing = np.zeros(n)
    padded = np.concatenate(
        [theta[:unary], np.zeros(unary), theta[unary:tied], nothing, theta[tied:]]
    )
    log_z, mu = chain.expected_parts(theta, topo)
    got, got_mu = semi.expected_parts(padded, topo)
    scale = 1e-4 * max(1.0, largest(theta)) * max(length, 1)
    close(got, log_z, scale)
    top, label = semi.best(padded, topo)
    close(top, chain.best(theta, topo)[0], scale)
    if log_z > -np.inf:
        np.testing.assert_array_equal(label[:, 0], np.arange(length))
        parts = np.split(got_mu, [unary, 2 * unary, 2 * unary + n * n, 2 * unary + n * n + n])
        close(np.concatenate([parts[0], parts[2], parts[4]]), mu, scale)
        close(parts[1], parts[0], scale)


def test_no_transition_allowed() -> None:
    structure = SemiMarkov(3, 4)
    pairs = [(a, b) for a in range(3) for b in range(3)]
    for length, expected in ((1, np.log(3.0)), (4, np.log(3.0)), (5, -np.inf)):
        topo = structure.topology(length)
        mask = structure.mask(topo, Constraints(transitions=pairs))
        assert structure.log_partition(mask, topo) == pytest.approx(expected)
        assert structure.best(mask, topo)[0] == (0.0 if length < 5 else -np.inf)


def test_the_empty_sequence_has_one_label() -> None:
    structure = SemiMarkov(3, 2, start=True, end=True)
    topo = structure.topology(0)
    theta = np.ones(structure.n_parts(topo))
    log_z, mu = structure.expected_parts(theta, topo)
    assert log_z == 0.0
    assert not mu.any()
    score, label = structure.best(theta, topo)
    assert (score, label.shape) == (0.0, (0, 3))
    found, labels = structure.k_best(theta, topo, 4)
    assert (found.tolist(), [y.shape for y in labels]) == ([0.0], [(0, 3)])
    assert structure.sample(theta, topo, 2, np.random.default_rng(0))[1].shape == (0, 3)


def test_of_equal_segmentations_the_first_label_and_the_shortest_segments_win() -> None:
    structure = SemiMarkov(2, 3)
    topo = structure.topology(3)
    label = structure.best(np.zeros(structure.n_parts(topo)), topo)[1]
    assert label.tolist() == [[0, 1, 0], [1, 2, 0], [2, 3, 0]]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_one_bad_score_in_a_long_sequence(bad: float) -> None:
    structure = SemiMarkov(3, 2, start=True, end=True)
    topo = structure.topology(60)
    n_parts = structure.n_parts(topo)
    for part in (0, 179, 180, 180 + 119 * 3 - 1, n_parts - 13, n_parts - 8, n_parts - 1):
        theta = np.zeros(n_parts)
        theta[part] = bad
        assert np.isnan(structure.log_partition(theta, topo))
        assert np.isnan(structure.best(theta, topo)[0])


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ([[0, 2, 0]], "the segments end at 2; expected 4"),
        ([[0, 1, 0], [2, 4, 0]], "segment 1 .* goes from 2 to 4; expected one that begins at 1"),
        ([[0, 1, 0], [1, 5, 0]], "segment 1 .* goes from 1 to 5"),
        ([[0, 0, 0], [0, 4, 0]], "segment 0 .* goes from 0 to 0"),
        ([[0, 3, 0], [3, 4, 2]], "segment 1 has label 2; there are 0 to 1"),
        ([[0, 1, 0], [1, 4, 1]], "segment 1 from 1 to 4 has 3 positions; label 1 allows 2"),
    ],
)
def test_labels_that_are_no_segmentation(label: list[list[int]], message: str) -> None:
    structure = SemiMarkov(2, 3, [3, 2])
    with pytest.raises(DataError, match=message):
        structure.encode(np.array(label), structure.topology(4))


@pytest.mark.parametrize(
    ("segment", "message"),
    [
        ((1, 1, 0), "0 <= start < end <= 4"),
        ((2, 5, 0), "0 <= start < end <= 4"),
        ((0, 1, 2), "a label from 0 to 1"),
        ((0, 3, 1), "has 3 positions; label 1 allows 2"),
    ],
)
def test_fixed_segments_that_cannot_be(segment: Segment, message: str) -> None:
    structure = SemiMarkov(2, 3, [3, 2])
    with pytest.raises(DataError, match=message):
        structure.mask(structure.topology(4), SegmentConstraints(segments=[segment]))


def test_matching_parts_of_other_labels_and_lengths() -> None:
    slots = SemiMarkov(2, 3, end=True).match_slots(SemiMarkov(3, 2), np.array([2, -1]))
    expected = [[2, -1], [2, -1], [8, -1, -1, -1], [2, -1, 5, -1, -1, -1], [], [2, -1]]
    assert [part.tolist() for part in slots] == expected
    with pytest.raises(MismatchError, match="cannot start from the weights"):
        SemiMarkov(2, 1).match_slots(Chain(2), np.arange(2))


def test_too_many_labels_in_a_file() -> None:
    constants = {**SemiMarkov(2, 1).constants(), "n_labels": 2**14 + 1}
    with pytest.raises(DataError, match="expected 1 to 16384"):
        SemiMarkov.check_constants(constants)


def test_lengths_that_cannot_be() -> None:
    with pytest.raises(DataError, match="at most 0 positions"):
        SemiMarkov(2, 0)
    with pytest.raises(DataError, match="3 numbers for 2 labels"):
        SemiMarkov(2, 3, [1, 1, 1])
    with pytest.raises(DataError, match=r"label_lengths\[1\] is 4"):
        SemiMarkov(2, 3, [1, 4])


def test_a_boundary_at_which_no_segment_may_end() -> None:
    structure, length = SemiMarkov(2, 3), 5
    topo = structure.topology(length)
    theta = np.random.default_rng(0).normal(size=structure.n_parts(topo))
    for (_, end), site in site_of(structure, length).items():
        if end == 2:
            theta[(length + site) * 2 : (length + site + 1) * 2] = -np.inf
    size = structure.work_size(topo)
    exact, found = np.empty_like(theta), np.empty_like(theta)
    log_z = segments_oracles.semi_markov_exact(structure.spec, length, theta, exact, np.empty(size))
    # Another example may have left anything in the work array.
    work = np.full(size, np.nan)
    value = call(structure.marginals, structure.spec, topo, theta, found, work)
    assert value == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(found, exact, atol=1e-12)
