from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("resource", reason="the benchmarks count CPU time by POSIX calls")

from benchmarks import sequences
from partwise.models.model import Model
from partwise.tasks.sequences.features import PositionFeatures
from partwise.training.loop import train


def test_windows_have_marks_beyond_the_ends() -> None:
    first, last = sequences.window(
        [("He", "P", "O"), ("ran", "V", "O")], [("w", (-2,)), ("pos", (0, 1)), ("shape", (0,))]
    )
    assert first == [(0, "<2"), (1, "P", "V"), (2, "Xx")]
    assert last == [(0, "<1"), (1, "V", ">1"), (2, "x")]


def test_rare_attributes_are_left_out() -> None:
    sentences = [[("a", "A", "x"), ("b", "B", "y")], [("a", "A", "y")]]
    made = sequences.text(sentences, [("w", (0,)), ("pos", (0,))], min_count=2)
    assert made.rows.n_features == 2
    assert np.diff(made.rows.indptr).tolist() == [2, 0, 2]
    assert made.lengths.tolist() == [2, 1]
    assert [gold.tolist() for gold in made.gold] == [[0, 1], [1]]


def test_letters_are_words_of_pixels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ocr_letters").mkdir()
    lines = [("1", "o", "2"), ("2", "m", "-1"), ("3", "o", "-1")]
    pixels = "\t".join(["1", "0"] * 64)
    content = "".join("\t".join([*line, "1", "1", "0", pixels]) + "\n" for line in lines)
    path = tmp_path / "ocr_letters" / "letter.data.gz"
    path.write_bytes(gzip.compress(content.encode()))
    monkeypatch.setenv("PARTWISE_DATA", str(tmp_path))
    made = sequences.letters()
    assert made.lengths.tolist() == [2, 1]
    assert made.n_labels == 2
    assert made.rows.n_features == 129
    assert np.diff(made.rows.indptr).tolist() == [65, 65, 65]


def test_others_have_the_features_and_labels_of_the_first() -> None:
    first = [[("a", "A", "x"), ("b", "B", "y")], [("a", "A", "y")]]
    others = [[("b", "A", "y"), ("c", "C", "z")]]
    made = sequences.text(first, [("w", (0,)), ("pos", (0,))], min_count=2, test=others)
    assert made.test is not None
    assert made.rows.indices.tolist() == [0, 1, 0, 1]
    # "b" is rare, A is not, and nothing of the last token is known.
    assert made.test.rows.indices.tolist() == [1]
    assert np.diff(made.test.rows.indptr).tolist() == [1, 0]
    assert [gold.tolist() for gold in made.test.gold] == [[1, -1]]


@pytest.mark.parametrize("tied", [True, False])
def test_the_error_is_that_of_the_model(tied: bool) -> None:
    made = sequences.demo_text(30, 20)
    assert made.test is not None
    problem = made.build(tied=tied)
    fit = train(problem, 1.0, tol=1e-3)
    wrong = made.error(problem)
    reader = PositionFeatures(made.rows.n_features)
    labels = tuple(range(made.n_labels))
    model = Model(
        "tag", problem.structure, problem.layout, fit.weights, labels, reader, None, "log", 1.0,
        fit.certificate,
    )  # fmt: skip
    parts = np.split(np.arange(made.test.lengths.sum()), np.cumsum(made.test.lengths)[:-1])
    dense = made.test.rows.to_scipy()
    found = model.predict([dense[part] for part in parts])
    pairs = zip(np.concatenate(found), np.concatenate(made.test.gold), strict=True)
    expected = 100.0 * np.mean([x != y for x, y in pairs])
    assert wrong(fit.weights) == pytest.approx(expected)
    assert wrong(fit.weights) < 0.5 * wrong(np.zeros(len(fit.weights)))
