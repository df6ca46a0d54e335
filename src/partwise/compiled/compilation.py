"""A log line for those who wait for the compiler and see nothing happen."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

__all__ = ["NOTE", "listen", "noted_compilation"]

_log = logging.getLogger(__name__)

NOTE: Final = (
    "waiting for the compiler, which takes about a minute; compiled code is kept on disk, so only "
    "the first run of each kind waits for it"
)

#: A function or two are compiled before anybody wonders, in seconds.
_PATIENCE: Final = 1.0

#: Whether this process has logged the note.
_told = False

#: The notes that are open; there is at most one.
_open: Final[list[_Note]] = []


@contextmanager
def noted_compilation() -> Iterator[None]:
    """Log, once per process, that code is being compiled, when it has gone on for a while.

    numba is not imported for it: if it is imported later on, `listen` takes up the note.
    """
    if _open:  # whoever called has a note already
        yield
        return
    note = _Note()
    _open.append(note)
    try:
        if "numba" in sys.modules:
            note.listen()
        yield
    finally:
        _open.remove(note)
        note.stop()


def listen() -> None:
    """Let a note that was opened before numba was imported listen to the compiler."""
    for note in _open:
        note.listen()


class _Note:
    """How long the compiler has been at work."""

    def __init__(self) -> None:
        self.spent = 0.0
        self.began = 0.0
        self.depth = 0
        self.stop: Callable[[], None] = lambda: None

    def listen(self) -> None:
        """Listen to the events of numba, if it has them."""
        try:
            from numba.core import event
        except ImportError:
            # Without these events there is no telling, and nothing depends on it.
            return
        note = self

        class Listener(event.Listener):
            def on_start(self, event: Any) -> None:
                note.start()

            def on_end(self, event: Any) -> None:
                note.end()

        # A pass of the compiler runs only where the cache on disk had nothing.
        kind, listener = "numba:run_pass", Listener()
        event.register(kind, listener)
        self.stop = lambda: event.unregister(kind, listener)

    def start(self) -> None:
        """Take note that a pass begins."""
        # Compiling a function compiles what it calls: only the outermost time counts.
        now = time.monotonic()
        if self.depth == 0:
            self.began = now
        self.depth += 1
        global _told
        if not _told and self.spent + (now - self.began) > _PATIENCE:
            _told = True
            _log.warning(NOTE)

    def end(self) -> None:
        """Take note that a pass ends."""
        # One that began before anybody listened is not counted.
        self.depth = max(self.depth - 1, 0)
        if self.depth == 0:
            self.spent += time.monotonic() - self.began
