"""Pictures of fits and paths, written to files."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import DataError, Place
from ..files.whole_files import remedy, replacing
from .axes import require_matplotlib
from .convergence import ConvergenceDisplay
from .path import PathDisplay

if TYPE_CHECKING:
    from ..training.course import TraceRow
    from ..training.path_table import PathRow

__all__ = ["convergence_picture", "path_picture"]


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
        raise DataError("is not a plain file; give the name of a file", place=Place(path))
    try:
        with replacing(path) as file:
            file.write(data)
    except OSError as error:
        raise DataError(
            f"cannot be written ({error.strerror}); {remedy(error)}", place=Place(path)
        ) from error
