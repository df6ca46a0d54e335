"""The estimator of sklearn-crfsuite, and the arrays of sequences that it returns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from ...errors import DataError
from ..pycrfsuite import ParsedDump, Tagger
from ..pycrfsuite.items import ItemError, LabelListError
from .metrics import flat_accuracy_score
from .model_file import FileResource, FitRecord, native_model
from .trainer import LinePerIterationTrainer

if TYPE_CHECKING:
    from ...models.model import Model
    from ...training.certificate import Certificate
    from ..pycrfsuite import TrainLogParser

__all__ = ["CRF", "sequence_array"]


class SequenceArray(np.ndarray[Any, Any]):
    """A one-dimensional array of objects with one list per sequence.

    ``==`` and ``!=`` compare it sequence by sequence, with as many sequences or with a single one,
    where numpy would compare lists with their own items.
    """

    def __eq__(self, other: Any) -> Any:
        pairs = _paired(self, other)
        return NotImplemented if pairs is None else np.array([list(a) == b for a, b in pairs], bool)

    def __ne__(self, other: Any) -> Any:
        pairs = _paired(self, other)
        return NotImplemented if pairs is None else np.array([list(a) != b for a, b in pairs], bool)


def _paired(mine: SequenceArray, other: Any) -> list[tuple[Any, list[Any]]] | None:
    """Pair sequences with those of another object; None if these are no sequences."""
    if isinstance(other, (str, bytes)) or not isinstance(other, Iterable) or mine.ndim != 1:
        return None
    found = list(other)
    nested = [_is_sequence(item) for item in found]
    if found and not any(nested):
        # One sequence for all of them.
        return [(item, found) for item in mine.tolist()]
    if len(found) != len(mine) or not all(nested):
        return None
    return list(zip(mine.tolist(), map(list, found), strict=True))


def _is_sequence(item: Any) -> bool:
    return isinstance(item, (list, tuple, np.ndarray))


def sequence_array(sequences: Sequence[Any]) -> SequenceArray:
    """Return an array with one sequence per entry, also if all have the same length."""
    found = np.empty(len(sequences), dtype=object)
    for i, item in enumerate(sequences):
        found[i] = item
    return found.view(SequenceArray)


#: The names that parameters have in CRFsuite, where they differ.
_NAMES: Final = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "calibration_eta": "calibration.eta",
    "calibration_rate": "calibration.rate",
    "calibration_samples": "calibration.samples",
    "calibration_candidates": "calibration.candidates",
    "calibration_max_trials": "calibration.max_trials",
    "pa_type": "type",
}
#: Parameters that are not those of the training algorithm.
_OWN: Final = ("algorithm", "verbose", "model_filename", "keep_tempfiles", "trainer_cls")


class CRF(BaseEstimator):
    """A linear-chain conditional random field, with the interface of sklearn-crfsuite.

    A parameter that is None has the default of its algorithm. A parameter that the algorithm does
    not have raises a ValueError in `fit`.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"} or None
        "lbfgs", the default, minimises ``c1 |w|_1 + c2 |w|^2`` plus the log loss of all sequences
        to a certified optimum, by a solver that the package chooses; so does "l2sgd", without c1.
        "ap" (averaged perceptron), "pa" (passive aggressive) and "arow" (adaptive regularisation
        of weights) are online algorithms without a certificate.
    min_freq : float or None
        Attributes have a weight for a label only if the sum of their values over its tokens is at
        least this; the default is 0.
    all_possible_states, all_possible_transitions : bool or None
        Whether attributes have weights for all labels, and whether all pairs of labels have
        weights; by default only those that occur in training.
    c1, c2 : float or None
        The coefficients of the regularisers; l1 = c1 and l2 = 2 c2. The defaults are 0 and 1; c2
        must be positive.
    max_iterations : int or None
        The maximum number of passes over the data.
    num_memories, epsilon, period, linesearch, max_linesearch
        Parameters of L-BFGS, which have no effect for "lbfgs" and "l2sgd". For the online
        algorithms `epsilon` is the loss at which they stop.
    delta : float or None
        Training by "lbfgs" and "l2sgd" stops when the relative duality gap is at most this. The
        default is 1e-5 and 1e-6.
    calibration_eta, calibration_rate, calibration_samples, calibration_candidates, \
calibration_max_trials
        Parameters of stochastic gradient descent, which have no effect.
    pa_type : {0, 1, 2} or None
        For "pa": without slack variables, PA-I (the default) or PA-II.
    c : float or None
        For "pa": the aggressiveness of PA-I and PA-II.
    error_sensitive, averaging : bool or None
        For "pa": whether the cost depends on the number of wrong labels, and whether weights are
        averaged; both by default.
    variance, gamma : float or None
        For "arow": the initial variance of the weights, and the tradeoff between loss and change.
    verbose : bool
        Whether to print the progress.
    model_filename : str or None
        The model file. If it exists, the estimator can predict without a fit. If None, the model
        is in a temporary file.
    keep_tempfiles : bool
        Whether temporary files are kept.
    trainer_cls : type or None
        The class of the trainer, derived from :class:`partwise.compat.pycrfsuite.Trainer`.

    Attributes
    ----------
    certificate_ : Certificate or None
        How far the objective is at most above the optimum. None without a fit, and for "ap", "pa"
        and "arow".
    training_log_ : TrainLogParser or None
        The messages of training, read.
    model_ : Model
        The model as the rest of partwise takes it: for :func:`partwise.save_model`, and for
        ``explain`` and ``explain_weights``. sklearn-crfsuite does not have it.

    Examples
    --------
    >>> from partwise.compat import sklearn_crfsuite
    >>> X, y = [[{"w": "the"}, {"w": "cat"}]], [["DET", "NOUN"]]
    >>> crf = sklearn_crfsuite.CRF(c1=0.1, c2=0.1).fit(X, y)
    >>> crf.predict(X).tolist(), crf.certificate_.converged
    ([['DET', 'NOUN']], True)
    """

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: int | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | None = None,
        keep_tempfiles: bool = False,
        trainer_cls: Any = None,
    ) -> None:
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls
        self.certificate_: Certificate | None = None
        self.training_log_: TrainLogParser | None = None
        self._record: FitRecord | None = None
        self._file: FileResource | None = None
        self._tagger: Tagger | None = None
        self._info_cached: ParsedDump | None = None

    @property
    def modelfile(self) -> FileResource:
        """The model file."""
        file = self._file
        if file is None or (None if file.auto else file.name) != self.model_filename:
            file = FileResource(self.model_filename, self.keep_tempfiles, ".crfsuite", "model")
            self._file, self._tagger, self._info_cached = file, None, None
        return file

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> CRF:
        """Train a model.

        Parameters
        ----------
        X : list of lists
            The features of each token of each sequence, as python-crfsuite takes them: see
            :class:`partwise.compat.pycrfsuite.ItemSequence`.
        y : list of lists of str
            The labels.
        X_dev, y_dev : list of lists or None
            Further sequences, which are scored after each iteration: see `training_log_`.

        Returns
        -------
        CRF
            The estimator itself.
        """
        if (X_dev is None) != (y_dev is None):
            raise DataError("Pass both X_dev and y_dev to use the holdout data")
        self._tagger = self._info_cached = self.certificate_ = self._record = None
        file = self.modelfile
        # Whatever happens, an earlier fit is over.
        file.cleanup()
        trainer = self._get_trainer()
        _append(trainer, X, y, 0, "X", "y")
        if X_dev is not None:
            _append(trainer, X_dev, y_dev, 1, "X_dev", "y_dev")
        file.ensure_name()
        assert file.name is not None
        try:
            trainer.train(file.name, holdout=-1 if X_dev is None else 1)
        except BaseException:
            file.cleanup()
            raise
        self.training_log_ = trainer.logparser
        self.certificate_ = trainer.certificate
        self._record = FitRecord.of(file.name, trainer)
        return self

    def predict(self, X: Any) -> SequenceArray:
        """Predict the labels of sequences.

        Parameters
        ----------
        X : list of lists
            Features, as in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            One list of labels per sequence.
        """
        return sequence_array(self._fitted().tag_all(X))

    def predict_single(self, xseq: Any) -> list[str]:
        """Predict the labels of one sequence."""
        return self._fitted().tag(xseq)

    def predict_marginals(self, X: Any) -> SequenceArray:
        """Compute the probabilities of all labels at all tokens.

        Returns
        -------
        ndarray of shape (n_sequences,)
            One list of dicts ``{label: probability}`` per sequence.
        """
        tagger = self._fitted()
        labels = tagger.labels()
        return sequence_array(
            [
                [dict(zip(labels, row, strict=True)) for row in table.tolist()]
                for table in tagger.marginals_all(X)
            ]
        )

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """Compute the probabilities of all labels at all tokens of one sequence."""
        found: list[dict[str, float]] = self.predict_marginals([xseq])[0]
        return found

    def score(self, X: Any, y: Any) -> float:
        """Compute the fraction of right labels; other scores are in `metrics`."""
        return float(flat_accuracy_score(y, self.predict(X)))

    @property
    def tagger_(self) -> Tagger | None:
        """The tagger of the model; None without a model."""
        file = self.modelfile
        if self._tagger is None and file.name is not None:
            tagger = Tagger()
            tagger.open(file.name)
            self._tagger, self._info_cached = tagger, None
        return self._tagger

    @property
    def model_(self) -> Model:
        """The model as the rest of partwise takes it; it is read when it is asked for."""
        name = self.modelfile.name
        if name is None:
            raise NotFittedError("this CRF has no model_ yet; call fit, or give model_filename")
        return native_model(name, self._record)

    @property
    def classes_(self) -> list[str] | None:
        """The labels, in the order in which they were first seen."""
        tagger = self.tagger_
        return None if tagger is None else tagger.labels()

    @property
    def size_(self) -> int | None:
        """The number of bytes of the model file."""
        info = self._info
        return None if info is None else int(info.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """The number of attributes that have weights."""
        info = self._info
        return None if info is None else int(info.header["num_attrs"])

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes that have weights."""
        info = self._info
        return None if info is None else list(info.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """The weights of attributes with labels: ``{(attribute, label): weight}``."""
        info = self._info
        return None if info is None else info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """The weights of pairs of labels: ``{(from, to): weight}``."""
        info = self._info
        return None if info is None else info.transitions

    @property
    def _info(self) -> ParsedDump | None:
        tagger = self.tagger_
        if self._info_cached is None and tagger is not None:
            self._info_cached = tagger.info()
        return self._info_cached

    def _fitted(self) -> Tagger:
        tagger = self.tagger_
        if tagger is None:
            raise NotFittedError("this CRF has no model yet; call fit, or give model_filename")
        return tagger

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is a model."""
        return self.modelfile.name is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        tags.no_validation = True
        return tags

    def _get_trainer(self) -> Any:
        given = {
            _NAMES.get(name, name): value
            for name, value in self.get_params(deep=False).items()
            if name not in _OWN and value is not None
        }
        make = self.trainer_cls or LinePerIterationTrainer
        return make(algorithm=self.algorithm, params=given, verbose=self.verbose)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.update(_tagger=None, _info_cached=None)
        return state


def _append(trainer: Any, X: Any, y: Any, group: int, *names: str) -> None:
    """Append all sequences to the data of a trainer."""
    X, y = list(X), list(y)
    if y and all(isinstance(labels, (str, bytes)) for labels in y):
        raise ItemError(
            f"{names[1]} holds {y[0]!r} and other single labels; give one list of labels per "
            "sequence: [[label, label], [label]]"
        )
    if len(X) != len(y):
        raise DataError(
            f"{names[0]} has {len(X)} sequences and {names[1]} has {len(y)}; give as many labels "
            "as sequences"
        )
    for s, (items, labels) in enumerate(zip(X, y, strict=True)):
        try:
            trainer.append(items, labels, group)
        except LabelListError as error:
            error.within(argument=names[1], example=s)
            raise
        except DataError as error:
            error.within(argument=names[0], unit="sequence", example=s)
            raise
