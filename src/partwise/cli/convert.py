"""``partwise convert``: from one format to another, of models or of data."""

from __future__ import annotations

import argparse
from importlib import import_module

from .report import Outcome

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> Outcome:
    """Convert a file; the names of formats of models end in "-model"."""
    names = (arguments.source_format, arguments.target_format or "")
    what = "model" if any(name.endswith("-model") for name in names) else "data"
    outcome: Outcome = import_module(f"partwise.cli.convert_{what}").run(arguments)
    return outcome
