"""How to train, as users say it: names and numbers, checked before anything is computed."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..compiled.threads import thread_count
from ..errors import DataError
from ..problem.losses import LOSS_NAMES
from ..solvers.registry import SOLVERS
from ..values import is_integer, is_number, one_of

if TYPE_CHECKING:
    from .path import Descent

__all__ = ["Settings", "read_noted"]


@dataclass(frozen=True, eq=False)
class Settings:
    """How to train.

    Attributes
    ----------
    loss : {"log", "hinge", "softmax-margin"}
        The loss.
    l2 : float
        The regulariser: l2/2 |w|^2, against a sum over the examples.
    l1 : float
        Adds l1 |w|_1 to it, which makes weights exactly 0.
    solver : str
        Name of the solver, or "auto".
    tol : float
        Stop when the relative duality gap is at most this.
    max_passes : float
        Stop after so many visits to each example.
    n_jobs : int or None
        Threads; None: 1, -1: one a core. They do not change the result.
    seed : int or numpy.random.Generator
        Draws the order of the examples.
    weights : {"all", "observed"}
        Whether a feature has a weight for every label, or only for those it was seen with.
    min_count : int
        Features in fewer rows get no weight. Features of transitions are not counted.
    cost_matrix : array-like or None
        ``cost_matrix[gold, predicted]`` for the losses with a cost; None: 1 for each wrong label.
    class_weight : None, "balanced" or dict
        Weights of the labels; labels that a dict does not name have weight 1. "balanced" is
        ``n / (K count_k)`` for label k of K among n. An example is weighted by its label, a
        sequence by the mean over its positions.
    constraints : see :func:`partwise.tasks.sequences.constraints.make_constraints`
        What no label sequence may hold, in training and prediction.
    order : {1, 2}
        How many labels before it the label of a position depends on.
    start, end : bool
        Whether first and last labels of a sequence have weights of their own.
    intercept : float
        The value of a constant feature of every position; 0: none. Its weights are regularised
        like all others.
    solver_options : dict or None
        Further arguments of the solver.
    descent : Descent or None
        A path to fit: several values of l2, the largest first, in place of `l2`.
    given : mapping or None
        The parameters of the estimator that fits, where they are to be kept in the model.
    """

    loss: str = "log"
    l2: float = 1.0
    l1: float = 0.0
    solver: str = "auto"
    tol: float = 1e-4
    max_passes: float = 1000.0
    n_jobs: int | None = 1
    seed: int | np.random.Generator = 0
    weights: str = "all"
    min_count: int = 1
    cost_matrix: Any = None
    class_weight: Any = None
    constraints: Any = None
    order: int = 1
    start: bool = False
    end: bool = False
    intercept: float = 0.0
    solver_options: dict[str, Any] | None = None
    descent: Descent | None = None
    given: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Check every field that can be checked without data."""
        one_of("loss", self.loss, LOSS_NAMES)
        one_of("solver", self.solver, SOLVERS)
        one_of("weights", self.weights, ("all", "observed"))
        for name, value in (("l2", self.l2), ("tol", self.tol), ("max_passes", self.max_passes)):
            sound = is_number(value) and value > 0.0
            if not sound or (math.isinf(value) and name != "max_passes"):
                raise DataError(f"{name} is {value!r}; it must be a positive number")
        if not is_number(self.l1) or not 0.0 <= self.l1 < math.inf:
            raise DataError(f"l1 is {self.l1!r}; it must be a number from 0")
        if not is_number(self.intercept) or not math.isfinite(self.intercept):
            raise DataError(f"intercept is {self.intercept!r}; give a finite number, 0 for none")
        if not is_integer(self.min_count) or self.min_count < 1:
            raise DataError(f"min_count is {self.min_count!r}; give a whole number from 1")
        if not is_integer(self.order) or self.order not in (1, 2):
            raise DataError(f"order is {self.order!r}; give 1 or 2")
        for name, flag in (("start", self.start), ("end", self.end)):
            if not isinstance(flag, (bool, np.bool_)):
                raise DataError(f"{name} is {flag!r}; give True or False")
        if not isinstance(self.seed, np.random.Generator) and (
            not is_integer(self.seed) or self.seed < 0
        ):
            raise DataError(f"the seed is {self.seed!r}; give a whole number from 0")
        if self.class_weight not in (None, "balanced") and not isinstance(
            self.class_weight, Mapping
        ):
            raise DataError(
                f"class_weight is {self.class_weight!r}; give None, 'balanced' or a dict of labels"
            )
        if self.solver_options is not None and not isinstance(self.solver_options, Mapping):
            raise DataError(f"solver_options is {self.solver_options!r}; give None or a dict")
        thread_count(self.n_jobs)

    def noted(self) -> dict[str, Any]:
        """Give what a model keeps of the settings: those that JSON can hold.

        They have the names that estimators call them by; see `read_noted`. What a model holds
        anyway is left out: the loss, l1 and l2, the tolerance.
        """
        found = {name: getattr(self, name) for name in _NOTED}
        found["random_state"] = self.seed
        found.update(self.given or {})
        return {name: plain for name, value in found.items() for plain in _as_json(name, value)}


#: The fields that estimators know by the same name.
_NOTED: Final = (
    "solver", "max_passes", "weights", "min_count", "cost_matrix", "class_weight", "solver_options",
)  # fmt: skip


def _as_json(name: str, value: Any) -> list[Any]:
    """Give a value in a form that a file gives back as it is; nothing if there is none."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if name == "class_weight" and isinstance(value, Mapping):
        # Names in JSON are strings, and labels may be numbers.
        value = [[*_as_json("", label), *_as_json("", weight)] for label, weight in value.items()]
    try:
        return [value] if json.loads(json.dumps(value, allow_nan=False)) == value else []
    except (TypeError, ValueError):
        return []


def read_noted(noted: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Give back what `Settings.noted` gave, as far as it has one of some names.

    Parameters
    ----------
    noted : mapping
        What a model keeps. A file may hold anything.
    names : collection of str
        The parameters that are asked for.
    """
    found = {name: noted[name] for name in names if name in noted}
    weights = found.get("class_weight")
    if isinstance(weights, list):
        pairs = [pair for pair in weights if isinstance(pair, list) and len(pair) == 2]
        found["class_weight"] = {
            label: weight for label, weight in pairs if not isinstance(label, (list, dict))
        }
    return found
