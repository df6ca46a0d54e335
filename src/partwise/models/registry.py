"""The registry of features by their name in model files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..errors import DataError, MismatchError
from ..registry import Registry
from .features import Arrays, Features

__all__ = ["FEATURES", "read_features"]

FEATURES: Final[Registry[type[Features]]] = Registry(
    "partwise.features", {"numbered": "models.numbered:NumberedFeatures"}
)


def read_features(
    name: Any, data: Any, arrays: Arrays, own: Sequence[type[Features] | str] = ()
) -> Features:
    """Make features from the data of a model file.

    Parameters
    ----------
    name : str
        Their name.
    data, arrays
        What `Features.to_json` and `Features.arrays` returned, or anything else.
    own : sequence of classes or names
        Encoders from outside the package; they take precedence over those of the package.

    Raises
    ------
    DataError or ModelFileError
        If the features are unknown or the data are invalid.
    """
    for given in own:
        if isinstance(given, str) and given not in FEATURES:
            raise MismatchError(f"no package provides the features {given!r}; give their class")
    kinds = [FEATURES[given] if isinstance(given, str) else given for given in own]
    found = {kind.name: kind for kind in kinds}
    # A model file must not cause the import of a plug-in: the caller has to name it.
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
