"""The laws that every structure obeys, stated against the enumeration of all its labels.

A structure is put under them by a subclass of :class:`StructureLaws` that draws instances, lists
the labels of an instance, and names the parts of a label in the plainest way.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from partwise.errors import DataError
from partwise.structures.base import Constraints, Floats, Ints, Structure, call

TOLERANCE = 1e-10
PATTERNS = ("zero", "small", "large", "tiny", "steep", "masked", "masked steep")

Label = tuple[int, ...]
Instance = tuple[Structure, Ints]


def law(examples: int = 40) -> Any:
    """Hand ``data`` to a test; the test is inherited, so several classes run it."""
    return lambda test: settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
    )(given(data=st.data())(test))


def close(got: Any, expected: Any, scale: float = 1.0) -> None:
    """Agree to 1e-10 of max(1, scale, |expected|)."""
    np.testing.assert_allclose(
        np.asarray(got, dtype=float),
        np.asarray(expected, dtype=float),
        rtol=TOLERANCE,
        atol=TOLERANCE * max(1.0, scale),
    )


def largest(theta: Floats) -> float:
    return float(np.abs(theta[np.isfinite(theta)]).max(initial=0.0))


def draw_scores(pattern: str, n: int, rng: np.random.Generator) -> Floats:
    if pattern.startswith("masked"):
        theta = draw_scores(pattern[7:] or "small", n, rng)
        theta[rng.random(n) < rng.choice([0.1, 0.3, 0.6])] = -np.inf
        return theta
    if pattern == "steep":  # differences at which exponentials underflow, alone or together
        return rng.choice([-710.0, -640.0, -310.0, -150.0, 0.0, 150.0, 310.0], n)
    scale, base = {"zero": (0, 0), "small": (3, 0), "large": (1e4, 0), "tiny": (1e-9, 2)}[pattern]
    return base + rng.uniform(-scale, scale, n)


@dataclass(frozen=True)
class Table:
    """All labels of an instance: ``counts[y, r]`` is how often label y holds part r."""

    labels: list[Label]
    counts: npt.NDArray[np.float64]

    def scores(self, theta: Floats) -> npt.NDArray[np.longdouble]:
        forbidden = self.counts @ np.isneginf(theta) > 0
        finite = np.where(np.isneginf(theta), 0.0, theta)
        scores = self.counts.astype(np.longdouble) @ finite.astype(np.longdouble)
        scores[forbidden] = -np.inf
        return scores

    def keep(self, which: Sequence[bool]) -> Table:
        kept = np.flatnonzero(np.asarray(which, dtype=bool))
        return Table([self.labels[y] for y in kept], self.counts[kept])


def flat(label: npt.NDArray[Any]) -> Label:
    """A label as the tables list it."""
    return tuple(np.ravel(label).tolist())


def log_sum(scores: npt.NDArray[Any]) -> Any:
    top = scores.max(initial=-np.inf)
    return top + np.log(np.exp(scores - top).sum()) if top > -np.inf else -np.inf


def probabilities(scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.exp(scores - log_sum(scores))


def permitted(label: Label, rules: Constraints) -> bool:
    """Whether a label keeps the constraints, read off their definition."""
    return (
        not any(k in rules.labels for k in label)
        and not any(pair in rules.transitions for pair in pairwise(label))
        and not any(k in rules.starts for k in label[:1])
        and not any(k in rules.ends for k in label[-1:])
        and all(label[t] in only for t, only in rules.allowed)
    )


class StructureLaws:
    """One suite for all structures."""

    _tables: dict[tuple[Any, ...], Table] = {}  # noqa: RUF012 (shared on purpose: a cache)

    # What a subclass provides.

    def instances(self) -> st.SearchStrategy[Instance]:
        """Draw a structure and the shape of an example, small enough to enumerate."""
        raise NotImplementedError

    def labels(self, structure: Structure, topo: Ints) -> Iterable[Label]:
        """List all labels."""
        raise NotImplementedError

    def parts(self, structure: Structure, topo: Ints, label: Label) -> list[int]:
        """List the parts of a label, repeated as often as it holds them."""
        raise NotImplementedError

    def constraints(self, structure: Structure, topo: Ints) -> st.SearchStrategy[Any]:
        """Draw hard constraints that have a meaning for the structure."""
        raise NotImplementedError

    def permitted(self, structure: Structure, topo: Ints, label: Label, rules: Any) -> bool:
        """Whether a label keeps the constraints, read off their definition."""
        return permitted(label, rules)

    def impossible(self, structure: Structure, topo: Ints) -> Any:
        """Constraints that no label keeps."""
        return Constraints(labels=range(structure.n_labels))

    def array(self, structure: Structure, topo: Ints, label: Label) -> Ints:
        """The label as the structure takes it."""
        return np.array(label, dtype=np.int64)

    def matrix(self, structure: Structure, rng: np.random.Generator) -> Floats | None:
        """A random cost matrix, for a structure whose parts carry label numbers."""
        return rng.random((structure.n_labels, structure.n_labels))

    def cost(
        self, structure: Structure, topo: Ints, gold: Label, label: Label, matrix: Floats | None
    ) -> float:
        """What it costs to predict `label`, read off the definition."""
        if matrix is None:
            return sum(g != k for g, k in zip(gold, label, strict=True))
        return sum(float(matrix[g, k]) for g, k in zip(gold, label, strict=True))

    # What the laws share.

    def table(self, structure: Structure, topo: Ints) -> Table:
        key = (structure.name, *structure.spec, *topo)
        if key not in self._tables:
            labels = list(self.labels(structure, topo))
            counts = np.zeros((len(labels), structure.n_parts(topo)))
            for y, label in enumerate(labels):
                for part in self.parts(structure, topo, label):
                    counts[y, part] += 1
            self._tables[key] = Table(labels, counts)
        return self._tables[key]

    def draw(self, data: st.DataObject, *patterns: str) -> tuple[Structure, Ints, Table, Floats]:
        structure, topo = data.draw(self.instances())
        pattern = data.draw(st.sampled_from(patterns or PATTERNS))
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
        theta = draw_scores(pattern, structure.n_parts(topo), rng)
        return structure, topo, self.table(structure, topo), theta

    # The laws.

    @law()
    def test_log_partition(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data)
        before = theta.copy()
        log_z, _ = structure.expected_parts(theta, topo)
        close(log_z, log_sum(table.scores(theta)))
        # Without mu the oracle takes another way to the same number.
        assert structure.log_partition(theta, topo) == log_z
        assert (theta == before).all()

    @law()
    def test_marginals(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data)
        scores = table.scores(theta)
        assume(scores.max() > -np.inf)
        _, mu = structure.expected_parts(theta, topo)
        close(mu, probabilities(scores) @ table.counts)
        assert not mu[np.isneginf(theta)].any()

    @law()
    def test_maximum(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data)
        scores = table.scores(theta)
        top, label = structure.best(theta, topo)
        close(top, scores.max())
        if top > -np.inf:
            close(scores[table.labels.index(flat(label))], scores.max())

    @law()
    def test_maximum_gives_the_counts_of_its_label(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data)
        mu = np.full(structure.n_parts(topo), np.nan)
        work = np.empty(structure.work_size(topo))
        top = call(structure.maximum, structure.spec, topo, theta, mu, work)
        assert top == call(structure.maximum, structure.spec, topo, theta, np.empty(0), work)
        if top > -np.inf:
            counts = table.counts[table.labels.index(flat(structure.decode(mu, topo)))]
            np.testing.assert_array_equal(mu, counts)

    @law()
    def test_k_best(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data)
        scores = table.scores(theta)
        k = data.draw(st.sampled_from([1, 2, 5, len(scores), len(scores) + 3]))
        best, labels = structure.k_best(theta, topo, k)
        ranked = np.sort(scores[scores > -np.inf])[::-1][:k]
        assert len(labels) == len(best) == len(ranked)
        close(best, ranked)
        places = [table.labels.index(flat(label)) for label in labels]
        assert len(set(places)) == len(places)
        close(best, scores[places])

    @law()
    def test_entropy(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data)
        scores = table.scores(theta)
        assume(scores.max() > -np.inf)
        p = probabilities(scores)
        p = p[p > 0]
        # Errors of the marginals grow with the scores, and are multiplied by scores.
        scale = 2e-5 * largest(theta) ** 2
        close(structure.entropy(theta, topo), -(p @ np.log(p)), scale)

    @law(15)
    def test_samples(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data, "small", "masked", "tiny")
        scores = table.scores(theta)
        assume(scores.max() > -np.inf and len(scores) <= 125)
        size = 5000
        drawn = structure.sample(theta, topo, size, np.random.default_rng(0))
        seen = Counter(flat(label) for label in drawn)
        observed = np.array([seen[label] for label in table.labels], dtype=float)
        assert observed.sum() == size
        assert not observed[np.isneginf(scores)].any()
        expected = size * probabilities(scores).astype(float)
        rare = expected < 5
        cells = [(observed[~rare], expected[~rare])]
        if expected[rare].sum() >= 5:
            cells.append((observed[rare].sum(keepdims=True), expected[rare].sum(keepdims=True)))
        chi2 = sum(float(((o - e) ** 2 / e).sum()) for o, e in cells)
        freedom = sum(len(o) for o, _ in cells)
        assert chi2 < freedom + 10 * math.sqrt(2 * freedom) + 40

    @law(10)
    def test_nothing_to_draw(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data, "small")
        assume(table.counts.any(axis=1).all())
        for bad in (-np.inf, np.nan):
            with pytest.raises(DataError, match="no label can be drawn"):
                structure.sample(theta + bad, topo, 1, np.random.default_rng(0))

    @law(25)
    def test_gradient_of_log_partition_is_the_marginals(self, data: st.DataObject) -> None:
        structure, topo, _, theta = self.draw(data, "small", "tiny", "masked")
        _, mu = structure.expected_parts(theta, topo)
        assume(structure.log_partition(theta, topo) > -np.inf)
        step = 1e-5
        for r in np.flatnonzero(theta > -np.inf):
            up, down = theta.copy(), theta.copy()
            up[r] += step
            down[r] -= step
            slope = structure.log_partition(up, topo) - structure.log_partition(down, topo)
            assert abs(slope / (2 * step) - mu[r]) < 1e-6

    @law(25)
    def test_without_scores_labels_are_counted(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data, "zero")
        close(structure.log_partition(theta, topo), math.log(len(table.labels)))
        close(structure.entropy(theta, topo), math.log(len(table.labels)))

    @law(25)
    def test_encode(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data, "small", "large")
        y = data.draw(st.integers(0, len(table.labels) - 1))
        label = self.array(structure, topo, table.labels[y])
        parts, counts = structure.encode(label, topo)
        dense = np.zeros(structure.n_parts(topo))
        dense[parts] = counts
        assert len(set(parts.tolist())) == len(parts)
        assert parts.dtype == np.int64
        assert counts.dtype == np.float64
        np.testing.assert_array_equal(dense, table.counts[y])
        np.testing.assert_array_equal(structure.decode(dense, topo), label)
        close(theta[parts] @ counts, table.scores(theta)[y])

    @law(25)
    def test_sites_tile_the_parts(self, data: st.DataObject) -> None:
        structure, topo, table, _ = self.draw(data, "zero")
        sites = structure.sites(topo)
        ends = np.concatenate([[0], sites.part + sites.width])
        np.testing.assert_array_equal(sites.part, ends[:-1])
        assert ends[-1] == structure.n_parts(topo)
        assert (np.diff(sites.kind) >= 0).all()
        assert (sites.kind < len(structure.kinds)).all()
        assert len(structure.widths) == len(structure.kinds)
        assert (sites.width == np.array(structure.widths)[sites.kind]).all()
        for part, width, uses in zip(sites.part, sites.width, sites.uses, strict=True):
            assert table.counts[:, part : part + width].sum(axis=1).max() <= uses

    @law(25)
    def test_constants_make_the_structure_again(self, data: st.DataObject) -> None:
        structure, topo, _, theta = self.draw(data, "small")
        again = type(structure)(**json.loads(json.dumps(structure.constants())))
        np.testing.assert_array_equal(again.spec, structure.spec)
        assert again.kinds == structure.kinds
        assert again.log_partition(theta, topo) == structure.log_partition(theta, topo)

    @law()
    def test_shift(self, data: st.DataObject) -> None:
        # Where all labels hold equally many parts of a site, a constant there changes nothing.
        structure, topo, table, theta = self.draw(data, "small", "tiny", "masked", "steep")
        log_z, mu = structure.expected_parts(theta, topo)
        shift = data.draw(st.sampled_from([-1e4, -700.0, 1.0, 1e4]))
        sites = structure.sites(topo)
        moved, expected = theta.copy(), log_z
        for part, width in zip(sites.part, sites.width, strict=True):
            held = table.counts[:, part : part + width].sum(axis=1)
            if (held == held[0]).all() and data.draw(st.booleans()):
                moved[part : part + width] += shift
                expected += shift * held[0]
        moved_log_z, moved_mu = structure.expected_parts(moved, topo)
        close(moved_log_z, expected)
        close(moved_mu, mu)

    @law()
    def test_part_cost(self, data: st.DataObject) -> None:
        structure, topo, table, _ = self.draw(data, "zero")
        gold = table.labels[data.draw(st.integers(0, len(table.labels) - 1))]
        for matrix in (None, self.matrix(structure, np.random.default_rng(0))):
            spread = structure.part_cost(self.array(structure, topo, gold), topo, matrix)
            expected = [self.cost(structure, topo, gold, y, matrix) for y in table.labels]
            assert spread.shape == (structure.n_parts(topo),)
            close(table.scores(spread), expected)

    @law(60)
    def test_constraints(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data, "small", "large", "steep")
        rules = data.draw(self.constraints(structure, topo))
        mask = structure.mask(topo, rules)
        assert np.isin(mask, [0.0, -np.inf]).all()
        allowed = table.keep(
            [self.permitted(structure, topo, label, rules) for label in table.labels]
        )
        scores = allowed.scores(theta)
        log_z, mu = structure.expected_parts(theta + mask, topo)
        top, label = structure.best(theta + mask, topo)
        best, labels = structure.k_best(theta + mask, topo, len(table.labels))
        close(log_z, log_sum(scores))
        close(top, scores.max(initial=-np.inf))
        assert {flat(label) for label in labels} == set(allowed.labels)
        close(best, np.sort(scores)[::-1])
        if allowed.labels:
            close(mu, probabilities(scores) @ allowed.counts)
            assert flat(label) in allowed.labels
            drawn = structure.sample(theta + mask, topo, 20, np.random.default_rng(0))
            assert {flat(label) for label in drawn} <= set(allowed.labels)

    @law(25)
    def test_nothing_allowed(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data, "small", "masked", "large")
        assume(table.counts.any(axis=1).all())  # a label without parts cannot be forbidden
        mask = structure.mask(topo, self.impossible(structure, topo))
        log_z, mu = structure.expected_parts(theta + mask, topo)
        assert log_z == structure.log_partition(theta + mask, topo) == -np.inf
        assert not mu.any()
        assert structure.best(theta + mask, topo)[0] == -np.inf
        scores, labels = structure.k_best(theta + mask, topo, 3)
        assert len(scores) == len(labels) == 0

    @law(60)
    def test_bad_scores_give_nan(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data)
        used = np.flatnonzero(table.counts.any(axis=0))
        assume(len(used) > 0)
        bad = data.draw(st.sampled_from([np.nan, np.inf]))
        for r in data.draw(st.lists(st.sampled_from(used), min_size=1, max_size=3)):
            theta[r] = bad
        assert math.isnan(structure.log_partition(theta, topo))
        assert math.isnan(structure.expected_parts(theta, topo)[0])
        assert math.isnan(structure.best(theta, topo)[0])
