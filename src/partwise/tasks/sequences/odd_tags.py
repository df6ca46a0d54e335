"""Tags that spell no span in a file whose other tags do: they change what is scored."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ...formats.tag_rules import is_span_tag, likely_scheme

if TYPE_CHECKING:
    from ...formats.tokens import Columns

__all__ = ["SCORED", "note_odd_labels", "note_odd_tags"]

_log = logging.getLogger(__name__)

#: What follows from such tags.
SCORED: Final = "labels are scored and not spans"


def note_odd_tags(columns: Columns, missing: str | None, consequence: str) -> bool:
    """Log a warning about tags that are no tags of spans, if most tags of the file are.

    Parameters
    ----------
    columns : Columns
        The file.
    missing : str or None
        The label that stands for a missing one.
    consequence : str
        What follows from such tags.

    Returns
    -------
    bool
        Whether there are such tags.
    """
    labels = columns.labels or []
    odd = [t for t, label in enumerate(labels) if label != missing and not is_span_tag(label)]
    if not odd:
        return False
    scheme = likely_scheme(
        [label for label in of if label != missing] for of in columns.split(labels)
    )
    if scheme is None:
        return False
    n, place = len(odd), f"{labels[odd[0]]!r} in line {columns.lines[odd[0]]}"
    _log.warning(
        "%s: %s, so %s; `partwise validate %s` lists %s",
        columns.path,
        f"the tag {place} is no tag of {scheme}"
        if n == 1
        else f"{n:,} tags are no tags of {scheme}, such as {place}",
        consequence,
        columns.path if columns.path != "<stdin>" else "FILE",
        "its place" if n == 1 else "them all",
    )
    return True


def note_odd_labels(path: str, labels: Iterable[str], missing: str | None) -> None:
    """Log a warning if a model knows labels that are no tags of spans, but most of them are.

    Parameters
    ----------
    path : str
        The file to be scored.
    labels : iterable of str
        The labels of the model.
    missing : str or None
        The label that stands for a missing one.
    """
    known = [label for label in labels if label != missing]
    odd = [label for label in known if not is_span_tag(label)]
    scheme = likely_scheme([known]) if odd else None
    if scheme is not None:
        _log.warning(
            "%s: the model knows %s of %s, such as %r, so without --scheme %s; "
            "`partwise validate` finds such tags in the file that the model was trained on",
            path,
            "a label that is no tag" if len(odd) == 1 else f"{len(odd)} labels that are no tags",
            scheme,
            odd[0],
            SCORED,
        )
