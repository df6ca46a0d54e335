"""How much a request may ask for; each limit is an option of ``partwise serve``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ..errors import DataError
from ..tasks.registry import all_tasks

__all__ = ["Limits", "default_lengths"]


def default_lengths() -> dict[str, int]:
    """Return the greatest length of an example by default, by task."""
    return {task.name: task.longest for task in all_tasks()}


def _limit(default: float, about: str) -> Any:
    return field(default=default, metadata={"help": about})


@dataclass(frozen=True)
class Limits:
    """Limits of a server.

    Attributes
    ----------
    max_bytes, max_inflated : int
        The most bytes of the body of a request, as it is sent and after decompression.
    max_header_bytes : int
        The most bytes of the request line and the headers.
    max_depth : int
        How deep the lists and objects of a body may be nested.
    max_sentences, max_tokens : int
        The most examples of a request, and the most tokens of all its examples together.
    max_k : int
        The most alternatives per example.
    max_explained, max_explained_length : int
        The most examples of a request to explain, and the greatest length of those whose runners-up
        are wanted: each takes one search per token.
    max_connections : int
        The most connections at a time.
    max_queue : int
        The most requests that wait for a thread.
    header_seconds, body_seconds, write_seconds, idle_seconds : float
        The time that a client has to send the headers, to send the body, and to take the answer;
        and how long a connection without a request is kept.
    work_seconds : float
        After this time, no further part of a batch is begun.
    grace_seconds : float
        How long a stopped server waits for the requests under way.
    lengths : mapping of str to int
        The greatest length of an example, by task.

    Examples
    --------
    >>> from partwise.serve import Limits
    >>> limits = Limits(max_tokens=1000, lengths={"tag": 200})
    >>> limits.max_tokens, limits.length("tag"), limits.length("parse")
    (1000, 200, 120)
    """

    max_bytes: int = _limit(1 << 20, "bytes of the body of a request, as it is sent")
    max_inflated: int = _limit(4 << 20, "bytes of the body after decompression")
    max_header_bytes: int = _limit(16 << 10, "bytes of the request line and the headers")
    max_depth: int = _limit(32, "levels of nested lists and objects in a body")
    max_sentences: int = _limit(256, "examples of a request")
    max_tokens: int = _limit(20_000, "tokens of all examples of a request")
    max_k: int = _limit(20, "alternatives per example")
    max_explained: int = _limit(8, "examples of a request to explain")
    max_explained_length: int = _limit(100, "tokens of an example to explain with runners-up")
    max_connections: int = _limit(256, "connections at a time")
    max_queue: int = _limit(128, "requests that wait for a thread; others get 503")
    header_seconds: float = _limit(10.0, "seconds to send the headers of a request")
    body_seconds: float = _limit(20.0, "seconds to send the body of a request")
    write_seconds: float = _limit(20.0, "seconds to take an answer")
    idle_seconds: float = _limit(60.0, "seconds that an unused connection is kept")
    work_seconds: float = _limit(30.0, "seconds after which no further part of a batch is begun")
    grace_seconds: float = _limit(30.0, "seconds to finish what is under way after SIGTERM")
    lengths: Mapping[str, int] = field(default_factory=default_lengths)

    def __post_init__(self) -> None:
        for name, value in self.numbers().items():
            if not value > 0:
                raise DataError(f"{name} is {value}; give a number above 0")
        unknown = self.lengths.keys() - default_lengths().keys()
        if unknown:
            raise DataError(
                f"no task {min(unknown)!r} to limit; tasks are {', '.join(default_lengths())}"
            )
        for task, value in self.lengths.items():
            if value < 1:
                raise DataError(f"the length for {task} is {value}; give at least 1")

    def length(self, task: str) -> int:
        """Return the greatest length of an example of a task."""
        return self.lengths.get(task, default_lengths()[task])

    def numbers(self) -> dict[str, float]:
        """Return all limits but the lengths, by name."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.metadata}

    @staticmethod
    def described() -> dict[str, tuple[Any, str]]:
        """Return for each limit but the lengths its default and a few words on it."""
        return {
            one.name: (one.default, one.metadata["help"]) for one in fields(Limits) if one.metadata
        }
