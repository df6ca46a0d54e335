"""The model file of an estimator, which may be a temporary one, and the model in it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...models.foreign.registry import read_model
from ..pycrfsuite.trainer import certificate_path

if TYPE_CHECKING:
    from ...models.model import Model
    from ...training.certificate import Certificate

__all__ = ["FileResource", "FitRecord", "native_model"]


class FileResource:
    """A file that belongs to an object.

    Without a name it is a temporary file, which is removed with its owner; when it is pickled, so
    are its contents, and a new temporary file is made of them.

    Parameters
    ----------
    filename : str or None
        The file; None for a temporary one.
    keep_tempfiles : bool
        Whether temporary files are kept.
    suffix, prefix : str
        How the names of temporary files end and begin.

    Attributes
    ----------
    name : str or None
        The name of the file; None until there is one.
    """

    def __init__(
        self,
        filename: str | None = None,
        keep_tempfiles: bool = False,
        suffix: str = "",
        prefix: str = "",
    ) -> None:
        self.name = filename
        self.auto = filename is None
        self.keep_tempfiles = keep_tempfiles
        self.suffix, self.prefix = suffix, prefix

    def ensure_name(self) -> None:
        """Make a temporary file if there is no name yet."""
        if self.name is None:
            handle, self.name = tempfile.mkstemp(self.suffix, self.prefix)
            os.close(handle)

    def cleanup(self) -> None:
        """Remove a temporary file, and the certificate beside it."""
        if self.keep_tempfiles or not self.auto or self.name is None:
            return
        for path in (self.name, certificate_path(self.name)):
            with contextlib.suppress(OSError):
                os.unlink(path)
        self.name = None

    def __del__(self) -> None:
        # Modules may be gone when the interpreter ends.
        with contextlib.suppress(Exception):
            self.cleanup()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        if self.auto and self.name is not None:
            state["name"] = None
            with open(self.name, "rb") as file:
                state["contents"] = file.read()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        contents = state.pop("contents", None)
        vars(self).update(state)
        if contents is not None:
            self.ensure_name()
            assert self.name is not None
            with open(self.name, "wb") as file:
                file.write(contents)


@dataclass(frozen=True)
class FitRecord:
    """What the fit that wrote a model file knows about it.

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
    def of(cls, path: str, trainer: Any) -> FitRecord | None:
        """Return the record of a training that has just ended; None if it has no certificate."""
        if trainer.certificate is None:
            return None
        return cls(_digest(path), trainer.get_params(), trainer.certificate)


def native_model(path: str, record: FitRecord | None) -> Model:
    """Read the model file of an estimator.

    Parameters
    ----------
    path : str
        The file.
    record : FitRecord or None
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
