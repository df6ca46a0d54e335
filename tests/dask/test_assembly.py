"""Blocks that are read apart are the blocks of the problem that one machine lays out."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import grammar_of_arcs, grammar_of_phrases

from partwise.dask.pieces import FilePiece, Measured, cut
from partwise.dask.shard import Assembly, Shard, assemble_blocks
from partwise.datasets import tagged_text
from partwise.errors import DataError
from partwise.formats.brackets import write_brackets
from partwise.formats.columns import write_columns
from partwise.formats.conll import write_conll
from partwise.problem.problem import Problem
from partwise.problem.storage import Storage
from partwise.problem.subset import subset
from partwise.tasks.registry import task_of


def classes(path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = []
    for i in range(90):
        # Later lines have features that the first ones have not.
        some = np.sort(rng.choice(20 + i // 4, 5, replace=False)) + 1
        lines.append(f"{rng.integers(3)} " + " ".join(f"{k}:{k * 0.5}" for k in some))
    path.write_text("\n".join(lines) + "\n")


FILES: dict[str, Callable[[Path], None]] = {
    "tag": lambda path: write_columns(path, tagged_text(50)),
    "classify": classes,
    "parse": lambda path: write_conll(
        path, [*grammar_of_arcs.treebank(30), grammar_of_arcs.crossing()]
    ),
    "brackets": lambda path: write_brackets(path, grammar_of_phrases.treebank(40)),
}
CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("tag", {}, {}),
    ("tag", {"min_count": 2, "transition_features": True}, {"weights": "observed"}),
    ("tag", {"class_weight": "balanced", "constraints": "BIO", "start_end": True}, {}),
    ("tag", {"class_weight": {"B-NP": 2.0, "O": 0.0}, "order": 2}, {"loss": "hinge"}),
    ("tag", {"hashing": 512, "transition_features": True}, {}),
    ("tag", {"spelling": True, "min_frequency": 2.0}, {}),
    ("parse", {}, {}),
    ("parse", {"labelled": True, "min_count": 2}, {"weights": "observed"}),
    ("parse", {"nonprojective": "skip"}, {"loss": "hinge"}),
    ("parse", {"hashing": 512, "trees": "any"}, {}),
    ("brackets", {}, {}),
    ("brackets", {"max_length": 8, "predict_tags": True, "min_count": 2}, {}),
    ("brackets", {"splits": True, "vertical": 2}, {"weights": "observed"}),
    ("brackets", {"hashing": 512}, {"loss": "hinge"}),
]


class Enough(Exception):
    """Ends a fit before its first epoch."""


def in_memory(task: Any, given: dict[str, Any], how: Any, path: str) -> tuple[Problem, Any, Any]:
    """The problem of one machine, its features and its labels."""
    found: list[Any] = []

    def train_model(name: str, prepared: Any, settings: Any, **more: Any) -> Any:
        found.extend((prepared.problem, prepared.features, prepared.labels))
        raise Enough

    with patch("partwise.models.fit.train_model", train_model), pytest.raises(Enough):
        how._train(task.read(path, given))
    return found[0], found[1], found[2]


def in_blocks(
    name: str, given: dict[str, Any], how: Any, path: str, blocks: int
) -> tuple[list[Shard], Assembly]:
    """The same, with everything that is told to a block sent as it is sent to a worker."""
    whole = FilePiece(name, path, given)
    measured = whole.measure()
    shards, first = [], 0
    for k, pieces in enumerate(cut([measured], blocks)):
        mine = [whole.between(begin, end) for _, begin, end in pieces]
        shards.append(Shard(k, mine, first, None))
        first += sum(end - begin for _, begin, end in pieces)

    def call(method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        sent = pickle.loads(pickle.dumps(list(arguments)))
        found = [getattr(one, method)(*args) for one, args in zip(shards, sent, strict=True)]
        return list(pickle.loads(pickle.dumps(found)))

    made = assemble_blocks(call, len(shards), how)
    for shard in shards:
        sent = pickle.loads(pickle.dumps(made.blueprint))
        shard.build(sent, Storage.spread(sent.layout))
    return shards, made


def check_equal(one: Problem, other: Problem) -> None:
    for name, held in one.arrays._asdict().items():
        if name in ("marginals", "maximum", "design", "mask", "mask_ptr"):
            continue
        np.testing.assert_array_equal(held, getattr(other.arrays, name), err_msg=name)
    for name, held in one.arrays.design._asdict().items():
        if name != "widest":
            np.testing.assert_array_equal(held, getattr(other.arrays.design, name), err_msg=name)
    np.testing.assert_array_equal(one.reach, other.reach)
    # Blocks share the masks of equal shapes among themselves.
    sizes = np.diff(one.arrays.part_ptr)
    if one.arrays.mask.size or other.arrays.mask.size:
        for i, size in enumerate(sizes):
            masks = [p.arrays.mask[p.arrays.mask_ptr[i] :][:size] for p in (one, other)]
            np.testing.assert_array_equal(*masks)


@pytest.mark.parametrize(("name", "options", "more"), CASES)
def test_blocks_are_those_of_one_machine(
    name: str, options: dict[str, Any], more: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "train"
    FILES[name](path)
    task = task_of(name)
    given = {**task.defaults("train"), **options}
    whole, features, labels = in_memory(task, given, task.make(more, given), str(path))
    shards, made = in_blocks(name, given, task.make(more, given), str(path), 3)
    layout = made.blueprint.layout
    np.testing.assert_array_equal(layout.first, whole.layout.first)
    np.testing.assert_array_equal(layout.slot, whole.layout.slot)
    assert layout.n_features == whole.layout.n_features
    assert made.prepared.features.to_json() == features.to_json()
    for key, array in features.arrays().items():
        np.testing.assert_array_equal(made.prepared.features.arrays()[key], array, err_msg=key)
    assert list(made.prepared.labels) == list(labels)
    first = 0
    for shard in shards:
        assert shard.problem is not None
        examples = np.arange(first, first + shard.problem.n_examples)
        check_equal(shard.problem, subset(whole, examples))
        first += len(examples)
    assert first == whole.n_examples


def test_a_classifier_keeps_the_order_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "train"
    classes(path)
    task = task_of("classify")
    given = task.defaults("train")
    one, made = in_blocks("classify", given, task.make({}, given), str(path), 1)
    several, again = in_blocks("classify", given, task.make({}, given), str(path), 4)
    np.testing.assert_array_equal(made.blueprint.layout.first, again.blueprint.layout.first)
    assert list(made.prepared.labels) == list(again.prepared.labels) == ["0", "1", "2"]
    first = 0
    for shard in several:
        assert shard.problem is not None
        assert one[0].problem is not None
        examples = np.arange(first, first + shard.problem.n_examples)
        check_equal(shard.problem, subset(one[0].problem, examples))
        first += len(examples)
    assert first == 90


def test_a_file_that_changes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "train"
    classes(path)
    piece = FilePiece("classify", str(path), task_of("classify").defaults("train"))
    sure = FilePiece(piece.task, piece.path, piece.given, sha256=piece.measure().sha256)
    assert sum(len(source) for source in sure.sources()) == 90
    path.write_text(path.read_text() + "1 1:2\n")
    with pytest.raises(DataError, match="the file is not the one that was read before"):
        list(sure.sources())
    with pytest.raises(DataError, match="a worker cannot read it: No such file"):
        FilePiece("classify", str(tmp_path / "none"), piece.given, sha256="0").sources()


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(1, 12))
def test_pieces_are_cut_into_even_blocks(sizes: list[int], blocks: int) -> None:
    measured = [Measured(n) for n in sizes]
    if not sum(sizes):
        with pytest.raises(DataError, match="there are no examples"):
            cut(measured, blocks)
        return
    found = cut(measured, blocks)
    assert len(found) == min(blocks, sum(sizes))
    flat = [(number, i) for block in found for number, a, b in block for i in range(a, b)]
    assert flat == [(number, i) for number, n in enumerate(sizes) for i in range(n)]
    held = [sum(b - a for _, a, b in block) for block in found]
    assert max(held) - min(held) <= 1
