"""A server: listens, keeps the connections, and stops in order."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from ..compiled.threads import thread_count
from ..errors import DataError
from .application import Application, Authority
from .connection import Connection
from .limits import Limits
from .served_model import ServedModel, quiet_tasks

__all__ = ["Server"]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_BACKLOG: Final = 256
#: How often the loop looks for what has come before it stops listening.
_ROUNDS: Final = 10


class Server:
    """A server of models.

    Parameters
    ----------
    models : sequence of ServedModel
        The models.
    host : str
        The address to listen on.
    port : int
        The port; 0 is any that is free.
    limits : Limits
        What requests may ask for.
    allowed_hosts : iterable of str
        Further names that requests may be addressed to.
    n_threads : int or None
        How many threads predict; None is one per core.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]]
    >>> tagger = SequenceTagger().fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> from partwise.serve import Limits, ServedModel, Server
    >>> server = Server([ServedModel("tags", tagger.model_, Limits())])
    >>> def ready():
    ...     print(server.url.startswith("http://127.0.0.1:"))
    ...     server.stop()
    >>> server.run(ready)
    True
    True
    """

    def __init__(
        self,
        models: Sequence[ServedModel],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        limits: Limits | None = None,
        allowed_hosts: Iterable[str] = (),
        n_threads: int | None = None,
    ) -> None:
        self.host, self.port = host, port
        self.limits = limits or Limits()
        self._connections: set[Connection] = set()
        self._models = models
        self._authority = Authority(host, allowed_hosts)
        self._n_threads = n_threads or thread_count(-1)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._hurry = False
        self.application: Application | None = None

    @property
    def url(self) -> str:
        """The address of the page."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}/"

    def run(self, ready: Callable[[], None]) -> bool:
        """Serve until `stop` is called or a signal comes.

        Parameters
        ----------
        ready : callable
            Called when the server listens.

        Returns
        -------
        bool
            Whether everything that was under way has been finished.
        """
        with quiet_tasks():
            return asyncio.run(self._serve(ready))

    def stop(self) -> None:
        """Stop after what is under way, or at once when called again; any thread may call it."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopped)

    def _stopped(self) -> None:
        assert self._stop is not None
        self._hurry = self._stop.is_set()
        self._stop.set()

    async def _serve(self, ready: Callable[[], None]) -> bool:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        application = self.application = Application(
            self._models, self.limits, self._authority, self._n_threads,
            lambda: len(self._connections),
        )  # fmt: skip
        try:
            listener = await self._loop.create_server(
                lambda: Connection(application, self._opened, self._closed),
                self.host,
                self.port,
                backlog=_BACKLOG,
            )
        except OSError as error:
            application.workers.stop(1.0)
            raise DataError(
                f"cannot listen on {self.host} port {self.port} ({error.strerror or error}); "
                "choose another with --host and --port"
            ) from error
        self.port = listener.sockets[0].getsockname()[1]
        before = self._catch_signals()
        try:
            ready()
            await self._stop.wait()
            application.stopping = True
            # What had come before the signal is under way: let the loop take it.
            for _ in range(_ROUNDS):
                await asyncio.sleep(0.01)
            listener.close()
            return await self._drain(application)
        finally:
            listener.close()
            for number, handler in before.items():
                signal.signal(number, handler)

    async def _drain(self, application: Application) -> bool:
        """Finish what is under way, and return whether that was done in time."""
        assert self._loop is not None
        until = self._loop.time() + self.limits.grace_seconds
        while self._connections and self._loop.time() < until and not self._hurry:
            for connection in [one for one in self._connections if one.idle]:
                connection.close()
            await asyncio.sleep(0.01)
        finished = not self._connections
        for connection in list(self._connections):
            connection.abort()
        await asyncio.sleep(0)
        application.workers.stop(0.1 if self._hurry else 1.0)
        return finished

    def _opened(self, connection: Connection) -> bool:
        assert self.application is not None
        self._connections.add(connection)
        self.application.metrics.count("connections_total")
        return len(self._connections) <= self.limits.max_connections

    def _closed(self, connection: Connection) -> None:
        self._connections.discard(connection)

    def _catch_signals(self) -> dict[int, Any]:
        """Let signals stop the server; only the main thread can."""
        if threading.current_thread() is not threading.main_thread():
            return {}
        return {number: signal.signal(number, lambda *_: self.stop()) for number in _SIGNALS}
