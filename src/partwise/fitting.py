"""From examples to a model: checks, weights of examples, training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .constraints import check_labels, make_constraints
from .errors import DataError
from .losses import Loss, make_loss
from .model import Label, Model, check_transitions, site_features
from .problem import Problem, build_problem
from .rows import Rows
from .settings import Settings, is_number, one_of
from .structures.base import Constraints, Floats, Ints, Structure
from .structures.chain import Chain
from .structures.multiclass import Multiclass
from .templates import TemplateSet
from .threads import thread_count
from .training import Callback, Fit, train
from .transfer import transfer_weights
from .vocabulary import Vocabulary

__all__ = ["Settings", "fit_model"]

TASKS = ("classify", "tag")


class _Examples(NamedTuple):
    """What is trained on; `weight` is c_i."""

    rows: Rows
    lengths: Ints
    gold: Sequence[Ints]
    transition_rows: Rows | None
    weight: Floats

    def take(self, kept: npt.NDArray[np.bool_]) -> _Examples:
        """Keep some of the examples."""
        if kept.all():
            return self
        transitions = self.transition_rows
        if transitions is not None:
            transitions = transitions.take(np.repeat(kept, np.maximum(self.lengths - 1, 0)))
        return _Examples(
            self.rows.take(np.repeat(kept, self.lengths)),
            self.lengths[kept],
            [y for y, wanted in zip(self.gold, kept, strict=True) if wanted],
            transitions,
            self.weight[kept],
        )


def fit_model(
    task: str,
    rows: Rows,
    lengths: Ints | None,
    gold: Sequence[Ints],
    labels: Sequence[Label],
    settings: Settings,
    *,
    vocabulary: Vocabulary | None = None,
    templates: TemplateSet | None = None,
    transition_rows: Rows | None = None,
    transition_vocabulary: Vocabulary | None = None,
    sample_weight: npt.ArrayLike | None = None,
    callbacks: Sequence[Callback] = (),
    initial: Model | None = None,
    dual_point: Floats | None = None,
    n_inputs: int | None = None,
    meta: dict[str, Any] | None = None,
) -> tuple[Model, Fit]:
    """Train a model.

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
    vocabulary, templates, transition_vocabulary
        Kept in the model; features that `settings.min_count` drops leave the vocabulary too.
        Numbered features keep their numbers, and those that are dropped a weight of 0.
    transition_rows : Rows or None
        The features of every pair of neighbours, ``length - 1`` rows a sequence. A constant
        feature is added to them.
    sample_weight : array-like or None
        The weight of each example. Those of weight 0 are left out.
    callbacks : sequence of callables
        See :func:`partwise.training.train`.
    initial : Model or None
        A model whose weights to start from, matched by feature and label.
    dual_point : ndarray or None
        The dual point of an earlier fit of the same examples; it goes before `initial`.
    n_inputs : int or None
        The model's `n_inputs`; None: the number of features.
    meta : dict or None
        The model's `meta`.

    Returns
    -------
    model, fit
    """
    one_of("task", task, TASKS)
    gold = [np.asarray(y, dtype=np.int64) for y in gold]
    lengths = np.ones(len(rows), np.int64) if lengths is None else np.asarray(lengths, np.int64)
    weight = _sample_weight(sample_weight, len(lengths))
    examples = _Examples(rows, lengths, gold, transition_rows, weight)
    _check_examples(task, examples, labels)
    weight = weight * _class_weight(settings.class_weight, examples, labels)
    examples = examples._replace(weight=weight).take(weight > 0.0)
    _check_classes(examples, labels)
    constraints = make_constraints(settings.constraints, labels) if task == "tag" else None
    if constraints is not None:
        check_labels(constraints, gold, labels)
    n_inputs = rows.n_features if n_inputs is None else n_inputs
    examples, vocabulary = _drop_rare(examples, vocabulary, settings.min_count)

    structure = _structure(task, len(labels), settings, tied=transition_rows is None)
    loss = make_loss(settings.loss, len(labels), settings.cost_matrix)
    problem = _problem(structure, examples, loss, settings, constraints)
    first = None
    if initial is not None and dual_point is None:
        first = transfer_weights(
            initial, problem.layout, labels, vocabulary, transition_vocabulary, settings.intercept
        )
    fit = _train(problem, settings, callbacks, dual_point, first)
    model = Model(
        task=task,
        structure=structure,
        layout=problem.layout,
        weights=fit.weights,
        labels=tuple(labels),
        vocabulary=vocabulary,
        templates=templates,
        constraints=constraints,
        intercept=float(settings.intercept),
        loss=settings.loss,
        l2=float(settings.l2),
        certificate=fit.certificate,
        n_inputs=n_inputs,
        transition_vocabulary=transition_vocabulary,
        meta=dict(meta or {}),
    )
    return model, fit


def _structure(task: str, n_labels: int, settings: Settings, tied: bool) -> Structure:
    if task == "classify":
        return Multiclass(n_labels)
    return Chain(n_labels, tied=tied, start=bool(settings.start), end=bool(settings.end))


def _problem(
    structure: Structure,
    examples: _Examples,
    loss: Loss,
    settings: Settings,
    constraints: Constraints | None,
) -> Problem:
    features = site_features(
        structure, examples.rows, float(settings.intercept), examples.transition_rows
    )
    return build_problem(
        structure,
        examples.lengths,
        features,
        examples.gold,
        loss,
        weights=settings.weights,
        sample_weight=examples.weight,
        constraints=constraints,
    )


def _train(
    problem: Problem,
    settings: Settings,
    callbacks: Sequence[Callback],
    dual_point: Floats | None,
    first: Floats | None,
) -> Fit:
    if dual_point is not None and dual_point.shape != (problem.n_parts,):
        raise DataError(
            f"a dual point of {dual_point.shape} numbers where the examples have "
            f"{problem.n_parts} parts; it must come from a fit of the same examples"
        )
    return train(
        problem,
        float(settings.l2),
        solver=settings.solver,
        tol=float(settings.tol),
        max_passes=float(settings.max_passes),
        n_jobs=thread_count(settings.n_jobs),
        seed=settings.seed,
        callbacks=callbacks,
        start=dual_point,
        initial_weights=first,
        options=None if settings.solver_options is None else dict(settings.solver_options),
    )


def _check_examples(task: str, examples: _Examples, labels: Sequence[Label]) -> None:
    rows, lengths, gold, transition_rows, _ = examples
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


def _check_classes(examples: _Examples, labels: Sequence[Label]) -> None:
    seen = np.unique(np.concatenate([*examples.gold, np.zeros(0, np.int64)]))
    if len(seen) < 2:
        what = f"one class only, {labels[seen[0]]!r}" if len(seen) else "no labels"
        raise DataError(
            f"the examples with a positive weight have {what}; training needs labels of at least "
            "two classes, so add examples of another one"
        )


def _sample_weight(given: npt.ArrayLike | None, n: int) -> Floats:
    if given is None:
        return np.ones(n)
    try:
        weight = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight does not hold numbers: {error}") from error
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise DataError(
            f"sample_weight.shape == {weight.shape}, expected {(n,)}: one number an example"
        )
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0.0)))
    if len(bad):
        raise DataError(
            f"sample_weight of example {bad[0]} (counted from 0) is {weight[bad[0]]}; weights must "
            "be finite and not negative"
        )
    if n and not weight.any():
        raise DataError("all sample weights are zero; give some example a positive weight")
    return weight


def _class_weight(given: Any, examples: _Examples, labels: Sequence[Label]) -> Floats:
    """A factor for each example: the mean over its positions of the weights of their labels."""
    n = len(examples.lengths)
    if given is None:
        return np.ones(n)
    flat = np.concatenate([*examples.gold, np.zeros(0, np.int64)])
    if isinstance(given, str):
        shares = np.repeat(examples.weight, examples.lengths)
        counts = np.bincount(flat, shares, minlength=len(labels))
        occurring = counts > 0.0
        by_label = np.ones(len(labels))
        by_label[occurring] = counts.sum() / (np.count_nonzero(occurring) * counts[occurring])
    else:
        by_label = _named_weights(given, labels)
    owner = np.repeat(np.arange(n), examples.lengths)
    totals = np.bincount(owner, by_label[flat], minlength=n)
    return np.where(examples.lengths > 0, totals / np.maximum(examples.lengths, 1), 1.0)


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


def _drop_rare(
    examples: _Examples, vocabulary: Vocabulary | None, min_count: int
) -> tuple[_Examples, Vocabulary | None]:
    rows = examples.rows
    if vocabulary is not None and len(vocabulary) != rows.n_features:
        raise DataError(f"a vocabulary of {len(vocabulary)} names for {rows.n_features} features")
    if min_count == 1:
        return examples, vocabulary
    frequent = rows.counts() >= min_count
    if vocabulary is not None:
        return examples._replace(rows=rows.keep(frequent)), vocabulary.keep(frequent)
    # Numbers keep their meaning: the rare features stay, but occur nowhere.
    kept = frequent[rows.indices]
    ends = np.concatenate([[0], np.cumsum(kept)])
    values = None if rows.values is None else rows.values[kept]
    rows = Rows(ends[rows.indptr], rows.indices[kept], values, rows.n_features)
    return examples._replace(rows=rows), None
