"""The model file of an estimator, which may be a temporary one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any

from ..pycrfsuite.trainer import certificate_path

__all__ = ["FileResource"]


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
