"""The registry of file formats by name."""

from __future__ import annotations

import logging
from typing import Final

from ..errors import DataError, MismatchError
from ..registry import Registry
from .base import Format
from .options import OPTIONS, Option

__all__ = ["FORMATS", "format_of", "format_options"]

_log = logging.getLogger(__name__)

FORMATS: Final[Registry[Format]] = Registry(
    "partwise.formats",
    {
        "columns": "formats.columns:FORMAT",
        "crfsuite": "formats.crfsuite:FORMAT",
        "conllu": "formats.conllu:FORMAT",
        "conllx": "formats.conllx:FORMAT",
        "jsonl": "formats.jsonl:FORMAT",
        "spacy": "formats.spans:SPACY",
        "prodigy": "formats.spans:PRODIGY",
        "doccano": "formats.spans:DOCCANO",
        "svmlight": "formats.svmlight:FORMAT",
        "conll": "formats.conll:FORMAT",
        "brackets": "formats.brackets:FORMAT",
        "graphs": "formats.graph_text:FORMAT",
    },
)


def format_options() -> dict[str, tuple[Option, ...]]:
    """Return the options of all formats; only formats of other packages are imported for it."""
    found = {name: OPTIONS[name] for name in FORMATS if name in OPTIONS}
    for name in FORMATS:
        if name not in found:
            try:
                found[name] = FORMATS[name].options
            except MismatchError as error:
                _log.debug("%s", error)
    return found


def format_of(name: str, holds: str) -> Format:
    """Find a format by its name.

    Parameters
    ----------
    name : str
        A name in ``FORMATS``.
    holds : str
        What its files must hold.
    """
    if name in FORMATS and FORMATS[name].holds == holds:
        return FORMATS[name]
    fitting = [known for known, form in FORMATS.usable().items() if form.holds == holds]
    if name not in FORMATS:
        raise DataError(f"unknown format {name!r}; for {holds} use one of {', '.join(fitting)}")
    raise DataError(
        f"files of the format {name!r} hold {FORMATS[name].holds}, and not {holds}; use one of "
        f"{', '.join(fitting)}"
    )
