"""Out of core, every task makes the problem and the features that it makes in memory."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import random as random_sparse
from support import grammar_of_arcs, grammar_of_phrases, graph_data
from support.laid_out import laid_out, same
from support.sentences import sentences

from partwise import (
    ConstituencyParser,
    DataError,
    DependencyParser,
    GraphLabeler,
    KernelTagger,
    LinearClassifier,
    SegmentTagger,
    SequenceTagger,
    SequenceTaggerCV,
    load_model,
    save_model,
)
from partwise.formats.brackets import write_brackets
from partwise.formats.columns import read_columns, write_columns
from partwise.formats.conll import write_conll
from partwise.tasks.registry import task_of
from partwise.tasks.stream import FileStream, IteratorStream

Fit = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "work"


# Files


def columns_file(path: Path, n: int = 60) -> str:
    from partwise.datasets import tagged_text

    write_columns(path, tagged_text(n))
    return str(path)


def svmlight_file(path: Path, n: int = 200) -> str:
    rng = np.random.default_rng(0)
    lines = []
    for i in range(n):
        # Later lines have features that the first ones have not.
        some = np.sort(rng.choice(20 + i // 4, 5, replace=False)) + 1
        pairs = " ".join(f"{k}:{v:.3f}" for k, v in zip(some, rng.normal(size=5), strict=True))
        lines.append(f"{rng.integers(3)} {pairs}")
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def conll_file(path: Path) -> str:
    write_conll(path, [*grammar_of_arcs.treebank(30), grammar_of_arcs.crossing()])
    return str(path)


def trees_file(path: Path) -> str:
    write_brackets(path, grammar_of_phrases.treebank(40))
    return str(path)


def graphs_file(path: Path) -> str:
    rng = np.random.default_rng(0)
    lines = []
    for g in range(40):
        n = int(rng.integers(2, 6))
        label = rng.integers(0, 3, n)
        lines += [
            f"node v{v} L{label[v]} c{label[v]} w{rng.integers(9)}:{rng.random():.3f}"
            for v in range(n)
        ]
        # The features of edges, and factors of three, come late.
        tail = f" b{rng.integers(4)}" if g > 20 else ""
        lines += [f"edge v{v - 1} v{v}{tail}" for v in range(1, n)]
        lines += ["factor triple v0,v1,v2"] if n > 2 and g > 30 else []
        lines.append("")
    path.write_text("\n".join(lines) + "\n")
    return str(path)


FILES: dict[str, Callable[[Path], str]] = {
    "tag": columns_file,
    "segment": columns_file,
    "classify": svmlight_file,
    "parse": conll_file,
    "brackets": trees_file,
    "graph": graphs_file,
}
CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("tag", {}, {}),
    ("tag", {"min_count": 2, "transition_features": True}, {"weights": "observed"}),
    ("tag", {"class_weight": "balanced", "constraints": "BIO", "start_end": True}, {}),
    ("tag", {"class_weight": {"B-NP": 2.0, "O": 0.0}, "order": 2}, {"loss": "hinge"}),
    ("tag", {"hashing": 512, "transition_features": True}, {}),
    ("tag", {"spelling": True, "min_frequency": 2.0, "untied": True}, {}),
    ("segment", {}, {}),
    ("segment", {"segment_features": "text", "min_count": 2}, {}),
    ("segment", {"segment_features": "text", "class_weight": "balanced", "tags": "IOB2"}, {}),
    ("segment", {"segment_features": "text", "hashing": 512}, {"loss": "softmax-margin"}),
    ("parse", {}, {}),
    ("parse", {"labelled": True, "min_count": 2}, {"weights": "observed"}),
    ("parse", {"nonprojective": "skip"}, {"loss": "hinge"}),
    ("parse", {"hashing": 512, "trees": "any"}, {}),
    ("brackets", {}, {}),
    ("brackets", {"max_length": 8, "predict_tags": True, "min_count": 2}, {}),
    ("brackets", {"splits": True, "vertical": 2}, {"weights": "observed"}),
    ("brackets", {"hashing": 512}, {"loss": "hinge"}),
    ("graph", {}, {}),
    ("graph", {"symmetric": True}, {"loss": "hinge"}),
    ("graph", {"constant": False, "hashing": 16}, {}),
]


def trainer(name: str, options: dict[str, Any], more: dict[str, Any]) -> tuple[Any, Any, Any]:
    task = task_of(name)
    given = {**task.defaults("train"), **options}
    return task, given, task.make(more, given)


@pytest.mark.parametrize(("name", "options", "more"), CASES)
@pytest.mark.parametrize("again", [True, False])
def test_a_file_in_parts_is_the_file_at_once(
    name: str, options: dict[str, Any], more: dict[str, Any], again: bool, tmp_path: Path
) -> None:
    path = FILES[name](tmp_path / "train")
    task, given, in_memory = trainer(name, options, more)
    _, _, on_disk = trainer(name, options, {**more, "out_of_core": tmp_path / "work"})
    stream = FileStream(task, path, given, 500)
    # What cannot be read again is written to disk.
    stream.again = again
    assert len(list(stream.batches())) > 2
    memory = laid_out(lambda: in_memory._train(task.read(path, given)))
    same(laid_out(lambda: on_disk._train(stream)), memory)
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("more", [{}, {"hashing": 32}, {"min_count": 12}])
def test_examples_to_classify_keep_their_order(more: dict[str, Any], tmp_path: Path) -> None:
    # In memory equal examples are merged, and brought into an order of their own.
    path = svmlight_file(tmp_path / "train")
    task, given, _ = trainer("classify", more, {})
    _, _, on_disk = trainer("classify", more, {"out_of_core": tmp_path / "work", "tol": 1e-8})
    _, _, in_memory = trainer("classify", more, {"tol": 1e-8})
    on_disk._train(FileStream(task, path, given, 500))
    in_memory._train(task.read(path, given))
    one, other = on_disk.model_, in_memory.model_
    assert one.features.to_json() == other.features.to_json()
    assert one.labels == other.labels
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-7)
    dense = [model.layout.dense(model.weights, 0) for model in (one, other)]
    np.testing.assert_allclose(*dense, atol=0.02)


# Python


def tagged(n: int = 40) -> tuple[list[Any], list[Any]]:
    return sentences(n)


def matrices() -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(length, 4)) * (rng.random((length, 4)) < 0.7) for length in [3, 1, 5] * 9]
    return X, [rng.integers(0, 3, len(x)).tolist() for x in X]


def graphs() -> tuple[list[Any], list[Any]]:
    found = graph_data.grids(12)
    return list(found[0]), list(found[1])


def fits() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    X, y = tagged()
    arcs = grammar_of_arcs.treebank(30)
    heads, relations = [s.head for s in arcs], [s.deprel for s in arcs]
    return {
        "named": (SequenceTagger, (X, y)),
        "matrices": (SequenceTagger, matrices()),
        "segments": (SegmentTagger, (X, [[(0, 1, t[0])] for t in y])),
        "graphs": (GraphLabeler, graphs()),
        "arcs": (DependencyParser, (arcs, heads, relations)),
        "phrases": (ConstituencyParser, (grammar_of_phrases.treebank(30),)),
    }


@pytest.mark.parametrize("name", list(fits()))
def test_iterators_are_lists(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partwise.tasks.stream.BATCH", 7)
    kind, data = fits()[name]
    memory = laid_out(lambda: kind().fit(*data))
    same(laid_out(lambda: kind(out_of_core=folder).fit(*data)), memory)
    same(laid_out(lambda: kind(out_of_core=folder).fit(*map(iter, data))), memory)
    if len(data) == 2:
        pairs = zip(*data, strict=True)
        same(laid_out(lambda: kind(out_of_core=str(folder)).fit(pairs)), memory)


def test_a_matrix_is_read_some_rows_at_a_time(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("partwise.tasks.sequences.classifier._BATCH_VALUES", 100)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 6)), rng.integers(0, 3, 90)
    mapped = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    pairs = [(X[:40], y[:40]), (X[40:], y[40:])]
    sparse = random_sparse(90, 6, 0.5, random_state=0, format="csr")
    one = laid_out(lambda: LinearClassifier(out_of_core=folder).fit(mapped, y))
    assert one.arrays["weight"].shape == (90,)
    for given in ((iter(pairs),), (X, y), (X.tolist(), y.tolist())):
        other = laid_out(lambda given=given: LinearClassifier(out_of_core=folder).fit(*given))
        for name, array in one.arrays.items():
            np.testing.assert_array_equal(other.arrays[name], array)
    found = laid_out(lambda: LinearClassifier(out_of_core=folder).fit(sparse, y))
    assert len(found.arrays["start"]) == sparse.nnz + 90
    fitted = LinearClassifier(out_of_core=folder).fit(iter(pairs))
    assert fitted.score(X, y) > 0.4
    assert fitted.classes_.tolist() == [0, 1, 2]


def test_examples_of_weight_0_are_left_out(folder: Path) -> None:
    X, y = tagged()
    weight = np.arange(40) % 3 * 0.5
    memory = laid_out(lambda: SequenceTagger().fit(X, y, sample_weight=weight))
    found = laid_out(lambda: SequenceTagger(out_of_core=folder).fit(iter(X), iter(y), weight))
    same(found, memory)
    assert len(found.arrays["weight"]) == np.count_nonzero(weight)


def test_weights_of_a_file_count(folder: Path, tmp_path: Path) -> None:
    lines = [f"@weight:{k % 3}\n{'AB'[k % 2]}\tx{k % 5}\n\n" for k in range(60)]
    (tmp_path / "train").write_text("".join(lines))
    task, given, _ = trainer("tag", {"format": "crfsuite"}, {})
    stream = FileStream(task, str(tmp_path / "train"), given, 200)
    _, _, on_disk = trainer("tag", {}, {"out_of_core": folder})
    found = laid_out(lambda: on_disk._train(stream, np.full(60, 2.0)))
    np.testing.assert_array_equal(found.arrays["weight"], [2.0, 4.0] * 20)
    with pytest.raises(DataError, match="59 numbers, and there are more examples"):
        on_disk._train(stream, np.ones(59))
    with pytest.raises(DataError, match="61 numbers where there are 60 examples"):
        on_disk._train(stream, np.ones(61))


# Models


@pytest.mark.parametrize("hashing", [None, 256])
@pytest.mark.parametrize("name", ["named", "segments", "graphs", "arcs", "phrases"])
def test_models_are_saved_and_predict(
    name: str, hashing: int | None, folder: Path, tmp_path: Path
) -> None:
    kind, data = fits()[name]
    how = {"tol": 1e-2, "l2": 1.0, "hashing": hashing}
    fitted = kind(**how, out_of_core=folder).fit(*map(iter, data))
    assert fitted.certificate_.converged
    assert not folder.exists()
    save_model(fitted.model_, tmp_path / "model")
    again = kind.from_model(load_model(tmp_path / "model"))
    assert again.hashing == hashing
    assert again.out_of_core is None
    assert list(again.predict(data[0])) == list(fitted.predict(data[0]))


def test_hashed_features_share_weights_and_count_once(folder: Path) -> None:
    X = [[["a", "b", "c", "a"]], [["b"]], [["c"]]]
    y = [["x"], ["y"], ["y"]]
    tagger = SequenceTagger(hashing=2).fit(X, y)
    slots = tagger.vocabulary_.find(["a", "b", "c"]).tolist()
    assert set(slots) <= {0, 1}
    assert tagger.coef_.shape == (2, 2)
    assert len(tagger.vocabulary_) == 2
    assert tagger.vocabulary_.names == ("hash 0 of 2", "hash 1 of 2")
    same(laid_out(lambda: SequenceTagger(hashing=2, out_of_core=folder).fit(X, y)),
         laid_out(lambda: SequenceTagger(hashing=2).fit(X, y)))  # fmt: skip
    # New names have slots too.
    assert tagger.predict([[["new"]]])[0][0] in "xy"


def test_a_hashed_model_starts_from_one_like_it() -> None:
    X, y = tagged()
    first = SequenceTagger(hashing=64, tol=1e-6, warm_start=True).fit(X, y)
    first.fit(X[:30], y[:30])
    assert first.started_from_ is not None
    first.hashing = 128
    with pytest.raises(DataError, match="only if their number is the same"):
        first.fit(X[:20], y[:20])


# What cannot be done


def test_what_needs_memory_is_refused(folder: Path) -> None:
    X, y = tagged()
    hidden = [[None, *labels[1:]] for labels in y]
    cases: list[tuple[Fit, str]] = [
        (lambda: SequenceTagger(out_of_core=folder).fit(X, hidden), "sequence 0, position 0"),
        (lambda: SequenceTagger(out_of_core=folder, warm_start=True).fit(X, y), "warm_start"),
        (lambda: SequenceTagger(out_of_core=3).fit(X, y), "out_of_core is 3; give the path"),
        (lambda: SequenceTagger(out_of_core="").fit(X, y), "out_of_core is ''"),
        (lambda: SequenceTagger(hashing=100).fit(X, y), "hashing is 100; give a power of two"),
        (lambda: SequenceTagger(hashing=64, min_count=2).fit(X, y), "keeps no counts"),
        (lambda: ConstituencyParser(hashing=3).fit([]), "hashing is 3"),
        (lambda: GraphLabeler(hashing=3).fit([], []), "hashing is 3"),
        (lambda: LinearClassifier(hashing=1).fit([[1.0]], [1]), "hashing is 1"),
    ]
    for fit, why in cases:
        with pytest.raises(DataError, match=why):
            fit()
    assert not folder.exists()
    for kind in (KernelTagger, SequenceTaggerCV):
        with pytest.raises(TypeError, match="out_of_core"):
            kind(out_of_core=folder)


def test_partial_labels_of_all_tasks_are_refused(folder: Path) -> None:
    arcs = grammar_of_arcs.treebank(3)
    heads: list[Any] = [list(s.head) for s in arcs]
    heads[2][0] = None
    trees = grammar_of_phrases.treebank(3)
    nodes, labels = graphs()
    labels[1] = [None, *labels[1][1:]]
    X, y = tagged(3)
    cases: list[tuple[Fit, str]] = [
        (lambda: DependencyParser(out_of_core=folder).fit(iter(arcs), heads), "sentence 2 "),
        (
            lambda: ConstituencyParser(out_of_core=folder).fit(trees, [None, [(0, 2)], None]),
            "tree 1 ",
        ),
        (lambda: GraphLabeler(out_of_core=folder).fit(nodes, labels), "example 1, vertex 0"),
        (
            lambda: SegmentTagger(out_of_core=folder).fit(X, [y[0], y[1], [None] * len(y[2])]),
            "sequence 2 ",
        ),
        (lambda: LinearClassifier(out_of_core=folder).fit([[1.0], [2.0]], [None, 1]), "missing"),
    ]
    for fit, where in cases:
        with pytest.raises(DataError, match=where) as caught:
            fit()
        assert "memory" in str(caught.value)


def test_examples_are_counted_over_all_batches(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("partwise.tasks.stream.BATCH", 4)
    X, y = tagged(10)
    wrong = [*X[:9], [3.5, 1.0]]
    with pytest.raises(DataError, match="sequence 9, token 0"):
        SequenceTagger(out_of_core=folder).fit(iter(wrong), iter([*y[:9], ["A", "B"]]))
    with pytest.raises(DataError, match=r"sequence 9 .* has 2 tokens in X and 1 labels"):
        SequenceTagger(out_of_core=folder).fit(iter([*X[:9], X[9][:2]]), iter([*y[:9], ["A"]]))
    with pytest.raises(DataError, match=r"y\[9\] is the single label 'A'"):
        SequenceTagger(out_of_core=folder).fit(iter(X), iter([*y[:9], "A"]))
    with pytest.raises(DataError, match="y has 9 examples, and X has more"):
        SequenceTagger(out_of_core=folder).fit(iter(X), iter(y[:9]))
    with pytest.raises(DataError, match=r"example 9 .* is a list; without y"):
        SequenceTagger(out_of_core=folder).fit(iter([*zip(X[:9], y[:9], strict=True), X[9][:1]]))
    labels: list[Any] = [*y[:8], [1] * len(y[8]), [1] * len(y[9])]
    with pytest.raises(DataError, match=r"sequence 8, position 0 .* is of type int"):
        SequenceTagger(out_of_core=folder).fit(iter(X), iter(labels))
    # A pair of labels that first comes late is named where it comes.
    labels = [["A"] * len(x) for x in X]
    labels[7] = ["B", *labels[7][1:]]
    monkeypatch.undo()
    found = []
    for how in ({}, {"out_of_core": folder}):
        with pytest.raises(DataError) as caught:
            SequenceTagger(constraints=[("B", "A")], **how).fit(X, labels)
        found.append(str(caught.value))
    assert found[0] == found[1]
    assert "sequence 7, position 1" in found[0]


def test_one_kind_of_features(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partwise.tasks.stream.BATCH", 1)
    y = [["A", "B"]] * 2
    with pytest.raises(DataError, match="some examples have features by name, and others rows"):
        SequenceTagger(out_of_core=folder).fit(iter([["a", "b"], np.eye(2)]), iter(y))
    with pytest.raises(DataError, match="3 features where those before have 2"):
        SequenceTagger(out_of_core=folder).fit(iter([np.eye(2), np.ones((2, 3))]), iter(y))
    with pytest.raises(DataError, match="one class only, 'A'"):
        SequenceTagger(out_of_core=folder).fit(iter([["a"], ["b"]]), iter([["A"], ["A"]]))
    with pytest.raises(DataError, match="there are no examples"):
        SequenceTagger(out_of_core=folder).fit(iter([]), iter([]))
    with pytest.raises(DataError, match="all sample weights are zero"):
        SequenceTagger(out_of_core=folder).fit(iter([["a"]]), iter([["A"]]), sample_weight=[0.0])
    with pytest.raises(DataError, match="names the class 'C', which does not occur"):
        SequenceTagger(out_of_core=folder, class_weight={"C": 1.0}).fit(iter([["a", "b"]]), [y[0]])


def test_data_that_change_between_two_readings_are_noticed(folder: Path) -> None:
    trees = grammar_of_phrases.treebank(8)
    sizes = iter([8, 7])

    def batches() -> Iterator[Any]:
        from partwise.tasks.constituency.examples import Trees

        yield Trees(trees[: next(sizes)])

    parser = ConstituencyParser(out_of_core=folder)
    with pytest.raises(DataError, match="7 examples, where there were 8 when they were first read"):
        parser._train(IteratorStream(batches, again=True))
    assert not folder.exists()


# Memory


def test_a_fit_that_takes_too_much_names_the_folder() -> None:
    X, y = tagged()
    with pytest.raises(DataError, match=r"memory_limit is 10 KiB; .*--out-of-core DIR"):
        SequenceTagger(memory_limit="10KiB").fit(X, y)
    SequenceTagger(memory_limit="1GB", tol=0.1).fit(X, y)
    SequenceTagger(memory_limit=1000, tol=0.1).fit(X, y)


def test_the_blocks_follow_from_the_memory(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    X, y = tagged(2000)
    with caplog.at_level("INFO", "partwise"):
        SequenceTagger(out_of_core=folder, memory_limit="8MiB", tol=0.1).fit(X, y)
    (said,) = [one.message for one in caplog.records if "on disk" in one.message]
    assert f"on disk, in {folder}: " in said
    assert " 1 blocks" not in said
    assert "in memory: about" in said
    with pytest.raises(DataError, match="memory_limit is 10 KiB; raise it, or have fewer weights"):
        SequenceTagger(out_of_core=folder, memory_limit="10KiB").fit(X, y)
    assert not folder.exists()


@pytest.mark.parametrize("given", ["4XB", "", "-1", "inf", 0, -3, True, 2**30, "5 GB!", [1]])
def test_sizes_that_are_none(given: Any) -> None:
    with pytest.raises(DataError, match="give a size such as 4GB"):
        SequenceTagger(memory_limit=given).fit([["a", "b"]], [["A", "B"]])


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    X, y = tagged()
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("")
    for name, why in (("file", "is no folder"), ("full", "holds other files, such as 'mine'")):
        with pytest.raises(DataError, match=why):
            SequenceTagger(out_of_core=tmp_path / name).fit(X, y)
    assert sorted(os.listdir(tmp_path / "full")) == ["mine"]
    (tmp_path / "empty").mkdir()
    SequenceTagger(out_of_core=tmp_path / "empty", tol=0.1).fit(X, y)
    assert not os.listdir(tmp_path / "empty")


def test_stdin_is_spooled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = conll_file(tmp_path / "train")
    task, given, in_memory = trainer("parse", {}, {})
    _, _, on_disk = trainer("parse", {}, {"out_of_core": tmp_path / "work"})
    memory = laid_out(lambda: in_memory._train(task.read(path, given)))
    stdin = io.TextIOWrapper(io.BytesIO(Path(path).read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    same(laid_out(lambda: on_disk._train(FileStream(task, "-", given, 1000))), memory)


def test_a_file_that_was_read_is_cut(folder: Path, tmp_path: Path) -> None:
    columns = read_columns(columns_file(tmp_path / "train"))
    memory = laid_out(lambda: SequenceTagger().fit(columns))
    same(laid_out(lambda: SequenceTagger(out_of_core=folder).fit(columns)), memory)
