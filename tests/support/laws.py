"""The laws of :mod:`partwise.testing.laws` for pytest: hypothesis draws instances and scores.

A structure is put under them by a subclass of :class:`StructureLaws` that draws instances, lists
the labels of an instance, and names the parts of a label in the plainest way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partwise.arrays import Floats, Ints
from partwise.structures.base import Constraints, Structure
from partwise.testing import check_law, laws
from partwise.testing.cases import (
    PATTERNS,
    TOLERANCE,
    Case,
    Label,
    PartTable,
    close,
    draw_scores,
    flat,
    largest,
    log_sum,
    probabilities,
)
from partwise.testing.laws import LAWS

__all__ = [
    "PATTERNS",
    "TOLERANCE",
    "Instance",
    "Label",
    "PartTable",
    "StructureLaws",
    "close",
    "draw_scores",
    "flat",
    "largest",
    "law",
    "log_sum",
    "permitted",
    "probabilities",
]  # fmt: skip

Instance = tuple[Structure, Ints]


def law(examples: int = 40) -> Any:
    """Return a decorator that draws ``data`` for a test, which several classes may inherit."""
    return lambda test: settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
    )(given(data=st.data())(test))


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

    _tables: dict[tuple[Any, ...], PartTable] = {}  # noqa: RUF012 (shared on purpose: a cache)

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

    def table(self, structure: Structure, topo: Ints) -> PartTable:
        key = (structure.name, *structure.spec, *topo)
        if key not in self._tables:
            self._tables[key] = PartTable.of(
                structure.n_parts(topo),
                self.labels(structure, topo),
                lambda label: self.parts(structure, topo, label),
            )
        return self._tables[key]

    def case(self, data: st.DataObject, patterns: Iterable[str] = PATTERNS) -> Case:
        """Draw an instance and scores."""
        structure, topo = data.draw(self.instances())
        pattern = data.draw(st.sampled_from(list(patterns)))
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
        theta = draw_scores(pattern, structure.n_parts(topo), rng)
        return Case(
            structure,
            topo,
            self.table(structure, topo),
            theta,
            rng,
            lambda label: self.array(structure, topo, label),
        )

    def draw(
        self, data: st.DataObject, *patterns: str
    ) -> tuple[Structure, Ints, PartTable, Floats]:
        """Draw an instance and scores, for a law of a structure's own."""
        case = self.case(data, patterns or PATTERNS)
        return case.structure, case.topo, case.table, case.theta

    def check(self, data: st.DataObject, demand: Callable[[Case], None]) -> None:
        """Try one of the laws that need no more than a case."""
        check_law(demand, self.case(data, LAWS[demand]))

    # The laws.

    @law()
    def test_log_partition(self, data: st.DataObject) -> None:
        self.check(data, laws.log_partition)

    @law()
    def test_marginals(self, data: st.DataObject) -> None:
        self.check(data, laws.marginals)

    @law()
    def test_maximum(self, data: st.DataObject) -> None:
        self.check(data, laws.maximum)

    @law()
    def test_maximum_gives_the_counts_of_its_label(self, data: st.DataObject) -> None:
        self.check(data, laws.maximum_counts)

    @law()
    def test_k_best(self, data: st.DataObject) -> None:
        self.check(data, laws.k_best)

    @law()
    def test_entropy(self, data: st.DataObject) -> None:
        self.check(data, laws.entropy)

    @law(25)
    def test_marginal_entropy(self, data: st.DataObject) -> None:
        self.check(data, laws.marginal_entropy)

    @law(25)
    def test_steps(self, data: st.DataObject) -> None:
        self.check(data, laws.steps)

    @law(15)
    def test_samples(self, data: st.DataObject) -> None:
        self.check(data, laws.samples)

    @law(10)
    def test_nothing_to_draw(self, data: st.DataObject) -> None:
        self.check(data, laws.nothing_to_draw)

    @law(25)
    def test_gradient_of_log_partition_is_the_marginals(self, data: st.DataObject) -> None:
        self.check(data, laws.gradient)

    @law(25)
    def test_without_scores_labels_are_counted(self, data: st.DataObject) -> None:
        self.check(data, laws.counting)

    @law(25)
    def test_encode(self, data: st.DataObject) -> None:
        self.check(data, laws.encode)

    @law(25)
    def test_sites_tile_the_parts(self, data: st.DataObject) -> None:
        self.check(data, laws.sites)

    @law(25)
    def test_the_gold_label_costs_nothing(self, data: st.DataObject) -> None:
        self.check(data, laws.gold_cost)

    @law(25)
    def test_constants_make_the_structure_again(self, data: st.DataObject) -> None:
        self.check(data, laws.constants)

    @law()
    def test_shift(self, data: st.DataObject) -> None:
        self.check(data, laws.shift)

    @law(60)
    def test_bad_scores_give_nan(self, data: st.DataObject) -> None:
        self.check(data, laws.bad_scores)

    @law()
    def test_part_cost(self, data: st.DataObject) -> None:
        case = self.case(data, ("zero",))
        structure, topo = case.structure, case.topo

        def cost(gold: Label, label: Label, matrix: Floats | None) -> float:
            return self.cost(structure, topo, gold, label, matrix)

        for matrix in (None, self.matrix(structure, np.random.default_rng(0))):
            check_law(laws.part_cost, case, cost, matrix)

    @law(60)
    def test_constraints(self, data: st.DataObject) -> None:
        case = self.case(data, ("small", "large", "steep"))
        structure, topo = case.structure, case.topo
        rules = data.draw(self.constraints(structure, topo))

        def keeps(label: Label, rules: Any) -> bool:
            return self.permitted(structure, topo, label, rules)

        check_law(laws.constraints, case, rules, keeps)

    @law(25)
    def test_nothing_allowed(self, data: st.DataObject) -> None:
        case = self.case(data, ("small", "masked", "large"))
        check_law(laws.nothing_allowed, case, self.impossible(case.structure, case.topo))
