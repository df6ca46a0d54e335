"""Which solver a name stands for, and whether it fits the problem."""

from __future__ import annotations

import inspect
import logging
from typing import Any, Final

import numpy as np

from ..errors import DataError, MismatchError
from ..evaluation import Evaluator
from ..problem import Problem
from ..structures.base import Floats
from ..structures.multiclass import Multiclass
from ..vectors import inner
from .adagrad import AdaGrad
from .base import Solver
from .batch_eg import BatchEG
from .conjugate_gradient import ConjugateGradient
from .dual_coordinate_descent import DualCoordinateDescent
from .exponentiated_gradient import Annealing
from .frank_wolfe import FrankWolfe
from .hybrid import Hybrid
from .lbfgs import LBFGS
from .newton import TrustRegionNewton
from .online_eg import OnlineEG
from .owlqn import OrthantWise
from .primal_coordinate_descent import PrimalCoordinateDescent
from .primal_eg import PrimalEG
from .sag import SAG, SAGA, SAGNUS
from .sdca import SDCA
from .sgd import SGD, AveragedSGD, Pegasos
from .smd import MetaDescent

_logger = logging.getLogger(__name__)

_ALL: Final[tuple[type[Solver], ...]] = (
    OnlineEG,
    BatchEG,
    PrimalEG,
    LBFGS,
    ConjugateGradient,
    TrustRegionNewton,
    OrthantWise,
    SAG,
    SAGA,
    SAGNUS,
    SDCA,
    FrankWolfe,
    DualCoordinateDescent,
    PrimalCoordinateDescent,
    SGD,
    AveragedSGD,
    Pegasos,
    AdaGrad,
    MetaDescent,
    Hybrid,
)
SOLVERS: Final = {solver.name: solver for solver in _ALL}
_GIVEN: Final = ("problem", "l2", "evaluator", "rng", "l1", "initial_weights")
SOLVER_NAMES: Final = ("auto", *SOLVERS)


def make_solver(
    name: str,
    problem: Problem,
    l2: float,
    evaluator: Evaluator,
    rng: np.random.Generator,
    *,
    l1: float = 0.0,
    start: Floats | None = None,
    initial_weights: Floats | None = None,
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
    l1 : float
        Weight of |w|_1, for the solvers that take it.
    start : ndarray or None
        The dual point of an earlier fit.
    initial_weights : ndarray or None
        Stored weights to start from; a solver that keeps duals starts from their scores.
    options : dict or None
        Further arguments of the solver.
    """
    options = dict(options or {})
    if name == "auto":
        name = OnlineEG.name
        if start is None and initial_weights is None and "annealing" not in options:
            options["annealing"] = default_annealing(problem, l2)
        options.setdefault("order", "focused" if problem.loss.tau > 0.0 else "permutation")
        _logger.info("solver auto: %s with %s", name, options)
    if name not in SOLVERS:
        raise DataError(f"unknown solver {name!r}; use one of {', '.join(SOLVER_NAMES)}")
    solver = SOLVERS[name]
    known = inspect.signature(solver).parameters
    if l1 and "l1" not in known:
        able = [s.name for s in SOLVERS.values() if "l1" in inspect.signature(s).parameters]
        raise MismatchError(f"{name} cannot take l1 > 0; use {' or '.join(able)}")
    missing = solver.needs - offered(problem)
    if missing:
        fitting = [s.name for s in SOLVERS.values() if s.needs <= offered(problem)]
        raise MismatchError(
            f"{name} needs {', '.join(sorted(missing))}, which {problem.structure.name} with the "
            f"{problem.loss.name} loss does not offer; use {' or '.join(fitting) or 'another loss'}"
        )
    if "rng" in known:
        options["rng"] = rng
    if "l1" in known:
        options["l1"] = l1
    # A solver that keeps weights and one that keeps duals can start from each other's results.
    if "initial_weights" in known and (initial_weights is not None or "start" not in known):
        if initial_weights is None and start is not None:
            initial_weights = evaluator.weights(start, l2, l1)
        options["initial_weights"] = initial_weights
    elif start is not None:
        options["start"] = start
    elif initial_weights is not None:
        options["start"] = evaluator.scores(initial_weights)
    unknown = options.keys() - known.keys()
    if unknown:
        raise DataError(
            f"{name} has no option {', '.join(sorted(unknown))}; it has "
            f"{', '.join(k for k in known if k not in _GIVEN)}"
        )
    return solver(problem, l2, evaluator, **options)


def offered(problem: Problem) -> frozenset[str]:
    """What a problem offers to solvers."""
    offers = {"marginals", "maximum"}
    if problem.loss.tau > 0.0:
        offers.add("tau>0")
    else:
        offers.add("tau=0")
    if problem.structure.has_entropy:
        offers.add("entropy")
    if problem.structure.name == Multiclass.name:
        offers.add("multiclass")
    if problem.loss.tau == 1.0 and not problem.arrays.cost.size:
        offers.add("log loss")
    if not problem.arrays.mask.size:
        offers.add("unconstrained labels")
    return frozenset(offers)


def default_annealing(problem: Problem, l2: float) -> Annealing | None:
    """Begin at half the mean squared norm of a position's features, where l2 is well below it."""
    design = problem.arrays.design
    squares = inner(design.value, design.value) if design.value.size else len(design.start)
    start = 0.5 * squares / max(1, len(design.site_part))
    return Annealing(start) if start > 2.0 * l2 else None
