"""What the estimators share: from parameters to settings, warm starts, results of a fit."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..errors import DataError
from ..training.settings import Settings, read_noted
from ..values import is_integer

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..arrays import Ints
    from ..models.model import Model
    from ..problem.rows import Rows
    from ..training.loop import Callback, Fit
    from ..training.path import Descent

__all__ = ["SequenceEstimator", "TrainedEstimator", "fingerprint", "has_probabilities"]

#: Parameters of all estimators that go into the settings under the same name.
_SHARED = (
    "loss", "l2", "l1", "solver", "tol", "max_passes", "n_jobs", "cost_matrix", "class_weight",
    "solver_options",
)  # fmt: skip


#: How many labels before it a label depends on, for the structures of taggers. By name: a structure
#: that is not used need not be compiled.
_ORDERS = {"chain": 1, "second-order-chain": 2}


def chain_parameters(model: Model, classifier: str) -> dict[str, Any]:
    """Give the parameters of a tagger that the structure of its model holds.

    Parameters
    ----------
    model : Model
        A model that tags; another one is refused.
    classifier : str
        The estimator to name to those who have a model that classifies.
    """
    structure: Any = model.structure
    if model.task != "tag" or structure.name not in _ORDERS:
        raise DataError(
            f"a model of the task {model.task!r} and a {structure.name} does not tag; use "
            f"{classifier}.from_model if it classifies, or the model as it is"
        )
    return {
        "order": _ORDERS[structure.name],
        "start": structure.start,
        "end": structure.end,
        "constraints": model.constraints,
    }


#: Parameters that a model does not keep by name: what it holds anyway, and what belongs to the
#: process that fits and not to the model.
_NOT_KEPT = ("loss", "l2", "l1", "tol", "n_jobs", "warm_start", "verbose", "callbacks")


def has_probabilities(estimator: Any) -> bool:
    """Raise an AttributeError if the estimator's loss gives scores that are no probabilities."""
    if estimator.loss == "hinge":
        raise AttributeError(
            "the hinge loss gives scores, not probabilities; train with loss='log' for these, or "
            "ask predict for the k best and their scores"
        )
    return True


class TrainedEstimator(BaseEstimator):
    """Base of the estimators; not for use on its own."""

    #: While the estimator is fitted along a path of l2 (see `partwise.tasks.path`): that path.
    _descent: Descent | None = None

    def _settings(self, **more: Any) -> Settings:
        shared = {name: getattr(self, name) for name in _SHARED}
        seed = _seed(self.random_state)
        given = {name: getattr(self, name) for name in self._get_param_names()}
        kept = {name: value for name, value in given.items() if name not in _NOT_KEPT}
        if not (kept["random_state"] is None or is_integer(kept["random_state"])):
            del kept["random_state"]
        return Settings(**shared, seed=seed, descent=self._descent, given=kept, **more)

    @classmethod
    def _fitted_by(cls, model: Model, **held: Any) -> Self:
        """Make an estimator of a model, with the parameters that it was fitted with.

        Parameters
        ----------
        model : Model
            The model.
        **held
            Parameters as the structure and the features of the model tell them, for models that
            do not name them.
        """
        names = cls._get_param_names()
        held.update(read_noted(model.settings, names))
        held.update(loss=model.loss, l2=model.l2, tol=model.certificate.tol)
        if "l1" in names:
            held["l1"] = model.l1
        made = cls(**held)
        made._adopt(model)
        return made

    def _train(self, fit: Callable[..., tuple[Model, Fit]], same: Callable[[], str]) -> None:
        """Fit the model; with warm_start, from where the last fit ended.

        Parameters
        ----------
        fit
            Trains, given ``callbacks`` and, to start from, ``initial`` or ``dual_point``.
        same
            Gives a fingerprint; fits with equal ones can go on from each other's dual points.
        """
        start: dict[str, Any] = {}
        print_ = same() if self.warm_start else ""
        if self.warm_start and hasattr(self, "model_"):
            before, dual_point = getattr(self, "_dual", ("", None))
            start = {"dual_point": dual_point} if before == print_ else {"initial": self.model_}
        callbacks, display = self._callbacks()
        try:
            model, done = fit(callbacks=callbacks, **start)
        except BaseException:
            if display is not None:
                display.abandon()
            raise
        if display is not None:
            display.finish(done.certificate)
        self._adopt(model)
        self.trace_ = done.trace
        if self.warm_start:
            self._dual = (print_, done.dual_point)
        elif hasattr(self, "_dual"):
            del self._dual

    def _train_positions(
        self,
        task: str,
        rows: Rows,
        lengths: Ints,
        gold: Sequence[Ints],
        labels: Sequence[Any],
        settings: Settings,
        sample_weight: Any,
        **more: Any,
    ) -> None:
        """Fit a model that labels positions."""
        tied = more.get("transition_rows") is None
        ends = (settings.order, settings.start, settings.end)
        what = (list(labels), *ends, tied, settings.class_weight)
        self._train(
            partial(
                self._labeller_fit(), task, rows, lengths, gold, labels, settings,
                sample_weight=sample_weight, **more,
            ),
            partial(fingerprint, what, lengths, gold, sample_weight),
        )  # fmt: skip

    def _labeller_fit(self) -> Callable[..., tuple[Model, Fit]]:
        """Give what trains a model that labels positions."""
        from .sequences.fit import fit_labeller

        return fit_labeller

    def _callbacks(self) -> tuple[list[Callback], Any]:
        given = self.callbacks
        several = [] if given is None else [given] if callable(given) else given
        callbacks = list(several) if isinstance(several, Iterable) else [several]
        for one in callbacks:
            if not callable(one):
                raise DataError(
                    f"callbacks is {given!r}; callbacks must be functions that take the progress "
                    "of a fit: give one, a list of them, or None"
                )
        display = None
        if self.verbose:
            from ..training.progress import ProgressLine

            display = ProgressLine(l2=None if self._descent else self.l2)
            callbacks.append(display)
        return callbacks, display

    def _need_fit(self) -> None:
        """Raise scikit-learn's error unless there is a model."""
        # Asking scikit-learn takes as long as labelling a short sentence.
        if "model_" not in vars(self):
            check_is_fitted(self, "model_")

    def _adopt(self, model: Model) -> None:
        """Take the results of a fit over from its model."""
        self.model_ = model
        self.classes_ = np.array(model.labels)
        self.certificate_ = model.certificate
        self.n_iter_ = max(1, math.ceil(model.certificate.passes))
        self.trace_ = ()


class SequenceEstimator(TrainedEstimator):
    """Base of the estimators whose examples are sequences of tokens; not for use on its own."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.target_tags.required = True
        tags.no_validation = True
        return tags

    def _fitted(self) -> Model:
        model: Model | None = self.__dict__.get("model_")
        if model is None:
            raise AttributeError("the tagger has not been fitted; call fit first")
        return model


def _seed(random_state: Any) -> int:
    if is_integer(random_state):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def fingerprint(what: Any, lengths: Ints, gold: Sequence[Ints], sample_weight: Any = None) -> str:
    """Tell fits apart whose dual points have another meaning.

    Parameters
    ----------
    what
        Whatever else the parts of an example depend on; its ``repr`` is used.
    lengths, gold
        The shapes and the right labels of the examples.
    sample_weight
        Their weights; those of weight 0 are left out of a fit.
    """
    used = np.zeros(0, bool)
    if sample_weight is not None:
        used = np.not_equal(np.asarray(sample_weight), 0)
    digest = hashlib.sha256(repr(what).encode())
    for array in (lengths, np.concatenate([*gold, np.zeros(0, np.int64)]), used):
        digest.update(np.ascontiguousarray(array).tobytes() + b"|")
    return digest.hexdigest()
