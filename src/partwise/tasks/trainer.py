"""Trainers: parameters, preparation of examples, warm starts, and the results of a fit.

A trainer is an estimator without scikit-learn, whose import takes longer than a small fit. Commands
use trainers, and estimators derive from them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from ..compiled.compilation import noted_compilation
from ..errors import DataError
from ..training.settings import read_noted
from .parameters import TrainerParameters

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..models.model import Model
    from ..models.prepared import Prepared
    from ..problem.evaluation import DualPoint
    from ..training.checkpoint import Checkpoint
    from ..training.early_stopping import EarlyStopping, Watch
    from ..training.result import Callback, Fit, Start
    from .preparation import Preparation

__all__ = ["Trainer"]


class Trainer(TrainerParameters, ABC):
    """Base class of the trainers and the estimators; not for direct use."""

    #: The name of the task, in models and on the command line.
    task: ClassVar[str]

    # What derived classes define

    @abstractmethod
    def _preparation(self, initial: Model | None, whole: bool = True) -> Preparation:
        """Return what prepares the examples.

        Parameters
        ----------
        initial : Model or None
            A model to start from.
        whole : bool
            Whether all examples come at once, and are held in memory; otherwise they come a batch
            at a time.
        """

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        """Return the parameters that follow from the structure and the features of a model.

        Raises a DataError if the model does not belong to this estimator.
        """
        if model.task != cls.task:
            raise DataError(
                f"a model of the task {model.task!r} is none of {cls.__name__}; use the estimator "
                "of its task, or the model as it is"
            )
        return {}

    def _adopt(self, model: Model) -> None:
        """Set the results of a fit from its model."""
        import numpy as np

        self.model_ = model
        self.classes_ = np.array(model.labels)
        self.certificate_ = model.certificate
        self.n_iter_ = max(1, math.ceil(model.certificate.passes))
        self.trace_: tuple[Any, ...] = ()
        self.started_from_: Start | None = None

    # What all trainers share

    @classmethod
    def from_model(cls, model: Model) -> Self:
        """Make a fitted estimator from a model, such as :func:`partwise.load_model` returns.

        The parameters are those that the model was trained with, as far as it stores them.
        """
        held = cls._held(model)
        names = cls.names()
        held.update(read_noted(model.settings, names))
        held.update(loss=model.loss, l2=model.l2, l1=model.l1, tol=model.certificate.tol)
        made = cls(**{name: value for name, value in held.items() if name in names})
        made._adopt(model)
        return made

    @noted_compilation()
    def _train(
        self,
        source: Any,
        sample_weight: Any = None,
        initial: Model | None = None,
        watched: Callable[[int], Watch] | None = None,
    ) -> tuple[Prepared, Fit]:
        """Fit the model; with warm_start, start where the last fit ended.

        Parameters
        ----------
        source
            Labelled examples, from the arguments of `fit` or from a file.
        sample_weight
            The weights of the examples as a user gives them.
        initial : Model or None
            A model to start from.
        watched : callable or None
            From the number of training examples, it makes what is scored while the fit runs.
        """
        self.check()
        callbacks, stopping = self._callbacks()
        if stopping is not None:
            watched = self._watched(stopping)
        display = None
        if self.verbose:
            from ..training.progress import ProgressLine

            l2 = None if self.descent else self.l2
            display = ProgressLine(l2=l2, scored=watched is not None)
            callbacks.append(display)
        before = self.__dict__.get("model_") if self.warm_start else None
        checkpoint, reached = self._reached()
        if checkpoint is not None and checkpoint.as_start:
            initial = reached or initial
        resumed = checkpoint is not None and checkpoint.resumes
        prepared = self._prepare(source, sample_weight, initial or before or reached, resumed)
        start: Model | DualPoint | None = prepared.initial or initial
        fingerprint = prepared.fingerprint() if self.warm_start else ""
        if before is not None:
            known, held = getattr(self, "_dual", ("", None))
            # The dual point of a fit in steps belongs to its last step only.
            partial = prepared.problem is not None and prepared.problem.partial is not None
            same = known == fingerprint and not partial
            start = held if same else prepared.initial or before
        watch = None if watched is None else watched(prepared.record["n_examples"])
        try:
            model, done = self._fitted_model(prepared, callbacks, start, watch, checkpoint)
        except BaseException:
            if display is not None:
                display.abandon()
            raise
        if display is not None:
            display.finish(done.certificate)
        self._adopt(model)
        self.trace_ = done.trace
        self.started_from_ = done.start
        if self.warm_start:
            self._dual = (fingerprint, done.dual_point)
        elif hasattr(self, "_dual"):
            del self._dual
        return replace(prepared, problem=None), done

    def _watched(self, stopping: EarlyStopping) -> Callable[[int], Watch]:
        """Return what makes a watch of an EarlyStopping; see `_train`."""
        raise DataError("EarlyStopping needs an estimator, which scores with scikit-learn")

    def _prepare(
        self,
        source: Any,
        sample_weight: Any = None,
        initial: Model | None = None,
        resumed: bool = False,
    ) -> Prepared:
        """Read examples and labels, and lay them out.

        Parameters
        ----------
        source, sample_weight, initial
            As in `_train`.
        resumed : bool
            Whether the fit goes on from a checkpoint, and takes over the dual variables that are in
            the folder.
        """
        from .preparation import lay_out

        if self.out_of_core is not None and self.warm_start:
            raise DataError(
                "warm_start keeps the dual variables of all examples in memory; leave it out, or "
                "out_of_core"
            )
        whole = self.out_of_core is None
        return lay_out(self._preparation(initial, whole), source, sample_weight, self, resumed)

    def _fitted_model(
        self,
        prepared: Prepared,
        callbacks: Sequence[Callback],
        initial: Model | DualPoint | None,
        watch: Watch | None,
        checkpoint: Checkpoint | None,
    ) -> tuple[Model, Fit]:
        """Train on what was prepared; parameters are those of `train_model`."""
        from ..models.fit import train_model

        assert prepared.problem is not None
        try:
            return train_model(
                self.task,
                prepared,
                self,
                callbacks=callbacks,
                initial=initial,
                watch=watch,
                checkpoint=checkpoint,
            )
        finally:
            # A checkpoint refers to the dual variables in the folder.
            prepared.problem.room.close(remove=checkpoint is None)

    def _reached(self) -> tuple[Checkpoint | None, Model | None]:
        """Return the checkpoint, and the model that it holds if the fit goes on from it."""
        if self.checkpoint is None:
            return None, None
        from ..models.fit import checkpoint_model
        from ..training.checkpoint import Checkpoint

        checkpoint = Checkpoint.of(self.checkpoint)
        assert checkpoint is not None
        source = checkpoint.source
        return checkpoint, None if source is None else checkpoint_model(source)

    def _callbacks(self) -> tuple[list[Callback], EarlyStopping | None]:
        """Return the functions among the callbacks, and the EarlyStopping if there is one."""
        from ..training.early_stopping import EarlyStopping

        given = self.callbacks
        alone = callable(given) or isinstance(given, EarlyStopping)
        several = [] if given is None else [given] if alone else given
        callbacks = list(several) if isinstance(several, Iterable) else [several]
        stopping = [one for one in callbacks if isinstance(one, EarlyStopping)]
        callbacks = [one for one in callbacks if not isinstance(one, EarlyStopping)]
        for one in callbacks:
            if not callable(one):
                raise DataError(
                    f"callbacks is {given!r}; callbacks must be functions that take the progress "
                    "of a fit, or an EarlyStopping: give one, a list of them, or None"
                )
        if len(stopping) > 1:
            raise DataError("callbacks has more than one EarlyStopping; give one of them")
        return callbacks, stopping[0] if stopping else None
