"""All faults of a file at once, with their places and what to do about them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from partwise.errors import DataError, FormatError
from partwise.formats.choice import Chosen
from partwise.formats.faults import Fault, Faults
from partwise.formats.label_counts import label_counts
from partwise.formats.source import NotTextError, Text, read_text
from partwise.formats.tag_rules import broken_rule, likely_scheme
from partwise.formats.tag_schemes import SCHEME_ALIASES, TAG_SCHEMES
from partwise.formats.tokens import Columns

__all__ = ["Verdict", "validate"]


@dataclass(frozen=True)
class Verdict:
    """What was found in a file.

    Attributes
    ----------
    path : str
        The file.
    faults : list of Fault
        The faults, in the order of their lines; empty if the file is sound.
    n_examples : int
        The number of sentences or other examples that could be read.
    scheme : str or None
        The scheme that tags were checked by.
    complete : bool
        Whether these are all faults. Some formats can only be read up to the first one.
    labels : dict of str to int
        How often each label occurs in the examples that could be read, the most frequent one first.
    readable : bool
        Whether all lines could be read, so that all faults are about tags and `labels` counts all
        labels.
    """

    path: str
    faults: list[Fault]
    n_examples: int
    scheme: str | None = None
    complete: bool = True
    labels: dict[str, int] = field(default_factory=dict)
    readable: bool = True


def validate(
    path: str | os.PathLike[str],
    format: Chosen | str | None = None,
    *,
    default: str = "columns",
    scheme: str | None = None,
    **options: Any,
) -> Verdict:
    r"""Find all faults of a file.

    Parameters
    ----------
    path
        The file; ``-`` is stdin.
    format
        The name of its format; None is `default`, unless the file looks like another one.
    default
        The format of the task that the file is for.
    scheme
        The scheme of its tags, such as "BIO" or "IOBES". If None, it is guessed from the tags, and
        nothing is checked if the labels do not look like tags of spans.
    **options
        The options of the format, such as ``label="xpos"``.

    Returns
    -------
    Verdict

    Raises
    ------
    FormatError
        If no format was named and the file looks like another one than the default.
    DataError
        If the format, the scheme or an option is unknown, or the file cannot be read at all.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats.validate import validate
    >>> _ = Path("t.txt").write_text("the B-NP\ndog I-VP\n")
    >>> verdict = validate("t.txt", scheme="BIO")
    >>> len(verdict.faults), verdict.faults[0].line
    (1, 2)
    """
    chosen = Chosen.of(format)
    chosen = Chosen(chosen.name, {**chosen.options, **options})
    if scheme is not None and SCHEME_ALIASES.get(scheme, scheme) not in TAG_SCHEMES:
        known = ", ".join([*TAG_SCHEMES, *SCHEME_ALIASES])
        raise DataError(f"unknown scheme {scheme!r}; use one of {known}")
    form = chosen.format(default)
    faults = Faults(keep=True)
    source: Any = path
    name = "<stdin>" if os.fspath(path) == "-" else os.fspath(path)
    wanted: dict[str, Any] = {}
    if form.finds_all:
        try:
            source = read_text(path, chosen.options.get("encoding"), faults)
        except NotTextError as error:
            # Faults of lines mean nothing in a text that was not decoded.
            with faults.from_errors(name):
                raise error
            return Verdict(name, faults.found, 0, None, False, {}, False)
        wanted["faults"] = faults
    found: Any = None
    try:
        found = chosen.read(default, source, **wanted)
    except FormatError:
        raise
    except DataError as error:
        # What concerns the whole file ends the reading.
        with faults.from_errors(name):
            raise error
    readable = not faults.found
    complete = form.finds_all or readable
    labels = {} if found is None else label_counts(found)
    if not isinstance(found, Columns):
        n_examples = 0 if found is None else len(getattr(found, "lines", found))
        return Verdict(name, _ordered(faults), n_examples, None, complete, labels, readable)
    if found.labels is None:
        scheme = None
    else:
        scheme = scheme or likely_scheme(found.split(found.labels) if len(found) else [])
        if scheme is not None:
            text = source.text.split("\n") if isinstance(source, Text) else None
            _check_tags(found, text, scheme, faults)
    n_examples = len(found.lengths)
    return Verdict(name, _ordered(faults), n_examples, scheme, complete, labels, readable)


def _ordered(faults: Faults) -> list[Fault]:
    return sorted(faults.found, key=lambda fault: (fault.line or 0, fault.column or 0))


def _check_tags(columns: Columns, text: list[str] | None, scheme: str, faults: Faults) -> None:
    """Report all tags that break a scheme, but not beside lines that have faults already."""
    assert columns.labels is not None
    known = {fault.line for fault in faults.found}
    lines = columns.lines.tolist()
    begin = 0
    for length in columns.lengths.tolist():
        before: str | None = None
        sound = True
        for token in range(begin, begin + length + 1):
            ended = token == begin + length
            now = None if ended else columns.labels[token]
            line = lines[token - ended]
            here = ended or line not in known
            wrong = broken_rule(scheme, before, now) if sound and here else None
            if wrong is not None:
                label = columns.labels[token - ended]
                at = None if text is None else _column(columns, text[line - 1], label)
                faults.add(columns.path, line, wrong, at)
            before, sound = now, here
        begin += length


def _column(columns: Columns, line: str, label: str) -> int:
    """Return where a label stands in its line, counted from 1."""
    layout = columns.layout
    settings: Mapping[str, Any] = {} if layout is None else layout.settings
    if layout is not None and layout.format == "crfsuite":
        return 1
    if line.lstrip(" \t").startswith("{"):
        key = settings.get("label") or settings.get("key") or "text"
        return line.find(json.dumps(key, ensure_ascii=False)) + 1 or 1
    mark = re.escape(columns.separator)
    places = [found.start(1) for found in re.finditer(
        rf"(?:^|[\t=| ]|{mark})({re.escape(label)})(?=$|[\t| ]|{mark})", line)]  # fmt: skip
    return places[-1] + 1 if places else 1
