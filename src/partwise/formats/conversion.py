"""Conversion of files of tokens from one format to another."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from partwise.errors import DataError, Place
from partwise.formats.column_choice import listed
from partwise.formats.conllu import Field
from partwise.formats.registry import Chosen, Format, format_of
from partwise.formats.tokens import Columns

__all__ = ["Conversion", "convert"]

_TOKENS: Final = "tokens in columns"
_CONLL: Final = ("conllu", "conllx")
_TEXTS: Final = ("spacy", "prodigy", "doccano")
#: The formats whose strings can hold anything that a string of Python can.
_JSON: Final = (*_TEXTS, "jsonl")


@dataclass(frozen=True)
class Conversion:
    """What was written.

    Attributes
    ----------
    n_sentences, n_tokens : int
        How many sentences and tokens.
    dropped : dict of str to int
        What was left out because the format has no place for it, and how many of each.
    """

    n_sentences: int
    n_tokens: int
    dropped: dict[str, int]


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    from_format: Chosen | str,
    to_format: str,
    *,
    out: Mapping[str, Any] | None = None,
    labelled: bool = True,
    drop: bool = False,
    **options: Any,
) -> Conversion:
    r"""Convert a file of tokens.

    Parameters
    ----------
    source, target
        The file to read and the file to write; ``-`` is stdin or stdout.
    from_format, to_format
        The names of their formats.
    out
        Options for writing, by name: "separator" for columns; "label" for CoNLL files and jsonl;
        "columns", the names of the inputs, for both.
    labelled
        Whether the file has labels.
    drop
        Whether to leave out what the other format has no place for. If not, it raises a DataError.
    **options
        Options for reading, such as ``label_column=1``.

    Returns
    -------
    Conversion

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import convert
    >>> _ = Path("t.txt").write_text("the DET\ndog NOUN\n")
    >>> done = convert("t.txt", "t.jsonl", "columns", "jsonl")
    >>> Path("t.jsonl").read_text()
    '{"tokens": ["the", "dog"], "tags": ["DET", "NOUN"]}\n'
    """
    chosen = Chosen.of(from_format)
    chosen = Chosen(chosen.name, {**chosen.options, **options})
    form = format_of(to_format, _TOKENS)
    if form.write is None:
        raise DataError(f"files of the format {to_format!r} can be read and not written")
    settings = _settings(to_format, form, out or {})
    columns: Columns = chosen.read("columns", source, labelled=labelled)
    if columns.attributes is not None and not form.by_name:
        raise DataError(
            f"holds features and no tokens, so it cannot become {to_format}; "
            "convert the file that the features were made from",
            place=Place(columns.path),
        )
    names = listed(settings.pop("columns", None))
    if names is not None:
        if len(names) != len(columns.fields):
            raise DataError(f"{len(names)} names for {len(columns.fields)} inputs; give one each")
        columns = replace(columns, names=tuple(names))
    columns, lost = _fitted(columns, to_format)
    if lost and not drop:
        raise DataError(
            f"{to_format} has no place for {_counted(lost)}; give --drop to leave them out",
            place=Place(columns.path),
        )
    _check_text(columns, to_format)
    form.write(target, columns, **settings)
    return Conversion(len(columns.lengths), len(columns), lost)


def _counted(lost: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in lost.items())


def _settings(name: str, form: Format, out: Mapping[str, Any]) -> dict[str, Any]:
    """Check the options for writing."""
    assert form.write is not None
    own = {option.name for option in form.options}
    takes = own & set(inspect.signature(form.write).parameters)
    if name != "columns" and "columns" in own:
        takes.add("columns")
    for key in out:
        if key not in takes:
            known = f"it has {', '.join(sorted(takes))}" if takes else "it has none"
            raise DataError(f"{key!r} is no option for writing {name}; {known}")
    return dict(out)


def _fitted(columns: Columns, target: str) -> tuple[Columns, dict[str, int]]:
    """Return the tokens without what a format cannot hold, and how much that is."""
    lost: dict[str, int] = {}
    layout = columns.layout
    if layout is not None and layout.format != target:
        lost.update(layout.extras)
        if layout.format in _CONLL and target in _CONLL:
            kept = () if target == "conllu" else ("comments", "multiword tokens and empty nodes")
            lost = {what: count for what, count in lost.items() if what in kept}
    if columns.weights is not None and target != "crfsuite":
        lost["weights of sentences"] = int((columns.weights != 1.0).sum())
        columns = replace(columns, weights=None)
    places = _places(columns, target)
    names = columns.names or [str(number) for number in range(1, len(columns.fields) + 1)]
    for number, name in enumerate(names):
        if number not in places:
            lost[f"values of the input {name!r}"] = len(columns)
    if len(places) < len(columns.fields):
        kept_names = None if columns.names is None else tuple(columns.names[p] for p in places)
        fields = tuple(columns.fields[place] for place in places)
        columns = replace(columns, fields=fields, names=kept_names)
    return columns, lost


def _places(columns: Columns, target: str) -> list[int]:
    """Return the inputs that a format has a place for."""
    every = list(range(len(columns.fields)))
    if target in _TEXTS:
        return every[:1]
    layout = columns.layout
    if target not in _CONLL or (layout is not None and layout.format in _CONLL):
        return every
    if columns.names is None:
        return every[:1]
    return [place for place in every if place == 0 or _is_field(columns.names[place])]


def _is_field(name: str) -> bool:
    try:
        Field.of(name)
    except DataError:
        return False
    return True


def _check_text(columns: Columns, target: str) -> None:
    """Raise a DataError for strings that UTF-8 cannot hold; JSON has escapes for them."""
    if target in _JSON:
        return
    attributes = [] if columns.attributes is None else [columns.attributes.names]
    every: Iterable[Iterable[str]] = [*columns.fields, columns.labels or (), *attributes]
    for values in every:
        for value in set(values):
            if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
                raise DataError(
                    f"{value!r} holds half of a surrogate pair, which a text file "
                    "cannot; replace it, or convert to jsonl",
                    place=Place(columns.path),
                )
