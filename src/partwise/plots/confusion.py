"""Which labels are taken for which others."""

from __future__ import annotations

from typing import Any

from sklearn.metrics import ConfusionMatrixDisplay

from ..metrics.pairs import pairs
from .axes import one_axes, require_matplotlib

__all__ = ["ConfusionDisplay"]


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
