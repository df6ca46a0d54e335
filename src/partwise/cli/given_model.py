"""The model file that a verb is given."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from partwise.errors import ModelFileError

if TYPE_CHECKING:
    from partwise.models.model import Model

__all__ = ["given_model"]


def given_model(arguments: argparse.Namespace) -> Model:
    """Return the model of a verb whose arguments are MODEL and FILE, in this order."""
    from partwise.files.container import container_kind
    from partwise.models.file import KIND, load_model

    try:
        return load_model(arguments.model)
    except ModelFileError as error:
        swapped = container_kind(arguments.model) is None and container_kind(arguments.file) == KIND
        if not swapped:
            raise
        raise ModelFileError(
            f"{error}; the model comes first: partwise {arguments.command} {arguments.file} "
            f"{arguments.model}"
        ) from error
