"""Displays of scikit-learn for what partwise predicts: confusions, calibration, learning curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.calibration import CalibrationDisplay as _CalibrationDisplay
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import LearningCurveDisplay as _LearningCurveDisplay

from ..errors import MismatchError
from ..metrics.counts import pairs
from .axes import one_axes, require_matplotlib, styled

__all__ = ["CalibrationDisplay", "ConfusionDisplay", "LearningCurveDisplay"]


class ConfusionDisplay(ConfusionMatrixDisplay):
    """A confusion matrix of labels, also of the labels of sequences.

    It is the display of scikit-learn, with the tokens of all sequences counted one by one.

    Examples
    --------
    >>> from partwise.plots import ConfusionDisplay
    >>> y_true, y_pred = [["DET", "NOUN"], ["VERB"]], [["DET", "VERB"], ["VERB"]]
    >>> display = ConfusionDisplay.from_predictions(y_true, y_pred)
    >>> display.confusion_matrix.tolist()
    [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    """

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **options: Any) -> ConfusionDisplay:
        """Draw the confusions of a fitted estimator.

        Parameters
        ----------
        estimator
            A fitted estimator that predicts one label per example, or a list of labels.
        X, y
            Examples, and their right labels.
        **options
            As in `from_predictions`.

        Returns
        -------
        ConfusionDisplay
            The display, drawn.
        """
        return cls.from_predictions(y, estimator.predict(X), **options)

    @classmethod
    def from_predictions(cls, y_true: Any, y_pred: Any, **options: Any) -> ConfusionDisplay:
        """Draw the confusions of predictions.

        Parameters
        ----------
        y_true, y_pred
            The right and the predicted labels: one per example, or a list of labels per sequence.
        **options
            As in ``sklearn.metrics.ConfusionMatrixDisplay.from_predictions``. The colours are
            shades of grey unless `cmap` says otherwise, and labels of the x-axis stand upright.

        Returns
        -------
        ConfusionDisplay
            The display, drawn.
        """
        require_matplotlib()
        gold, found = list(y_true), list(y_pred)
        if any(isinstance(one, list | tuple) or getattr(one, "ndim", 0) for one in gold):
            every = pairs(gold, found, None)
            gold = [label for labels, _, _ in every for label in labels]
            found = [label for _, labels, _ in every for label in labels]
        options = {"cmap": "Greys", "xticks_rotation": "vertical", **options}
        display: ConfusionDisplay = super().from_predictions(gold, found, **options)
        return display

    def plot(self, *, ax: Any = None, **options: Any) -> ConfusionDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None makes a new figure.
        **options
            As in ``sklearn.metrics.ConfusionMatrixDisplay.plot``.

        Returns
        -------
        ConfusionDisplay
            The display itself.
        """
        super().plot(ax=one_axes(ax), **options)
        self.ax_.set_xlabel("predicted label")
        self.ax_.set_ylabel("right label")
        return self


class CalibrationDisplay(_CalibrationDisplay):
    """A reliability curve: how often predictions of each probability are right.

    It is the display of scikit-learn, for the probability of the predicted label of every example
    or token.

    Examples
    --------
    >>> from partwise.plots import CalibrationDisplay
    >>> right, odds = [True, True, False, True], [0.9, 0.8, 0.4, 0.6]
    >>> display = CalibrationDisplay.from_predictions(right, odds, n_bins=2)
    >>> display.ax_.get_ylabel()
    'fraction that is right'
    """

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_bins: int = 10, **options: Any
    ) -> CalibrationDisplay:
        """Draw the reliability of a fitted classifier, tagger or labeller of graphs.

        Parameters
        ----------
        estimator
            A fitted estimator with probabilities.
        X, y
            Examples, and their right labels.
        n_bins : int
            The number of ranges of probabilities.
        **options
            As in ``sklearn.calibration.CalibrationDisplay.from_predictions``.

        Returns
        -------
        CalibrationDisplay
            The display, drawn.
        """
        correct, probability = _odds(estimator, X, y)
        options.setdefault("name", type(estimator).__name__)
        return cls.from_predictions(correct, probability, n_bins=n_bins, **options)

    @classmethod
    def from_predictions(cls, y_true: Any, y_prob: Any, **options: Any) -> CalibrationDisplay:
        """Draw the reliability of predictions.

        Parameters
        ----------
        y_true : array-like of bool
            Whether each prediction is right.
        y_prob : array-like
            Its probability.
        **options
            As in ``sklearn.calibration.CalibrationDisplay.from_predictions``.

        Returns
        -------
        CalibrationDisplay
            The display, drawn.
        """
        require_matplotlib()
        # scikit-learn tells two classes apart by their labels.
        right = np.asarray(y_true, dtype=np.int64)
        display: CalibrationDisplay = super().from_predictions(
            right, np.asarray(y_prob, dtype=np.float64), **{"pos_label": 1, **options}
        )
        return display

    def plot(self, *, ax: Any = None, **options: Any) -> CalibrationDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None makes a new figure.
        **options
            As in ``sklearn.calibration.CalibrationDisplay.plot``.

        Returns
        -------
        CalibrationDisplay
            The display itself.
        """
        super().plot(ax=one_axes(ax), **options)
        styled(self.ax_)
        self.ax_.set_xlabel("mean probability of the predicted label")
        self.ax_.set_ylabel("fraction that is right")
        return self


def _odds(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Return for each label whether it is right, and its probability."""
    found = estimator.predict(X)
    if hasattr(estimator, "predict_proba"):
        return np.asarray(found) == np.asarray(y), estimator.predict_proba(X).max(axis=1)
    if not hasattr(estimator, "predict_marginals"):
        raise MismatchError(
            f"{type(estimator).__name__} has no probabilities (the hinge loss has none); train "
            "with the log loss, or give probabilities to from_predictions"
        )
    known = {label: k for k, label in enumerate(getattr(estimator, "classes_", ()))}
    # Trees and segments are no labels of tokens.
    if not all(_is_label(one, known) for labels in found for one in labels):
        raise MismatchError(
            f"the probabilities of {type(estimator).__name__} are not those of labels of tokens; "
            "give those of its predictions, and whether they are right, to from_predictions"
        )
    correct, probability = [], []
    for right, labels, table in zip(y, found, estimator.predict_marginals(X), strict=True):
        for a, b, row in zip(right, labels, table, strict=True):
            correct.append(a == b)
            # The best label of a position need not be its most probable one.
            probability.append(float(row[known[b]]))
    return correct, probability


def _is_label(label: Any, known: dict[Any, int]) -> bool:
    return isinstance(label, str | int | float | np.generic) and label in known


class LearningCurveDisplay(_LearningCurveDisplay):
    """The scores on training and test folds for growing parts of the data.

    It is the display of scikit-learn, with curves that differ without colours too. Its
    `from_estimator` takes the estimators of partwise as they are.

    Examples
    --------
    >>> from partwise import LinearClassifier
    >>> from partwise.plots import LearningCurveDisplay
    >>> X, y = [[float(k % 2)] for k in range(24)], [k % 2 for k in range(24)]
    >>> display = LearningCurveDisplay.from_estimator(
    ...     LinearClassifier(), X, y, cv=2, train_sizes=[0.5, 1.0]
    ... )
    >>> display.ax_.get_xlabel()
    'number of training examples'
    """

    def plot(self, ax: Any = None, **options: Any) -> LearningCurveDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None makes a new figure.
        **options
            As in ``sklearn.model_selection.LearningCurveDisplay.plot``.

        Returns
        -------
        LearningCurveDisplay
            The display itself.
        """
        super().plot(one_axes(ax), **options)
        for line, style, marker in zip(self.lines_ or [], ("-", "--"), ("o", "s"), strict=False):
            line.set(linestyle=style, marker=marker, markersize=4.5)
        for area, hatch in zip(self.fill_between_ or [], (None, "///"), strict=False):
            area.set(hatch=hatch, alpha=0.35)
        styled(self.ax_)
        self.ax_.set_xlabel("number of training examples")
        self.ax_.legend(frameon=False, fontsize=9)
        return self
