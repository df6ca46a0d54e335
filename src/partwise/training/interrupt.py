"""Ctrl-C and SIGTERM during training.

The first signal ends the fit after the current epoch, with a valid model. The second one ends the
program.

Python runs signal handlers between two of its own instructions, so no handler runs while compiled
code does. That code cannot be interrupted, but it runs without the interpreter's lock. So a thread
counts the signals as they arrive. If the second one has not been handled after a while, the thread
ends the process. It does not do so in an interactive session, whose process holds more than the
fit.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, ClassVar, Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
#: Seconds that the running code has to end by itself after the second signal.
_GRACE: Final = 2.0

__all__ = ["Interrupt", "ended_in_order"]


@contextmanager
def ended_in_order(last: Callable[[], None]) -> Iterator[None]:
    """Make SIGTERM end the process with exit code 143, after a last call, while entered.

    The handler does not raise an exception, which the process would not survive while compiled code
    hands its results over to Python. Nothing changes if the signal is already handled or ignored,
    or in a thread other than the main one.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        try:
            last()
        finally:
            os._exit(128 + number)

    alone = threading.current_thread() is threading.main_thread()
    if not alone or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


class Interrupt:
    """While entered, the first SIGINT or SIGTERM only sets ``requested``.

    Only the main thread can catch signals; in other threads nothing changes.
    """

    _watch: ClassVar[_SignalWatch | None] = None  # the watch of the outermost Interrupt

    def __init__(self) -> None:
        self.requested = False
        self._before: dict[int, Any] = {}
        self._own: _SignalWatch | None = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            before = self._before[number]
            if number == signal.SIGTERM and callable(before):
                before(number, frame)
            raise KeyboardInterrupt
        self.requested = True

    def __enter__(self) -> Interrupt:
        """Install handlers for the two signals."""
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                self._before[number] = signal.signal(number, self._handle)
            if Interrupt._watch is None and not hasattr(sys, "ps1"):
                self._own = Interrupt._watch = _SignalWatch()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Restore the previous handlers."""
        if self._own is not None:
            self._own.close()
            self._own = Interrupt._watch = None
        for number, handler in self._before.items():
            signal.signal(number, handler)


class _SignalWatch:
    """Ends the process `_GRACE` seconds after the second signal, unless it is closed before."""

    def __init__(self) -> None:
        self._closed = threading.Event()
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        # The interpreter writes the number of every signal there, even while compiled code runs.
        self._before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._run, name="partwise-signals", daemon=True).start()

    def _run(self) -> None:
        seen = 0
        with self._reader:
            while numbers := self._reader.recv(64):
                if self._before >= 0:  # another reader waits for them, too
                    os.write(self._before, numbers)
                seen += sum(number in _SIGNALS for number in numbers)
                if seen > 1 and not self._closed.wait(_GRACE):
                    os._exit(128 + numbers[-1])

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        signal.set_wakeup_fd(self._before)
        self._writer.close()
