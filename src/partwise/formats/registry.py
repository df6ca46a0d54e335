"""The registry of file formats by name."""

from __future__ import annotations

from typing import Final

from ..errors import DataError
from ..registry import Registry
from .base import Format

__all__ = ["FORMATS", "format_of"]

FORMATS: Final[Registry[Format]] = Registry(
    "partwise.formats",
    {
        "columns": "formats.columns:FORMAT",
        "svmlight": "formats.svmlight:FORMAT",
        "conll": "formats.conll:FORMAT",
        "brackets": "formats.brackets:FORMAT",
        "graphs": "formats.graph_text:FORMAT",
    },
)


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
