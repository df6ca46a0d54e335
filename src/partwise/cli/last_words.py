"""The last message of a command that SIGTERM ends."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from partwise.files.whole_files import abandon

__all__ = ["last_words"]

_SENTENCE = "ended by SIGTERM; no file was left half-written"


def last_words(arguments: Sequence[str]) -> None:
    """Remove incomplete files, and report the signal on stderr, with --json also on stdout.

    The streams may be in the middle of a write and must not be entered again, so the message is
    written to their file descriptors.
    """
    abandon()
    texts = [(sys.stderr, f"partwise: error: {_SENTENCE}\n")]
    if "--json" in arguments:
        texts.append((sys.stdout, json.dumps({"command": arguments[0], "error": _SENTENCE}) + "\n"))
    for stream, text in texts:
        with suppress(OSError, ValueError):
            os.write(stream.fileno(), text.encode())
