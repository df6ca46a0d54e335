"""Missing labels in files: their mark, and what is said of labels that cannot be scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = ["missing_of", "with_unscored"]


def missing_of(model: Model) -> Any:
    """Return the label that stood for a missing one when a model was trained, or None."""
    return model.settings.get("missing_label")


def with_unscored(
    metrics: dict[str, Any], text: str, n: int, what: str
) -> tuple[dict[str, Any], str]:
    """Add to scores how many labels are missing in the file, so that they were not counted.

    Parameters
    ----------
    metrics, text
        The scores.
    n : int
        The number of missing labels.
    what : str
        What has these labels: ``"tokens"``.
    """
    if not n:
        return metrics, text
    return {**metrics, "unscored": n}, f"{text}\nnot scored: {n:,} {what} without a known label"
