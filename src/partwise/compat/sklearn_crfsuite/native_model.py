"""The model of an estimator in the form of partwise, with the certificate of its fit."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...models.foreign.registry import read_model

if TYPE_CHECKING:
    from ...models.model import Model
    from ...training.certificate import Certificate

__all__ = ["Record", "native_model"]


@dataclass(frozen=True)
class Record:
    """What is known about a model file from the fit that wrote it.

    Attributes
    ----------
    digest : str
        The SHA-256 of the file, by which it is known again.
    parameters : dict
        The parameters of CRFsuite's algorithm.
    certificate : Certificate
        How far the objective is at most above the optimum.
    """

    digest: str
    parameters: dict[str, Any]
    certificate: Certificate

    @classmethod
    def of(cls, path: str, trainer: Any) -> Record | None:
        """Return the record of a training that has just ended; None if it has no certificate."""
        if trainer.certificate is None:
            return None
        return cls(_digest(path), trainer.get_params(), trainer.certificate)


def native_model(path: str, record: Record | None) -> Model:
    """Read the model file of an estimator.

    Parameters
    ----------
    path : str
        The file.
    record : Record or None
        That of the last fit. If the file is not the one that it wrote, nothing is certified.
    """
    model = read_model(path, "crfsuite-model")
    if record is None or record.digest != _digest(path):
        return model
    given = record.parameters
    chosen = {True: "all", False: "observed"}
    return replace(
        model,
        l2=2.0 * given["c2"],
        l1=given.get("c1", 0.0),
        certificate=record.certificate,
        settings={
            "weights": chosen[given["feature.possible_states"]],
            "transition_weights": chosen[given["feature.possible_transitions"]],
            "min_frequency": given["feature.minfreq"],
        },
        origin=None,
    )


def _digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
