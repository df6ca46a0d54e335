"""A word on stderr where the user waits for the compiler and sees nothing happen."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

__all__ = ["NOTE", "noted_compilation"]

_log = logging.getLogger(__name__)

NOTE: Final = (
    "compiling the kernels, which takes up to a minute; compiled code is kept on disk, so only the "
    "first run waits for it"
)

#: A kernel or two are ready before anybody wonders.
_PATIENCE: Final = 1.0


@contextmanager
def noted_compilation() -> Iterator[None]:
    """Log that kernels are being compiled, once, when it has gone on for a while."""
    try:
        from numba.core import event
    except ImportError:
        # Without these events there is no telling, and nothing depends on it.
        yield
        return

    class Listener(event.Listener):
        def __init__(self) -> None:
            self.spent = 0.0
            self.began = 0.0
            self.depth = 0
            self.told = False

        def on_start(self, event: Any) -> None:
            # Compiling a kernel compiles what it calls: only the outermost time counts.
            now = time.monotonic()
            if self.depth == 0:
                self.began = now
            self.depth += 1
            if not self.told and self.spent + (now - self.began) > _PATIENCE:
                self.told = True
                _log.warning(NOTE)

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                self.spent += time.monotonic() - self.began

    # A pass of the compiler runs only where the cache on disk had nothing.
    with event.install_listener("numba:run_pass", Listener()):
        yield
