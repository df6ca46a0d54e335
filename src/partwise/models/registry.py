"""Which features a name in a model file stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..errors import DataError
from ..registry import Registry
from .features import Arrays, Features

__all__ = ["FEATURES", "read_features"]

FEATURES: Final[Registry[type[Features]]] = Registry(
    "partwise.features", {"numbered": "models.numbered:NumberedFeatures"}
)


def read_features(
    name: Any, data: Any, arrays: Arrays, own: Sequence[type[Features] | str] = ()
) -> Features:
    """Make features of what a model file holds of them.

    Parameters
    ----------
    name : str
        Their name.
    data, arrays
        What `Features.to_json` and `Features.arrays` gave, or anything else.
    own : sequence of classes or names
        Encoders from outside the package; they go before those of the package.

    Raises
    ------
    DataError or ModelFileError
        If the features are unknown or refuse what they are given.
    """
    kinds = [FEATURES[given] if isinstance(given, str) else given for given in own]
    found = {kind.name: kind for kind in kinds}
    # A model file must not make a plug-in be imported: whoever reads the file names it.
    if name not in found and FEATURES.built_in(name):
        found[name] = FEATURES[name]
    if name not in found:
        raise DataError(
            f"the features {name!r} are unknown; if they are of your own, give their class: "
            "load_model(path, features=[...])"
        )
    if not isinstance(data, dict):
        raise DataError(f"the features {name!r} are not described by an object")
    return found[name].from_saved(data, arrays)
