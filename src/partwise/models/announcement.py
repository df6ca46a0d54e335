"""What a user is told before a fit begins: how large the problem is, and what it will take."""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from typing import Any, Final

from ..compiled.threads import thread_count
from ..problem.footprint import held_bytes
from ..problem.problem import Problem
from ..solvers.registry import SOLVERS
from ..training.settings import Parameters
from .vocabulary import Vocabulary

__all__ = ["announcement", "training_bytes"]

#: What the dictionaries took that numbered the names of the features, for each name: they are gone,
#: but what is as small as their items is not given back to the system.
BYTES_A_NAME: Final = 160


def announcement(problem: Problem, settings: Parameters, held: Any, features: Any = ()) -> str:
    """Say how large a problem is and how much memory a fit takes.

    Parameters
    ----------
    problem, settings, held, features
        As in `training_bytes`.
    """
    megabytes = training_bytes(problem, settings, held, features) / 2**20
    return (
        f"{problem.n_examples:,} examples, {sum(problem.layout.n_features):,} features, "
        f"{problem.layout.n_weights:,} weights, {problem.n_parts:,} parts; training takes about "
        f"{megabytes:,.0f} MiB, with the features and their names, beside the text that was read"
    )


def training_bytes(problem: Problem, settings: Parameters, held: Any, features: Any = ()) -> float:
    """Estimate the bytes that a fit takes at its peak, with the features and their names.

    The peak is reached when the problem has just been built, and the features are there twice, or
    while it is solved. The interpreter, compiled code and the text of files come on top.

    Parameters
    ----------
    problem : Problem
        What to solve.
    settings : Settings
        How: the solver, its options, and the number of threads.
    held : object
        What is there all the time and counts: the encoder and the labels.
    features : object
        The features as rows, those that are still there once the problem is built.
    """
    options = settings.solver_arguments()
    solver = SOLVERS[settings.solver]
    footprint = solver.footprint(problem, float(settings.l2), float(settings.l1), options)
    footprint = replace(footprint, vectors=footprint.vectors + _copies(problem))
    scratch = 8 * thread_count(settings.n_jobs) * (problem.work_size + 6 * problem.max_parts)
    names = BYTES_A_NAME * _n_names(held)
    solving = held_bytes(problem, held, features) + footprint.nbytes(problem) + scratch
    return names + max(solving, held_bytes(held) + problem.build_bytes)


def _n_names(thing: Any) -> int:
    """Count the names in all vocabularies that a thing holds."""
    if isinstance(thing, Vocabulary):
        return len(thing)
    if isinstance(thing, (tuple, list)):
        return sum(map(_n_names, thing))
    if isinstance(thing, dict):
        return sum(map(_n_names, thing.values()))
    return sum(map(_n_names, vars(thing).values())) if is_dataclass(thing) else 0


def _copies(problem: Problem) -> float:
    """How many vectors the weights take that are handed on: none if they are stored as they are."""
    n_weights, n_places = problem.layout.n_weights, problem.storage.n_places
    return 0.0 if n_weights == n_places else n_weights / n_places
