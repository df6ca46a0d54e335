"""The sentences of a column file, or tokens from Python that are such columns, as examples."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Floats
from ...errors import DataError, Place
from ...formats.columns import Columns
from ...formats.tokens import Attributes
from ...models.tally import Tally
from ...models.vocabulary import Vocabulary
from ...problem.rows import Rows
from ...wording import counted
from ..base import no_labels
from ..labels import order_of_labels
from ..source import Source
from .examples import without_marks
from .extraction import ColumnTemplates, look_up
from .templates import TemplateSet, template_for
from .token_text import shown_attributes
from .tokens import Tokens, bare_tokens, made_tokens

if TYPE_CHECKING:
    from .features import PositionFeatures

__all__ = [
    "ColumnFile",
    "as_columns",
    "attribute_rows",
    "check_file",
    "default_templates",
    "given_columns",
    "not_columns",
]


@dataclass(frozen=True, eq=False)
class ColumnFile(Source):
    """The sentences of a column file, or of data with the same columns.

    Attributes
    ----------
    columns : Columns
        The file.
    spelling : bool or None
        Whether features use the spelling of words. If None, only if there is one column.
    templates : ColumnTemplates or None
        How features are made from the columns in training. If None, by the default templates.
    transition_features : bool
        Whether the default templates also give features to pairs of neighbouring tokens.
    format : mapping or None
        The format of the file and its options, for the model to keep; None for the default.
    """

    columns: Columns
    spelling: bool | None = None
    templates: ColumnTemplates | None = None
    transition_features: bool = False
    format: Mapping[str, Any] | None = None

    @property
    def path(self) -> str:  # type: ignore[override]
        """The file that they were read from."""
        return self.columns.path

    def __len__(self) -> int:
        return len(self.columns.lengths)

    @property
    def n_positions(self) -> int:
        return len(self.columns)

    def take(self, which: Sequence[int]) -> ColumnFile:
        return replace(self, columns=self.columns.take(which))

    def given(self) -> tuple[Any, Any, dict[str, Any]]:
        return self.columns, None, {}

    @property
    def weights(self) -> Any:
        return self.columns.weights

    @property
    def meta(self) -> dict[str, Any]:
        return {} if self.format is None else {"format": dict(self.format)}

    @property
    def by_name(self) -> bool:
        """Whether the file gives features by name, so that there are no templates."""
        return self.columns.attributes is not None

    def like(self, first: PositionFeatures | None) -> ColumnFile:
        """Choose the templates to train with: those of a first model, or the default ones."""
        if self.by_name:
            if self.spelling is not None:
                raise DataError(
                    "the features of the file have names, so their spelling cannot "
                    "be looked into; leave --spelling out",
                    place=Place(self.path),
                )
            return self
        n_inputs = len(self.columns.fields)
        templates = self.templates
        if first is not None:
            if first.templates is None:
                raise DataError(
                    "the model to start from takes attributes, that is features by "
                    "name, and no columns; give a file of attributes with --format crfsuite, or "
                    "start without the model",
                    place=Place(self.path),
                )
            if first.n_inputs != n_inputs:
                raise DataError(
                    f"{counted(n_inputs, 'input column')} where the model to "
                    f"start from was trained with {first.n_inputs}; give the columns it was "
                    "trained with, or start without it",
                    place=Place(self.path),
                )
            templates = templates or first.templates
        if templates is None or self.spelling is not None:
            spelling = n_inputs == 1 if self.spelling is None else self.spelling
            templates = template_for(n_inputs, spelling)
        if self.transition_features and isinstance(templates, TemplateSet):
            templates = replace(templates, steps=True)
        return replace(self, templates=templates)

    def tokens(self, known: PositionFeatures | None = None) -> Tokens:
        """Apply the templates, those of the model if there is one."""
        if self.columns.attributes is not None:
            return _named_tokens(self.columns, self.columns.attributes, known)
        if known is None:
            templates = self.templates or self.like(None).templates
            assert templates is not None
            return made_tokens(self.columns, templates)
        if known.templates is None or known.vocabulary is None:
            raise not_columns()
        columns, templates, tally, steps = self.columns, known.templates, Tally(), None
        templates.check(columns)
        rows = look_up(columns, templates.positions, known.vocabulary, tally)
        if templates.transitions is not None and known.transition_vocabulary is not None:
            steps = look_up(columns, templates.transitions, known.transition_vocabulary, tally)
        return Tokens(
            rows, columns.lengths, len(columns.fields), known.vocabulary, templates, steps,
            known.transition_vocabulary, tally=tally,
        )  # fmt: skip

    def untouched(self) -> Tokens:
        """Return the tokens without features, for a look at their labels."""
        return bare_tokens(self.columns.lengths)

    def labels(self, tokens: Tokens, missing: Any = None) -> list[Any]:
        """Return the labels of all tokens, one after the other; None where they are missing."""
        assert self.columns.labels is not None
        return without_marks(self.columns.labels, missing)

    def words(self) -> list[list[str]]:
        """Return the first column of every sentence.

        Files that give features by name have no columns. They get a text for every token, see
        `shown_attributes`.
        """
        columns = self.columns
        if columns.attributes is not None:
            return columns.split(shown_attributes(columns.attributes, columns.lengths.tolist()))
        return columns.split(columns.fields[0] if columns.fields else [""] * len(columns))

    def sentences(self) -> list[list[str]]:
        """Return the labels of every sentence."""
        if self.columns.labels is None:
            raise no_labels(self.path, len(self), "in the last column of a column file")
        return self.columns.split(self.columns.labels)

    def ordered(self, labels: set[str]) -> list[str]:
        """Return distinct labels in the order of their numbers."""
        return sorted(labels, key=order_of_labels)

    def place(self, s: int, t: int) -> Place:
        """Return the place of token t of sentence s."""
        return self.columns.place(s, t)


def _named_tokens(
    columns: Columns, attributes: Attributes, known: PositionFeatures | None
) -> Tokens:
    """Number features that have names; in prediction, look them up."""
    if known is None:
        rows, names = attribute_rows(attributes)
        return Tokens(rows, columns.lengths, rows.n_features, names)
    if known.vocabulary is None:
        raise not_columns()
    tally = Tally()
    rows, names = attribute_rows(attributes, known.vocabulary, tally)
    templates, n_inputs = known.templates, known.n_inputs
    return Tokens(rows, columns.lengths, n_inputs, names, templates, tally=tally)


def attribute_rows(
    attributes: Attributes, known: Vocabulary | None = None, tally: Tally | None = None
) -> tuple[Rows, Vocabulary]:
    """Number the attributes of tokens, in the order in which they are first seen.

    The values of a name that occurs several times in a token are added up, and attributes of
    value 0 are absent, as in :func:`partwise.models.vocabulary.fit_rows`.

    Parameters
    ----------
    attributes : Attributes
        The attributes of all tokens.
    known : Vocabulary or None
        The names that a model knows; others are dropped. If None, every name gets a number.
    tally : Tally or None
        Counts the given and the known attributes.

    Returns
    -------
    rows, vocabulary
        The features of every token, and their names.
    """
    if known is not None and known.is_packed:
        return known.rows(*attribute_rows(attributes), tally), known
    present = attributes.values != 0.0
    names = [name for name, here in zip(attributes.names, present.tolist(), strict=True) if here]
    values = attributes.values[present]
    token = np.repeat(np.arange(len(attributes)), np.diff(attributes.ends))[present]
    vocabulary = Vocabulary(dict.fromkeys(names)) if known is None else known
    index = vocabulary.index
    number = np.fromiter((index.get(name, -1) for name in names), np.int64, len(names))
    if tally is not None:
        tally.add(len(number), int((number >= 0).sum()))
    token, values, number = (part[number >= 0] for part in (token, values, number))
    # Equal pairs of token and feature are merged, in the place of the first of them.
    key = token * max(1, len(vocabulary)) + number
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    sums: Floats = np.bincount(group, values, minlength=len(first)).astype(np.float64)[order]
    first = first[order]
    ends = np.concatenate([[0], np.cumsum(np.bincount(token[first], minlength=len(attributes)))])
    ones = bool((sums == 1.0).all())
    features = number[first].astype(np.int32)
    return Rows(ends, features, None if ones else sums, len(vocabulary)), vocabulary


def not_columns() -> DataError:
    """Return the error for a column file and a model that cannot read columns."""
    return DataError(
        "the model was not trained on column files, so files cannot be given to it; use it from "
        "Python, with partwise.load_model, or give its features by name, with --format crfsuite"
    )


def check_file(X: Any, y: Any) -> None:
    """Raise a DataError if X is the name of a file, or a file that does not go with y."""
    if isinstance(X, (str, os.PathLike)):
        raise DataError(
            f"X is of type {type(X).__name__}; give a list of sequences, or for a file what a "
            "reader returns, such as partwise.formats.read_columns(path)"
        )
    if not isinstance(X, Columns):
        return
    if X.labels is None:
        raise DataError(f"{X.path} was read without labels; read it with labelled=True, without y")
    if y is not None:
        raise DataError(f"{X.path} was read with labels of its own; leave y out")


def as_columns(X: Any, n_inputs: int) -> Columns | None:
    """Return sequences of tokens as the columns of a file; None if they have another form.

    A token is a string if there is one column, otherwise a list or tuple of one string per column.
    """
    if not isinstance(X, (list, tuple)):
        return None
    fields: tuple[list[str], ...] = tuple([] for _ in range(n_inputs))
    lengths = []
    for sequence in X:
        if not isinstance(sequence, (list, tuple)):
            return None
        for token in sequence:
            values = [token] if isinstance(token, str) else token
            if not isinstance(values, (list, tuple)) or len(values) != n_inputs:
                return None
            if not all(isinstance(value, str) for value in values):
                return None
            for column, value in zip(fields, values, strict=True):
                column.append(value)
        lengths.append(len(sequence))
    counts = np.array(lengths, dtype=np.int64)
    return Columns("X", fields, None, counts, np.arange(1, 1 + int(counts.sum())))


def given_columns(X: Any, templates: ColumnTemplates) -> Columns:
    """Return sequences of tokens as the columns that templates are applied to.

    Raises a DataError if the tokens are not columns.
    """
    X = list(X)
    some = _first_token(X)
    columns = as_columns(X, templates.n_columns if some is None else _width(some))
    if columns is None:
        raise DataError(
            "templates are applied to columns, so every token of X must be a list of strings, one "
            "per column, or a string if there is one column; every token must have as many columns "
            f"as the first one, {some!r:.80}"
        )
    templates.check(columns)
    return columns


def default_templates(X: Sequence[Any]) -> TemplateSet:
    """Return the templates that a file with the columns of these tokens gets by default."""
    some = _first_token(X)
    n_inputs = 1 if some is None else _width(some)
    return template_for(n_inputs, spelling=n_inputs == 1)


def _first_token(X: Sequence[Any]) -> Any:
    return next((token for sequence in X for token in sequence), None)


def _width(token: Any) -> int:
    """Return the number of columns of a token; what has none is refused by `as_columns`."""
    return len(token) if isinstance(token, (list, tuple)) else 1
