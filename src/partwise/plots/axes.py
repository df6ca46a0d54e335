"""The axes that plots are drawn on, and their colours."""

from __future__ import annotations

from typing import Any, Final

from ..errors import PartwiseError

__all__ = ["DUAL", "GAP", "GREY", "PRIMAL", "one_axes", "require_matplotlib", "styled"]

PRIMAL: Final = "#c2410c"
DUAL: Final = "#1d4ed8"
GAP: Final = "#166534"
GREY: Final = "#6b7280"


def require_matplotlib() -> None:
    """Raise a PartwiseError that says how to install matplotlib, if it is missing.

    Raises
    ------
    PartwiseError
        If matplotlib is not installed.

    Examples
    --------
    >>> from partwise.plots import require_matplotlib
    >>> require_matplotlib()
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise PartwiseError(
            'pictures need matplotlib, which is not installed; run pip install "partwise[plots]"'
        ) from None


def one_axes(ax: Any) -> Any:
    """Return the axes of the user, or new ones."""
    require_matplotlib()
    if ax is not None:
        return ax
    # Labels and titles of a figure of ours are never cut off, however long they are.
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def styled(axes: Any) -> Any:
    """Give axes a light grid, and no frame above and on the right."""
    axes.grid(True, color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return axes
