"""The convergence of a fit, and a path over l2."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import DataError
from ..files.whole_files import remedy, replacing
from ..pictures import gap_chart, objective_chart, passes_chart, score_chart
from ..values import one_of
from .axes import draw, one_axes, require_matplotlib

if TYPE_CHECKING:
    from ..training.course import TraceRow
    from ..training.path_table import PathRow

__all__ = ["ConvergenceDisplay", "PathDisplay", "convergence_picture", "path_picture"]


class ConvergenceDisplay:
    """The convergence of a fit: its relative gap, or its objective and the lower bound on it.

    Parameters
    ----------
    trace : sequence of TraceRow
        The trace of a fit.
    tol : float or None
        The requested relative gap, drawn as a line.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure of matplotlib, after `plot`.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> from partwise.plots import ConvergenceDisplay
    >>> X, y = [[{"w": "a"}, {"w": "b"}]], [["A", "B"]]
    >>> display = ConvergenceDisplay.from_estimator(SequenceTagger().fit(X, y))
    >>> display.ax_.get_xlabel()
    'seconds'
    """

    ax_: Any
    figure_: Any

    def __init__(self, trace: Sequence[TraceRow], tol: float | None = None) -> None:
        if not trace:
            raise DataError("an empty trace cannot be drawn; give the trace of a fit")
        self.trace = trace
        self.tol = tol

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, kind: str = "gap", ax: Any = None
    ) -> ConvergenceDisplay:
        """Draw the convergence of a fitted estimator.

        Parameters
        ----------
        estimator
            A fitted estimator of partwise.
        kind, ax
            As in `plot`.

        Returns
        -------
        ConvergenceDisplay
            The display, drawn.
        """
        return cls(estimator.trace_, estimator.certificate_.tol).plot(ax, kind=kind)

    @classmethod
    def from_trace(
        cls,
        trace: Sequence[TraceRow],
        *,
        tol: float | None = None,
        kind: str = "gap",
        ax: Any = None,
    ) -> ConvergenceDisplay:
        """Draw a trace; parameters are those of the class and of `plot`.

        Returns
        -------
        ConvergenceDisplay
            The display, drawn.
        """
        return cls(trace, tol).plot(ax, kind=kind)

    def plot(self, ax: Any = None, *, kind: str = "gap") -> ConvergenceDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None makes a new figure.
        kind : {"gap", "objective"}
            The relative gap against seconds, or primal and dual against passes over the data.
            Certified values have markers; the lines between them are running estimates.

        Returns
        -------
        ConvergenceDisplay
            The display itself.
        """
        one_of("kind", kind, ("gap", "objective"))
        self.ax_ = one_axes(ax)
        self.figure_ = self.ax_.figure
        by_time = kind == "gap"
        draw(
            gap_chart(self.trace, self.tol, "seconds") if by_time else objective_chart(self.trace),
            self.ax_,
        )
        return self


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
        one_of("kind", kind, ("score", "passes"))
        self.ax_ = one_axes(ax)
        self.figure_ = self.ax_.figure
        if kind == "score":
            draw(score_chart(self.rows, self.chosen, self.score_name), self.ax_)
        else:
            draw(passes_chart(self.rows), self.ax_)
        return self


def convergence_picture(
    trace: Sequence[TraceRow],
    path: str | os.PathLike[str],
    title: str | None = None,
    tol: float | None = None,
) -> None:
    """Plot the convergence of a fit to a PNG file.

    The left panel shows primal and dual against passes, the right one the relative gap against
    seconds. Certified values have markers; the lines between them are running estimates.

    Parameters
    ----------
    trace : sequence of TraceRow
        The trace of a fit.
    path : str or path-like
        The file; it is written completely or not at all.
    title : str or None
        The title of the figure.
    tol : float or None
        The requested relative gap, drawn as a line.

    Raises
    ------
    PartwiseError
        If matplotlib is missing.
    DataError
        If the trace is empty or the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise import LinearClassifier
    >>> from partwise.plots import convergence_picture
    >>> classifier = LinearClassifier().fit([[0.0], [1.0]], ["a", "b"])
    >>> convergence_picture(classifier.trace_, "fit.png", title="A small fit", tol=1e-4)
    >>> Path("fit.png").read_bytes()[1:4]
    b'PNG'
    """
    display = ConvergenceDisplay(trace, tol)
    figure, left, right = _two_axes()
    display.plot(left, kind="objective")
    display.plot(right, kind="gap")
    _write(figure, title, path)


def path_picture(
    rows: Sequence[PathRow],
    path: str | os.PathLike[str],
    chosen: float,
    score_name: str = "score",
    title: str | None = None,
) -> None:
    """Plot a regularisation path to a PNG file.

    The left panel shows the score against l2, the right one the passes over the data that each l2
    took, and their sum.

    Parameters
    ----------
    rows : sequence of PathRow
        The table of the path. Standard errors are drawn if it has them.
    path : str or path-like
        The file; it is written completely or not at all.
    chosen : float
        The chosen l2.
    score_name : str
        The name of the score.
    title : str or None
        The title of the figure.

    Raises
    ------
    PartwiseError
        If matplotlib is missing.
    DataError
        If there are no rows or the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.plots import path_picture
    >>> rows = [
    ...     {"l2": 1.0, "score": 0.80, "passes": 4.0},
    ...     {"l2": 0.1, "score": 0.90, "passes": 7.0},
    ... ]
    >>> path_picture(rows, "path.png", chosen=0.1, score_name="F1")
    >>> Path("path.png").read_bytes()[1:4]
    b'PNG'
    """
    display = PathDisplay(rows, chosen, score_name)
    figure, left, right = _two_axes()
    display.plot(left, kind="score")
    display.plot(right, kind="passes")
    _write(figure, title, path)


def _two_axes() -> tuple[Any, Any, Any]:
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.2), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, *figure.subplots(1, 2)


def _write(figure: Any, title: str | None, path: str | os.PathLike[str]) -> None:
    if title:
        figure.suptitle(title, fontsize=12)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    _replace(os.fspath(path), buffer.getvalue())


def _replace(path: str, data: bytes) -> None:
    if os.path.exists(path) and not os.path.isfile(path):
        # A device or a pipe must not be replaced by a file.
        raise DataError(f"{path}: is not a plain file; give the name of a file")
    try:
        with replacing(path) as file:
            file.write(data)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror}); {remedy(error)}") from error
