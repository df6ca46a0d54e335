"""Feature names and their numbers, and the vectoriser for tokens given as dicts or strings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from partwise.errors import DataError, ModelFileError, Place
from partwise.models.tally import Tally
from partwise.problem.rows import Rows

from .token_features import fail_token, token_features

if TYPE_CHECKING:
    from .name_table import NameTable

__all__ = ["Vocabulary", "fit_rows", "packed", "transform_rows"]

#: Row pointers, features, values, and the lengths of sequences.
_Entries = tuple[list[int], list[int], list[float], NDArray[np.int64]]

#: How many names are handled at a time where they are not all strings.
_STRETCH = 1 << 16

#: The joined bytes of names, and where each begins and the last one ends.
_Packed = tuple[NDArray[np.uint8], NDArray[np.int64]]


class Vocabulary:
    """An immutable list of distinct names; the place of a name is its number.

    Parameters
    ----------
    names
        The names, in order.
    separator
        What stands between key and value in the names of features of dicts: ``w=the``. It is ``:``
        in models of CRFsuite.
    """

    #: Whether names have numbers by hashing, so that they are not known themselves.
    hashed: ClassVar[bool] = False

    def __init__(self, names: Iterable[str], separator: str = "=") -> None:
        self._names: tuple[str, ...] | None = tuple(names)
        self._packed: _Packed | None = None
        self.separator = separator
        if len(set(self._names)) != len(self._names):
            twice = next(name for name, count in Counter(self._names).items() if count > 1)
            raise DataError(f"the name {twice!r} occurs twice; names must be distinct")

    @classmethod
    def of_packed(
        cls, data: NDArray[np.uint8], offsets: NDArray[np.int64], separator: str = "="
    ) -> Vocabulary:
        """Make a vocabulary of distinct names in the form of `pack`, which is not checked.

        It takes a fraction of the memory, as the names become strings only if they are asked for.
        """
        made = cls.__new__(cls)
        made._names, made._packed, made.separator = None, (data, offsets), separator
        return made

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        if self._names is None:
            self._names = tuple(self)
        return self._names

    @property
    def is_packed(self) -> bool:
        """Whether the names are not held as strings."""
        return self._names is None

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of every name."""
        return {name: number for number, name in enumerate(self.names)}

    def find(self, names: Sequence[str], unknown: int = -1) -> NDArray[np.int32]:
        """Return the numbers of some names; `unknown` for those that are not in the vocabulary."""
        if self._names is None:
            found = self._table.find(names)
            found[found < 0] = unknown
            return found
        index = self.index
        return np.fromiter((index.get(name, unknown) for name in names), np.int32, len(names))

    def some(self, numbers: Sequence[int]) -> list[str]:
        """Return the names of some numbers, without making strings of all names."""
        if self._names is not None:
            return [self._names[number] for number in numbers]
        assert self._packed is not None
        data, offsets = self._packed
        return [
            data[offsets[n] : offsets[n + 1]].tobytes().decode("utf-8", "surrogatepass")
            for n in numbers
        ]

    def rows(self, rows: Rows, names: Vocabulary, tally: Tally | None = None) -> Rows:
        """Return rows of features that have names with the numbers that these names have here.

        Parameters
        ----------
        rows, names
            The rows, and the names of their features. Those that are not in this vocabulary are
            dropped.
        tally
            Counts the given and the known features, if it is not None.
        """
        numbers = self.find(names.names)[rows.indices]
        kept = numbers >= 0
        if tally is not None:
            tally.add(len(kept), int(np.count_nonzero(kept)))
        ends = np.concatenate([[0], np.cumsum(kept)])
        values = None if rows.values is None else rows.values[kept]
        return Rows(ends[rows.indptr], numbers[kept], values, len(self))

    @cached_property
    def _table(self) -> NameTable:
        # The table needs the compiler, and a model is read without it.
        from .name_table import NameTable

        return NameTable.of(*self.pack())

    def __len__(self) -> int:
        if self._names is not None:
            return len(self._names)
        assert self._packed is not None
        return len(self._packed[1]) - 1

    def __iter__(self) -> Iterator[str]:
        if self._names is not None:
            return iter(self._names)
        assert self._packed is not None
        return _decoded(*self._packed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.names == other.names

    def __hash__(self) -> int:
        return hash(self.names)

    def __repr__(self) -> str:
        return f"Vocabulary of {len(self)} names"

    def __getstate__(self) -> dict[str, Any]:
        # What is made when it is needed is made again.
        return {name: held for name, held in vars(self).items() if name not in ("index", "_table")}

    def codes_in(self, other: Vocabulary, n_marks: int) -> NDArray[np.int64]:
        """Return the code in another vocabulary of every code in this one.

        The first `n_marks` codes are marks, which are the same in both; the names follow in order.
        The code is 0 for a name that the other vocabulary does not have.
        """
        words = (other.index.get(name, -n_marks) + n_marks for name in self)
        return np.array([*range(n_marks), *words], dtype=np.int64)

    def keep(self, mask: NDArray[np.bool_]) -> Vocabulary:
        """Return a vocabulary of the names whose mask is True, renumbered in order."""
        if mask.shape != (len(self),):
            raise DataError(f"a mask of shape {mask.shape} for {len(self)} names")
        if self._names is None:
            data, offsets = self.pack()
            sizes = np.diff(offsets)
            ends = np.concatenate([[0], np.cumsum(sizes[mask])])
            kept_bytes = np.concatenate(
                [
                    data[offsets[a] : offsets[b]][np.repeat(mask[a:b], sizes[a:b])]
                    for a, b in pairwise([*range(0, len(self), _STRETCH), len(self)])
                ]
                or [np.zeros(0, np.uint8)]
            )
            return Vocabulary.of_packed(kept_bytes, ends, self.separator)
        kept = (name for name, chosen in zip(self._names, mask, strict=True) if chosen)
        return Vocabulary(kept, self.separator)

    def pack(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the joined UTF-8 bytes of all names, and the offsets of the names."""
        if self._packed is not None:
            return self._packed
        return packed(self.names)

    @classmethod
    def unpack(
        cls, data: NDArray[np.uint8], offsets: NDArray[np.int64], *, separator: str = "="
    ) -> Vocabulary:
        """Rebuild a vocabulary from what `pack` returned, and the separator.

        Raises
        ------
        ModelFileError
            If the arrays cannot be the result of `pack`.
        """
        vectors = data.ndim == offsets.ndim == 1
        if not vectors or data.dtype != np.uint8 or offsets.dtype != np.int64:
            raise ModelFileError(
                f"names of type {data.dtype} with offsets of type {offsets.dtype} where vectors "
                "of uint8 and int64 are expected; the model file is damaged"
            )
        sound = len(offsets) and offsets[0] == 0 and offsets[-1] == len(data)
        if not sound or (offsets[1:] < offsets[:-1]).any():
            raise ModelFileError(
                f"name offsets do not rise from 0 to {len(data)}; the model file is damaged"
            )
        joined = data.tobytes()
        ends = offsets.tolist()
        try:
            names = [joined[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(ends)]
            return cls(names, separator)
        except UnicodeDecodeError as error:
            raise ModelFileError(f"a name is not UTF-8 ({error}); the file is damaged") from error
        except DataError as error:
            raise ModelFileError(f"{error}; the model file is damaged") from error


def packed(names: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the joined UTF-8 bytes of some names, and the offsets of the names."""
    offsets = np.zeros(len(names) + 1, np.int64)
    joined = "".join(names)
    if joined.isascii():
        data = joined.encode("ascii")
        np.cumsum(np.fromiter(map(len, names), np.int64, len(names)), out=offsets[1:])
    else:
        # A lone surrogate is a legal Python string, so it must survive too.
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        data = b"".join(encoded)
        np.cumsum(np.fromiter(map(len, encoded), np.int64, len(names)), out=offsets[1:])
    return np.frombuffer(data, np.uint8), offsets


def _decoded(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Iterator[str]:
    for first in range(0, len(offsets) - 1, _STRETCH):
        ends = offsets[first : first + _STRETCH + 1].tolist()
        joined = data[ends[0] : ends[-1]].tobytes()
        for a, b in pairwise(ends):
            yield joined[a - ends[0] : b - ends[0]].decode("utf-8", "surrogatepass")


def fit_rows(
    sequences: Iterable[Iterable[Any]], separator: str = "="
) -> tuple[Rows, Vocabulary, NDArray[np.int64]]:
    """Number the features of some sequences, in the order in which they are first seen.

    Parameters
    ----------
    sequences
        Sequences of tokens. A token is a dict, or some strings, or one string:

        - ``{"w": "the"}`` is the feature ``w=the``, and ``{"w": ["a", "b"]}`` is ``w=a`` and
          ``w=b``, all with value 1;
        - ``{"len": 3}`` is the feature ``len`` with value 3;
        - ``{"title": True}`` is the feature ``title`` with value 1; False and None are absent;
        - ``{"next": {"w": "dog"}}`` is the feature ``next:w=dog``;
        - ``["w=the", "title"]`` (or a tuple or set) are features with value 1, and ``"w=the"`` is
          one feature.

        A name that occurs twice in a token gets the sum of its values.
    separator
        What stands between key and value in names, instead of ``=``.

    Returns
    -------
    rows, vocabulary, lengths
        The features of every token, their names, and the number of tokens in every sequence.

    Raises
    ------
    DataError
        If a token has another shape or a value is not finite; the message names the place.
    """
    index: dict[str, int] = {}
    _, entries = _collect(sequences, lambda name: index.setdefault(name, len(index)), separator)
    return _rows(*entries, len(index)), Vocabulary(index, separator), entries[-1]


def transform_rows(
    sequences: Iterable[Iterable[Any]], vocabulary: Vocabulary, tally: Tally | None = None
) -> tuple[Rows, NDArray[np.int64]]:
    """Look up the features of some sequences; names that are not in the vocabulary are dropped.

    Parameters
    ----------
    sequences
        As for `fit_rows`.
    vocabulary
        What `fit_rows` returned.
    tally
        Counts the given and the known features, if it is not None.

    Returns
    -------
    rows, lengths
        The features of every token, and the number of tokens in every sequence.
    """
    if not vocabulary.is_packed:
        given, entries = _collect(sequences, vocabulary.index.get, vocabulary.separator)
        rows = _rows(*entries, len(vocabulary))
        if tally is not None:
            tally.add(given, len(rows.indices))
        return rows, entries[-1]
    rows, names, lengths = fit_rows(sequences, vocabulary.separator)
    return vocabulary.rows(rows, names, tally), lengths


def _rows(
    indptr: list[int],
    indices: list[int],
    values: list[float],
    lengths: NDArray[np.int64],
    n_features: int,
) -> Rows:
    numbers = np.array(values, np.float64)
    finite = np.isfinite(numbers)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        row = int(np.searchsorted(indptr, bad[0], side="right")) - 1
        sequence = int(np.searchsorted(np.cumsum(lengths), row, side="right"))
        fail_token(
            sequence, row - int(lengths[:sequence].sum()), "the sum of a feature is not finite"
        )
    ones = bool((numbers == 1).all())
    starts, features = np.array(indptr, np.int64), np.array(indices, np.int32)
    return Rows(starts, features, None if ones else numbers, n_features)


def _collect(
    sequences: Iterable[Iterable[Any]], number: Callable[[str], int | None], separator: str
) -> tuple[int, _Entries]:
    """Collect the entries of every token; `number` numbers a name, or drops it with None.

    Returns the number of features of all tokens, including dropped ones, and the entries.
    """
    if isinstance(sequences, (str, bytes, Mapping)) or not isinstance(sequences, Iterable):
        raise DataError(f"{type(sequences).__name__} where a list of sequences is expected")
    indptr = [0]
    indices: list[int] = []
    values: list[float] = []
    lengths: list[int] = []
    given = 0
    for s, sequence in enumerate(sequences):
        if isinstance(sequence, (str, bytes, Mapping)) or not isinstance(sequence, Iterable):
            raise DataError(
                f"is a single {type(sequence).__name__} where a list of tokens is "
                "expected; wrap the tokens of each sequence in a list: [[token, token], [token]]",
                place=Place.nth("sequence", s),
                subject=True,
            )
        before = len(indptr)
        for t, token in enumerate(sequence):
            names, others = token_features(token, separator, s, t)
            given += len(names)
            known = list(map(number, names))
            numbers = [1.0] * len(names)
            for place, value in others.items():
                numbers[place] = value
            # Most tokens have known names only, each of them once.
            if None in known or len(set(known)) < len(known):
                entries: dict[int, float] = {}
                for feature, value in zip(known, numbers, strict=True):
                    if feature is not None:
                        entries[feature] = entries.get(feature, 0.0) + value
                indices.extend(entries)
                values.extend(entries.values())
            else:
                indices.extend(cast("list[int]", known))
                values.extend(numbers)
            indptr.append(len(indices))
        lengths.append(len(indptr) - before)
    return given, (indptr, indices, values, np.array(lengths, np.int64))
