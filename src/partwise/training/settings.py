"""The parameters of training, which are checked before anything is computed."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from ..compiled.threads import thread_count
from ..errors import DataError
from ..memory import byte_count
from ..parameters import (
    HELD,
    PROCESS,
    Check,
    Declared,
    Flag,
    NotNegative,
    OneOf,
    Passes,
    Positive,
    declared,
)
from ..problem.losses import LOSS_NAMES
from ..values import is_integer

if TYPE_CHECKING:
    import numpy as np

    from .path import Descent

__all__ = ["Parameters", "Settings", "as_json", "read_noted"]


def _solver(name: Any) -> None:
    from ..solvers.registry import check_solver

    check_solver(name)


def _seed(given: Any) -> None:
    if is_integer(given) and given < 0:
        raise DataError(f"the seed is {given!r}; give a whole number from 0")


def _seed_or_generator(given: Any) -> None:
    import numpy as np

    if not isinstance(given, np.random.Generator) and (not is_integer(given) or given < 0):
        raise DataError(f"seed is {given!r}; give a whole number from 0, or a Generator of numpy")


def _size(given: Any) -> None:
    if given is not None:
        byte_count(given)


def _checkpoint(given: Any) -> None:
    if given is not None:
        from .checkpoint import Checkpoint

        Checkpoint.of(given)


def _folder(given: Any) -> None:
    if given is not None and not (isinstance(given, (str, os.PathLike)) and str(given)):
        raise DataError(f"out_of_core is {given!r}; give the path of a folder, or None")


class Parameters(Declared):
    """The parameters of every fit.

    Estimators inherit them, and the commands that train have an option for each that has a `Flag`.
    An estimator that does not offer one of them names it in `without`.

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

    loss: Annotated[str, OneOf(LOSS_NAMES), Flag("--loss", "default: {default}"), HELD] = "log"
    l2: Annotated[Positive, Flag("--l2", "regulariser (default: {default})", "X"), HELD] = 1.0
    l1: Annotated[NotNegative, Flag("--l1", "adds X |w|_1 (default: {default})", "X"), HELD] = 0.0
    solver: Annotated[
        Any,
        Check(_solver),
        Flag("--solver", "default: {default}; `partwise solvers` lists them", "NAME"),
    ] = "auto"
    solver_options: Annotated[
        Mapping[str, Any] | None,
        Flag(
            "--solver-option",
            "an option of the solver, with auto of the one that it begins with; may be repeated",
            "NAME=VALUE",
            reads="several",
        ),
    ] = None
    tol: Annotated[Positive, Flag("--tol", "relative gap (default: {default})", "X"), HELD] = 1e-4
    memory_limit: Annotated[
        Any,
        Check(_size),
        Flag(
            "--memory-limit",
            "memory that training may take, as in 4GB, 512MiB or 50%% (a plain number is MiB): "
            "refuse to train if it takes more, or with --out-of-core choose the blocks by it; with "
            "--kernel, what the Gram matrix may take (default: no limit, with --kernel 4096)",
            "SIZE",
            reads="size",
        ),
        PROCESS,
    ] = None
    max_passes: Annotated[
        Passes,
        Flag("--max-passes", "stop after N passes over the data{each} (default: {default})", "N"),
    ] = 1000
    weights: Annotated[
        str,
        OneOf(("all", "observed")),
        Flag(
            "--weights",
            "a weight for every feature and label, or only for those seen together (default: "
            "{default})",
        ),
    ] = "all"
    cost_matrix: Any = None
    n_jobs: Annotated[
        Any,
        Check(thread_count),
        Flag(
            "--jobs",
            "threads, -1 for all cores; they do not change the result (default: 1)",
            "N",
            reads="threads",
        ),
        PROCESS,
    ] = None
    random_state: Annotated[
        Any,
        Check(_seed),
        Flag("--seed", "order of the examples (default: {default})", "N", reads="number from 0"),
    ] = 0
    checkpoint: Annotated[Any, Check(_checkpoint), PROCESS] = None
    out_of_core: Annotated[Any, Check(_folder), PROCESS] = None

    @property
    def memory_bytes(self) -> int | None:
        """The memory that the fit may take, in bytes; None if there is no limit."""
        return None if self.memory_limit is None else byte_count(self.memory_limit)

    @property
    def descent(self) -> Descent | None:
        """The path of l2 that the fit follows; None for a single l2."""
        held: Descent | None = self.__dict__.get("_descent")
        return held

    def solver_arguments(self) -> dict[str, Any]:
        """Return the options of the solver."""
        return dict(self.solver_options or {})

    @property
    def seed(self) -> int | np.random.Generator:
        """The seed of the order of the examples."""
        if is_integer(self.random_state):
            _seed(self.random_state)
            return int(self.random_state)
        from sklearn.utils import check_random_state

        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def noted(self) -> dict[str, Any]:
        """Return the parameters that a model stores by name: those that JSON can hold."""
        marked = {name for name, one in declared(type(self)).items() if one.marker is not None}
        return as_json({name: x for name, x in self.as_dict().items() if name not in marked})


class Settings(Parameters, without=("random_state",)):
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

    checked = True

    n_jobs: Annotated[Any, Check(thread_count), PROCESS] = 1
    seed: Annotated[Any, Check(_seed_or_generator)] = 0

    def noted(self) -> dict[str, Any]:
        """Return the settings under the names that estimators use for them."""
        kept = super().noted()
        seed = {"random_state": kept.pop("seed")} if "seed" in kept else {}
        return {**kept, **seed}


def as_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that JSON preserves exactly; the others are left out."""
    return {name: plain for name, value in parameters.items() for plain in _plain(name, value)}


def _plain(name: str, value: Any) -> list[Any]:
    if hasattr(value, "tolist"):
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
