"""Silence about a file of which everything was said before."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from ..models.tally import UnknownFeaturesWarning

__all__ = ["silenced"]


@contextmanager
def silenced() -> Iterator[None]:
    """Drop what tasks warn and log about a file that is predicted again and again."""
    logger = logging.getLogger("partwise.tasks")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownFeaturesWarning)
            yield
    finally:
        logger.setLevel(before)
