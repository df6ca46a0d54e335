"""From rows of positions to a model: labels, weights of classes, rare features, constraints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...errors import DataError
from ...models.fit import Finish, check_weights, fit_model
from ...models.model import Label, Model
from ...problem.dual_point import DualPoint
from ...problem.rows import Rows
from ...structures.base import Structure
from ...training.loop import Callback, Fit
from ...training.settings import Settings
from ...values import is_number, one_of
from ..templates import TemplateSet
from ..vocabulary import Vocabulary
from .constraints import check_labels, make_constraints
from .features import PositionEncoder
from .labeller import check_transitions

__all__ = ["class_factors", "drop_rare", "fit_labeller"]

TASKS = ("classify", "tag")


def fit_labeller(
    task: str,
    rows: Rows,
    lengths: Ints | None,
    gold: Sequence[Ints],
    labels: Sequence[Label],
    settings: Settings,
    *,
    structure: Structure | None = None,
    vocabulary: Vocabulary | None = None,
    templates: TemplateSet | None = None,
    transition_rows: Rows | None = None,
    transition_vocabulary: Vocabulary | None = None,
    sample_weight: npt.ArrayLike | None = None,
    callbacks: Sequence[Callback] = (),
    initial: Model | None = None,
    dual_point: DualPoint | None = None,
    n_inputs: int | None = None,
    meta: dict[str, Any] | None = None,
    finish: Finish | None = None,
) -> tuple[Model, Fit]:
    """Train a model that labels positions.

    Parameters
    ----------
    task : {"classify", "tag"}
        What the model is to do.
    rows : Rows
        The features of every position, the examples one after the other.
    lengths : ndarray of int or None
        The number of positions of each example; None: 1 each.
    gold : sequence of ndarray
        The label numbers of each example.
    labels : sequence
        The labels, in the order of their numbers.
    settings : Settings
        How to train.
    structure : Structure or None
        What a label is made of: positions first, then transitions and what has constant features.
        None: a choice of one label to classify; to tag a chain, with the ``order``, ``start`` and
        ``end`` of the settings.
    vocabulary, templates, transition_vocabulary
        Kept in the model; features that `settings.min_count` drops leave the vocabulary too.
        Numbered features keep their numbers, and those that are dropped a weight of 0.
    transition_rows : Rows or None
        The features of every pair of neighbours, ``length - 1`` rows a sequence. A constant
        feature is added to them.
    sample_weight : array-like or None
        The weight of each example. Those of weight 0 are left out.
    n_inputs : int or None
        The number of input columns of a column file; None: the number of features.
    callbacks, initial, dual_point, meta, finish
        As in :func:`partwise.models.fit.fit_model`.

    Returns
    -------
    model, fit
    """
    one_of("task", task, TASKS)
    gold = [np.asarray(y, dtype=np.int64) for y in gold]
    lengths = np.ones(len(rows), np.int64) if lengths is None else np.asarray(lengths, np.int64)
    weight = check_weights(sample_weight, len(lengths))
    _check_examples(task, rows, lengths, gold, transition_rows, labels)
    weight = weight * class_factors(settings.class_weight, lengths, gold, weight, labels)
    _check_classes(gold, weight, labels)
    constraints = make_constraints(settings.constraints, labels) if task == "tag" else None
    if constraints is not None:
        check_labels(constraints, gold, labels)
    n_inputs = rows.n_features if n_inputs is None or vocabulary is None else n_inputs
    used = np.repeat(weight > 0.0, lengths)
    rows, vocabulary = drop_rare(rows, vocabulary, settings.min_count, used)
    structure = structure or _structure(task, len(labels), settings, tied=transition_rows is None)
    encoder = PositionEncoder(
        n_inputs,
        vocabulary,
        templates,
        float(settings.intercept),
        None if transition_rows is None else transition_rows.n_features,
        transition_vocabulary,
    )
    return fit_model(
        task,
        structure,
        encoder.features(structure, rows, transition_rows),
        lengths,
        gold,
        encoder,
        settings,
        labels=labels,
        constraints=constraints,
        sample_weight=weight,
        callbacks=callbacks,
        initial=initial,
        dual_point=dual_point,
        meta=meta,
        finish=finish,
        beside=(rows, transition_rows),
    )


def _structure(task: str, n_labels: int, settings: Settings, tied: bool) -> Structure:
    # Each import loads compiled code.
    if task == "classify":
        from ...structures.multiclass import Multiclass

        return Multiclass(n_labels)
    start, end = bool(settings.start), bool(settings.end)
    if settings.order == 1:
        from ...structures.chain.structure import Chain

        return Chain(n_labels, tied=tied, start=start, end=end)
    if not tied:
        raise DataError(
            "a chain of order 2 has no features of transitions; leave them out, or use order 1"
        )
    from ...structures.second_order.structure import SecondOrderChain

    return SecondOrderChain(n_labels, start=start, end=end)


def _check_examples(
    task: str,
    rows: Rows,
    lengths: Ints,
    gold: Sequence[Ints],
    transition_rows: Rows | None,
    labels: Sequence[Label],
) -> None:
    if not len(lengths):
        raise DataError("there are no examples to train on; give at least two, of different labels")
    if len(gold) != len(lengths):
        raise DataError(f"labels for {len(gold)} examples where there are {len(lengths)}")
    if (lengths < 0).any() or int(lengths.sum()) != len(rows):
        raise DataError(
            f"the lengths add up to {int(lengths.sum())} where there are {len(rows)} rows; give "
            "the number of rows of each example"
        )
    if task == "classify" and (lengths != 1).any():
        raise DataError("a classifier takes one row an example; for sequences the task is tag")
    for i, y in enumerate(gold):
        if y.shape != (lengths[i],):
            raise DataError(
                f"example {i} (counted from 0) has {y.size} labels for {lengths[i]} positions; "
                "give one label for each position"
            )
        if y.size and not (y.min() >= 0 and y.max() < len(labels)):
            raise DataError(f"example {i} has label numbers outside 0 to {len(labels) - 1}")
    rows.check_finite("the features")
    if transition_rows is not None:
        if task == "classify":
            raise DataError("a classifier has no transitions; leave transition rows out")
        check_transitions(transition_rows, lengths)
        transition_rows.check_finite("the features of transitions")


def _check_classes(gold: Sequence[Ints], weight: Floats, labels: Sequence[Label]) -> None:
    used = [y for y, c in zip(gold, weight.tolist(), strict=True) if c > 0.0]
    seen = np.unique(np.concatenate([*used, np.zeros(0, np.int64)]))
    if len(seen) < 2:
        what = f"one class only, {labels[seen[0]]!r}" if len(seen) else "no labels"
        raise DataError(
            f"the examples with a positive weight have {what}; training needs labels of at least "
            "two classes, so add examples of another one"
        )


def class_factors(
    given: Any, lengths: Ints, gold: Sequence[Ints], weight: Floats, labels: Sequence[Label]
) -> Floats:
    """A factor for each example: the mean over its positions of the weights of their labels."""
    n = len(lengths)
    if given is None:
        return np.ones(n)
    flat = np.concatenate([*gold, np.zeros(0, np.int64)])
    if isinstance(given, str):
        counts = np.bincount(flat, np.repeat(weight, lengths), minlength=len(labels))
        occurring = counts > 0.0
        by_label = np.ones(len(labels))
        by_label[occurring] = counts.sum() / (np.count_nonzero(occurring) * counts[occurring])
    else:
        by_label = _named_weights(given, labels)
    owner = np.repeat(np.arange(n), lengths)
    totals = np.bincount(owner, by_label[flat], minlength=n)
    return np.where(lengths > 0, totals / np.maximum(lengths, 1), 1.0)


def _named_weights(given: Mapping[Any, Any], labels: Sequence[Label]) -> Floats:
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
    """Drop the features of fewer than `min_count` of the rows in use."""
    if vocabulary is not None and len(vocabulary) != rows.n_features:
        raise DataError(f"a vocabulary of {len(vocabulary)} names for {rows.n_features} features")
    if min_count == 1:
        return rows, vocabulary
    frequent = (rows if used.all() else rows.take(used)).counts() >= min_count
    if vocabulary is not None:
        return rows.keep(frequent), vocabulary.keep(frequent)
    # Numbers keep their meaning: the rare features stay, but occur nowhere.
    kept = frequent[rows.indices]
    ends = np.concatenate([[0], np.cumsum(kept)])
    values = None if rows.values is None else rows.values[kept]
    return Rows(ends[rows.indptr], rows.indices[kept], values, rows.n_features), None
