"""Paths over l2 and cross-validation: independent fits side by side on the workers of a cluster.

Every fold is a path of its own, and a task of one worker. A path that is scored on held-out data is
cut into stretches of some values of l2. The first fit of a stretch starts from nothing, and the
others from where the one before ended. Where it is cut does not depend on the cluster, so that the
results do not depend on the number of workers. They are those of `fit` and of a path on one machine
that has only these values.
"""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from ..errors import ClusterError, DataError
from ..problem.evaluation import DualPoint
from ..tasks.stretches import Stretch, Walked, walked_by, walked_here
from .clients import connected
from .connection import Cluster, WorkerLost

__all__ = ["parallel_paths"]

_log = logging.getLogger(__name__)

#: How many values of l2 a stretch has.
_STRETCH: Final = 3
#: How often a task is begun again because its worker was lost.
_TIMES: Final = 10


@contextlib.contextmanager
def parallel_paths(client: Any = None) -> Iterator[None]:
    """Let `path` and the estimators that choose l2 train on a cluster, while entered.

    Each fold of a cross-validation, and each stretch of three values of l2 of a path with held-out
    data, is trained by one worker. The scores are computed here.

    Parameters
    ----------
    client : distributed.Client, Address, str or None
        The cluster, as in the estimators of ``partwise.dask``.

    Examples
    --------
    >>> from distributed import Client
    >>> from partwise import SequenceTaggerCV
    >>> from partwise.dask import parallel_paths
    >>> here = {"processes": False, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]] * 2
    >>> tagger = SequenceTaggerCV(l2_max=1.0, factor=0.1, steps=2, cv=2)
    >>> with Client(**here) as client, parallel_paths(client):
    ...     _ = tagger.fit(X, [["DET", "NOUN"]] * 4)
    >>> len(tagger.path_)
    2
    """
    with connected(client) as cluster, walked_by(_Walkers(cluster)):
        yield


@dataclass
class _Walkers:
    """The workers of a cluster, each of which walks one stretch at a time."""

    cluster: Cluster
    stretch: int = _STRETCH

    def __call__(self, stretches: Sequence[Stretch]) -> Iterator[Walked]:
        """Yield what became of stretches, in their order."""
        cluster, name = self.cluster, os.urandom(4).hex()
        sent: dict[int, Any] = {}
        lost = [0] * len(stretches)

        def begin(k: int) -> None:
            cluster.some_workers()
            key = f"partwise-path-{name}-{k}-{lost[k]}"
            task = cluster.submit(None, key, _walk, _bare(stretches[k]))
            sent[k] = task

        try:
            # The smallest values of l2 take longest, and so begin first.
            for k in reversed(range(len(stretches))):
                begin(k)
            for k in range(len(stretches)):
                while True:
                    try:
                        (found,) = cluster.collect([sent[k]])
                        break
                    except WorkerLost as error:
                        lost[k] += 1
                        _log.warning("worker lost, its part of the path begins again: %s", error)
                        if lost[k] >= _TIMES:
                            raise ClusterError(
                                f"workers were lost {_TIMES} times in the same part of a path; "
                                "they may have too little memory: see their logs"
                            ) from error
                        begin(k)
                yield found
        finally:
            cluster.cancel([task.future for task in sent.values()])


def _bare(stretch: Stretch) -> Stretch:
    """Return a stretch without what belongs to this process."""
    trainer = stretch.trainer.fresh()
    if trainer.checkpoint is not None:
        raise DataError("a path on a cluster has no checkpoint; leave one of them out")
    trainer.callbacks, trainer.verbose, trainer.n_jobs = None, 0, 1
    return replace(stretch, trainer=trainer)


def _walk(stretch: Stretch) -> Walked:
    """Walk a stretch on a worker."""
    with warnings.catch_warnings():
        # Whoever started the path finds the same in its table.
        warnings.simplefilter("ignore")
        found = walked_here(stretch)
    nothing = DualPoint(np.zeros(0))
    models = [(model, replace(fit, dual_point=nothing)) for model, fit in found.models]
    return replace(found, models=models)
