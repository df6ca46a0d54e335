"""What the command says when SIGTERM ends it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from partwise.formats.whole_files import abandon

__all__ = ["last_words"]

_SENTENCE = "ended by SIGTERM; nothing was written half"


def last_words(arguments: Sequence[str]) -> None:
    """Remove what is written half, and say on stderr, with --json on stdout too, what happened.

    The streams may be in the middle of a write, and must not be entered again: the words go past
    them.
    """
    abandon()
    texts = [(sys.stderr, f"partwise: error: {_SENTENCE}\n")]
    if "--json" in arguments:
        texts.append((sys.stdout, json.dumps({"command": arguments[0], "error": _SENTENCE}) + "\n"))
    for stream, text in texts:
        with suppress(OSError, ValueError):
            os.write(stream.fileno(), text.encode())
