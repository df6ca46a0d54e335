"""Numbers of things in words."""

from __future__ import annotations

__all__ = ["counted"]


def counted(n: int, what: str) -> str:
    """Return a number and its noun, in the plural if it is not 1.

    Examples
    --------
    >>> from partwise.counted import counted
    >>> counted(1, "column"), counted(1200, "column")
    ('1 column', '1,200 columns')
    """
    return f"{n:,} {what if n == 1 else what + 's'}"
