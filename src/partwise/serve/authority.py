"""Which names a server answers to.

A page of another site can make a browser send requests to this machine: by a name of its own that
it lets point here (DNS rebinding), or straight to the address. The first kind has a foreign Host
header, the second a foreign Origin.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from ..errors import DataError
from .faults import Fault

__all__ = ["Authority"]

_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?", re.ASCII)
_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")


class Authority:
    """The names that requests may be addressed to.

    Parameters
    ----------
    host : str
        The address that the server is bound to.
    others : iterable of str
        Further names, without a port, or with one that must then match.
    """

    def __init__(self, host: str, others: Iterable[str] = ()) -> None:
        names = {host.lower() if ":" not in host else f"[{host.lower()}]"}
        if _is_loopback(host):
            names.update(_LOOPBACK)
        for other in others:
            if _HOST.fullmatch(other.lower()) is None:
                raise DataError(
                    f"{other!r} is no name of a host; give one such as models.example.org, or "
                    "with a port, models.example.org:8080"
                )
            names.add(other.lower())
        self.names = frozenset(names)

    def check_host(self, host: str) -> None:
        """Raise a Fault for a Host header that names another server."""
        if not self._knows(host):
            raise Fault(
                421, "unknown_host",
                f"this server does not answer to {host[:80]!r}; if it should, start it with "
                "--allowed-host",
                "Host",
            )  # fmt: skip

    def check_origin(self, origin: str) -> None:
        """Raise a Fault for an Origin header of another site."""
        _, _, host = origin.partition("://")
        if not self._knows(host):
            raise Fault(
                403, "foreign_origin",
                "pages of other sites may not use this server; call it from a program, or from "
                "its own page",
                "Origin",
            )  # fmt: skip

    def _knows(self, host: str) -> bool:
        match = _HOST.fullmatch(host.lower())
        return match is not None and (match[1] in self.names or match[0] in self.names)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
