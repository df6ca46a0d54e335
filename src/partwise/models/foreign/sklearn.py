"""Classifiers of scikit-learn: LogisticRegression and LinearSVC.

They are read from the fitted objects or, by the command, from files of skops, which hold data and
the names of known types. Pickles are refused: reading one may run anything.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zipfile import BadZipFile, ZipFile

import numpy as np

from ...errors import DataError, MismatchError, ModelFileError
from ...memory import check_memory
from .base import ModelFormat, Origin, named_file, read_bytes
from .entries import classifier

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["FORMAT", "model_of_sklearn"]

_KINDS: Final = ("LogisticRegression", "LogisticRegressionCV", "LinearSVC")
#: What a zip file begins with, which files of skops are.
_ZIP: Final = b"PK"


class _Objective(NamedTuple):
    """What an estimator minimises; loss, l2 and l1 in the terms of partwise, if it has them."""

    words: str
    loss: str | None
    l2: float | None = None
    l1: float = 0.0


def model_of_sklearn(estimator: Any) -> Model:
    """Make a model of a fitted classifier of scikit-learn.

    Parameters
    ----------
    estimator : LogisticRegression, LogisticRegressionCV or LinearSVC
        The fitted classifier.

    Returns
    -------
    Model
        A classifier with the same labels. The difference of the scores of two labels is the
        decision value if there are two labels, otherwise the difference of the decision values. It
        has probabilities where they are those of the estimator.

    Raises
    ------
    DataError
        If the estimator is of another kind or is not fitted.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from partwise import model_of_sklearn
    >>> classifier = LogisticRegression().fit([[0.0], [1.0]], ["a", "b"])
    >>> model_of_sklearn(classifier).labels
    ('a', 'b')
    """
    kind = type(estimator).__name__
    if kind not in _KINDS or not type(estimator).__module__.startswith("sklearn."):
        raise DataError(f"a {kind} cannot be converted; give one of {', '.join(_KINDS)}")
    if not hasattr(estimator, "coef_"):
        raise DataError(f"the {kind} is not fitted; fit it first")
    weights = np.array(estimator.coef_, dtype=np.float64).T
    intercepts = np.array(estimator.intercept_, dtype=np.float64).ravel()
    labels = np.asarray(estimator.classes_).tolist()
    single = weights.shape[1] == 1 and len(labels) == 2
    width = 1 if single else len(labels)
    if weights.ndim != 2 or weights.shape[1] != width or len(intercepts) not in (1, width):
        raise DataError(f"its coefficients do not fit its {len(labels)} classes")
    scaling = 0.0
    if estimator.fit_intercept:
        scaling = float(estimator.intercept_scaling) if _by_liblinear(estimator) else 1.0
        row = np.broadcast_to(intercepts / scaling, (1, width))
        weights = np.vstack([weights, row])
    if single:
        # Where the decision value is 0, both choose the first label.
        weights = np.hstack([-0.5 * weights, 0.5 * weights])
        if _softmax_of_two(estimator):
            weights *= 2.0
    found = _objective(estimator, len(labels))
    ours = found.loss is not None and found.l2 is not None
    origin = Origin(f"scikit-learn's {kind}", found.words, ours)
    loss = "log" if kind != "LinearSVC" and not _one_vs_rest(estimator, len(labels)) else "hinge"
    return classifier(
        labels, weights, scaling, origin, loss=loss, l2=found.l2, l1=found.l1 if ours else 0.0
    )


def _by_liblinear(estimator: Any) -> bool:
    """Return whether LIBLINEAR trained it, which regularises the intercept."""
    return getattr(estimator, "solver", "liblinear") == "liblinear"


def _choice(estimator: Any) -> str:
    """Return how it treats several classes, a parameter that newer versions do not have."""
    return str(getattr(estimator, "multi_class", "auto"))


def _softmax_of_two(estimator: Any) -> bool:
    """Return whether its probabilities are the softmax of (-d, d), as older versions offer."""
    return _choice(estimator) == "multinomial"


def _one_vs_rest(estimator: Any, n_labels: int) -> bool:
    if n_labels == 2:
        return False
    if type(estimator).__name__ == "LinearSVC":
        return _choice(estimator) != "crammer_singer"
    return _choice(estimator) == "ovr" or _by_liblinear(estimator)


def _objective(estimator: Any, n_labels: int) -> _Objective:
    single = n_labels == 2 and _choice(estimator) not in ("multinomial", "crammer_singer")
    margin = type(estimator).__name__ == "LinearSVC"
    loss: str | None
    if margin and _choice(estimator) == "crammer_singer":
        words, loss = "the hinge loss of Crammer and Singer", "hinge"
    elif margin:
        squared = estimator.loss == "squared_hinge"
        words = "the squared hinge loss" if squared else "the hinge loss"
        loss = None if squared else "hinge"
    else:
        words, loss = "the log loss", "log"
    if _one_vs_rest(estimator, n_labels):
        return _Objective(f"{words}, each class against the rest", None)
    if getattr(estimator, "class_weight", None) is not None:
        return _Objective(f"{words} with weights of classes", None)
    if estimator.fit_intercept and not _by_liblinear(estimator):
        return _Objective(f"{words} with an intercept that is not regularised", None)
    l2, l1 = _regulariser(estimator)
    # Two labels share one vector of weights in scikit-learn and have one each in partwise.
    l2 = 2.0 * l2 if single else l2
    if loss is None or not l2 > 0.0:
        return _Objective(words if loss is None else f"{words} with |w|_1 alone", None)
    return _Objective(f"{words} with l2 = {l2:g} and l1 = {l1:g}", loss, l2, l1)


def _regulariser(estimator: Any) -> tuple[float, float]:
    """Return the factors of |w|^2/2 and of |w|_1; (0, 0) if they are not known."""
    C = np.ravel(getattr(estimator, "C_", getattr(estimator, "C", np.nan)))
    if len(set(C.tolist())) != 1 or not 0.0 < C[0] < np.inf:
        return 0.0, 0.0
    penalty = getattr(estimator, "penalty", "l2")
    ratio: Any = getattr(estimator, "l1_ratio_", getattr(estimator, "l1_ratio", None))
    if penalty in ("l1", "l2", None):
        ratio = {"l1": 1.0, "l2": 0.0, None: np.nan}[penalty]
    ratio = float(np.ravel(0.0 if ratio is None else ratio)[0])
    return (0.0, 0.0) if np.isnan(ratio) else ((1.0 - ratio) / C[0], ratio / C[0])


def _read(path: str) -> Model:
    """Read a file that skops wrote; nothing in it is trusted but the types that skops knows."""
    data = read_bytes(path)
    if not data.startswith(_ZIP):
        raise ModelFileError(
            f"{path} is no file of skops; write one by skops.io.dump(estimator, path)"
        )
    try:
        from skops import io as skops
    except ImportError as error:
        raise MismatchError(
            "files of scikit-learn's classifiers are read by skops; install it with "
            "`pip install skops`, or convert in Python: model_of_sklearn(estimator)"
        ) from error
    with named_file(path, "scikit-learn"):
        _check_size(data)
        try:
            estimator = skops.loads(data, trusted=[])
        except Exception as error:  # skops raises whatever its parts raise
            raise DataError(f"skops does not read it ({type(error).__name__}: {error})") from error
        return model_of_sklearn(estimator)


def _check_size(data: bytes) -> None:
    """Raise a DataError if the unpacked contents would be too large for the memory."""
    try:
        with ZipFile(io.BytesIO(data)) as held:
            size = sum(one.file_size for one in held.infolist())
    except (BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise DataError(f"it is no zip file ({error})") from error
    check_memory(8.0 * size, f"it has {size:,} bytes when unpacked, which")


FORMAT: Final = ModelFormat("a classifier of scikit-learn, as skops writes it", _read)
