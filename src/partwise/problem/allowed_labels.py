"""The expected counts of the allowed labels at given weights, for labels known in part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Floats
from ..compiled.vectors import inner
from .evaluation import Evaluator
from .masks import pointers
from .problem import Problem
from .subset import subset

__all__ = ["AllowedLabels"]


class AllowedLabels:
    """Computes the expected counts of the allowed labels of a problem at given weights.

    Parameters
    ----------
    problem : Problem
        A problem with labels that are known in part.
    n_jobs : int
        The number of threads.
    """

    def __init__(self, problem: Problem, n_jobs: int = 1) -> None:
        assert problem.partial is not None
        self.partial, self.n_jobs = problem.partial, n_jobs
        examples = self.partial.examples
        every = len(examples) == problem.n_examples
        self.some = problem if every else subset(problem, examples)
        self.share = len(examples) / problem.n_examples
        sizes = np.diff(problem.arrays.gold_ptr)[examples]
        ends = pointers(sizes)
        inside = np.arange(ends[-1])
        # Where the counts of these examples are among the counts of all.
        self.places = inside + np.repeat(problem.arrays.gold_ptr[examples] - ends[:-1], sizes)
        owner = np.repeat(np.arange(len(examples)), sizes)
        self.parts = self.some.arrays.part_ptr[owner] + problem.arrays.gold_part[self.places]

    def expect(self, problem: Problem, weights: Floats) -> tuple[Problem, float]:
        """Take the expected counts of the allowed labels at some weights.

        Parameters
        ----------
        problem : Problem
            The problem, with counts for any weights.
        weights : ndarray
            Stored weights w.

        Returns
        -------
        problem, change
            The problem with the counts at w; and the number that has to be subtracted from the
            value of the problem that was given, at w, to have the true objective.
        """
        arrays = self.some.arrays._replace(
            mask=self.partial.mask,
            mask_ptr=self.partial.mask_ptr,
            gold_count=problem.arrays.gold_count[self.places],
        )
        some = replace(self.some, arrays=arrays)
        mu = np.empty(some.n_parts)
        slope = Evaluator(some, self.n_jobs).slope(weights, into=mu)
        count = problem.arrays.gold_count.copy()
        count[self.places] = mu[self.parts]
        entropy = np.zeros(problem.n_examples)
        entropy[self.partial.examples] = slope.linear
        arrays = problem.arrays._replace(gold_count=count)
        found = replace(problem, arrays=arrays, gold_entropy=entropy)
        return found, float(inner(slope.losses, some.arrays.weight))
