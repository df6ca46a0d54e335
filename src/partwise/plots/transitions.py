"""The weights of transitions as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..arrays import Floats
from ..errors import DataError
from .axes import one_axes

__all__ = ["TransitionsDisplay"]

#: With more labels, cells only show the signs of their weights.
_MOST_NUMBERS: Final = 14


class TransitionsDisplay:
    """The weights of transitions between labels, as a heat map.

    Parameters
    ----------
    weights : ndarray of shape (n_labels, n_labels)
        The weight of each pair: rows are the first label, columns the one after it.
    labels : sequence of str
        The labels.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure of matplotlib, after `plot`.
    im_, text_
        The image, and the texts of the cells.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]]
    >>> tagger = SequenceTagger().fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> from partwise.plots import TransitionsDisplay
    >>> display = TransitionsDisplay.from_estimator(tagger)
    >>> display.labels, display.weights.shape
    (['DET', 'NOUN'], (2, 2))
    """

    ax_: Any
    figure_: Any
    im_: Any
    text_: Any

    def __init__(self, weights: Floats, labels: Sequence[str]) -> None:
        if np.shape(weights) != (len(labels), len(labels)) or not len(labels):
            raise DataError(
                f"weights of the shape {np.shape(weights)} for {len(labels)} labels; give one "
                "weight per pair of labels"
            )
        self.weights = np.asarray(weights, dtype=np.float64)
        self.labels = list(labels)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> TransitionsDisplay:
        """Draw the transitions of a fitted tagger, segmenter or model.

        Parameters
        ----------
        estimator
            A fitted estimator with transitions between labels, or a `Model`.
        ax : matplotlib axes or None
            Where to draw; None makes a new figure.

        Returns
        -------
        TransitionsDisplay
            The display, drawn.
        """
        from ..explain import weight_table

        model = getattr(estimator, "model_", estimator)
        labels = [*map(str, model.labels)]
        # Weights of features of transitions depend on the input, and are not drawn.
        rows = {
            row.label: row.weight
            for row in weight_table(model, None, transitions=True)
            if row.kind == "transition" and row.feature == "constant"
        }
        weights = np.array([[rows.get(f"{a} -> {b}", 0.0) for b in labels] for a in labels])
        return cls(weights, labels).plot(ax)

    def plot(
        self, ax: Any = None, *, cmap: str = "PuOr", include_values: bool = True
    ) -> TransitionsDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None makes a new figure.
        cmap : str
            The colours, with a light middle for 0.
        include_values : bool
            Whether to write the weights into the cells; with many labels only their signs.

        Returns
        -------
        TransitionsDisplay
            The display itself.
        """
        self.ax_ = axes = one_axes(ax)
        self.figure_ = axes.figure
        most = float(np.abs(self.weights).max()) or 1.0
        self.im_ = axes.imshow(self.weights, cmap=cmap, vmin=-most, vmax=most)
        n = len(self.labels)
        self.text_ = None
        if include_values:
            self.text_ = np.empty((n, n), dtype=object)
            for (a, b), weight in np.ndenumerate(self.weights):
                self.text_[a, b] = axes.text(
                    b, a, _written(float(weight), n), ha="center", va="center", fontsize=8,
                    color="white" if abs(weight) > 0.7 * most else "black",
                )  # fmt: skip
        axes.set_xticks(range(n), self.labels, rotation="vertical")
        axes.set_yticks(range(n), self.labels)
        axes.set_xlabel("label")
        axes.set_ylabel("label before it")
        self.figure_.colorbar(self.im_, ax=axes, label="weight of the transition")
        return self


def _written(weight: float, n_labels: int) -> str:
    if n_labels <= _MOST_NUMBERS:
        return f"{weight:+.1f}" if weight else "0"
    return "" if weight == 0.0 else "+" if weight > 0.0 else "-"
