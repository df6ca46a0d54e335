"""Tags that spell no span in a file whose other tags do, and tags that break their scheme."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from ...formats.tag_schemes import (
    TAG_SCHEMES,
    TagScheme,
    fits,
    is_span_tag,
    likely_scheme,
    may_follow,
)

if TYPE_CHECKING:
    from ...formats.tokens import Columns

__all__ = ["SCORED", "note_broken_tags", "note_odd_labels", "note_odd_tags"]

_log = logging.getLogger(__name__)

#: What follows from such tags.
SCORED: Final = "labels are scored and not spans"
#: If more of the tags of spans break a scheme, the file is taken to have another one.
_MOST_BROKEN: Final = 0.2

#: Two neighbouring tags; None is the start or the end of a sentence.
_Pair = tuple[str | None, str | None]


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


def note_broken_tags(columns: Columns, missing: str | None) -> None:
    """Log a warning about tags that break the scheme that the tags of a file seem to follow.

    Nothing is said if the scheme is not clear: if the tags are sound in another one, or too many
    of them break it.

    Parameters
    ----------
    columns : Columns
        The file.
    missing : str or None
        The label that stands for a missing one.
    """
    sentences = columns.split(columns.labels or [])
    name = likely_scheme([label for label in of if label != missing] for of in sentences)
    if name is None:
        return
    row: list[str | None] = [None]
    for of in sentences:
        row += [*of, None]
    # Files have few different pairs, so that each is looked at once.
    pairs: Counter[_Pair] = Counter(pairwise(row))
    wrong = {scheme: _broken(TAG_SCHEMES[scheme], pairs, missing) for scheme in TAG_SCHEMES}
    broken = wrong[name]
    n = sum(pairs[pair] for pair in broken)
    typed = sum(label not in ("O", missing) for label in columns.labels or [])
    if not all(wrong.values()) or n > max(_MOST_BROKEN * typed, 1):
        return
    place = next(t for t, pair in enumerate(pairwise(row)) if pair in broken)
    # Before every sentence there is one None.
    ended = row[place + 1] is None
    token = place - row[: place + 1].count(None) + 1 - ended
    first = f"{_told(row[place], row[place + 1])} in line {columns.lines[token]}"
    _log.warning(
        "%s: %s; `partwise validate %s` %s",
        columns.path,
        f"the tag {first} breaks {name}" if n == 1 else f"{n:,} tags break {name}, such as {first}",
        columns.path if columns.path != "<stdin>" else "FILE",
        "says more" if n == 1 else "lists them all",
    )


def _broken(scheme: TagScheme, pairs: Iterable[_Pair], missing: str | None) -> set[_Pair]:
    """Return the pairs of neighbours that break a scheme, as far as both are known."""
    return {
        pair
        for pair in pairs
        if (missing is None or missing not in pair)
        and not (
            all(tag is None or fits(scheme, tag) for tag in pair) and may_follow(scheme, *pair)
        )
    }


def _told(before: str | None, now: str | None) -> str:
    if now is None:
        return f"{before} at the end of a sentence"
    return f"{now} {'at the start of a sentence' if before is None else f'after {before}'}"


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
