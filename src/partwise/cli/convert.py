"""``partwise convert``: convert data files, and model files of other toolkits."""

from __future__ import annotations

import argparse
from importlib import import_module

from .outcome import Outcome

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> Outcome:
    """Convert a model file if one of the formats is named ``...-model``, and otherwise data."""
    names = (arguments.from_format, arguments.to_format or "")
    model = any(name.endswith("-model") for name in names)
    outcome: Outcome = import_module(
        f"partwise.cli.{'convert_model' if model else 'convert_data'}"
    ).run(arguments)
    return outcome
