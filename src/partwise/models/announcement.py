"""The message that is logged before a fit: the size of the problem and the memory it takes."""

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

#: The bytes per feature name of the dictionaries that numbered the names. The dictionaries are gone
#: by then, but the memory of such small objects is not returned to the system.
BYTES_A_NAME: Final = 160


def announcement(problem: Problem, settings: Parameters, held: Any, features: Any = ()) -> str:
    """Return a sentence on the size of a problem and the memory that a fit takes.

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

    The peak is reached either when the problem has just been built and the features exist twice, or
    while the problem is solved. The memory of the interpreter, of compiled code and of the text of
    files is not included.

    Parameters
    ----------
    problem : Problem
        What to solve.
    settings : Settings
        The solver, its options, and the number of threads.
    held : object
        What is in memory all the time: the encoder and the labels.
    features : object
        The rows of features that are still in memory after the problem is built.
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
    """Count the names in all vocabularies that an object holds."""
    if isinstance(thing, Vocabulary):
        return len(thing)
    if isinstance(thing, (tuple, list)):
        return sum(map(_n_names, thing))
    if isinstance(thing, dict):
        return sum(map(_n_names, thing.values()))
    return sum(map(_n_names, vars(thing).values())) if is_dataclass(thing) else 0


def _copies(problem: Problem) -> float:
    """Return the size of the copy of the weights that is returned, in vectors; 0 without a copy."""
    n_weights, n_places = problem.layout.n_weights, problem.storage.n_places
    return 0.0 if n_weights == n_places else n_weights / n_places
