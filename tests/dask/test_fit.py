"""The same model, whatever the number of workers, and the same as in blocks on one machine."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from support.dask_clusters import weights_hash

from partwise import ConstituencyParser, DependencyParser, LinearClassifier, SequenceTagger
from partwise.dask import (
    DaskConstituencyParser,
    DaskDependencyParser,
    DaskLinearClassifier,
    DaskSequenceTagger,
)
from partwise.tasks.registry import task_of

distributed = pytest.importorskip("distributed")

KINDS: dict[str, Any] = {
    "tag": (DaskSequenceTagger, SequenceTagger),
    "classify": (DaskLinearClassifier, LinearClassifier),
    "parse": (DaskDependencyParser, DependencyParser),
    "brackets": (DaskConstituencyParser, ConstituencyParser),
}


def even(problem: Any, blocks: int) -> list[Any]:
    """The blocks of a cluster, which are cut before anything is known about the examples."""
    n = problem.n_examples
    return [np.arange(n * k // blocks, n * (k + 1) // blocks) for k in range(blocks)]


def in_process(name: str, path: str, **how: Any) -> Any:
    """The fit of one machine, in the blocks of a cluster."""
    task = task_of(name)
    trainer = task.make({**how, "solver": "blocks"}, task.defaults("train"))
    with patch("partwise.solvers.blocks.solver.deal", even):
        trainer._train(task.read(path, task.defaults("train")))
    return trainer


@pytest.mark.parametrize("loss", ["log", "hinge"])
@pytest.mark.parametrize("name", list(KINDS))
def test_the_model_is_that_of_one_machine(
    client: Any, files: dict[str, str], name: str, loss: str
) -> None:
    how: dict[str, Any] = {"loss": loss, "l2": 1.0, "tol": 5e-3}
    made = KINDS[name][0](**how, client=client).fit(files[name])
    alone = in_process(name, files[name], **how)
    assert weights_hash(made) == weights_hash(alone)
    certificate = made.certificate_
    assert certificate.converged
    assert certificate.primal == pytest.approx(alone.certificate_.primal, rel=1e-12)
    assert certificate.dual == pytest.approx(alone.certificate_.dual, rel=1e-12)
