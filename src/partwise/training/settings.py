"""The parameters of training, which are checked before anything is computed."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiled.threads import thread_count
from ..errors import DataError
from ..memory import byte_count
from ..problem.losses import LOSS_NAMES
from ..values import is_integer, is_number, one_of

if TYPE_CHECKING:
    from .path import Descent

__all__ = ["Parameters", "Settings", "as_json", "check_numbers", "read_noted"]


@dataclass(eq=False, repr=False, kw_only=True)
class Parameters:
    """The parameters of every fit.

    Estimators inherit them, so that each parameter is declared, described and checked in one
    place. An estimator that does not offer one of them declares it again with ``init=False``.

    Parameters
    ----------
    loss : {"log", "hinge", "softmax-margin"}
        "log" is the loss of logistic regression and of conditional random fields. "hinge" is that
        of support vector machines and max-margin Markov networks, with a cost of 1 for each wrong
        label. "softmax-margin" is the log loss with such a cost.
    l2 : float
        The regulariser: ``l2/2 |w|^2`` is added to the sum of the losses of all examples.
    l1 : float
        Adds ``l1 |w|_1`` to the objective, which makes some weights exactly 0.
    solver : str
        "auto", or the name of a solver. For an unknown name the error lists the solvers.
    tol : float
        Training stops when the relative duality gap is at most this.
    max_passes : float
        Training stops after this number of passes over the data. A `ConvergenceWarning` then
        reports how far the gap is from `tol`.
    weights : {"all", "observed"}
        Whether a feature has a weight for every label, or only for those that it was seen with in
        training.
    cost_matrix : array-like of shape (n_classes, n_classes) or None
        ``cost_matrix[true, predicted]`` in the order of the labels, for the losses with a cost.
        If None, each wrong label costs 1.
    n_jobs : int or None
        The number of threads; -1 is one per core. It does not change the result.
    random_state : int, RandomState or None
        The seed of the order of the examples. With the default, 0, repeated fits of the same data
        are equal; with None, each fit is different.
    solver_options : dict or None
        Further arguments of the solver.
    checkpoint : str, path-like, Checkpoint or None
        A file that the fit is saved to every ten minutes and when it ends; a
        :class:`partwise.training.Checkpoint` says how often, and whether to go on from the file.
    out_of_core : str, path or None
        A folder for the examples, their features and the dual variables, which are then read from
        disk in blocks as they are needed; the weights stay in memory. It must be new or empty, or
        that of the checkpoint that the fit goes on from. It is cleared when the fit has ended,
        unless there is a checkpoint. If None, everything is held in memory.
    memory_limit : float, str or None
        The memory that the fit may take, in MiB or as in "4GB", "512MiB" or "50%". Without
        `out_of_core`, a fit that takes more is refused; with it, the blocks follow from the limit.
    """

    loss: str = "log"
    l2: float = 1.0
    l1: float = 0.0
    solver: str = "auto"
    tol: float = 1e-4
    max_passes: float = 1000
    weights: str = "all"
    cost_matrix: Any = None
    n_jobs: int | None = None
    random_state: Any = 0
    solver_options: dict[str, Any] | None = None
    checkpoint: Any = None
    out_of_core: str | os.PathLike[str] | None = None
    memory_limit: float | str | None = None

    @property
    def memory_bytes(self) -> int | None:
        """The memory that the fit may take, in bytes; None if there is no limit."""
        return None if self.memory_limit is None else byte_count(self.memory_limit)

    @property
    def descent(self) -> Descent | None:
        """The path of l2 that the fit follows; None for a single l2."""
        held: Descent | None = self.__dict__.get("_descent")
        return held

    def check(self) -> None:
        """Raise a DataError if a parameter is invalid, as far as can be seen without the data."""
        from ..solvers.registry import SOLVERS

        one_of("loss", self.loss, LOSS_NAMES)
        one_of("solver", self.solver, SOLVERS)
        one_of("weights", self.weights, ("all", "observed"))
        check_numbers(self.l2, self.l1, self.tol, self.max_passes)
        if self.solver_options is not None and not isinstance(self.solver_options, Mapping):
            raise DataError(f"solver_options is {self.solver_options!r}; give None or a dict")
        folder = self.out_of_core
        if folder is not None and not (isinstance(folder, (str, os.PathLike)) and str(folder)):
            raise DataError(f"out_of_core is {folder!r}; give the path of a folder, or None")
        if self.memory_limit is not None:
            byte_count(self.memory_limit)
        thread_count(self.n_jobs)
        if is_integer(self.random_state):
            check_seed(self.random_state)
        if self.checkpoint is not None:
            from .checkpoint import Checkpoint

            Checkpoint.of(self.checkpoint)

    def solver_arguments(self) -> dict[str, Any]:
        """Return the options of the solver."""
        return dict(self.solver_options or {})

    @property
    def seed(self) -> int | np.random.Generator:
        """The seed of the order of the examples."""
        if is_integer(self.random_state):
            check_seed(self.random_state)
            return int(self.random_state)
        from sklearn.utils import check_random_state

        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def noted(self) -> dict[str, Any]:
        """Return the parameters that a model stores by name: those that JSON can hold."""
        return {}


def check_seed(seed: Any) -> None:
    """Raise a DataError unless the seed is a generator or an integer of at least 0."""
    if not isinstance(seed, np.random.Generator) and (not is_integer(seed) or seed < 0):
        raise DataError(f"the seed is {seed!r}; give a whole number from 0")


def check_numbers(l2: float, l1: float, tol: float, max_passes: float) -> None:
    """Raise a DataError unless the numbers of a fit are in range."""
    for name, value in (("l2", l2), ("tol", tol), ("max_passes", max_passes)):
        sound = is_number(value) and value > 0.0
        if not sound or (math.isinf(value) and name != "max_passes"):
            raise DataError(f"{name} is {value!r}; it must be a positive number")
    if not is_number(l1) or not 0.0 <= l1 < math.inf:
        raise DataError(f"l1 is {l1!r}; it must be a number from 0")


@dataclass(eq=False, repr=False, kw_only=True)
class Settings(Parameters):
    """The parameters of a fit without an estimator, see ``partwise.models.fit.fit_model``.

    They are those of `Parameters`, with `seed` in place of `random_state`.

    Parameters
    ----------
    seed : int or numpy.random.Generator
        The seed of the order of the examples.

    Examples
    --------
    >>> from partwise.training import Settings
    >>> settings = Settings(loss="hinge", l2=0.5)
    >>> settings.loss, settings.tol
    ('hinge', 0.0001)
    """

    n_jobs: int | None = 1
    seed: int | np.random.Generator = 0
    random_state: Any = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Check what can be checked without data."""
        self.check()
        check_seed(self.seed)

    def noted(self) -> dict[str, Any]:
        """Return the settings under the names that estimators use for them."""
        names = ("solver", "max_passes", "weights", "cost_matrix", "solver_options")
        return as_json({**{name: getattr(self, name) for name in names}, "random_state": self.seed})


def as_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that JSON preserves exactly; the others are left out."""
    return {name: plain for name, value in parameters.items() for plain in _plain(name, value)}


def _plain(name: str, value: Any) -> list[Any]:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if name == "class_weight" and isinstance(value, Mapping):
        # Keys in JSON are strings, and labels may be numbers.
        value = [[*_plain("", label), *_plain("", weight)] for label, weight in value.items()]
    try:
        return [value] if json.loads(json.dumps(value, allow_nan=False)) == value else []
    except (TypeError, ValueError):
        return []


def read_noted(noted: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Read parameters from what `noted` returned.

    Parameters
    ----------
    noted : mapping
        The parameters that a model stores. Those from a file may hold anything.
    names : collection of str
        The names of the parameters to read.
    """
    found = {name: noted[name] for name in names if name in noted}
    weights = found.get("class_weight")
    if isinstance(weights, list):
        pairs = [pair for pair in weights if isinstance(pair, list) and len(pair) == 2]
        found["class_weight"] = {
            label: weight for label, weight in pairs if not isinstance(label, (list, dict))
        }
    return found
