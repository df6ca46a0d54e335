"""What is wrong with a request, as the client is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["REASONS", "Fault"]

#: The reason phrases of the answers that this server gives.
REASONS: Final = {
    200: "OK",
    304: "Not Modified",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    411: "Length Required",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    417: "Expectation Failed",
    421: "Misdirected Request",
    422: "Unprocessable Content",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    503: "Service Unavailable",
}

#: The most characters of a message: it may quote what the client sent.
_MOST: Final = 500


class Fault(Exception):
    """A request that is refused.

    Parameters
    ----------
    status : int
        The status code of the answer.
    code : str
        A name for programs: ``"too_long"``.
    message : str
        What is wrong and what to do, for people.
    where : str or None
        The place in the request: ``"inputs[2].tokens"``, or the name of a header.
    headers : mapping of str to str
        Further headers of the answer.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        where: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message if len(message) <= _MOST else message[: _MOST - 4] + " ..."
        self.where = where
        self.headers = dict(headers or {})

    def record(self) -> dict[str, Any]:
        """Return what the body of the answer holds."""
        return {"error": {"code": self.code, "message": self.message, "where": self.where}}
