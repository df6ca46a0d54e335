"""The message that is logged before a fit: the size of the problem and the memory it takes."""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from typing import Any, Final

from ..compiled.threads import thread_count
from ..errors import DataError
from ..memory import in_bytes
from ..problem.footprint import held_bytes
from ..problem.problem import Problem
from ..solvers.options import settled_options
from ..solvers.registry import SOLVERS
from ..training.settings import Parameters
from .vocabulary import Vocabulary

__all__ = ["announcement", "check_limit", "disk_announcement", "training_bytes"]

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
    solver = SOLVERS[settings.solver]
    options = settled_options(solver, settings.solver_arguments())
    footprint = solver.footprint(problem, float(settings.l2), float(settings.l1), options)
    footprint = replace(footprint, vectors=footprint.vectors + _copies(problem))
    scratch = 8 * thread_count(settings.n_jobs) * (problem.work_size + 6 * problem.max_parts)
    names = BYTES_A_NAME * _n_names(held)
    solving = held_bytes(problem, held, features) + footprint.nbytes(problem) + scratch
    return names + max(solving, held_bytes(held) + problem.build_bytes)


def check_limit(problem: Problem, settings: Parameters, held: Any, features: Any = ()) -> None:
    """Raise a DataError if a fit takes more memory than its settings allow.

    Parameters
    ----------
    problem, settings, held, features
        As in `training_bytes`.
    """
    limit = settings.memory_bytes
    if limit is None:
        return
    needed = training_bytes(problem, settings, held, features)
    if needed > limit:
        raise DataError(
            f"training takes about {in_bytes(needed)} of memory, and memory_limit is "
            f"{in_bytes(limit)}; give a folder for what does not fit (--out-of-core DIR, "
            "out_of_core=), or use fewer features, weights='observed' or a smaller part of the data"
        )


def disk_announcement(problem: Problem, settings: Parameters, held: Any) -> str:
    """Return a sentence on the size of a problem on disk, and on what is held where.

    Raises a DataError if what is held in memory is more than the settings allow.

    Parameters
    ----------
    problem : Problem
        A problem whose room is a `DiskRoom`.
    settings : Parameters
        The solver, its options, the folder and the memory limit.
    held : object
        What is in memory all the time: the encoder.
    """
    solver = SOLVERS[settings.solver]
    options = settled_options(solver, settings.solver_arguments())
    footprint = solver.footprint(problem, float(settings.l2), float(settings.l1), options)
    vectors = 8.0 * (footprint.vectors + _copies(problem)) * problem.storage.n_places
    examples = 8.0 * footprint.examples * problem.n_examples
    scratch = 8.0 * thread_count(settings.n_jobs) * (problem.work_size + 6 * problem.max_parts)
    memory = held_bytes(held, problem.storage) + vectors + examples + footprint.other + scratch
    memory += BYTES_A_NAME * _n_names(held)
    limit = settings.memory_bytes
    if limit is not None and memory > limit:
        raise DataError(
            f"the weights and the names of features take about {in_bytes(memory)} of memory, and "
            f"memory_limit is {in_bytes(limit)}; raise it, or have fewer weights: by "
            "--weights observed, --min-count N or --hashing N"
        )
    room: Any = problem.room
    duals = 8.0 * footprint.parts * problem.n_parts
    return (
        f"{problem.n_examples:,} examples, {sum(problem.layout.n_features):,} features, "
        f"{problem.layout.n_weights:,} weights, {problem.n_parts:,} parts; in memory: about "
        f"{in_bytes(memory)} for weights and names, and some blocks of examples; on disk, in "
        f"{settings.out_of_core}: {in_bytes(room.nbytes)} of examples and features in "
        f"{room.n_blocks:,} blocks, and {in_bytes(duals)} of dual variables"
    )


def _n_names(thing: Any) -> int:
    """Count the names that are strings in all vocabularies that an object holds."""
    if isinstance(thing, Vocabulary):
        return 0 if thing.is_packed else len(thing)
    if isinstance(thing, (tuple, list)):
        return sum(map(_n_names, thing))
    if isinstance(thing, dict):
        return sum(map(_n_names, thing.values()))
    return sum(map(_n_names, vars(thing).values())) if is_dataclass(thing) else 0


def _copies(problem: Problem) -> float:
    """Return the size of the copy of the weights that is returned, in vectors; 0 without a copy."""
    n_weights, n_places = problem.layout.n_weights, problem.storage.n_places
    return 0.0 if n_weights == n_places else n_weights / n_places
