"""How scores grow with the training data."""

from __future__ import annotations

from typing import Any

from sklearn.model_selection import LearningCurveDisplay as _LearningCurveDisplay

from .axes import one_axes, styled

__all__ = ["LearningCurveDisplay"]


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
