"""How the models of each task are asked in JSON, and how they answer: one file per task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import DataError

if TYPE_CHECKING:
    from ...models.model import Model
    from .base import Exchange

__all__ = ["exchange_of"]


def exchange_of(model: Model, length: int) -> Exchange:
    """Return how to talk to a model.

    Parameters
    ----------
    model : Model
        The model.
    length : int
        The greatest length of an example.

    Raises
    ------
    DataError
        If its features are those of another package, of which the input is not known.
    """
    if model.features.name == "positions" and model.structure.name == "multiclass":
        from .classes import ClassExchange

        return ClassExchange(model, length)
    if model.features.name == "positions":
        from .tags import TagExchange

        return TagExchange(model, length)
    if model.features.name == "segments":
        from .segments import SegmentExchange

        return SegmentExchange(model, length)
    if model.features.name == "arcs":
        from .arcs import ArcExchange

        return ArcExchange(model, length)
    if model.features.name == "spans":
        from .phrases import PhraseExchange

        return PhraseExchange(model, length)
    if model.features.name == "graphs":
        from .graphs import GraphExchange

        return GraphExchange(model, length)
    raise DataError(
        f"a model with {model.features.name} features cannot be served, as nothing is known of "
        "its input; use it from Python, with partwise.load_model"
    )
