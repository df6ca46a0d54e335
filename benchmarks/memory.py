"""The memory of the gradients of all examples, as in Schmidt et al. (2015), page 10."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .limits import table

if TYPE_CHECKING:
    from partwise.problem.problem import Problem
    from partwise.solvers.average.gradient_memory import GradientMemory

    from .sequences import SequenceTask

_HOW = ("sparse", "marginals", "mixed")


def count(problem: Problem) -> GradientMemory:
    """Return how many numbers are kept, for each form in which gradients can be kept."""
    from partwise.solvers.average.gradient_memory import gradient_memory

    return gradient_memory(problem)


def memory_table(found: list[tuple[SequenceTask, GradientMemory]]) -> str:
    """Return shares of the memory of dense gradients, measured and published."""
    rows = []
    for task, memory in found:
        published = task.published or (None,) * len(_HOW)
        row = [task.name, f"{memory.dense:.3g}"]
        for how, other in zip(_HOW, published, strict=True):
            row.append(f"{getattr(memory, how) / memory.dense:.1e}")
            row.append("-" if other is None else f"{other:.1e}")
        rows.append(row)
    header = ["task", "dense numbers"]
    header += [name for how in _HOW for name in (how, "published")]
    return table(header, rows)
