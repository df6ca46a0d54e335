"""The log line for those who wait for the compiler, which the commands write on stderr."""

from __future__ import annotations

from ..compiled.compilation import NOTE, noted_compilation

__all__ = ["NOTE", "noted_compilation"]
