"""How to train, as users say it: names and numbers, checked before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataError
from ..losses import LOSS_NAMES
from ..solvers.registry import SOLVERS
from ..threads import is_integer, thread_count

if TYPE_CHECKING:
    from ..l2_path import Descent

__all__ = ["Settings", "is_number", "one_of"]


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
    constraints : see :func:`partwise.constraints.make_constraints`
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


def one_of(name: str, value: Any, known: Collection[str]) -> None:
    """Raise a DataError unless the value is one of the known names."""
    if not isinstance(value, str) or value not in known:
        raise DataError(f"{name} is {value!r}; use one of {', '.join(known)}")


def is_number(value: Any) -> bool:
    """Whether the value is a real number; a truth value is not."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
