"""Parts of sentences for people: numbers of things, and names that somebody may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

__all__ = ["counted", "did_you_mean", "plural"]

#: Plurals that do not only add an s.
_PLURALS: Final = {"vertex": "vertices", "part of speech": "parts of speech"}

#: How much less alike than the best a name may be, of 1 for equal names.
_LESS: Final = 0.1


def counted(n: int, what: str) -> str:
    """Return a number and its noun, in the plural if it is not 1.

    Examples
    --------
    >>> from partwise.wording import counted
    >>> counted(1, "column"), counted(1200, "column")
    ('1 column', '1,200 columns')
    """
    return f"{n:,} {what if n == 1 else plural(what)}"


def plural(what: str) -> str:
    """Return the plural of a noun."""
    return _PLURALS.get(what, f"{what}s")


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a question after the known names that are most alike.

    Parameters
    ----------
    name : str
        The name that is not known.
    known : iterable of str
        The names that are.
    otherwise : str
        What to return if none of them is alike.

    Examples
    --------
    >>> from partwise.wording import did_you_mean
    >>> did_you_mean("trian", ["train", "predict"])
    'did you mean train?'
    """
    near = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.6)
    likeness = [difflib.SequenceMatcher(None, one, name).ratio() for one in near]
    # The best comes first; what is far less alike would only distract from it.
    near = [one for one, found in zip(near, likeness, strict=True) if found > likeness[0] - _LESS]
    return f"did you mean {' or '.join(near)}?" if near else otherwise
