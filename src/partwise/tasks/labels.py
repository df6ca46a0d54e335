"""The labels in files: their order and spelling, and the mark of missing ones."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = ["missing_of", "note_absent", "order_of_labels", "spelled"]

_log = logging.getLogger(__name__)


def spelled(labels: Sequence[str | int | float | bool]) -> list[str]:
    """Return the labels of a model as they are written in files: 3.0 is `3`."""
    return [
        str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
        for label in labels
    ]


def order_of_labels(label: str) -> tuple[bool, float, str]:
    """Return the sort key of a label in a file: numbers come first, by value."""
    try:
        return False, float(label), label
    except ValueError:
        return True, 0.0, label


def note_absent(option: str, wanted: Collection[str], found: Collection[str]) -> None:
    """Log a warning about parts of speech that no word has, which may be spelled differently."""
    absent = sorted(set(wanted) - set(found))
    if absent and found:
        some = ", ".join(sorted(found)[:10]) + (", ..." if len(found) > 10 else "")
        _log.warning(
            "%s: no word has the part of speech %s, so nothing is left out for it; the file has %s",
            option, " or ".join(map(repr, absent)), some,
        )  # fmt: skip


def missing_of(model: Model) -> Any:
    """Return the label that stood for a missing one when a model was trained, or None."""
    return model.settings.get("missing_label")
