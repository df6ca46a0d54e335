"""A small server of models: a JSON API, and a page to try them. Needs the extra ``serve``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .limits import Limits
    from .served_model import ServedModel
    from .server import Server

__all__ = ["Limits", "ServedModel", "Server"]

__getattr__, __dir__ = lazy_names(
    __name__, {"Limits": ".limits", "ServedModel": ".served_model", "Server": ".server"}
)
