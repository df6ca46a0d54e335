"""Which encoder a name in a model file stands for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from ..errors import DataError
from .features import Arrays, Encoder

__all__ = ["ENCODERS", "read_encoder"]

#: The module and the class of every encoder, imported when it is first asked for.
ENCODERS: Final = {
    "positions": ("tasks.sequences.features", "PositionEncoder"),
    "numbered": ("models.numbered", "NumberedEncoder"),
    "graphs": ("tasks.graph.features", "GraphEncoder"),
    "arcs": ("tasks.dependency.features", "ArcEncoder"),
    "spans": ("tasks.constituency.features", "SpanEncoder"),
    "segments": ("tasks.sequences.segment_features", "SegmentEncoder"),
}


def read_encoder(
    name: Any, data: Any, arrays: Arrays, own: Sequence[type[Encoder]] = ()
) -> Encoder:
    """Make an encoder of what a model file holds of it.

    Parameters
    ----------
    name : str
        Its name.
    data, arrays
        What `Encoder.to_json` and `Encoder.arrays` gave, or anything else.
    own : sequence of classes
        Encoders from outside the package; they go before those of the package.

    Raises
    ------
    DataError or ModelFileError
        If the encoder is unknown or refuses what it is given.
    """
    found = {kind.name: kind for kind in own}
    if isinstance(name, str) and name not in found and name in ENCODERS:
        module, attribute = ENCODERS[name]
        found[name] = getattr(import_module(f"partwise.{module}"), attribute)
    if not isinstance(name, str) or name not in found:
        raise DataError(
            f"the encoder {name!r} is unknown; if it is one of your own, give its class: "
            "load_model(path, encoders=[...])"
        )
    if not isinstance(data, dict):
        raise DataError(f"the encoder {name!r} is not described by an object")
    return found[name].from_saved(data, arrays)
