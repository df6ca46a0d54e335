"""Scorers: metrics in the form in which scikit-learn takes them, as the parameter `scoring`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any, Final

import numpy as np

from ..errors import DataError
from ..formats.tag_schemes import SCHEME_ALIASES
from ..values import one_of
from . import attachment, bracketing
from . import sequence_scores as sequences
from .counts import check_average
from .labels import SCHEMES

__all__ = ["Scorer", "ScorerGroup", "get_scorer", "get_scorers", "scorer_names"]

#: The metric of every name, and its options.
_METRICS: Final[Mapping[str, tuple[Callable[..., float], dict[str, Any]]]] = {
    "token_accuracy": (sequences.token_accuracy_score, {}),
    "token_precision_macro": (sequences.token_precision_score, {"average": "macro"}),
    "token_recall_macro": (sequences.token_recall_score, {"average": "macro"}),
    "token_f1_macro": (sequences.token_f1_score, {"average": "macro"}),
    "token_f1_weighted": (sequences.token_f1_score, {"average": "weighted"}),
    "span_precision": (sequences.span_precision_score, {}),
    "span_recall": (sequences.span_recall_score, {}),
    "span_f1": (sequences.span_f1_score, {}),
    "span_f1_macro": (sequences.span_f1_score, {"average": "macro"}),
    "span_f1_weighted": (sequences.span_f1_score, {"average": "weighted"}),
    "sentence_accuracy": (sequences.sentence_accuracy_score, {}),
    "uas": (attachment.uas_score, {}),
    "las": (attachment.las_score, {}),
    "bracket_precision": (bracketing.bracket_precision_score, {}),
    "bracket_recall": (bracketing.bracket_recall_score, {}),
    "bracket_f1": (bracketing.bracket_f1_score, {}),
}


@dataclass(frozen=True)
class Scorer:
    """A metric that predicts and scores: ``scorer(estimator, X, y)``.

    Further arguments, such as `lengths`, are those of `predict` of the estimator. A parser may be
    scored without y, by the trees that the sentences carry.

    Attributes
    ----------
    name : str
        The name.
    metric : callable
        Takes the right labels, the predicted labels and `sample_weight`.
    options : dict
        Further arguments of the metric.
    requests : dict
        What scikit-learn passes on if metadata routing is enabled, see `set_score_request`.

    Examples
    --------
    >>> from partwise.metrics import get_scorer
    >>> scorer = get_scorer("span_f1", scheme="IOB2")
    >>> scorer.compare([["B-NP", "O"]], [["B-NP", "O"]])
    1.0
    """

    name: str
    metric: Callable[..., float]
    options: Mapping[str, Any] = field(default_factory=dict)
    # They are a part of X, so that nobody has to ask for them.
    requests: Mapping[str, Any] = field(
        default_factory=lambda: {"lengths": True, "X_transitions": True}
    )

    def __call__(
        self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, **more: Any
    ) -> float:
        """Predict the labels of X and compare them with y."""
        return self.compare(*_predicted(estimator, X, y, more), sample_weight)

    def compare(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        """Compare predicted labels with the right ones."""
        return self.metric(y_true, y_pred, sample_weight=sample_weight, **self.options)

    def set_score_request(self, **requests: Any) -> Scorer:
        """Return the scorer with other requests to scikit-learn's metadata routing.

        Parameters
        ----------
        **requests
            ``sample_weight=True`` asks for the weights of the examples; ``lengths`` and
            ``X_transitions`` are asked for anyway.
        """
        return replace(self, requests={**self.requests, **requests})

    def get_metadata_routing(self) -> Any:
        """Return the requests in the form of scikit-learn."""
        return _routing(self, self.requests)

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"get_scorer({self.name!r}{options})"


@dataclass(frozen=True)
class ScorerGroup:
    """Several scorers that predict once: ``group(estimator, X, y)`` returns a dict of scores.

    Attributes
    ----------
    scorers : tuple of Scorer
        The scorers.

    Examples
    --------
    >>> from partwise.metrics import get_scorers
    >>> group = get_scorers(["span_f1", "token_accuracy"])
    >>> [scorer.name for scorer in group.scorers]
    ['span_f1', 'token_accuracy']
    """

    scorers: tuple[Scorer, ...]

    def __call__(
        self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, **more: Any
    ) -> dict[str, float]:
        """Predict the labels of X and compare them with y by each metric."""
        labels = _predicted(estimator, X, y, more)
        return {one.name: one.compare(*labels, sample_weight) for one in self.scorers}

    def set_score_request(self, **requests: Any) -> ScorerGroup:
        """Return the scorers with other requests, see `Scorer.set_score_request`."""
        return ScorerGroup(tuple(one.set_score_request(**requests) for one in self.scorers))

    def get_metadata_routing(self) -> Any:
        """Return the requests in the form of scikit-learn."""
        joined: dict[str, Any] = {}
        for one in self.scorers:
            joined.update(one.requests)
        return _routing(self, joined)


def scorer_names() -> list[str]:
    """Return the names of all scorers.

    Examples
    --------
    >>> from partwise.metrics import scorer_names
    >>> scorer_names()[:3]
    ['bracket_f1', 'bracket_precision', 'bracket_recall']
    """
    return sorted(_METRICS)


def get_scorer(name: str, **options: Any) -> Scorer:
    """Return a scorer by its name, for `scoring` of scikit-learn and of the estimators here.

    Parameters
    ----------
    name : str
        One of `scorer_names`.
    **options
        Further arguments of the metric: ``get_scorer("span_f1", scheme="IOB2")``.

    Returns
    -------
    Scorer
        It can be pickled, so it works with ``n_jobs``.

    Examples
    --------
    >>> from partwise.metrics import get_scorer
    >>> get_scorer("token_f1_macro", labels=["NOUN"])
    get_scorer('token_f1_macro', average='macro', labels=['NOUN'])
    """
    if name not in _METRICS:
        raise DataError(f"no scorer {name!r}; choose from {', '.join(scorer_names())}")
    metric, own = _METRICS[name]
    parameters = inspect.signature(metric).parameters.values()
    known = {one.name for one in parameters if one.kind is one.KEYWORD_ONLY} - {"sample_weight"}
    for option in options:
        if option not in known:
            has = f"it has {', '.join(sorted(known))}" if known else "it has none"
            raise DataError(f"the scorer {name!r} has no option {option!r}; {has}")
    if "scheme" in options:
        one_of("scheme", options["scheme"], (*SCHEMES, *SCHEME_ALIASES))
    if "average" in options:
        check_average(options["average"])
    return Scorer(name, metric, {**own, **options})


def get_scorers(names: Iterable[str | Scorer]) -> ScorerGroup:
    """Return several scorers as one, which predicts once and returns a dict.

    Parameters
    ----------
    names : iterable of str or Scorer
        The names of the scorers, or scorers with options. The keys of the dict are the names.

    Examples
    --------
    >>> from partwise.metrics import get_scorers
    >>> len(get_scorers(["uas", "las"]).scorers)
    2
    """
    made = tuple(one if isinstance(one, Scorer) else get_scorer(one) for one in names)
    several = [one.name for one in made]
    if not several or len(set(several)) < len(several):
        raise DataError(f"the scorers {several} must be at least one, and each of them once")
    return ScorerGroup(made)


def _predicted(estimator: Any, X: Any, y: Any, more: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the right and the predicted labels."""
    given = {name: value for name, value in more.items() if value is not None}
    if y is None:
        labels_in = getattr(estimator, "_labels_in", None)
        if labels_in is None:
            raise DataError(f"a {type(estimator).__name__} is scored by its labels; give y")
        y = labels_in(X)
    elif "lengths" in given:
        y = _by_sequence(y, np.asarray(given["lengths"]).tolist())
    return y, estimator.predict(X, **given)


def _by_sequence(y: Any, lengths: list[int]) -> Any:
    """Cut one flat list of the labels of all tokens into sequences; leave other forms alone."""
    flat = list(y)
    if len(flat) != sum(lengths) or any(isinstance(one, (list, tuple, np.ndarray)) for one in flat):
        return y
    return [flat[a:b] for a, b in pairwise(accumulate(lengths, initial=0))]


def _routing(owner: Any, requests: Mapping[str, Any]) -> Any:
    from sklearn.utils.metadata_routing import MetadataRequest

    made = MetadataRequest(owner=owner)
    for name, alias in requests.items():
        made.score.add_request(param=name, alias=alias)
    return made
