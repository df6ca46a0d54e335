"""A small server of models: a JSON API, and a page to try them. Needs the extra ``serve``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .limits import *
    from .served_model import *
    from .server import *
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            ".limits": "Limits",
            ".served_model": "ServedModel",
            ".server": "Server",
        },
    )
