"""Features of whole segments: a function of the tokens of a sequence, a start and an end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import DataError, Place
from ...models.hashed_names import first_in_row
from ...models.vocabulary import Vocabulary, fit_rows, transform_rows
from ...problem.rows import Rows
from .templates import word_shape

if TYPE_CHECKING:
    from ...arrays import Ints
    from ...structures.segments.structure import SemiMarkov
    from .segment_tags import Segment

__all__ = [
    "BUILT_IN",
    "SegmentFunction",
    "candidate_rows",
    "function_of",
    "name_of",
    "seen_rows",
    "words_of",
]

#: Takes the tokens of a sequence, a start and an end (exclusive), and returns the features of the
#: segment in the form of the features of a token, see :mod:`partwise.models.vocabulary`: a dict or
#: strings.
SegmentFunction = Callable[[Sequence[Any], int, int], Any]

_WORD_KEYS: Final = ("w", "word", "form", "token", "text")


def text_features(columns: Sequence[Sequence[str]], start: int, end: int) -> list[str]:
    """Return features of the words in and around a segment, and of further columns.

    The features are the text in lower case, the first and the last word, the words before and after
    the segment, and the shapes of its words. Further columns, such as parts of speech, have the
    same features without shapes and with their case kept. There is no feature for the length,
    because lengths have weights of their own.

    Parameters
    ----------
    columns : sequence of sequences of str
        The words of the sequence, then the further columns if there are any.
    start, end : int
        The segment, end exclusive.
    """
    found = ["shape=" + " ".join(map(_shape, columns[0][start:end]))]
    for number, values in enumerate(columns):
        inside = values[start:end]
        text = " ".join(inside if number else map(str.lower, inside))
        prefix = f"{number}:" if number else ""
        found += [
            f"{prefix}text={text}",
            f"{prefix}first={inside[0]}",
            f"{prefix}last={inside[-1]}",
            f"{prefix}before={values[start - 1] if start else ''}",
            f"{prefix}after={values[end] if end < len(values) else ''}",
        ]
    return found


_shape = lru_cache(maxsize=1 << 16)(word_shape)


#: The functions that a model file can name. They take the columns of a sequence.
BUILT_IN: Final[Mapping[str, SegmentFunction]] = {"text": text_features}


def name_of(given: Any) -> str:
    """Return the name of a user's choice in a model: "none", one of `BUILT_IN`, or "function"."""
    if given is None:
        return "none"
    if callable(given):
        return "function"
    if not isinstance(given, str) or given not in ("none", *BUILT_IN):
        raise DataError(
            f"segment_features is {given!r}; give None, {', '.join(map(repr, BUILT_IN))}, or a "
            "function of the tokens of a sequence, a start and an end"
        )
    return given


def function_of(name: str, given: SegmentFunction | None) -> SegmentFunction | None:
    """Return the function that makes the features of segments; None if they have no features.

    Parameters
    ----------
    name : str
        The result of `name_of`.
    given : callable or None
        The function of a user, if the name is "function".
    """
    if name == "none":
        return None
    if name in BUILT_IN:
        return BUILT_IN[name]
    if given is None:
        raise DataError(
            "the model was trained with segment features from a function, and model files hold no "
            "functions; give the same one again: SegmentTagger.from_model(model, "
            "segment_features=...)"
        )
    return given


def words_of(tokens: Sequence[Any], s: int) -> list[list[str]]:
    """Return the single column of sequence s, whose tokens are words or dicts with a word."""
    words = []
    for t, token in enumerate(tokens):
        word = token
        if isinstance(token, Mapping):
            word = next((token[key] for key in _WORD_KEYS if key in token), None)
        if not isinstance(word, str):
            raise DataError(
                f"no word for the segment features "
                f"'text'; give tokens that are words, or dicts with one of the keys "
                f"{', '.join(_WORD_KEYS)}, or a function in place of 'text'",
                place=Place.nth("sequence", s, "token", t),
            )
        words.append(word)
    return [words]


def seen_rows(
    function: SegmentFunction, tokens: Sequence[Sequence[Any]], gold: Sequence[Sequence[Segment]]
) -> tuple[Rows, Vocabulary]:
    """Make rows of the features of the gold segments, and number the features.

    Features that only occur on other segments could only be evidence against segments, and there
    are far more of them: every other range of tokens has its own text.
    """
    pairs = zip(tokens, gold, strict=True)
    try:
        rows, vocabulary, _ = fit_rows(
            [function(sequence, start, end) for start, end, _ in segments]
            for sequence, segments in pairs
        )
    except DataError as error:
        _of_segments(error)
        raise
    return rows, vocabulary


def candidate_rows(
    function: SegmentFunction,
    tokens: Sequence[Sequence[Any]],
    lengths: Ints,
    structure: SemiMarkov,
    vocabulary: Vocabulary,
) -> Rows:
    """Make rows of the features of all segments of a structure, in the order of its sites."""
    if function is text_features:
        return _text_rows(tokens, lengths, structure, vocabulary)

    def features() -> Iterator[list[Any]]:
        for sequence, length in zip(tokens, lengths.tolist(), strict=True):
            pairs = structure.segments(structure.topology(length)).tolist()
            yield [function(sequence, start, end) for start, end in pairs]

    try:
        rows, _ = transform_rows(features(), vocabulary)
    except DataError as error:
        _of_segments(error)
        raise
    return rows


def _text_rows(
    sentences: Sequence[Sequence[Sequence[str]]],
    lengths: Ints,
    structure: SemiMarkov,
    vocabulary: Vocabulary,
) -> Rows:
    """Make rows of the features that `text_features` returns.

    Features that only depend on one token are looked up once per token, not once per segment.
    """
    tables = []
    for columns, length in zip(sentences, lengths.tolist(), strict=True):
        starts, ends = structure.segments(structure.topology(length)).T
        pairs = list(zip(starts.tolist(), ends.tolist(), strict=True))
        every = np.arange(len(pairs))
        shapes = list(map(_shape, columns[0]))
        # Names, and which of them each segment has.
        found = [(_joined("shape=", shapes, pairs), every)]
        for c, values in enumerate(columns):
            prefix = f"{c}:" if c else ""
            texts = values if c else [word.lower() for word in values]
            found.append((_joined(f"{prefix}text=", texts, pairs), every))
            for name, tokens, at in (
                ("first", values, starts),
                ("last", values, ends - 1),
                ("before", ["", *values], starts),
                ("after", [*values, ""], ends),
            ):
                found.append(([f"{prefix}{name}={token}" for token in tokens], at))
        numbers = vocabulary.find([name for names, _ in found for name in names])
        begins = np.cumsum([0, *(len(names) for names, _ in found)]).tolist()
        columns_of = [numbers[begin:][at] for begin, (_, at) in zip(begins, found, strict=False)]
        tables.append(np.stack(columns_of, axis=1))
    width = max((table.shape[1] for table in tables), default=0)
    table = np.concatenate([*tables, np.zeros((0, width), dtype=np.int32)])
    present = table >= 0
    if vocabulary.hashed:
        # Of the features of a segment that share a number, the first one counts.
        present &= first_in_row(table)
    indptr = np.zeros(len(table) + 1, dtype=np.int64)
    np.cumsum(np.count_nonzero(present, axis=1), out=indptr[1:])
    return Rows(indptr, table[present], None, len(vocabulary))


def _joined(prefix: str, tokens: Sequence[str], pairs: Sequence[tuple[int, int]]) -> list[str]:
    return [prefix + " ".join(tokens[start:end]) for start, end in pairs]


def _of_segments(error: DataError) -> None:
    """Say that the tokens that an error counts are segments."""
    if error.place.part == "token":
        error.place = error.place._replace(part="segment")
    error.within(argument="segment_features")
