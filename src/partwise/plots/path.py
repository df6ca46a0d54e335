"""A path over l2."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..errors import DataError
from ..values import one_of
from .axes import DUAL, GAP, GREY, PRIMAL, one_axes, styled

__all__ = ["PathDisplay"]

_KINDS: Final = ("score", "passes")


class PathDisplay:
    """A path over l2: the score of each value, or what it cost.

    Parameters
    ----------
    rows : sequence of mapping
        The table of the path. Standard errors are drawn if it has them.
    chosen : float
        The chosen l2.
    score_name : str
        The name of the score.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure of matplotlib, after `plot`.

    Examples
    --------
    >>> from partwise.plots import PathDisplay
    >>> rows = [
    ...     {"l2": 1.0, "score": 0.80, "passes": 4.0},
    ...     {"l2": 0.1, "score": 0.90, "passes": 7.0},
    ... ]
    >>> display = PathDisplay.from_rows(rows, 0.1, score_name="F1")
    >>> display.ax_.get_ylabel()
    'F1'
    """

    ax_: Any
    figure_: Any

    def __init__(
        self, rows: Sequence[Mapping[str, Any]], chosen: float, score_name: str = "score"
    ) -> None:
        if not rows:
            raise DataError("a path without rows cannot be drawn; give the rows of a path")
        self.rows = rows
        self.chosen = chosen
        self.score_name = score_name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, score_name: str = "score", kind: str = "score", ax: Any = None
    ) -> PathDisplay:
        """Draw the path of a fitted estimator that chooses l2, such as `SequenceTaggerCV`.

        Parameters
        ----------
        estimator
            A fitted estimator with ``path_`` and ``l2_``.
        score_name
            The name of the score.
        kind, ax
            As in `plot`.

        Returns
        -------
        PathDisplay
            The display, drawn.
        """
        return cls(estimator.path_, estimator.l2_, score_name).plot(ax, kind=kind)

    @classmethod
    def from_rows(
        cls,
        rows: Sequence[Mapping[str, Any]],
        chosen: float,
        *,
        score_name: str = "score",
        kind: str = "score",
        ax: Any = None,
    ) -> PathDisplay:
        """Draw the rows of a path; parameters are those of the class and of `plot`.

        Returns
        -------
        PathDisplay
            The display, drawn.
        """
        return cls(rows, chosen, score_name).plot(ax, kind=kind)

    def plot(self, ax: Any = None, *, kind: str = "score") -> PathDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None makes a new figure.
        kind : {"score", "passes"}
            The score, or the passes over the data that each l2 took, and their sum.

        Returns
        -------
        PathDisplay
            The display itself.
        """
        one_of("kind", kind, _KINDS)
        self.ax_ = axes = styled(one_axes(ax))
        self.figure_ = axes.figure
        if kind == "score":
            self._scores(axes)
        else:
            self._passes(axes)
        axes.set_xscale("log")
        # The path goes from large to small, and so does the picture.
        axes.invert_xaxis()
        axes.set_xlabel("l2")
        axes.legend(frameon=False, fontsize=9)
        return self

    def _scores(self, axes: Any) -> None:
        rows, chosen = self.rows, self.chosen
        errors = [float(row.get("standard_error", math.nan)) for row in rows]
        axes.errorbar(
            [row["l2"] for row in rows], [row["score"] for row in rows],
            yerr=errors if all(map(math.isfinite, errors)) else None,
            color=DUAL, linewidth=1.6, marker="o", markersize=4.5, capsize=2.5,
        )  # fmt: skip
        axes.axvline(
            chosen, color=PRIMAL, linestyle="--", linewidth=1.2, label=f"chosen: l2 = {chosen:.4g}"
        )
        axes.set_ylabel(self.score_name)
        axes.set_title("Data held out", fontsize=10, color=GREY)

    def _passes(self, axes: Any) -> None:
        l2, passes = [row["l2"] for row in self.rows], [row["passes"] for row in self.rows]
        axes.plot(l2, passes, "o-", color=GAP, linewidth=1.6, markersize=4.5, label="for this l2")
        total = list(itertools.accumulate(passes))
        axes.plot(l2, total, "--", color=GREY, linewidth=1.6, label="so far")
        axes.set_ylim(bottom=0.0)
        axes.set_ylabel("passes over the data")
        axes.set_title("What it cost", fontsize=10, color=GREY)
