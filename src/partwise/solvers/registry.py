"""Which solver a name stands for, and whether it fits the problem."""

from __future__ import annotations

import inspect
import logging
from typing import Any, Final

import numpy as np

from ..errors import DataError, MismatchError
from ..evaluation import Evaluator, inner
from ..problem import Problem
from ..structures.base import Floats
from .base import Solver
from .batch_eg import BatchEG
from .exponentiated_gradient import Annealing
from .online_eg import OnlineEG

_logger = logging.getLogger(__name__)

SOLVERS: Final[dict[str, type[Solver]]] = {s.name: s for s in (OnlineEG, BatchEG)}
SOLVER_NAMES: Final = ("auto", *SOLVERS)


def make_solver(
    name: str,
    problem: Problem,
    l2: float,
    evaluator: Evaluator,
    rng: np.random.Generator,
    start: Floats | None = None,
    options: dict[str, Any] | None = None,
) -> Solver:
    """Build a solver by name.

    Parameters
    ----------
    name : str
        One of ``SOLVER_NAMES``; "auto" is online EG, with l2 annealed where it is small, and in
        the "focused" order for the smooth losses.
    problem, l2, evaluator
        What to solve.
    rng : numpy.random.Generator
        For the solvers that draw.
    start : ndarray or None
        The dual point of an earlier fit.
    options : dict or None
        Further arguments of the solver.
    """
    options = dict(options or {})
    if name == "auto":
        name = OnlineEG.name
        if start is None and "annealing" not in options:
            options["annealing"] = default_annealing(problem, l2)
        options.setdefault("order", "focused" if problem.loss.tau > 0.0 else "permutation")
        _logger.info("solver auto: %s with %s", name, options)
    if name not in SOLVERS:
        raise DataError(f"unknown solver {name!r}; use one of {', '.join(SOLVER_NAMES)}")
    solver = SOLVERS[name]
    missing = solver.needs - offered(problem)
    if missing:
        fitting = [s.name for s in SOLVERS.values() if s.needs <= offered(problem)]
        raise MismatchError(
            f"{name} needs {', '.join(sorted(missing))}, which {problem.structure.name} with the "
            f"{problem.loss.name} loss does not offer; use {' or '.join(fitting) or 'another loss'}"
        )
    known = inspect.signature(solver).parameters
    if "rng" in known:
        options["rng"] = rng
    if start is not None:
        options["start"] = start
    unknown = options.keys() - known.keys()
    if unknown:
        raise DataError(
            f"{name} has no option {', '.join(sorted(unknown))}; it has "
            f"{', '.join(k for k in known if k not in ('problem', 'l2', 'evaluator', 'rng'))}"
        )
    return solver(problem, l2, evaluator, **options)


def offered(problem: Problem) -> frozenset[str]:
    """What a problem offers to solvers."""
    offers = {"marginals", "maximum"}
    if problem.loss.tau > 0.0:
        offers.add("tau>0")
    return frozenset(offers)


def default_annealing(problem: Problem, l2: float) -> Annealing | None:
    """Begin at half the mean squared norm of a position's features, where l2 is well below it."""
    design = problem.arrays.design
    squares = inner(design.value, design.value) if design.value.size else len(design.start)
    start = 0.5 * squares / max(1, len(design.site_part))
    return Annealing(start) if start > 2.0 * l2 else None
