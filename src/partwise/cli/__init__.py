"""The command line. Each verb imports what it needs when it runs."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    r"""Run ``partwise`` with some arguments and return its exit code.

    Parameters
    ----------
    argv : sequence of str or None
        The arguments after the program's name; None takes them from the command line.

    Returns
    -------
    int
        0: done, 1: bad data or model, 2: usage, 3: stopped before the requested gap, 128 + n: ended
        by signal n (130: Ctrl-C, 141: stdout was closed by its reader, 143: SIGTERM).

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.cli import main
    >>> _ = Path("text.txt").write_text("the B-NP\ncat I-NP\nsleeps B-VP\n")
    >>> main(["validate", "text.txt"])
    text.txt: sound; 1 example, tags by IOB2
    3 labels: B-NP 1, B-VP 1, I-NP 1
    0
    """
    import os
    import sys

    # A closed stream (2>&-) is None; its file descriptor must not be reused for a data file.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    from ..training.interrupt import ended_in_order

    given = sys.argv[1:] if argv is None else argv
    try:
        with ended_in_order(lambda: last_words(given)):
            from .outcome import deliver
            from .parser import parse

            arguments = parse(given)
            return arguments if isinstance(arguments, int) else deliver(arguments)
    except KeyboardInterrupt:
        sys.stderr.write("partwise: error: interrupted; no file was left half-written\n")
        return 130


def last_words(arguments: Sequence[str]) -> None:
    """Remove incomplete files, and report the signal on stderr, with --json also on stdout.

    The streams may be in the middle of a write and must not be entered again, so the message is
    written to their file descriptors.
    """
    import json
    import os
    import sys
    from contextlib import suppress

    from ..files.whole_files import abandon

    abandon()
    sentence = "ended by SIGTERM; no file was left half-written"
    texts = [(sys.stderr, f"partwise: error: {sentence}\n")]
    if "--json" in arguments:
        texts.append((sys.stdout, json.dumps({"command": arguments[0], "error": sentence}) + "\n"))
    for stream, text in texts:
        with suppress(OSError, ValueError):
            os.write(stream.fileno(), text.encode())
