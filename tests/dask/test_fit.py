"""The same model, whatever the number of workers, and the same as in blocks on one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from support.dask_clusters import processes, weights_hash

from partwise import ConstituencyParser, DependencyParser, LinearClassifier, SequenceTagger
from partwise.dask import (
    DaskConstituencyParser,
    DaskDependencyParser,
    DaskLinearClassifier,
    DaskSequenceTagger,
)
from partwise.models.fit import train_model
from partwise.problem.evaluation import Evaluator, penalty
from partwise.problem.problem import Problem
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


def on_one_machine(name: str, path: str, **how: Any) -> tuple[Problem, Any]:
    """The problem of one machine, and its trainer, fitted closely."""
    task = task_of(name)
    given = task.defaults("train")
    found: list[Problem] = []
    trainer = KINDS[name][1](**how, tol=1e-7)

    def kept(name: str, prepared: Any, *more: Any, **others: Any) -> Any:
        found.append(prepared.problem)
        return train_model(name, prepared, *more, **others)

    with patch("partwise.models.fit.train_model", kept):
        trainer._train(task.read(path, given))
    return found[0], trainer


@pytest.mark.filterwarnings("ignore::partwise.ConvergenceWarning")
@pytest.mark.parametrize("loss", ["log", "hinge"])
@pytest.mark.parametrize("name", ["tag", "parse", "brackets"])
def test_the_model_is_that_of_one_machine(
    client: Any, files: dict[str, str], name: str, loss: str
) -> None:
    # One machine deals the examples of a classifier out in another order.
    how: dict[str, Any] = {"loss": loss, "l2": 1.0, "tol": 5e-3, "max_passes": 12}
    made = KINDS[name][0](**how, client=client).fit(files[name])
    alone = in_process(name, files[name], **how)
    assert weights_hash(made) == weights_hash(alone)
    certificate = made.certificate_
    assert certificate.primal == pytest.approx(alone.certificate_.primal, rel=1e-12)
    assert certificate.dual == pytest.approx(alone.certificate_.dual, rel=1e-12)


@pytest.mark.parametrize("name", list(KINDS))
def test_the_certificate_holds(client: Any, files: dict[str, str], name: str) -> None:
    made = KINDS[name][0](l2=3.0, tol=1e-2, client=client).fit(files[name])
    problem, alone = on_one_machine(name, files[name], l2=3.0)
    weights = problem.storage.scatter(made.model_.weights)
    losses = float(Evaluator(problem).losses(weights) @ problem.arrays.weight)
    certificate, best = made.certificate_, alone.certificate_
    assert certificate.converged
    assert certificate.primal == pytest.approx(losses + penalty(weights, 3.0, 0.0), rel=1e-10)
    # No point of the dual is above any point of the primal.
    assert certificate.dual <= best.primal
    assert certificate.primal >= best.dual
    assert np.all(made.to_local().model_.weights == made.model_.weights)


@pytest.mark.filterwarnings("ignore::partwise.ConvergenceWarning")
def test_the_number_of_workers_does_not_matter(
    client: Any, files: dict[str, str], tmp_path: Path
) -> None:
    found = []
    with (
        processes(tmp_path, 3) as cluster,
        distributed.Client(cluster.address, set_as_default=False) as other,
    ):
        other.wait_for_workers(3)
        for used in (client, other):
            for name in ("tag", "classify"):
                for loss in ("log", "hinge"):
                    made = KINDS[name][0](loss=loss, tol=1e-9, max_passes=4, client=used)
                    found.append(weights_hash(made.fit(files[name])))
    assert found[:4] == found[4:]
    assert len(set(found)) == 4
