"""The solvers by name, and the check that a solver fits a problem."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from ..errors import DataError, MismatchError
from ..registry import Registry
from ..wording import did_you_mean

# The names are known without numpy: completions are made of them where it is not installed.
if TYPE_CHECKING:
    from ..problem.problem import Problem
    from .base import Solver
    from .goal import Goal

SOLVERS: Final[Registry[type[Solver]]] = Registry(
    "partwise.solvers",
    {
        "auto": "solvers.automatic:Automatic",
        "online-eg": "solvers.eg.online:OnlineEG",
        "batch-eg": "solvers.eg.batch:BatchEG",
        "primal-eg": "solvers.eg.primal:PrimalEG",
        "proximal-eg": "solvers.eg.proximal:ProximalEG",
        "lbfgs": "solvers.batch.lbfgs:LBFGS",
        "cg": "solvers.batch.conjugate_gradient:ConjugateGradient",
        "newton": "solvers.batch.newton:TrustRegionNewton",
        "owl-qn": "solvers.batch.lbfgs:OrthantWise",
        "sag": "solvers.average.sag:SAG",
        "saga": "solvers.average.sag:SAGA",
        "sag-nus": "solvers.average.sag:SAGNUS",
        "sag-batch": "solvers.average.mini_batches:BatchSAG",
        "svrg": "solvers.average.svrg:SVRG",
        "sdca": "solvers.coordinate.sdca:SDCA",
        "bcfw": "solvers.margin.frank_wolfe:FrankWolfe",
        "crammer-singer": "solvers.margin.crammer_singer:CrammerSinger",
        "smo": "solvers.margin.smo:SMO",
        "smo-eg": "solvers.margin.smo:SMOThenEG",
        "svm-struct": "solvers.planes.cutting_planes:CuttingPlanes",
        "bmrm": "solvers.planes.bmrm:BMRM",
        "excessive-gap": "solvers.margin.excessive_gap:ExcessiveGap",
        "extragradient": "solvers.margin.extragradient:Extragradient",
        "dual-cd": "solvers.coordinate.dual:DualCoordinateDescent",
        "primal-cd": "solvers.coordinate.primal:PrimalCoordinateDescent",
        "blocks": "solvers.blocks.solver:Blocks",
        "sgd": "solvers.stochastic.sgd:SGD",
        "sgd-nus": "solvers.stochastic.nus:NonUniformSGD",
        "asgd": "solvers.stochastic.sgd:AveragedSGD",
        "pegasos": "solvers.stochastic.sgd:Pegasos",
        "adagrad": "solvers.stochastic.adagrad:AdaGrad",
        "smd": "solvers.stochastic.smd:MetaDescent",
        "hybrid": "solvers.stochastic.hybrid:Hybrid",
    },
)


def check_solver(name: Any) -> None:
    """Raise a DataError unless there is a solver of this name."""
    if not isinstance(name, str) or name not in SOLVERS:
        known = f"use one of {', '.join(SOLVERS)}"
        hint = did_you_mean(name, SOLVERS, known) if isinstance(name, str) else known
        raise DataError(f"unknown solver {name!r}; {hint}")


def make_solver(name: str, goal: Goal, options: dict[str, Any] | None = None) -> Solver:
    """Build a solver by name, or raise an error that says why it does not fit.

    Parameters
    ----------
    name : str
        A name in ``SOLVERS``.
    goal : Goal
        What the solver is asked for.
    options : dict or None
        Options of the solver; ``preset`` names a published form.
    """
    from ..problem.reach import check_overflow
    from ..structures.base import ORACLE_WORDS
    from .options import settled_options

    options, problem = options or {}, goal.problem
    check_solver(name)
    solver = SOLVERS[name]
    if goal.l1 and not solver.takes_l1:
        able = [s.name for s in SOLVERS.usable().values() if s.takes_l1]
        raise MismatchError(f"{name} cannot take l1 > 0; use {' or '.join(able)}")
    missing = needed(solver) - offered(problem)
    if missing:
        wanted = " and ".join(
            {**ORACLE_WORDS, **_WORDS}.get(need, need) for need in sorted(missing)
        )
        known = SOLVERS.usable().values()
        fitting = [s.name for s in known if needed(s) <= offered(problem) and _ready(s)]
        others = f"one of {', '.join(fitting)}" if fitting else "another solver or loss"
        where = " on disk" if problem.room.on_disk else ""
        raise MismatchError(
            f"{name} needs {wanted}; for {problem.structure.name} labels with the "
            f"{problem.loss.name} loss{where} use {others}"
        )
    options = settled_options(solver, options)
    check_overflow(problem, goal.l2)
    for oracle in solver.needs & ORACLE_WORDS.keys():
        problem = problem.with_oracle(oracle)
    return solver(replace(goal, problem=problem), **options)


def needed(solver: type[Solver]) -> frozenset[str]:
    """Return what a problem must offer to a solver."""
    return solver.needs if solver.on_disk else solver.needs | {"memory"}


#: How a message describes what a solver needs.
_WORDS: Final = {
    "entropy": "labels whose entropy is a sum over parts",
    "log loss": "the log loss",
    "memory": "all examples in memory",
    "multiclass": "a classifier",
    "steps": "labels that a dynamic program builds step by step, as weight can be taken from a "
    "label if all of its steps have some (so not trees that may cross: the marginals of their arcs "
    "do not tell which trees have weight)",
    "tau=0": "the hinge loss",
    "tau>0": "the log or the softmax-margin loss",
    "unconstrained labels": "labels without constraints",
    "whole labels": "labels that are not known in part only",
}


def _ready(solver: type[Solver]) -> bool:
    return solver.package is None or find_spec(solver.package) is not None


def offered(problem: Problem) -> frozenset[str]:
    """Return what a problem offers to solvers."""
    from ..structures.base import ORACLE_WORDS

    offers = {name for name in ORACLE_WORDS if problem.structure.has_oracle(name)}
    if problem.loss.tau > 0.0:
        offers.add("tau>0")
    else:
        offers.add("tau=0")
    if problem.has_entropy:
        offers.add("entropy")
    if problem.has_entropy or problem.structure.has_steps:
        offers.add("steps")
    if problem.structure.name == "multiclass":
        offers.add("multiclass")
    if problem.loss.tau == 1.0 and not problem.arrays.cost.size:
        offers.add("log loss")
    if not problem.arrays.mask.size:
        offers.add("unconstrained labels")
    if not problem.room.on_disk:
        offers.add("memory")
    if problem.gold_entropy is None:
        offers.add("whole labels")
    return frozenset(offers)
