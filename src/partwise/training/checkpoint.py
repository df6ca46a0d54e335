"""Checkpoints: files from which a fit goes on as if it had not stopped.

A checkpoint holds the whole state of a fit: the weights and the dual variables, step sizes, the
order of the examples that are left in an epoch, the random generator, the schedule of evaluations,
and the trace. It is written in the container of model files, as a whole or not at all, and is
checked when it is read, as models are. Hashes of the data and of the settings tell whether it
belongs to a fit. With the same data, settings, machine and versions, the resumed fit is bit for bit
the one that was not interrupted. The methods that scipy runs begin anew from the weights that they
had reached.

A checkpoint also holds the model so far, if whoever trains says how to make one. Then a fit of
other data can start from the weights.
"""

from __future__ import annotations

import importlib.metadata
import logging
import math
import os
import platform
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..arrays import Floats
from ..errors import DataError, ModelFileError
from ..files.container import container_kind, read_container, write_container
from ..files.whole_files import remedy
from ..problem.room import Room
from ..solvers.base import Epoch, Solver
from ..solvers.state import capture, restore
from ..values import is_number
from .course import Course, TraceRow
from .early_stopping import Scored

__all__ = ["Checkpoint", "Keeper", "Saved", "is_checkpoint", "load_checkpoint"]

_log = logging.getLogger(__name__)

KIND: Final = "partwise checkpoint"
_KEYS: Final = {
    "kind", "versions", "data", "settings", "solver", "state", "loop", "generator", "room",
    "ended", "model",
}  # fmt: skip
#: What may differ between a fit and the checkpoint that it goes on from.
_FREE: Final = ("tol", "max_passes")
_MODEL: Final = "model."
#: Makes the header and the arrays of a model from weights of the layout; None if it has no file.
MakeModel = Callable[[Floats], tuple[dict[str, Any] | None, dict[str, npt.NDArray[Any]]]]


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a fit is saved, and whether it goes on from there.

    Parameters
    ----------
    path : str or path-like
        The file. It is replaced only when a new one is complete.
    every : float
        The minutes between two checkpoints. A pass that takes longer is saved within.
    resume : bool, str or path-like
        True: go on from the file, if it is there. A path: go on from that file, which must be
        there. False: begin anew; a file of a fit that has not ended is then not overwritten, and
        an error says so.
    as_start : bool
        Whether the file to go on from is only a start, so that data and settings may differ: its
        weights are then those of a first model. Otherwise a checkpoint of other data or settings
        is refused.

    overwrite : bool
        Whether a file of another fit that has not ended may be overwritten.

    Examples
    --------
    >>> from partwise.training import Checkpoint
    >>> Checkpoint("fit.checkpoint", every=5, resume=True).every
    5
    """

    path: str | os.PathLike[str]
    every: float = 10.0
    resume: bool | str | os.PathLike[str] = False
    as_start: bool = False
    overwrite: bool = False

    def __post_init__(self) -> None:
        """Check the values."""
        if not isinstance(self.path, (str, os.PathLike)) or not os.fspath(self.path):
            raise DataError(f"the path of a checkpoint is {self.path!r}; give the name of a file")
        if not is_number(self.every) or not 0.0 <= self.every < math.inf:
            raise DataError(f"every is {self.every!r}; give a number of minutes from 0")

    @staticmethod
    def of(given: Any) -> Checkpoint | None:
        """Return what a user gives as a checkpoint: None, the name of a file, or a Checkpoint."""
        if given is None or isinstance(given, Checkpoint):
            return given
        return Checkpoint(given)

    @property
    def source(self) -> str | None:
        """The file to go on from; None to begin anew."""
        if isinstance(self.resume, bool):
            there = self.resume and os.path.exists(self.path)
            return os.fspath(self.path) if there else None
        return os.fspath(self.resume)

    @property
    def resumes(self) -> bool:
        """Whether the fit goes on from a file, with all that the file holds."""
        return self.source is not None and not self.as_start

    def check_target(self) -> None:
        """Raise a DataError if writing would destroy what another fit has saved."""
        if not os.path.exists(self.path):
            return
        if self.source is not None and os.path.samefile(self.path, self.source):
            return
        if not is_checkpoint(self.path):
            raise DataError(
                f"{os.fspath(self.path)} exists and is no checkpoint; choose another name for the "
                "checkpoint"
            )
        if not self.overwrite and not load_checkpoint(self.path).ended:
            raise DataError(
                f"{os.fspath(self.path)} holds a fit that has not ended; go on from it with resume "
                "(--resume on the command line), or delete it"
            )


@dataclass(frozen=True, eq=False)
class Saved:
    """What a checkpoint holds.

    Attributes
    ----------
    path : str
        The file.
    header : dict
        The plain data.
    arrays : mapping of str to ndarray
        The arrays.
    """

    path: str
    header: dict[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]]

    @property
    def ended(self) -> bool:
        """Whether the fit had reached its gap."""
        return bool(self.header["ended"])

    @property
    def model(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]] | None:
        """The header and the arrays of the model so far; None if there is none."""
        held = self.header["model"]
        if held is None:
            return None
        n = len(_MODEL)
        return held, {name[n:]: a for name, a in self.arrays.items() if name.startswith(_MODEL)}

    def fits(self, data: str, settings: Mapping[str, Any]) -> str:
        """Return why the checkpoint does not belong to a fit; "" if it does."""
        if self.header["data"] != data:
            return "it was written with other examples, features, labels or costs"
        held = self.header["settings"]
        for name in sorted({*held, *settings} - {*_FREE}):
            if held.get(name) != settings.get(name):
                return f"it has {name} {held.get(name)!r}, and this fit {settings.get(name)!r}"
        return ""


def is_checkpoint(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a checkpoint, and not a model or anything else."""
    return container_kind(path) == KIND


def load_checkpoint(path: str | os.PathLike[str]) -> Saved:
    """Read a checkpoint, and check what can be checked without the fit that it belongs to.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, or no checkpoint.
    """
    name = os.fspath(path)
    header, arrays = read_container(path)
    kinds: dict[str, Any] = {
        "versions": dict, "data": str, "settings": dict, "solver": str, "state": dict,
        "loop": dict, "generator": dict, "room": dict, "ended": bool, "model": (dict, type(None)),
    }  # fmt: skip
    if header.get("kind") != KIND:
        raise ModelFileError(f"{name} is no checkpoint; give a file that --checkpoint wrote")
    sound = header.keys() == _KEYS and all(
        isinstance(header[key], kind) for key, kind in kinds.items()
    )
    if not sound:
        raise ModelFileError(f"{name} is not sound: its header is not that of a checkpoint")
    return Saved(name, header, arrays)


def versions() -> dict[str, str]:
    """Return what the last bits of a fit depend on beside data and settings."""
    names = ("numpy", "scipy", "numba", "llvmlite")
    found = {name: importlib.metadata.version(name) for name in names}
    own = importlib.metadata.version("partwise")
    return {"partwise": own, **found, "machine": platform.machine(), "cpu": _cpu()}


def _cpu() -> str:
    """Return the name of the processor, which decides what instructions are compiled."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()


class Keeper:
    """Writes the checkpoints of one fit.

    Parameters
    ----------
    checkpoint : Checkpoint
        Where and how often.
    data : str
        The hash of the data.
    settings : mapping
        What else the fit depends on, as JSON can hold it.
    rng : numpy.random.Generator
        The generator that the solver draws from.
    room : Room
        Where the arrays of the solver are.
    model : callable or None
        Makes the header and the arrays of a model from weights of the layout.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        data: str,
        settings: Mapping[str, Any],
        rng: np.random.Generator,
        room: Room | None = None,
        model: MakeModel | None = None,
    ) -> None:
        self.checkpoint, self.data, self.settings = checkpoint, data, dict(settings)
        self.rng, self.room, self.model = rng, room or Room(), model
        self.last = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether it is time for the next checkpoint."""
        return time.monotonic() - self.last >= 60.0 * self.checkpoint.every

    def resume(self, saved: Saved, machine: Solver, course: Course) -> None:
        """Put the state of a checkpoint into a solver and a course that were just made.

        Raises
        ------
        DataError
            If the checkpoint belongs to other data or settings, or does not fit the solver.
        """
        why = saved.fits(self.data, self.settings)
        if why:
            raise DataError(
                f"{saved.path} is not a checkpoint of this fit: {why}; give the data and the "
                "settings that it was written with, or take it as a start (--as-start, "
                "as_start=True)"
            )
        header = saved.header
        if header["versions"] != versions():
            _log.warning(
                "%s was written by other versions or on another machine; the fit goes on from "
                "there, but its last bits may differ from those of an uninterrupted one",
                saved.path,
            )
        self.room.back_to(header["room"])
        try:
            self.rng.bit_generator.state = header["generator"]
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise DataError(f"{saved.path} is not sound: its generator is none") from error
        try:
            restore(machine, header["state"], saved.arrays)
            restore(course, header["loop"], saved.arrays, (TraceRow, Scored, Epoch))
        except DataError as error:
            raise DataError(f"{saved.path} is not sound: {error}") from error
        _log.info("goes on from %s, after %.1f passes", saved.path, course.passes)

    def write(self, machine: Solver, course: Course, weights: Floats, ended: bool) -> None:
        """Write a checkpoint.

        Parameters
        ----------
        machine : Solver
            The solver.
        course : Course
            Where the fit stands.
        weights : ndarray
            The weights so far, for the model.
        ended : bool
            Whether the fit has reached its gap.
        """
        began = time.monotonic()
        mark = self.room.mark()
        state, arrays = capture(machine, "solver", self.room.keeps)
        loop, more = capture(course, "loop")
        held, its = (None, {}) if self.model is None else self.model(weights)
        header = {
            "kind": KIND,
            "versions": versions(),
            "data": self.data,
            "settings": self.settings,
            "solver": machine.name,
            "state": state,
            "loop": loop,
            "generator": self.rng.bit_generator.state,
            "room": mark,
            "ended": ended,
            "model": held,
        }
        named = {_MODEL + name: array for name, array in its.items()}
        path = os.fspath(self.checkpoint.path)
        try:
            write_container(path, header, {**arrays, **more, **named})
        except ModelFileError as error:
            # The fit is worth more than its checkpoint; the last one is still there.
            _log.warning("the checkpoint was not written, training goes on: %s", error)
            self.last = time.monotonic()
            return
        self.room.release(mark)
        self.last = time.monotonic()
        _log.info(
            "wrote %s: %.1f MiB, in %.1f s, after %.1f passes",
            path, os.path.getsize(path) / 2**20, self.last - began, course.passes,
        )  # fmt: skip

    def check_room(self, machine: Solver) -> None:
        """Raise a DataError if the disk has no room for a checkpoint, before training begins.

        Parameters
        ----------
        machine : Solver
            The solver, whose arrays take most of the room.
        """
        path = os.fspath(self.checkpoint.path)
        folder = os.path.dirname(os.path.realpath(path))
        _, arrays = capture(machine, "solver", self.room.keeps)
        needed = sum(array.nbytes for array in arrays.values())
        try:
            free = shutil.disk_usage(folder).free
        except OSError as error:
            reason = error.strerror or str(error)
            raise DataError(f"{path} cannot be written: {reason}; {remedy(error)}") from error
        if not os.access(folder, os.W_OK):
            raise DataError(
                f"{path} cannot be written: {folder} is not yours to write to; choose a checkpoint "
                "in another folder"
            )
        there = os.path.getsize(path) if os.path.exists(path) else 0
        if needed > free:
            raise DataError(
                f"a checkpoint takes about {needed / 2**20:,.0f} MiB, beside the last one until it "
                f"is complete, and the disk of {path} has {free / 2**20:,.0f} free; make room, or "
                "choose a file on another disk"
            )
        _log.info(
            "a checkpoint takes about %.1f MiB on disk, twice that while it is written; %s has "
            "%.1f MiB now",
            needed / 2**20, path, there / 2**20,
        )  # fmt: skip
