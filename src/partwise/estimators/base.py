"""What the estimators share: from parameters to settings, warm starts, results of a fit."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ..errors import DataError
from ..settings import Settings
from ..threads import is_integer

if TYPE_CHECKING:
    from ..model import Model
    from ..rows import Rows
    from ..structures.base import Ints
    from ..training import Callback

__all__ = ["TrainedEstimator", "has_probabilities"]

#: Parameters of all estimators that go into the settings under the same name.
_SHARED = (
    "loss", "l2", "solver", "tol", "max_passes", "n_jobs", "cost_matrix", "class_weight",
    "solver_options",
)  # fmt: skip


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

    def _settings(self, **more: Any) -> Settings:
        shared = {name: getattr(self, name) for name in _SHARED}
        return Settings(**shared, seed=_seed(self.random_state), **more)

    def _train(
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
        """Fit the model; with warm_start, from where the last fit ended."""
        from ..fitting import fit_model

        callbacks, display = self._callbacks()
        print_ = ""
        if self.warm_start:
            print_ = _fingerprint(settings, labels, lengths, gold, sample_weight, more)
        if self.warm_start and hasattr(self, "model_"):
            same, dual_point = getattr(self, "_dual", ("", None))
            if same == print_:
                more["dual_point"] = dual_point
            else:
                more["initial"] = self.model_
        try:
            model, fit = fit_model(
                task, rows, lengths, gold, labels, settings,
                sample_weight=sample_weight, callbacks=callbacks, **more,
            )  # fmt: skip
        except BaseException:
            if display is not None:
                display.abandon()
            raise
        if display is not None:
            display.finish(fit.certificate)
        self._adopt(model)
        self.trace_ = fit.trace
        if self.warm_start:
            self._dual = (print_, fit.dual_point)
        elif hasattr(self, "_dual"):
            del self._dual

    def _callbacks(self) -> tuple[list[Callback], Any]:
        given = self.callbacks
        callbacks = [] if given is None else [given] if callable(given) else list(given)
        if not all(map(callable, callbacks)):
            raise DataError("callbacks must be functions that take the progress of a fit")
        display = None
        if self.verbose:
            from ..progress import ProgressLine

            display = ProgressLine(l2=self.l2)
            callbacks.append(display)
        return callbacks, display

    def _adopt(self, model: Model) -> None:
        """Take the results of a fit over from its model."""
        self.model_ = model
        self.classes_ = np.array(model.labels)
        self.certificate_ = model.certificate
        self.n_iter_ = max(1, math.ceil(model.certificate.passes))
        self.trace_ = ()


def _seed(random_state: Any) -> int:
    if is_integer(random_state):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _fingerprint(
    settings: Settings,
    labels: Sequence[Any],
    lengths: Ints,
    gold: Sequence[Ints],
    sample_weight: Any,
    more: dict[str, Any],
) -> str:
    """Tell fits apart whose dual points have another meaning."""
    used = np.zeros(0, bool)
    if sample_weight is not None:
        used = np.not_equal(np.asarray(sample_weight), 0)
    tied = more.get("transition_rows") is None
    digest = hashlib.sha256(repr((list(labels), settings.start, settings.end, tied)).encode())
    digest.update(repr(settings.class_weight).encode())
    for array in (lengths, np.concatenate([*gold, np.zeros(0, np.int64)]), used):
        digest.update(np.ascontiguousarray(array).tobytes() + b"|")
    return digest.hexdigest()
