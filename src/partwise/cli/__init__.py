"""The command line. Each verb imports what it needs when it runs."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``partwise`` with some arguments and return its exit code.

    Parameters
    ----------
    argv : sequence of str or None
        The arguments after the program's name; None takes them from the command line.

    Returns
    -------
    int
        0 done, 1 bad data or model, 2 usage, 3 stopped before the requested gap, 128 + n ended by
        signal n (130: Ctrl-C, 141: the reader of stdout went away).
    """
    from .parser import run

    return run(argv)
