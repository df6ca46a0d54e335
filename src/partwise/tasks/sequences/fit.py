"""Preparation of labelled positions for training: class weights, rare features, checks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...errors import DataError, LabelError
from ...models.model import Label
from ...models.vocabulary import Vocabulary
from ...problem.rows import Rows
from ...values import is_number
from ..prepared import Prepared
from .constraints import check_labels, make_constraints
from .features import PositionFeatures
from .partial_labels import UNKNOWN, Labelled
from .tokens import Tokens

if TYPE_CHECKING:
    from ...structures.base import Constraints, Structure

__all__ = [
    "balanced_weights",
    "check_several",
    "class_factors",
    "count_classes",
    "drop_rare",
    "mean_weights",
    "named_weights",
    "prepare_positions",
]


def prepare_positions(
    source: Labelled,
    tokens: Tokens,
    structure: Structure,
    labels: Sequence[Label],
    gold: Sequence[Ints],
    *,
    weight: Floats,
    allowed: Sequence[Constraints | None] | None = None,
    class_weight: Any = None,
    min_count: int = 1,
    intercept: float = 0.0,
    constraints: Any = None,
    hashing: int | None = None,
) -> Prepared:
    """Prepare labelled positions for training.

    Parameters
    ----------
    source
        The source of the positions, to name places in error messages.
    tokens : Tokens
        The features of the positions.
    structure : Structure
        A structure whose first kind of site is a position.
    labels, gold
        The labels in the order of their numbers, and the label numbers of each example;
        ``UNKNOWN`` where there is no certain label.
    weight : ndarray
        The weights of the examples.
    allowed : sequence or None
        For each example None if all its labels are certain, or the labels that it may have.
    class_weight, min_count, constraints, hashing
        As the estimators take them.
    intercept : float
        The value of a constant feature of every position; 0 for none.
    """
    check_positions(tokens)
    if hashing is not None:
        tokens = tokens.hashed(hashing)
    rows, lengths = tokens.rows, tokens.lengths
    weight = weight * class_factors(class_weight, lengths, gold, weight, labels)
    check_classes(gold, weight, labels)
    rules = _rules(source, tokens, constraints, labels, gold)
    used = np.repeat(weight > 0.0, lengths)
    rows, vocabulary = drop_rare(rows, tokens.vocabulary, min_count, used)
    steps, step_names = tokens.transitions, tokens.transition_vocabulary
    if steps is not None and tokens.templates is not None:
        used = np.repeat(weight > 0.0, np.maximum(lengths - 1, 0))
        steps, step_names = drop_rare(steps, step_names, min_count, used)
    features = PositionFeatures(
        tokens.n_inputs,
        vocabulary,
        tokens.templates,
        float(intercept),
        None if steps is None else hashing or steps.n_features,
        step_names,
        plain_transition=tokens.plain_transition,
        n_hashed=hashing or 0,
    )
    return Prepared(
        structure,
        lambda: features.laid_out(structure, rows, steps),
        lengths,
        gold,
        features,
        labels,
        constraints=rules,
        allowed=allowed,
        weight=weight,
        beside=(rows, steps),
        key=() if allowed is None else allowed,
    )


def _rules(
    source: Labelled, tokens: Tokens, given: Any, labels: Sequence[Label], gold: Sequence[Ints]
) -> Any:
    """Return the constraints; a label that breaks them raises a DataError with its place."""
    try:
        rules = make_constraints(given, labels)
    except LabelError as error:
        at = source.labels(tokens).index(error.label)
        s = int(np.searchsorted(np.cumsum(tokens.lengths), at, side="right"))
        error.place = source.place(s, at - int(tokens.lengths[:s].sum()))
        raise
    if rules is not None:
        check_labels(rules, gold, labels, source.place)
    return rules


def check_positions(tokens: Tokens) -> None:
    """Raise a DataError unless there are examples and their features are finite."""
    if not len(tokens):
        raise DataError("there are no examples to train on; give at least two, of different labels")
    tokens.rows.check_finite("the features")
    if tokens.transitions is not None:
        tokens.transitions.check_finite("the features of transitions")


def check_classes(gold: Sequence[Ints], weight: Floats, labels: Sequence[Label]) -> None:
    """Raise a DataError unless the examples have at least two labels."""
    if isinstance(gold, np.ndarray):
        seen = np.unique(gold[weight > 0.0])
    else:
        used = [y for y, c in zip(gold, weight.tolist(), strict=True) if c > 0.0]
        seen = np.unique(np.concatenate([*used, np.zeros(0, np.int64)]))
    check_several([labels[k] for k in seen.tolist() if k != UNKNOWN])


def check_several(seen: Sequence[Label]) -> None:
    """Raise a DataError unless these are at least two labels."""
    if len(seen) < 2:
        what = f"one class only, {seen[0]!r}" if len(seen) else "no labels"
        raise DataError(
            f"the examples have {what} (those whose sample_weight is 0 do not count); "
            "training needs labels of at least two classes, so add examples of another one"
        )


def class_factors(
    given: Any, lengths: Ints, gold: Sequence[Ints], weight: Floats, labels: Sequence[Label]
) -> Floats:
    """Return one factor per example: the mean weight of the labels of its positions.

    Positions without a certain label are not counted; if there is no other, the factor is 1.
    """
    if given is None:
        return np.ones(len(lengths))
    if isinstance(given, str):
        counts = np.zeros(len(labels))
        count_classes(counts, gold, weight)
        by_label = balanced_weights(counts)
    else:
        by_label = named_weights(given, labels)
    return mean_weights(by_label, lengths, gold)


def count_classes(counts: Floats, gold: Sequence[Ints], weight: Floats) -> None:
    """Add the weights of the positions of each label to counts, one after the other."""
    flat = np.concatenate([*gold, np.zeros(0, np.int64)])
    owner = np.repeat(np.arange(len(gold)), list(map(len, gold)))
    sure = flat != UNKNOWN
    np.add.at(counts, flat[sure], weight[owner[sure]])


def balanced_weights(counts: Floats) -> Floats:
    """Return the weights of labels that make all of them count alike; 1 if they do not occur."""
    occurring = counts > 0.0
    by_label = np.ones(len(counts))
    by_label[occurring] = counts.sum() / (np.count_nonzero(occurring) * counts[occurring])
    return by_label


def mean_weights(by_label: Floats, lengths: Ints, gold: Sequence[Ints]) -> Floats:
    """Return the mean weight of the certain labels of each example, 1 if it has none."""
    n = len(lengths)
    flat = np.concatenate([*gold, np.zeros(0, np.int64)])
    owner = np.repeat(np.arange(n), lengths)
    sure = flat != UNKNOWN
    if not sure.all():
        flat, owner = flat[sure], owner[sure]
        lengths = np.bincount(owner, minlength=n)
    totals = np.bincount(owner, by_label[flat], minlength=n)
    return np.where(lengths > 0, totals / np.maximum(lengths, 1), 1.0)


def named_weights(given: Mapping[Any, Any], labels: Sequence[Label]) -> Floats:
    """Return the weights of labels that a user gives by name; 1 for those that are not named."""
    index: dict[Any, int] = {label: number for number, label in enumerate(labels)}
    by_label = np.ones(len(labels))
    for label, value in given.items():
        if label not in index:
            raise DataError(
                f"class_weight names the class {label!r}, which does not occur in the labels"
            )
        if not is_number(value) or not math.isfinite(value) or value < 0:
            raise DataError(
                f"class_weight of {label!r} is {value!r}; give a finite number that is not negative"
            )
        by_label[index[label]] = float(value)
    return by_label


def drop_rare(
    rows: Rows, vocabulary: Vocabulary | None, min_count: int, used: npt.NDArray[np.bool_]
) -> tuple[Rows, Vocabulary | None]:
    """Drop the features that occur in fewer than `min_count` of the rows in use."""
    if vocabulary is not None and len(vocabulary) != rows.n_features:
        raise DataError(f"a vocabulary of {len(vocabulary)} names for {rows.n_features} features")
    if min_count == 1:
        return rows, vocabulary
    frequent = (rows if used.all() else rows.take(used)).counts() >= min_count
    if vocabulary is not None:
        return rows.keep(frequent), vocabulary.keep(frequent)
    # The numbers must keep their meaning: rare features stay, but do not occur any more.
    kept = frequent[rows.indices]
    ends = np.concatenate([[0], np.cumsum(kept)])
    values = None if rows.values is None else rows.values[kept]
    return Rows(ends[rows.indptr], rows.indices[kept], values, rows.n_features), None
