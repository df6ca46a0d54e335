"""Clients of clusters: from an address, with or without TLS, or of a cluster on this machine."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..errors import ClusterError, DataError, Place
from .connection import Cluster

__all__ = ["Address", "connected"]

_ADDRESS: Final = re.compile(r"(?:(tcp|tls|ws|wss|ucx|inproc)://)?[^\s/]+:\d+/?")
#: Ctrl-C in a terminal is sent to workers on this machine too, and the certificate needs them.
_DEAF: Final = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
#: How long to wait for a scheduler, in seconds.
_TIMEOUT: Final = 10.0


@dataclass(frozen=True)
class Address:
    """Where a cluster is.

    Attributes
    ----------
    scheduler : str
        The address of the scheduler, such as ``tls://10.0.0.5:8786``, or ``local`` for workers on
        this machine, which end with the fit.
    ca_file, cert, key : str or None
        The files of TLS, for ``tls://``.
    workers : int or None
        With ``local``, the number of workers; None is one per core.

    Examples
    --------
    >>> from partwise.dask import Address
    >>> Address("local", workers=2).workers
    2
    """

    scheduler: str
    ca_file: str | None = None
    cert: str | None = None
    key: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without a connection."""
        secret = [self.ca_file, self.cert, self.key]
        tls = self.scheduler.startswith(("tls://", "wss://"))
        if self.scheduler == "local":
            if any(secret):
                raise DataError("local has no TLS: it listens on 127.0.0.1; leave the files out")
            return
        if not _ADDRESS.fullmatch(self.scheduler):
            raise DataError(
                f"{self.scheduler!r} is no address of a scheduler; give local, or one such as "
                "tcp://10.0.0.5:8786"
            )
        if any(secret) and not tls:
            raise DataError(
                f"files of TLS belong to an address that begins with tls://, and {self.scheduler} "
                "does not; write tls:// or leave them out"
            )
        if tls and not all(secret):
            raise DataError(
                f"{self.scheduler} needs the certificate of the authority, a certificate and a "
                "key (--tls-ca-file, --tls-cert, --tls-key)"
            )
        if self.workers is not None:
            raise DataError("the number of workers is for local; a cluster has those that it has")

    def security(self) -> Any:
        """Return what Dask calls security; None without TLS."""
        if self.ca_file is None:
            return None
        from distributed import security

        for path in (self.ca_file, self.cert, self.key):
            if not os.access(str(path), os.R_OK):
                raise DataError(
                    "this file of TLS cannot be read; check the name", place=Place(path)
                )
        made: Any = security.Security
        return made(
            tls_ca_file=self.ca_file,
            tls_client_cert=self.cert,
            tls_client_key=self.key,
            require_encryption=True,
        )


@contextlib.contextmanager
def connected(given: Any) -> Iterator[Cluster]:
    """Connect to a cluster, and leave it in the end.

    Parameters
    ----------
    given : Client, Address, str or None
        A client, which stays open; an address; or None, which is the client that is in use.
    """
    distributed = _distributed()
    if given is None:
        try:
            given = distributed.get_client()
        except ValueError as error:
            raise ClusterError(
                "there is no client; make one by distributed.Client(address), or give client="
            ) from error
    if isinstance(given, distributed.Client):
        yield _sound(given)
        return
    address = given if isinstance(given, Address) else Address(str(given))
    if address.scheduler == "local":
        with _local(distributed, address.workers) as client:
            yield _sound(client)
        return
    client = _client(distributed, address)
    try:
        yield _sound(client)
    finally:
        with contextlib.suppress(Exception):
            client.close()


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ClusterError(
            "training on a cluster needs Dask; install it by: pip install 'partwise[dask]'"
        ) from error
    return distributed


def _sound(client: Any) -> Cluster:
    if client.status != "running" or client.asynchronous:
        raise ClusterError(
            f"the client is {client.status}{' and asynchronous' if client.asynchronous else ''}; "
            "give a running, synchronous one"
        )
    return Cluster(client)


def _client(distributed: Any, address: Address) -> Any:
    security = address.security()
    try:
        return distributed.Client(
            address.scheduler,
            timeout=_TIMEOUT,
            security=security,
            set_as_default=False,
            name="partwise",
        )
    except ssl.SSLError as error:
        raise ClusterError(
            f"{address.scheduler}: the files of TLS cannot be used ({error}); give a certificate "
            "of the authority, and a certificate with its key, as PEM"
        ) from error
    except (OSError, TimeoutError, ValueError, RuntimeError, TypeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ClusterError(
            f"{address.scheduler}: no scheduler answers there within {_TIMEOUT:.0f} s ({reason}); "
            "start one, or give its address"
        ) from error


@contextlib.contextmanager
def _local(distributed: Any, workers: int | None) -> Iterator[Any]:
    """Run workers on this machine, each in its own process, that listen on 127.0.0.1 only."""
    options: Mapping[str, Any] = {
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",
        "worker_dashboard_address": None,
        "threads_per_worker": 1,
        "processes": True,
        "preload": [_DEAF],
        # A worker that is lost is reported by whoever trains.
        "silence_logs": logging.ERROR,
    }
    from ..compiled.threads import thread_count

    n = workers or thread_count(-1)
    try:
        cluster = distributed.LocalCluster(n_workers=n, **options)
    except (OSError, TimeoutError, RuntimeError) as error:
        raise ClusterError(f"no workers can be started on this machine: {error}") from error
    client = None
    try:
        client = distributed.Client(cluster, set_as_default=False, name="partwise")
        yield client
    finally:
        with contextlib.suppress(Exception):
            if client is not None:
                client.close()
        with contextlib.suppress(Exception):
            cluster.close()
