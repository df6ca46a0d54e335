"""The base class of the estimators, with the interface of scikit-learn."""

from __future__ import annotations

import inspect
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from ..errors import DataError
from .stream import is_iterator, of_columns, of_pairs
from .trainer import Trainer

if TYPE_CHECKING:
    from ..explain.explanation import Explanations
    from ..models.model import Model
    from ..training.certificate import Certificate
    from ..training.early_stopping import EarlyStopping, Watch
    from .source import Source
    from .stream import Stream

__all__ = ["Estimator", "LabelList", "has_probabilities", "held_out_score"]

# The sections of a docstring that are inherited, and how they are found
_HEADER: Final = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY: Final = re.compile(r"^(?=\S)([^\n:]+?)(?: :[^\n]*)?\n", re.MULTILINE)
_INHERITED: Final = ("Parameters", "Attributes")

# The view of a fitted estimator in a notebook: that of scikit-learn, and the certificate
_STYLE: Final = "margin: 0.5em 0; border-collapse: collapse; font-size: small;"
_CELL: Final = "text-align: left; padding: 0.1em 0.8em 0.1em 0;"


def has_probabilities(estimator: Any) -> bool:
    """Return True, or raise an AttributeError if the loss of the estimator has no probabilities."""
    if estimator.loss == "hinge":
        raise AttributeError(
            "the hinge loss gives scores, not probabilities; train with loss='log' for these, or "
            "ask predict for the k best and their scores"
        )
    return True


class Estimator(Trainer, BaseEstimator):
    """Base class of the estimators; not for direct use.

    Attributes
    ----------
    certificate_ : Certificate
        Primal, dual and gap of the fit.
    trace_ : tuple of TraceRow
        The trace of the fit, one row per epoch.
    n_iter_ : int
        The number of passes over the data.
    model_ : Model
        The model, for :func:`partwise.save_model`.
    started_from_ : Start or None
        The objective of the weights of another model that the fit started from, and how far they
        were above the optimum; None if it started from none.
    """

    def __init_subclass__(cls, **more: Any) -> None:
        """Complete the docstring."""
        super().__init_subclass__(**more)
        if cls.__doc__:
            _document(cls)

    #: The arguments of `fit` that have one entry per example, and may be iterators.
    _streamed: ClassVar[tuple[str, ...]] = ("X", "y")
    #: Whether one iterator alone gives pairs of an example and its label.
    _pairs: ClassVar[bool] = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Only the examples of classifiers are rows of a matrix.
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags

    @abstractmethod
    def _given(self, *data: Any, **more: Any) -> tuple[Source, Any]:
        """Return the labelled examples and their weights from the arguments of `fit`."""

    def _examples(self, *data: Any, **more: Any) -> tuple[Source | Stream, Any]:
        """Check the parameters, and return the labelled examples and their weights."""
        self.check()
        given = self._given if self.out_of_core is None else self._in_batches
        return given(*data, **more)

    def _in_batches(self, *data: Any, **more: Any) -> tuple[Source | Stream, Any]:
        """Return the labelled examples and their weights, where the examples may be a stream.

        Iterators are read a batch at a time. Examples that are in memory are cut into batches by
        the trainer.
        """
        given = inspect.signature(self._given).bind(*data, **more).arguments
        columns = {name: given.pop(name, None) for name in self._streamed}
        weight = given.pop("sample_weight", None)
        first, *others = columns.values()
        if not is_iterator(first) or any(one is not None for one in given.values()):
            return self._given(*data, **more)

        def make(*lists: Any) -> Source:
            return self._given(**dict(zip(columns, lists, strict=False)))[0]

        if self._pairs and all(one is None for one in others):
            return of_pairs(first, make), weight
        return of_columns(columns, make), weight

    def _watched(self, stopping: EarlyStopping) -> Callable[[int], Watch]:
        from ..training.early_stopping import Watch, passes_between

        X, y, more = stopping.X, stopping.y, stopping.more
        # Another one, because each model that is scored is adopted.
        scored = self.fresh()
        source, _ = scored._given(X, **more) if y is None else scored._given(X, y, **more)
        score = held_out_score(scored, (X, y, more), stopping.scoring)

        def watch(n_training: int) -> Watch:
            every = stopping.every or passes_between(len(source), n_training)
            return Watch(score, float(every), stopping.patience)

        return watch

    def _labels_in(self, X: Any) -> Any:
        """Return the right labels that examples carry themselves, for scorers that get no y."""
        raise DataError(f"a {type(self).__name__} is scored by its labels; give y")

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    # mypy would take it for a promise that every attribute exists.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise scikit-learn's NotFittedError for what only a fit sets; it is called last."""
            if name[:1] != "_" and name.endswith("_") and "model_" not in self.__dict__:
                raise NotFittedError(
                    f"this {type(self).__name__} has no {name} yet; call fit first"
                )
            # A property may have failed, and its own message is the better one.
            return self.__getattribute__(name)

    def _html_repr(self) -> str:
        """Return the view of scikit-learn, with the certificate below it if there is one."""
        plain: str = estimator_html_repr(self)
        model = vars(self).get("model_")
        return plain if model is None else plain + _certificate_html(model.certificate)

    # Before scikit-learn 1.7 nothing calls _html_repr.

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **more: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**more)
        if "text/html" in bundle:
            bundle["text/html"] = self._html_repr()
        return bundle

    def explain(
        self, X: Any, *, fixed: Any = None, runners_up: bool = True, **more: Any
    ) -> Explanations:
        """Explain predictions: which features spoke for the labels, and which against them.

        Parameters
        ----------
        X, fixed
            As in `predict`.
        runners_up : bool
            Whether to look for the best other label at every part of a prediction. That takes one
            search per part; without it there are no margins.
        **more
            Further data of the examples, such as ``lengths``, and the other parameters of
            :meth:`partwise.models.model.Model.explain`.

        Returns
        -------
        Explanations
            A list with one `partwise.explain.Explanation` per example. The contributions of
            its parts add up to the score of the prediction.
        """
        more = {name: given for name, given in more.items() if given is not None}
        names = self._names_of_columns(more.pop("feature_names", None))
        return self._model.explain(
            self._readable(X), fixed=fixed, runners_up=runners_up, **names, **more
        )

    def explain_weights(
        self,
        top: int | None = 20,
        *,
        label: Any = None,
        feature: str | None = None,
        transitions: bool = False,
        as_frame: bool = False,
        feature_names: Sequence[str] | None = None,
    ) -> Any:
        """Return the largest weights as a table.

        Parameters
        ----------
        top, label, feature, transitions, as_frame, feature_names
            As in :meth:`partwise.models.model.Model.explain_weights`. Without `feature_names`, a
            classifier takes the names of the columns that it was fitted on.
        """
        names = self._names_of_columns(feature_names)
        return self._model.explain_weights(
            top, label=label, feature=feature, transitions=transitions, as_frame=as_frame, **names
        )

    def _names_of_columns(self, given: Sequence[str] | None) -> dict[str, Any]:
        """Return the names of features that a user gives, or those that it was fitted on."""
        return self._column_names() if given is None else {"feature_names": given}

    def _readable(self, X: Any) -> Any:
        """Return examples in a form that the model reads."""
        return X

    def _column_names(self) -> dict[str, Any]:
        """Return the names of the columns that it was fitted on, if it knows them."""
        return {}

    @property
    def _model(self) -> Model:
        """The model; raises scikit-learn's NotFittedError if there is none."""
        # check_is_fitted takes as long as labelling a short sentence.
        if "model_" not in self.__dict__:
            check_is_fitted(self, "model_")
        return self.model_

    def _fitted(self) -> Model:
        """Return the model, for attributes; raise an AttributeError if there is none."""
        return self.model_


class LabelList(list[Any]):
    """A list with one label per example, where a label may be a list, a tree or anything else.

    It is a list in every way but one: ``numpy.concatenate`` takes each label as one element, so
    that joined predictions are an array of one dimension, whatever the lengths of the labels are.
    This is how scikit-learn's ``cross_val_predict`` puts the predictions of its folds together.
    """

    def elements(self) -> npt.NDArray[np.object_]:
        """Return an array of one dimension with one label per element."""
        made = np.empty(len(self), dtype=object)
        # One by one, because numpy would take labels of equal lengths as the rows of a matrix.
        for i, label in enumerate(self):
            made[i] = label
        return made

    def __array_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> Any:
        """Join predictions label by label; all other functions of numpy get plain lists."""
        if not all(issubclass(kind, (LabelList, np.ndarray)) for kind in types):
            return NotImplemented
        if func is np.concatenate and args:
            parts = [part.elements() if isinstance(part, LabelList) else part for part in args[0]]
            return np.concatenate(parts, *args[1:], **kwargs)
        return func._implementation(*args, **kwargs)  # type: ignore[attr-defined]


def held_out_score(estimator: Estimator, dev: Any, scoring: Any) -> Callable[[Model], float]:
    """Return a function that scores a model on held-out data.

    Parameters
    ----------
    estimator : Estimator
        The estimator, which adopts each model that is scored.
    dev, scoring
        As in :func:`partwise.path`.
    """
    sound = isinstance(dev, tuple) and 1 <= len(dev) <= 3
    if not sound or (len(dev) == 3 and not isinstance(dev[2], Mapping)):
        raise DataError(
            "dev does not say what to score on; give a tuple: (X_dev, y_dev), (X_dev,) for data "
            "that hold their labels, such as a file that was read, or (X_dev, y_dev, more) with a "
            "dict of what else score takes"
        )
    from sklearn.metrics import check_scoring

    X, y, more = (*dev, None, None)[:3]
    scorer = check_scoring(estimator, scoring)

    def score(model: Model) -> float:
        estimator._adopt(model)
        return float(scorer(estimator, X, y, **(more or {})))

    return score


def _document(kind: type[Any]) -> None:
    """Complete the docstring of a class by the parameters and attributes that it inherits.

    Every parameter of the constructor and every attribute gets the description of the nearest class
    that describes it.
    """
    own = _sections(kind.__doc__ or "")
    known: dict[str, dict[str, str]] = {title: {} for title in _INHERITED}
    for base in kind.__mro__:
        sections = _sections(base.__dict__.get("__doc__") or "")
        for title in _INHERITED:
            for name, text in _entries(sections.get(title, "")).items():
                known[title].setdefault(name, text)
    described = known["Parameters"]
    wanted = [described[name] for name in inspect.signature(kind).parameters if name in described]
    lists = {"Parameters": wanted, "Attributes": list(known["Attributes"].values())}
    # One text may describe two parameters, such as "start, end".
    made = {title: "\n".join(dict.fromkeys(texts)) for title, texts in lists.items() if texts}
    rest = {title: text for title, text in own.items() if title and title not in made}
    parts = [f"{title}\n{'-' * len(title)}\n{text}" for title, text in {**made, **rest}.items()]
    kind.__doc__ = "\n\n".join([own.get("", ""), *parts]) + "\n"


def _sections(doc: str) -> dict[str, str]:
    """Split a docstring into its sections; the name of the text before them is ""."""
    text = inspect.cleandoc(doc)
    headers = [*_HEADER.finditer(text)]
    ends = [header.start() for header in headers] + [len(text)]
    found = {"": text[: ends[0]].strip()}
    for header, end in zip(headers, ends[1:], strict=True):
        found[header.group(1)] = text[header.end() : end].strip("\n")
    return found


def _entries(section: str) -> dict[str, str]:
    """Return the text that describes each name of a section, its header included."""
    places = [*_ENTRY.finditer(section + "\n")]
    ends = [*(place.start() for place in places), len(section)][1:]
    return {
        name.strip(): section[place.start() : end].rstrip()
        for place, end in zip(places, ends, strict=True)
        for name in place.group(1).split(",")
    }


def _certificate_html(certificate: Certificate) -> str:
    """Return a certificate as an HTML table.

    Parameters
    ----------
    certificate : Certificate
        The certificate of a fit. One that was read from a model file may hold any text, so all of
        it is escaped.
    """
    state = "certified" if certificate.converged else "not certified to tol"
    rows = {
        "certificate": state,
        "objective": f"{certificate.primal:.6g}",
        "lower bound": f"{certificate.dual:.6g}",
        "relative gap": f"{certificate.relative_gap:.2e} (tol {certificate.tol:.0e})",
        "passes": f"{certificate.passes:.1f} in {certificate.seconds:.1f} s",
        "verdict": certificate.verdict,
    }
    cells = "".join(
        f'<tr><th style="{_CELL}">{escape(name)}</th><td style="{_CELL}">{escape(value)}</td></tr>'
        for name, value in rows.items()
    )
    return f'<table class="partwise-certificate" style="{_STYLE}">{cells}</table>'
