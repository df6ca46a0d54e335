"""Which solver a name stands for, and whether it fits the problem."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..dual_point import DualPoint
from ..errors import DataError, MismatchError
from ..evaluation import Evaluator
from ..problem import Problem
from ..structures.base import Floats
from ..structures.multiclass import Multiclass
from .adagrad import AdaGrad
from .automatic import Automatic
from .base import Solver
from .batch_eg import BatchEG
from .beginning import beginning
from .bmrm import BMRM
from .conjugate_gradient import ConjugateGradient
from .crammer_singer import CrammerSinger
from .cutting_planes import CuttingPlanes
from .dual_coordinate_descent import DualCoordinateDescent
from .excessive_gap import ExcessiveGap
from .extragradient import Extragradient
from .frank_wolfe import FrankWolfe
from .hybrid import Hybrid
from .lbfgs import LBFGS
from .newton import TrustRegionNewton
from .online_eg import OnlineEG
from .options import check_options, takes
from .owlqn import OrthantWise
from .primal_coordinate_descent import PrimalCoordinateDescent
from .primal_eg import PrimalEG
from .proximal_eg import ProximalEG
from .sag import SAG, SAGA, SAGNUS
from .sdca import SDCA
from .sgd import SGD, AveragedSGD, Pegasos
from .smd import MetaDescent
from .smo import SMO
from .smo_eg import SMOThenEG

_ALL: Final[tuple[type[Solver], ...]] = (
    Automatic,
    OnlineEG,
    BatchEG,
    PrimalEG,
    ProximalEG,
    LBFGS,
    ConjugateGradient,
    TrustRegionNewton,
    OrthantWise,
    SAG,
    SAGA,
    SAGNUS,
    SDCA,
    FrankWolfe,
    CrammerSinger,
    SMO,
    SMOThenEG,
    CuttingPlanes,
    BMRM,
    ExcessiveGap,
    Extragradient,
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


def make_solver(
    name: str,
    problem: Problem,
    l2: float,
    evaluator: Evaluator,
    rng: np.random.Generator,
    *,
    l1: float = 0.0,
    tol: float = 1e-4,
    start: DualPoint | None = None,
    initial_weights: Floats | None = None,
    options: dict[str, Any] | None = None,
) -> Solver:
    """Build a solver by name.

    Parameters
    ----------
    name : str
        A name in ``SOLVERS``.
    problem, l2, evaluator
        What to solve.
    rng : numpy.random.Generator
        For the solvers that draw.
    l1 : float
        Weight of |w|_1, for the solvers that take it.
    tol : float
        The relative gap to be reached, for the solvers that plan.
    start : DualPoint or None
        The dual point of an earlier fit.
    initial_weights : ndarray or None
        Stored weights to start from.
    options : dict or None
        Further arguments of the solver.
    """
    options = dict(options or {})
    if name not in SOLVERS:
        raise DataError(f"unknown solver {name!r}; use one of {', '.join(SOLVERS)}")
    solver = SOLVERS[name]
    if l1 and not takes(solver, "l1"):
        able = [s.name for s in SOLVERS.values() if takes(s, "l1")]
        raise MismatchError(f"{name} cannot take l1 > 0; use {' or '.join(able)}")
    missing = solver.needs - offered(problem)
    if missing:
        fitting = [s.name for s in SOLVERS.values() if s.needs <= offered(problem)]
        raise MismatchError(
            f"{name} needs {', '.join(sorted(missing))}, which {problem.structure.name} with the "
            f"{problem.loss.name} loss does not offer; use {' or '.join(fitting) or 'another loss'}"
        )
    check_options(solver, options)
    for argument, value in (("rng", rng), ("l1", l1), ("tol", tol)):
        if takes(solver, argument):
            options[argument] = value
    options |= beginning(solver, evaluator, l2, l1, start, initial_weights)
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
