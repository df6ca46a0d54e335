"""Sentences as integer codes, for the features of dependency arcs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ...arrays import Ints
from ...errors import DataError, Place
from .templates import COLUMNS, PAD

__all__ = ["MARKS", "ArcSentence", "ArcTokens", "Fields", "encode", "head_positions", "read_fields"]

#: What the lowest codes stand for; the words of a vocabulary follow.
MARKS: Final = ("<unknown>", "<root>", "<begin>", "<end>")
_ROOT, _BEGIN, _END = 1, 2, 3

_PREFIX: Final = 5
_ABSENT: Final = "_"


#: Returns the numbers of some names, -1 for those that have none.
Find = Callable[[Sequence[str]], npt.NDArray[np.int32]]


class ArcSentence(Protocol):
    """The columns of a sentence. All but the forms may be None or hold ``"_"``: not given."""

    @property
    def form(self) -> Sequence[str]:
        """The words."""
        ...

    @property
    def lemma(self) -> Sequence[str] | None:
        """Their lemmas."""
        ...

    @property
    def cpos(self) -> Sequence[str] | None:
        """Coarse tags."""
        ...

    @property
    def pos(self) -> Sequence[str] | None:
        """Fine tags."""
        ...

    @property
    def feats(self) -> Sequence[str] | None:
        """Morphology, such as ``gen=f|num=p``."""
        ...


class ArcTokens(NamedTuple):
    """Sentences in codes: 0 is a value that is missing or was not seen in training.

    A sentence of T tokens takes T + 1 + 2 PAD positions: PAD times a begin mark, the root, the
    tokens, PAD times an end mark. N positions in all.
    """

    start: Ints  # sentences + 1: where a sentence begins
    code: npt.NDArray[np.int32]  # columns of one value, N
    feat_ptr: Ints  # N + 1: the single morphological features at a position
    feat: npt.NDArray[np.int32]
    longest: int  # tokens in a sentence, at most
    most_codes: int  # one more than the highest code
    most_feats: int  # single features of a token, at most


class Fields(NamedTuple):
    """The values of all tokens, one sentence after the other; an empty string is absent."""

    lengths: Ints  # tokens of a sentence
    values: tuple[list[str], ...]  # a list for each of COLUMNS; of feat, all of all tokens
    n_feats: Ints  # how many of the last list belong to a token


def read_fields(sentences: Sequence[ArcSentence]) -> Fields:
    """Gather the columns of sentences.

    Raises
    ------
    DataError
        If a column has another length than the forms, or holds what is not a string.
    """
    values: dict[str, list[str]] = {column: [] for column in COLUMNS}
    lengths, n_feats = [], []
    for s, sentence in enumerate(sentences):
        form = _column(sentence, s, "form", None)
        lengths.append(len(form))
        values["form"] += form
        values["prefix"] += [word[:_PREFIX] if len(word) > _PREFIX else "" for word in form]
        for name in ("lemma", "cpos", "pos"):
            column = _column(sentence, s, name, len(form))
            values[name] += ["" if value == _ABSENT else value for value in column]
        for value in _column(sentence, s, "feats", len(form)):
            # The same features may stand in another order.
            feats = [] if value == _ABSENT else sorted({one for one in value.split("|") if one})
            values["feats"].append("|".join(feats))
            values["feat"] += feats
            n_feats.append(len(feats))
    return Fields(np.array(lengths, np.int64), tuple(values.values()), np.array(n_feats, np.int64))


def _column(sentence: ArcSentence, s: int, name: str, length: int | None) -> list[str]:
    column = getattr(sentence, name, None)
    if column is None and length is not None:
        return [_ABSENT] * length
    if column is None or isinstance(column, (str, bytes)):
        raise DataError(
            f"{name} is {column!r}, not a list of strings", place=Place.nth("sentence", s)
        )
    values = list(column)
    if length is not None and len(values) != length:
        raise DataError(
            f"{len(values)} values of {name} for {length} forms; "
            f"give one a token, or None for {name}",
            place=Place.nth("sentence", s),
        )
    for t, value in enumerate(values):
        if not isinstance(value, str):
            raise DataError(
                f"{name} is {value!r}, not a string; write {_ABSENT!r} for a value that is missing",
                place=Place.nth("sentence", s, "token", t),
            )
    return values


def encode(fields: Fields, find: Sequence[Find]) -> ArcTokens:
    """Replace values by codes; what has no number gets 0.

    Parameters
    ----------
    fields
        The values of each column.
    find
        For each column, a function that returns the numbers of some values; -1 for those that have
        none.
    """
    lengths = fields.lengths
    start = np.cumsum([0, *(lengths + 1 + 2 * PAD)], dtype=np.int64)
    root = start[:-1] + PAD
    before = np.cumsum(lengths) - lengths
    own = np.arange(lengths.sum()) + np.repeat(root + 1 - before, lengths)
    coded = [_coded(of, each) for of, each in zip(fields.values, find, strict=True)]
    code = np.full((len(coded) - 1, start[-1]), _END, np.int32)
    code[:, (start[:-1, None] + np.arange(PAD)).ravel()] = _BEGIN
    code[:, root] = _ROOT
    for row, values in zip(code, coded[:-1], strict=True):
        row[own] = values
    count = np.zeros(start[-1], np.int64)
    count[own] = fields.n_feats
    return ArcTokens(
        start=start,
        code=code,
        feat_ptr=np.cumsum([0, *count], dtype=np.int64),
        feat=coded[-1],
        longest=int(lengths.max(initial=1)),
        most_codes=1 + max(int(values.max(initial=len(MARKS))) for values in coded),
        most_feats=int(count.max(initial=0)),
    )


def _coded(values: Sequence[str], find: Find) -> npt.NDArray[np.int32]:
    """Return the codes of values; those that are absent are empty strings."""
    distinct = [value for value in dict.fromkeys(values) if value]
    numbers = find(distinct)
    codes = np.where(numbers < 0, 0, numbers + len(MARKS)).tolist()
    index = dict(zip(distinct, codes, strict=True))
    return np.fromiter((index.get(value, 0) for value in values), np.int32, len(values))


def head_positions(lengths: Ints, heads: Sequence[Sequence[int] | Ints]) -> Ints:
    """Return the head of the token at every position of `ArcTokens`, 0 where there is no token.

    A head of -1 is not known.

    Raises
    ------
    DataError
        If heads are missing, are not words of the sentence, or are their own modifier.
    """
    if len(heads) != len(lengths):
        raise DataError(f"heads of {len(heads)} sentences for {len(lengths)} sentences")
    parts = []
    for s, (length, of) in enumerate(zip(lengths, heads, strict=True)):
        head = np.asarray(of)
        if head.shape != (length,) or (length and head.dtype.kind not in "iu"):
            raise DataError(
                f"heads of shape {head.shape} and type "
                f"{head.dtype} where {length} integers are expected",
                place=Place.nth("sentence", s),
            )
        bad = np.flatnonzero((head < -1) | (head > length) | (head == np.arange(1, length + 1)))
        if len(bad):
            raise DataError(
                f"the head of token {bad[0] + 1} (counted from 1) is {head[bad[0]]}; expected 0 "
                f"for the root or another token, 1 to {length}",
                place=Place.nth("sentence", s),
            )
        parts += [np.zeros(PAD + 1, np.int64), head.astype(np.int64), np.zeros(PAD, np.int64)]
    return np.concatenate([np.zeros(0, np.int64), *parts])
