"""Trainers whose examples are on the workers of a cluster."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from ..arrays import Floats
from ..errors import ClusterError, DataError, MismatchError
from ..models.fit import UNFINISHED, made_model, packed_model
from ..models.model import Model
from ..models.prepared import Prepared
from ..models.transfer import transfer_weights
from ..parameters import PROCESS, Count, declared
from ..solvers.blocks.plan import BLOCKS, Extent, make_plan
from ..tasks.trainer import Trainer
from ..training.checkpoint import Checkpoint, Keeper, load_checkpoint
from ..training.loop import run
from ..training.result import Callback, Fit, Start
from ..training.settings import as_json
from .clients import connected
from .crew import ClusterCrew
from .inputs import ClusterInputs, as_inputs
from .machine import ClusterAscent

if TYPE_CHECKING:
    from ..problem.evaluation import DualPoint
    from ..training.early_stopping import Watch

__all__ = ["ClusterTrainer", "on_cluster"]

_log = logging.getLogger(__name__)


class ClusterTrainer(Trainer):
    """Base class of the trainers that train on a cluster; not for direct use.

    Parameters
    ----------
    client : distributed.Client, Address, str or None
        The cluster: a client, the address of a scheduler, "local" for workers on this machine, or
        None for the client that is in use.
    blocks : int or None
        The number of blocks of examples, which is the number of workers that can be busy at once;
        None is 8. The result depends on it, and not on the number of workers.
    exchanges : int or None
        How often the blocks exchange what they have found in one pass over the data. More exchanges
        need fewer passes, and each takes some milliseconds.
    """

    client: Annotated[Any, PROCESS] = None
    blocks: Count | None = None
    exchanges: Count | None = None

    #: The class that does the same on one machine.
    local: ClassVar[type[Trainer]]

    def check(self) -> None:
        super().check()
        if self.solver not in ("auto", "blocks"):
            raise DataError(f"solver is {self.solver!r}; on a cluster it is 'auto' or 'blocks'")
        if self.solver_options:
            raise DataError("solver_options are for one machine; give blocks and exchanges")
        if self.out_of_core is not None:
            raise DataError("out_of_core is for one machine; leave it out, or the cluster")
        if self.descent is not None:
            raise MismatchError("a cluster trains for one value of l2 at a time; see partwise.dask")
        if self.loss == "hinge" and self.l1 > 0.0:
            raise MismatchError(
                "no solver takes l1 > 0 with the hinge loss; use the log or the softmax-margin loss"
            )

    def bare(self) -> Trainer:
        """Return the trainer of one machine with the same parameters, to be sent to workers."""
        sent = [one.name for one in declared(self.local).values() if one.marker is not PROCESS]
        return self.local(**{name: getattr(self, name) for name in sent})

    def to_local(self) -> Any:
        """Return the estimator of one machine, with the same parameters and the fitted model."""
        names = [name for name in self.local.names() if name != "checkpoint"]
        made = self.local(**{name: getattr(self, name) for name in names})
        if "model_" in vars(self):
            made._adopt(self.model_)
            made.trace_ = self.trace_
        return made

    def _train(
        self,
        source: Any,
        sample_weight: Any = None,
        initial: Model | None = None,
        watched: Callable[[int], Watch] | None = None,
    ) -> tuple[Prepared, Fit]:
        """Fit the model on the cluster.

        Parameters are those of `Trainer._train`; `source` is what `fit` was given, or inputs.
        """
        self.check()
        with ExitStack() as stack:
            self._cluster = stack.enter_context(connected(self.client))
            self.client_ = self._cluster.client
            try:
                # Not that of the trainer of one machine, which looks at the source.
                return Trainer._train(self, source, sample_weight, initial, watched)
            except ClusterError as error:
                raise ClusterError(f"{error}; {self._way_on()}") from error
            finally:
                del self._cluster
                self.__dict__.pop("_crew", None)

    def _way_on(self) -> str:
        """Return what to do when a cluster is gone."""
        checkpoint = Checkpoint.of(self.checkpoint)
        if checkpoint is None:
            return "there is no checkpoint to go on from: give one (checkpoint=, --checkpoint)"
        path = os.fspath(checkpoint.path)
        if not os.path.exists(path):
            return f"the checkpoint {path} was not written yet, so begin again"
        return (
            f"go on from the checkpoint {path} on another cluster (--resume {path}; "
            f"checkpoint=Checkpoint({path!r}, resume=True))"
        )

    def _prepare(
        self,
        source: Any,
        sample_weight: Any = None,
        initial: Model | None = None,
        resumed: bool = False,
    ) -> Prepared:
        cluster, how = self._cluster, self.bare()
        inputs = source
        if not isinstance(source, ClusterInputs):
            inputs = as_inputs(how, source, sample_weight, cluster)
        elif sample_weight is not None:
            inputs = replace(source, weight=sample_weight)
        fit = os.urandom(6).hex()
        origins, files = inputs.origins(cluster, self.blocks or BLOCKS, fit)
        if self.blocks is not None and len(origins) < self.blocks:
            raise DataError(
                f"{len(origins)} examples cannot make {self.blocks} blocks; use fewer blocks"
            )
        parts = partial(inputs.futures, cluster) if inputs.parts else None
        crew = ClusterCrew(cluster, fit, origins, parts)
        _log.info(
            "%d blocks of %d examples on %d workers",
            crew.blocks, origins[-1].first + origins[-1].size, len(cluster.workers()),
        )  # fmt: skip
        made = crew.prepare(how, initial)
        self._crew, self.files_ = crew, files
        n = sum(built.extent.examples for built in crew.built)
        # The dual variables stay on the workers, so another fit cannot go on from them.
        record = {"n_examples": n, **made.prepared.record}
        return replace(made.prepared, key=fit, record=record)

    def _fitted_model(
        self,
        prepared: Prepared,
        callbacks: Sequence[Callback],
        initial: Model | DualPoint | None,
        watch: Watch | None,
        checkpoint: Checkpoint | None,
    ) -> tuple[Model, Fit]:
        crew, l2, l1 = self._crew, float(self.l2), float(self.l1)
        assert crew.assembly is not None
        blueprint, storage = crew.assembly.blueprint, crew.storage()
        made = partial(made_model, self.task, prepared, blueprint.layout, self)
        keeper, saved, rng = None, None, np.random.default_rng(self.seed)
        if checkpoint is not None:
            if checkpoint.as_start:
                checkpoint = replace(checkpoint, resume=False, overwrite=True)
            saved = None if checkpoint.source is None else load_checkpoint(checkpoint.source)
            checkpoint.check_target()
            keeper = Keeper(
                checkpoint,
                self._digest(),
                as_json({"l2": l2, "l1": l1, "solver": "blocks", "options": self._options(),
                         "seed": self.random_state}),
                rng,
                None,
                lambda weights: packed_model(lambda w: made(l2, w, UNFINISHED), weights),
            )  # fmt: skip
        first = None
        if isinstance(initial, Model) and saved is None:
            first = transfer_weights(
                initial, prepared.structure, blueprint.layout, prepared.labels, prepared.features
            )
        machine = self._machine(storage, l2, l1, rng, first)
        try:
            fit = run(
                machine,
                storage,
                tol=float(self.tol),
                max_passes=float(self.max_passes),
                callbacks=callbacks,
                watch=None if watch is None else self._scored(watch, partial(made, l2)),
                initial_weights=None if first is None else storage.scatter(first),
                keeper=keeper,
                saved=saved,
            )
        finally:
            machine.close()
        self.costs_ = machine.costs
        self.replayed_ = machine.replayed
        if first is not None and isinstance(initial, Model):
            counts = int(np.count_nonzero(initial.weights)), int(np.count_nonzero(first))
            fit = replace(fit, start=Start(fit.initial_objective, *counts))
        return made(l2, fit.weights, fit.certificate), fit

    def _scored(self, watch: Watch, made: Callable[..., Model]) -> Watch:
        """Return a watch that scores weights in place of models."""
        return replace(watch, score=lambda weights: watch.score(made(weights, UNFINISHED)))

    def _machine(
        self, storage: Any, l2: float, l1: float, rng: np.random.Generator, first: Floats | None
    ) -> ClusterAscent:
        crew = self._crew
        assert crew.assembly is not None
        extent = Extent.total(built.extent for built in crew.built)
        structure, layout = crew.assembly.prepared.structure, crew.assembly.blueprint.layout
        plan = make_plan(
            extent,
            layout.n_weights,
            crew.assembly.blueprint.loss.tau,
            structure.name == "multiclass",
            l2,
            l1,
            warm=first is not None,
            blocks=crew.blocks,
            exchanges=self.exchanges,
        )
        _log.info(
            "%s in %d blocks, %d exchanges per pass", plan.method, plan.blocks, plan.exchanges
        )
        stored = None if first is None else storage.scatter(first)
        return ClusterAscent(
            plan, storage, extent.examples, l2, l1, rng, crew, weights=stored
        )  # fmt: skip

    def _options(self) -> dict[str, Any]:
        return {"blocks": self._crew.blocks, "exchanges": self.exchanges}

    def _digest(self) -> str:
        """Return a hash of all blocks and of the files that they were read from."""
        digest = hashlib.sha256()
        for part in (*(built.digest for built in self._crew.built), *self.files_):
            digest.update(part.encode() + b"|")
        return digest.hexdigest()


def on_cluster(
    plain: Trainer, client: Any, blocks: int | None = None, exchanges: int | None = None
) -> ClusterTrainer:
    """Return a trainer of a cluster with the parameters of a trainer of one machine.

    Parameters
    ----------
    plain : Trainer
        The trainer of one machine.
    client, blocks, exchanges
        As in :class:`ClusterTrainer`.
    """
    kind = type(plain)
    # The same class, trained elsewhere.
    made: Any = type(
        f"Cluster{kind.__name__}", (ClusterTrainer, kind), {"local": kind, "__doc__": ""}
    )
    found: ClusterTrainer = made(
        **plain.as_dict(), client=client, blocks=blocks, exchanges=exchanges
    )
    return found
