"""The model files of partwise, as one of the model formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..file import load_model, save_model
from .base import ModelFormat

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["FORMAT"]


def _read(path: str) -> Model:
    return load_model(path)


def _write(model: Model, path: str) -> None:
    save_model(model, path)


FORMAT: Final = ModelFormat("a model file of partwise", _read, _write)
