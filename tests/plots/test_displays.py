from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib
import numpy as np
import pytest

from partwise import DependencyParser, LinearClassifier, LinearClassifierCV, SequenceTagger
from partwise.errors import DataError, MismatchError
from partwise.metrics.calibration import calibration
from partwise.plots import (
    CalibrationDisplay,
    ConfusionDisplay,
    ConvergenceDisplay,
    LearningCurveDisplay,
    PathDisplay,
    TransitionsDisplay,
)

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data() -> tuple[list[Any], list[list[str]]]:
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(24):
        labels = rng.choice(["A", "B", "O"], int(rng.integers(2, 6))).tolist()
        X.append([{"w": one if rng.random() < 0.7 else "?"} for one in labels])
        y.append(labels)
    return X, y


@pytest.fixture(scope="module")
def tagger(data: tuple[list[Any], list[list[str]]]) -> SequenceTagger:
    return SequenceTagger(l2=0.5).fit(*data)


def styles(ax: Any) -> list[tuple[str, str]]:
    return [(line.get_linestyle(), line.get_marker()) for line in ax.lines]


def test_convergence(tagger: SequenceTagger) -> None:
    display = ConvergenceDisplay.from_estimator(tagger)
    assert display.figure_ is display.ax_.figure
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("seconds", "relative gap")
    assert display.ax_.get_yscale() == "log"
    ends = [row for row in tagger.trace_ if row.certified]
    points = next(line for line in display.ax_.lines if line.get_marker() == "o")
    assert points.get_ydata()[-1] == pytest.approx(ends[-1].relative_gap)
    again = ConvergenceDisplay.from_trace(tagger.trace_, kind="objective", ax=display.ax_)
    assert again.ax_ is display.ax_
    # Primal and dual differ without colours too.
    assert {("--", "None"), ("None", "s"), ("None", "o")} <= set(styles(again.ax_))
    with pytest.raises(ValueError, match="kind"):
        ConvergenceDisplay(tagger.trace_).plot(kind="no")
    with pytest.raises(DataError, match="empty trace"):
        ConvergenceDisplay([])


def test_path() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    found = LinearClassifierCV(steps=3, l2_max=10.0, cv=2).fit(X, (X[:, 0] > 0).astype(int))
    display = PathDisplay.from_estimator(found, score_name="accuracy")
    assert display.ax_.get_ylabel() == "accuracy"
    assert display.ax_.xaxis_inverted()
    line = display.ax_.lines[0]
    assert line.get_ydata().tolist() == [row["score"] for row in found.path_]
    cost = PathDisplay.from_rows(found.path_, found.l2_, kind="passes")
    assert cost.ax_.lines[1].get_ydata()[-1] == sum(row["passes"] for row in found.path_)
    assert len(set(styles(cost.ax_))) == 2


def test_confusion_counts_tokens(tagger: SequenceTagger, data: Any) -> None:
    X, y = data
    display = ConfusionDisplay.from_estimator(tagger, X, y)
    flat = [label for labels in y for label in labels]
    guesses = [label for labels in tagger.predict(X) for label in labels]
    expected = [
        [sum(pair == (a, b) for pair in zip(flat, guesses, strict=True)) for b in "ABO"]
        for a in "ABO"
    ]
    assert display.confusion_matrix.tolist() == expected
    assert display.ax_.get_ylabel() == "right label"
    assert display.im_.get_cmap().name == "Greys"
    assert display.text_ is not None
    single = ConfusionDisplay.from_predictions(["a", "b", "a"], ["a", "a", "a"], normalize="true")
    assert single.confusion_matrix.tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_calibration_is_that_of_the_marginals(tagger: SequenceTagger, data: Any) -> None:
    X, y = data
    display = CalibrationDisplay.from_estimator(tagger, X, y)
    found, tables = tagger.predict(X), tagger.predict_marginals(X)
    index = {label: k for k, label in enumerate(tagger.classes_)}
    p = [t[i, index[a]] for t, of in zip(tables, found, strict=True) for i, a in enumerate(of)]
    right = [a == b for g, f in zip(y, found, strict=True) for a, b in zip(g, f, strict=True)]
    bins = calibration(p, right).bins
    assert display.prob_true == pytest.approx([one.correct for one in bins])
    assert display.prob_pred == pytest.approx([one.probability for one in bins])
    assert len(set(styles(display.ax_))) == 2


def test_calibration_of_others(data: Any) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] > 0).astype(int)
    model = LinearClassifier().fit(X, y)
    display = CalibrationDisplay.from_estimator(model, X, y)
    assert display.y_prob == pytest.approx(model.predict_proba(X).max(axis=1))
    hinge = SequenceTagger(loss="hinge", tol=0.1).fit(*data)
    with pytest.raises(MismatchError, match="no probabilities"):
        CalibrationDisplay.from_estimator(hinge, *data)
    words = [[{"form": "dogs"}, {"form": "bark"}], [{"form": "cats"}, {"form": "sleep"}]]
    parser = DependencyParser().fit(words, [[2, 0], [2, 0]])
    with pytest.raises(MismatchError, match="not those of labels of tokens"):
        CalibrationDisplay.from_estimator(parser, words, [[2, 0], [2, 0]])


def test_transitions_are_those_of_the_model(tagger: SequenceTagger) -> None:
    display = TransitionsDisplay.from_estimator(tagger)
    table = {row.label: row.weight for row in tagger.model_.explain_weights(None, transitions=True)}
    for (a, b), weight in np.ndenumerate(display.weights):
        assert weight == table.get(f"{display.labels[a]} -> {display.labels[b]}", 0.0)
    assert np.abs(display.weights).max() > 0.1
    # Signs are written, since colours alone do not tell them apart on paper.
    assert display.text_[0, 1].get_text()[0] in "+-0"
    assert display.ax_.get_ylabel() == "label before it"
    names = [f"L{k}" for k in range(20)]
    many = TransitionsDisplay(np.eye(20) - 0.5, names).plot()
    assert (many.text_[0, 0].get_text(), many.text_[0, 1].get_text()) == ("+", "-")
    with pytest.raises(DataError, match="one weight per pair"):
        TransitionsDisplay(np.zeros((2, 3)), ["a", "b"])


def test_learning_curve(data: Any) -> None:
    X, y = data
    display = LearningCurveDisplay.from_estimator(
        SequenceTagger(tol=0.1), X, y, cv=2, train_sizes=[0.5, 1.0], score_name="token accuracy"
    )
    assert display.ax_.get_xlabel() == "number of training examples"
    assert display.ax_.get_ylabel() == "token accuracy"
    assert styles(display.ax_) == [("-", "o"), ("--", "s")]


def long_labels() -> tuple[list[list[str]], list[list[str]]]:
    names = ["B-ORGANISATION-INTERNATIONAL", "I-ORGANISATION-INTERNATIONAL", "O"]
    return [names * 3], [[*names * 2, *reversed(names)]]


def check_whole(figure: Any) -> None:
    """Everything that is drawn is within the figure."""
    figure.canvas.draw()
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert box.x0 >= -0.02
    assert box.y0 >= -0.02
    assert box.x1 <= width + 0.02
    assert box.y1 <= height + 0.02


def test_nothing_is_cut_off(tagger: SequenceTagger) -> None:
    right, found = long_labels()
    display = ConfusionDisplay.from_predictions(right, found)
    check_whole(display.figure_)
    assert display.plot().ax_.get_xlabel() == "predicted label"
    check_whole(display.figure_)
    X = [[{"w": label} for label in labels] for labels in right]
    check_whole(TransitionsDisplay.from_estimator(SequenceTagger().fit(X, right)).figure_)
    odds = CalibrationDisplay.from_predictions([True, False], [0.9, 0.4], n_bins=2)
    check_whole(odds.figure_)
    assert odds.plot().ax_.get_ylabel() == "fraction that is right"
    check_whole(ConvergenceDisplay.from_estimator(tagger).figure_)


def test_the_figure_of_the_user_stays_as_it_is() -> None:
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2)
    before = figure.get_layout_engine()
    assert ConfusionDisplay.from_predictions(*long_labels(), ax=left).ax_ is left
    odds = CalibrationDisplay.from_predictions([True, False], [0.9, 0.4], n_bins=2, ax=right)
    assert odds.ax_ is right
    assert figure.get_layout_engine() is before
