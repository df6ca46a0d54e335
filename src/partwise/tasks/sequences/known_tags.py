"""Tags that a column file has before prediction."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ...errors import DataError, Place
from ..fixed import known_label, no_known_labels
from ..labels import spelled
from .segment_features import scheme_of
from .segment_tags import segments_of

if TYPE_CHECKING:
    from ...models.model import Model
    from .column_file import ColumnFile

__all__ = ["known_segments", "known_tags"]


def _sentences(source: ColumnFile) -> list[list[str]]:
    if source.columns.labels is None:
        if not len(source.columns):
            return []
        raise no_known_labels(source.path, "in the last column")
    return source.sentences()


def known_tags(model: Model, source: ColumnFile, mark: str | None) -> list[list[Any]] | None:
    """Return the known labels of every sentence, as `Model.predict` takes them.

    Parameters
    ----------
    model : Model
        A model of the task "tag".
    source : ColumnFile
        The file.
    mark : str or None
        What stands for a label that is not known; None if no labels are known.
    """
    if mark is None:
        return None
    names = dict(zip(spelled(model.labels), model.labels, strict=True))
    return [
        [
            None if tag == mark else known_label(names, tag, source.place(s, t), mark)
            for t, tag in enumerate(tags)
        ]
        for s, tags in enumerate(_sentences(source))
    ]


def known_segments(
    model: Model, source: ColumnFile, mark: str | None
) -> list[list[tuple[int, int, Any]]] | None:
    """Return the known segments of every sentence: those that runs of known tags spell.

    Parameters are those of `known_tags`, for a model of the task "segment".
    """
    if mark is None:
        return None
    scheme, outside = scheme_of(model), model.meta.get("outside")
    assert scheme is not None
    names = {str(label): label for label in model.labels}
    structure: Any = model.structure
    longest = dict(zip(model.labels, structure.label_lengths, strict=True))
    found = []
    for s, tags in enumerate(_sentences(source)):
        mine: list[tuple[int, int, Any]] = []
        known = [tag != mark for tag in tags]
        for is_known, run in groupby(range(len(tags)), known.__getitem__):
            places = list(run)
            if not is_known:
                continue
            first = places[0]
            spelled_here = segments_of(
                [tags[t] for t in places], scheme, outside, partial(_place, source, s, first)
            )
            for start, end, label in spelled_here:
                place = source.place(s, first + start)
                name = known_label(names, str(label), place, mark)
                if end - start > longest[name]:
                    raise DataError(
                        f"a known segment of {end - start} tokens, where the model has "
                        f"none of {label!r} longer than {longest[name]}; shorten it, or write "
                        f"{mark!r} where tags are to be predicted",
                        place=place,
                    )
                mine.append((first + start, first + end, name))
        found.append(mine)
    return found


def _place(source: ColumnFile, sentence: int, first: int, token: int) -> Place:
    return source.place(sentence, first + token)
