"""Problems on disk have the arrays of problems in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.mapped_arrays import is_mapped
from support.structure_cases import case

from partwise.arrays import Floats, Ints
from partwise.errors import DataError, MismatchError
from partwise.problem.batches import Batch, ProblemWriter
from partwise.problem.disk_room import DiskRoom
from partwise.problem.example_arrays import make_topologies
from partwise.problem.losses import make_loss
from partwise.problem.numbering import Numbering
from partwise.problem.problem import Problem, build_problem
from partwise.problem.rows import Rows
from partwise.problem.weight_rule import WeightRule
from partwise.structures.base import Constraints, Structure
from partwise.structures.chain.structure import Chain
from partwise.structures.dependency.arcs import ArcConstraints
from partwise.structures.multiclass import Multiclass

NAMES = (
    "multiclass",
    "chain",
    "untied",
    "plain-chain",
    "second-order-chain",
    "semi-markov",
    "projective",
    "spanning-tree",
    "grammar",
    "graph",
)
MORE = {
    "untied": Chain(3, tied=False, start=True, end=True),
    "plain-chain": Chain(3, end=True),
}


@dataclass
class Data:
    """Examples of a structure, as both ways of building a problem take them."""

    structure: Structure
    shapes: list[Any]
    rows: list[Rows]
    gold: list[Ints]
    weight: Floats | None = None
    own: list[Any] | None = None

    def built(self, loss: str = "log", **options: Any) -> Problem:
        return build_problem(
            self.structure,
            self.shapes,
            self.rows,
            self.gold,
            make_loss(loss, self.structure.n_labels),
            sample_weight=self.weight,
            own_constraints=self.own,
            **options,
        )

    def batches(self, sizes: Sequence[int]) -> Iterator[Batch]:
        """Cut the examples; the features of a batch end with the last one it has."""
        kinds = [self._sites(i) for i in range(len(self.shapes))]
        at, done = 0, np.zeros(len(self.rows), dtype=np.int64)
        for size in sizes:
            which = slice(at, at + size)
            ends = done + sum(kinds[which], np.zeros(len(self.rows), dtype=np.int64))
            rows = []
            for kind, all_rows in enumerate(self.rows):
                shared = len(all_rows) == 1
                some = all_rows if shared else all_rows.take(slice(done[kind], ends[kind]))
                rows.append(some.resize(int(some.indices.max(initial=-1)) + 1))
            yield Batch(
                self.shapes[which],
                rows,
                self.gold[which],
                None if self.weight is None else self.weight[which],
                None if self.own is None else self.own[which],
            )
            at, done = at + size, ends

    def _sites(self, i: int) -> Ints:
        topo = self.structure.topology(self.shapes[i])
        return np.bincount(self.structure.sites(topo).kind, minlength=len(self.rows))

    def written(
        self,
        folder: Path,
        sizes: Sequence[int] = (1, 4, 3, 2),
        loss: str = "log",
        block_bytes: int = 1000,
        **options: Any,
    ) -> Problem:
        writer = ProblemWriter(folder, block_bytes=block_bytes)
        for batch in self.batches(sizes):
            writer.add(batch)
        numbering = Numbering([rows.n_features for rows in self.rows])
        return writer.finish(
            self.structure, numbering, loss=make_loss(loss, self.structure.n_labels), **options
        )


def data(name: str, seed: int = 0, *, real: bool = False, shared: bool = False) -> Data:
    """Ten examples; with `shared`, tied sites have one row for all."""
    structure, shapes = (MORE[name], case("chain")[1]) if name in MORE else case(name)
    rng = np.random.default_rng(seed)
    topologies = make_topologies(structure, shapes)
    kinds = np.concatenate([structure.sites(topo).kind for topo in topologies])
    rows = []
    for kind, width in enumerate(structure.widths):
        n = int(np.count_nonzero(kinds == kind)) if width else 0
        dense = (rng.random((n, 7)) < 0.4).astype(float)
        if real:
            dense *= rng.normal(size=dense.shape)
        one = shared and structure.kinds[kind] in ("transition", "rule", "start", "end", "root")
        rows.append(Rows.from_dense(np.ones((1, 1))) if one else Rows.from_dense(dense))
    gold = []
    for topo in topologies:
        theta = rng.normal(size=structure.n_parts(topo))
        gold += structure.sample(theta, topo, 1, rng)
    return Data(structure, list(shapes), rows, gold)


def flat(problem: Problem) -> dict[str, Any]:
    found = {**problem.arrays._asdict(), **problem.arrays.design._asdict(), "reach": problem.reach}
    for name in ("marginals", "maximum", "design"):
        del found[name]
    return found


def same(ours: Problem, theirs: Problem) -> None:
    """Compare all arrays and numbers; those on disk have the types that compiled code knows."""
    for name, expected in flat(theirs).items():
        got = flat(ours)[name]
        if isinstance(expected, np.ndarray):
            assert got.dtype == expected.dtype, name
            assert got.flags.c_contiguous
            assert got.flags.writeable
            assert got.flags.aligned
        np.testing.assert_array_equal(got, expected, err_msg=name)
    assert (ours.work_size, ours.max_parts) == (theirs.work_size, theirs.max_parts)
    assert ours.arrays.marginals is theirs.arrays.marginals
    assert ours.arrays.maximum is theirs.arrays.maximum
    np.testing.assert_array_equal(ours.storage.first, theirs.storage.first)
    np.testing.assert_array_equal(ours.layout.slot, theirs.layout.slot)
    assert ours.layout.n_weights == theirs.layout.n_weights


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weights", ["all", "observed"])
def test_every_structure(tmp_path: Path, name: str, weights: str) -> None:
    some = data(name, shared=weights == "all")
    same(some.written(tmp_path / "x", weights=weights), some.built(weights=weights))


@pytest.mark.parametrize("name", NAMES)
def test_costs_and_values(tmp_path: Path, name: str) -> None:
    some = data(name, 1, real=True)
    some.weight = np.linspace(0.0, 2.0, 10)
    rule = WeightRule("observed", min_frequency=0.1)
    problem = some.written(tmp_path / "x", loss="hinge", weights=rule)
    same(problem, some.built("hinge", weights=rule))
    assert problem.arrays.cost.size
    assert problem.arrays.design.value.size


@pytest.mark.parametrize("name", ["plain-chain", "multiclass"])
def test_constraints(tmp_path: Path, name: str) -> None:
    some = data(name)
    last = some.structure.n_labels - 1
    some.gold = [np.minimum(y, last - 1) for y in some.gold]
    ruled = Constraints(labels=[last])
    problem = some.written(tmp_path / "x", constraints=ruled)
    same(problem, some.built(constraints=ruled))
    assert np.isneginf(problem.arrays.mask).any()


def test_own_constraints(tmp_path: Path) -> None:
    some = data("plain-chain")
    # Only the last batch has any, and examples of one shape share masks with those before.
    some.own = [None] * 9 + [Constraints(allowed=[(0, [int(some.gold[9][0])])])]
    problem = some.written(tmp_path / "x")
    same(problem, some.built())
    assert problem.arrays.mask.size


def test_own_constraints_of_trees(tmp_path: Path) -> None:
    some = data("projective")
    some.own = [
        ArcConstraints(heads=[(1, [int(y[0, 0])])]) if i % 2 else None
        for i, y in enumerate(some.gold)
    ]
    same(some.written(tmp_path / "x"), some.built())


def test_one_batch_or_many(tmp_path: Path) -> None:
    some = data("chain", real=True)
    same(some.written(tmp_path / "one", [10]), some.built())
    same(some.written(tmp_path / "many", [1] * 10), some.built())


def test_rows_that_stand_for_all_sites(tmp_path: Path) -> None:
    some = data("chain", shared=True)
    problem = some.written(tmp_path / "x", [1, 1, 8])
    same(problem, some.built())


def test_some_batches_have_values(tmp_path: Path) -> None:
    some = data("multiclass")
    rows = some.rows[0]
    values = np.ones(len(rows.indices))
    values[-1] = 2.0
    some.rows = [Rows(rows.indptr, rows.indices, values, rows.n_features)]
    writer = ProblemWriter(tmp_path / "x")
    batches = list(some.batches([5, 5]))
    plain = batches[0].rows[0]
    first = Batch(
        batches[0].shapes,
        [Rows(plain.indptr, plain.indices, None, plain.n_features)],
        batches[0].gold,
    )
    writer.add(first)
    writer.add(batches[1])
    problem = writer.finish(some.structure, Numbering([rows.n_features]), loss=make_loss("log", 4))
    same(problem, some.built())


def test_kept_features_and_new_labels(tmp_path: Path) -> None:
    some = data("plain-chain", real=True)
    mask = np.array([True, False, True, True, False, True, True])
    number = np.array([2, 0, 1])
    writer = ProblemWriter(tmp_path / "x")
    for batch in some.batches([6, 4]):
        writer.add(batch)
    problem = writer.finish(
        some.structure,
        Numbering([rows.n_features for rows in some.rows], [mask, None, None, None], number),
        loss=make_loss("log", 3),
        weights="observed",
    )
    some.rows[0] = some.rows[0].keep(mask)
    some.gold = [number[y] for y in some.gold]
    same(problem, some.built(weights="observed"))


def test_where_things_are(tmp_path: Path) -> None:
    problem = data("chain").written(tmp_path / "x", block_bytes=3000)
    room = problem.room
    assert isinstance(room, DiskRoom)
    assert room.n_blocks > 2
    for name in ("part_ptr", "gold_part", "weight"):
        assert is_mapped(getattr(problem.arrays, name)), name
    assert is_mapped(problem.arrays.design.start)
    assert is_mapped(problem.arrays.design.sparse_ptr)
    assert not is_mapped(problem.storage.first)
    # The spool is gone once the problem is laid out.
    assert not list((tmp_path / "x" / "spool").iterdir())


def test_a_label_that_is_none_names_its_example(tmp_path: Path) -> None:
    some = data("multiclass")
    some.gold[7] = np.array([4])
    with pytest.raises(DataError, match="example 7 "):
        some.written(tmp_path / "x")
    trees = data("projective")
    trees.gold[7] = np.zeros((4, 3), dtype=np.int64)
    with pytest.raises(DataError, match="example 7 "):
        trees.written(tmp_path / "y")


def test_a_gold_label_that_breaks_a_constraint(tmp_path: Path) -> None:
    some = data("plain-chain")
    which = next(i for i, y in enumerate(some.gold) if i > 5 and y[0] == some.gold[9][0])
    some.own = [None] * 10
    some.own[which] = Constraints(labels=[int(some.gold[9][0])])
    with pytest.raises(DataError, match=f"example {which} "):
        some.written(tmp_path / "x")


def test_what_is_refused(tmp_path: Path) -> None:
    writer = ProblemWriter(tmp_path / "x")
    with pytest.raises(DataError, match="no example"):
        writer.finish(Multiclass(2), Numbering([1]), loss=make_loss("log", 2))
    rows = Rows.from_dense([[1.0], [1.0]])
    gold = [np.array([0]), np.array([1])]
    known = Batch([1, 1], [rows], gold)
    with pytest.raises(MismatchError, match="known in part only"):
        writer.add(Batch([1, 1], [rows], gold, allowed=[None, Constraints(labels=[0])]))
    with pytest.raises(DataError, match="labels for 1 examples"):
        writer.add(Batch([1, 1], [rows], gold[:1]))
    with pytest.raises(DataError, match="finite"):
        writer.add(Batch([1, 1], [Rows.from_dense([[1.0], [np.inf]])], gold))
    writer.add(known)
    with pytest.raises(DataError, match="2 kinds"):
        writer.add(Batch([1, 1], [rows, rows], gold))
    with pytest.raises(DataError, match="feature 0"):
        writer.finish(Multiclass(2), Numbering([0]), loss=make_loss("log", 2))


def test_a_spool_that_somebody_changed(tmp_path: Path) -> None:
    writer = ProblemWriter(tmp_path / "x")
    for batch in data("multiclass").batches([5, 5]):
        writer.add(batch)
    spool = tmp_path / "x" / "spool" / "batches"
    writer._spool._file.flush()
    held = bytearray(spool.read_bytes())
    held[-10] ^= 1
    spool.write_bytes(held)
    with pytest.raises(DataError, match="was changed"):
        writer.finish(Multiclass(4), Numbering([7]), loss=make_loss("log", 4))
