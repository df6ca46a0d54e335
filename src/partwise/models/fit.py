"""From examples of any structure to a model: checks, training, warm starts."""

from __future__ import annotations

import logging
import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..compiled.threads import thread_count
from ..errors import DataError, MismatchError, ModelFileError
from ..problem.batches import Batch
from ..problem.evaluation import DualPoint
from ..problem.losses import make_loss
from ..problem.problem import Problem, build_problem
from ..problem.rows import Rows
from ..problem.storage import Layout
from ..structures.base import Structure
from ..training.certificate import Certificate
from ..training.checkpoint import Checkpoint, load_checkpoint
from ..training.early_stopping import Watch
from ..training.path import Descent, train_path
from ..training.result import Callback, Fit, Start
from ..training.settings import Parameters, Settings
from .announcement import announcement, check_limit
from .features import Features
from .file import pack_model, unpack_model
from .model import Label, Model, check_label_names
from .prepared import Finish, Prepared
from .training_examples import (
    NO_EXAMPLES,
    check_features,
    check_weights,
    note_left_out,
    silent,
    take_examples,
)
from .transfer import transfer_weights

__all__ = ["Settings", "checkpoint_model", "fit_model", "in_memory", "train_model"]

_log = logging.getLogger(__name__)

#: What is known of a model in a checkpoint.
UNFINISHED: Final = Certificate.unknown("not trained to the end")
#: What is known of a model that is scored while it is trained.
_IN_TRAINING: Final = Certificate(math.inf, 0.0, 0.0, 0.0, 0.0, "not trained to the end")


def fit_model(
    task: str,
    structure: Structure,
    features: Sequence[Rows],
    shapes: Sequence[Any] | Ints,
    gold: Sequence[Ints],
    encoder: Features,
    settings: Parameters,
    *,
    labels: Sequence[Label] | None = (),
    constraints: Any = None,
    own_constraints: Sequence[Any] | None = None,
    sample_weight: npt.ArrayLike | None = None,
    initial: Model | DualPoint | None = None,
) -> tuple[Model, Fit]:
    """Train a model of any structure.

    Parameters
    ----------
    task : str
        What the model does, in one word.
    structure : Structure
        What a label is made of.
    features : sequence of Rows
        For each of ``structure.kinds``, one row per site of that kind, the examples one after the
        other, or a single row for all sites.
    shapes : sequence
        The shape of each example, as `structure.topology` takes it.
    gold : sequence of ndarray
        The right label of each example, as the structure takes it.
    encoder : Features
        What makes such features for prediction; its `feature_counts` must be those of the rows.
    settings : Parameters
        How to train. Parameters that only concern positions (``min_count``, ``class_weight``,
        ``constraints``, ``start``, ``end``, ``intercept``) are not used here.
    labels : sequence
        The labels of the parts, in the order of their numbers; empty if parts have no labels.
    constraints : object or None
        What no label may contain, as `structure.mask` takes it.
    own_constraints : sequence or None
        For each example, its own constraints or None; they hold in training only.
    sample_weight : array-like or None
        The weight of each example. Those of weight 0 are left out.
    initial : Model, DualPoint or None
        Where to start: a model whose weights are matched by feature and label, or the dual point
        of an earlier fit of the same examples.

    Returns
    -------
    model, fit
        With a `descent` in the settings, the model and the fit of the last value of l2 that was
        trained.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.models.fit import fit_model
    >>> from partwise.models.numbered import NumberedFeatures
    >>> from partwise.problem import Rows
    >>> from partwise.structures.multiclass import Multiclass
    >>> from partwise.training import Settings
    >>> rows = Rows.from_dense(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> gold = [np.array([0]), np.array([1])]
    >>> model, fit = fit_model(
    ...     "own", Multiclass(2), [rows], [1, 1], gold, NumberedFeatures((2,)), Settings(),
    ...     labels=["a", "b"],
    ... )
    >>> model.certificate.converged, [y.tolist() for y in model.predict([rows], [1, 1])]
    (True, [[0], [1]])
    """
    weight = check_weights(sample_weight, len(shapes))
    batch = Batch(shapes, features, gold, weight, own_constraints)
    prepared = Prepared(structure, encoder, () if labels is None else labels, constraints)
    del features
    held = [batch]
    del batch
    return train_model(task, in_memory(prepared, held, settings), settings, initial=initial)


@contextmanager
def counted_among(kept: npt.NDArray[np.bool_]) -> Iterator[None]:
    """Correct the number of an example that an error names, where only some were kept."""
    try:
        yield
    except DataError as error:
        n = error.place.example
        if n is not None and not kept.all():
            error.place = error.place._replace(example=int(np.flatnonzero(kept)[n]))
        raise


def in_memory(prepared: Prepared, batches: list[Batch], settings: Parameters) -> Prepared:
    """Lay out examples in memory.

    Parameters
    ----------
    prepared : Prepared
        What is known of them.
    batches : list of Batch
        One batch with all examples. It is taken out of the list, because its features may take most
        of the memory: nothing else should hold them.
    settings : Parameters
        How to train.

    Returns
    -------
    Prepared
        The same, with the problem. Examples of weight 0, and those that may have any label, are
        left out.
    """
    structure, constraints, encoder = prepared.structure, prepared.constraints, prepared.features
    batch = batches.pop()
    shapes, gold = batch.shapes, prepared.numbering.gold(batch.gold)
    own_constraints, allowed = batch.own_constraints, batch.allowed
    if not len(shapes):
        raise DataError(NO_EXAMPLES)
    if len(gold) != len(shapes):
        raise DataError(f"labels for {len(gold)} examples where there are {len(shapes)}")
    weight = np.ones(len(shapes)) if batch.weight is None else batch.weight
    features = prepared.numbering.rows(batch.rows)
    del batch
    check_label_names(structure, prepared.labels)
    check_features(structure, features, encoder)
    kept = weight > 0.0
    if allowed is not None:
        unknown = kept & silent(structure, shapes, allowed, constraints, own_constraints)
        kept &= ~unknown
        meta = note_left_out(int(unknown.sum()), kept, prepared.meta)
        prepared = replace(prepared, meta=meta)
    if not kept.all():
        features = take_examples(structure, features, shapes, kept)
        which = np.flatnonzero(kept).tolist()
        shapes, gold = [shapes[i] for i in which], [gold[i] for i in which]
        if own_constraints is not None:
            own_constraints = [own_constraints[i] for i in which]
        if allowed is not None:
            allowed = [allowed[i] for i in which]
    if allowed is not None and all(mine is None for mine in allowed):
        allowed = None
    given = [weakref.ref(rows) for rows in features]
    with counted_among(kept):
        problem = build_problem(
            structure,
            shapes,
            features,
            gold,
            make_loss(settings.loss, structure.n_labels, settings.cost_matrix),
            weights=prepared.weights or settings.weights,
            sample_weight=weight[kept],
            constraints=constraints,
            own_constraints=own_constraints,
            allowed=allowed,
        )
    # The problem has copied what it needs of the features, and often nothing else holds them.
    del features
    if _log.isEnabledFor(logging.INFO) or settings.memory_bytes is not None:
        left = [rows() for rows in given]
        check_limit(problem, settings, encoder, left)
        _log.info(announcement(problem, settings, encoder, left))
        del left
    return replace(prepared, problem=problem)


def train_model(
    task: str,
    prepared: Prepared,
    settings: Parameters,
    *,
    callbacks: Sequence[Callback] = (),
    initial: Model | DualPoint | None = None,
    watch: Watch | None = None,
    checkpoint: Checkpoint | None = None,
) -> tuple[Model, Fit]:
    """Train a model on examples that are laid out.

    Parameters
    ----------
    task : str
        What the model does, in one word.
    prepared : Prepared
        The examples, in memory or on disk.
    settings : Parameters
        How to train.
    callbacks : sequence of callables
        See :func:`partwise.training.train`.
    initial : Model, DualPoint or None
        Where to start: a model whose weights are matched by feature and label, or the dual point
        of an earlier fit of the same examples.
    watch : Watch or None
        Held-out data to score, by model, while a fit for one l2 runs.
    checkpoint : Checkpoint or None
        Where to save the fit, and whether to go on from there.

    Returns
    -------
    model, fit
        As for `fit_model`.
    """
    problem, finish = prepared.problem, prepared.finish
    assert problem is not None
    first = None
    if isinstance(initial, Model):
        first = transfer_weights(
            initial, prepared.structure, problem.layout, prepared.labels, prepared.features
        )
    elif initial is not None and initial.theta.shape != (problem.n_parts,):
        raise DataError(
            f"a dual point of {initial.theta.size} numbers where the examples have "
            f"{problem.n_parts} parts; it must come from a fit of the same examples"
        )
    made = partial(made_model, task, prepared, problem.layout, settings)
    descent = settings.descent
    values = (float(settings.l2),) if descent is None else descent.values
    more: dict[str, Any] = {} if descent is None else {"warm_start": descent.warm_start}
    if watch is not None and _may_watch(watch, descent, finish):
        score = watch.score
        more["watch"] = replace(
            watch, score=lambda weights: score(made(values[0], weights, _IN_TRAINING))
        )
    if checkpoint is not None:
        _check_checkpoint(problem, descent)
        if checkpoint.as_start:
            checkpoint = replace(checkpoint, resume=False, overwrite=True)
        packed = partial(packed_model, lambda weights: made(values[0], weights, UNFINISHED))
        # The model in the checkpoint of a model that has no file is left out.
        more |= {"checkpoint": checkpoint, "model": packed if finish is None else None}
    fits = train_path(
        problem,
        values,
        l1=float(settings.l1),
        solver=settings.solver,
        tol=float(settings.tol),
        max_passes=float(settings.max_passes),
        n_jobs=thread_count(settings.n_jobs),
        seed=settings.seed,
        callbacks=callbacks,
        start=None if isinstance(initial, Model) else initial,
        initial_weights=first,
        options=settings.solver_arguments(),
        **more,
    )
    if isinstance(initial, Model) and first is not None:
        fits = _from(initial, first, fits)
    each = zip(values, fits, strict=False)
    models = ((made(l2, fit.weights, fit.certificate), fit) for l2, fit in each)
    if finish is not None:
        models = ((finish(problem, model, fit), fit) for model, fit in models)
    return next(models) if descent is None else descent.follow(models)


def made_model(
    task: str,
    prepared: Prepared,
    layout: Layout,
    settings: Parameters,
    l2: float,
    weights: Floats,
    certificate: Certificate,
) -> Model:
    """Make the model of some weights.

    Parameters
    ----------
    task, prepared, settings
        As for `train_model`.
    layout : Layout
        Which weights there are.
    l2 : float
        What they were trained for.
    weights : ndarray
        The weights.
    certificate : Certificate
        How good they are.
    """
    return Model(
        task=task,
        structure=prepared.structure,
        layout=layout,
        weights=weights,
        labels=tuple(prepared.labels),
        features=prepared.features,
        constraints=prepared.constraints,
        loss=settings.loss,
        l2=l2,
        l1=float(settings.l1),
        certificate=certificate,
        meta=dict(prepared.meta or {}),
        settings=settings.noted(),
    )


def packed_model(
    made: Callable[[Floats], Model], weights: Floats
) -> tuple[dict[str, Any] | None, dict[str, npt.NDArray[Any]]]:
    """Return the model of weights as a checkpoint holds it; None if it has no file."""
    try:
        return pack_model(made(weights), "the checkpoint")
    except ModelFileError:
        return None, {}


def _check_checkpoint(problem: Problem, descent: Descent | None) -> None:
    """Raise a MismatchError for fits of several parts, which have no checkpoint."""
    if descent is not None:
        raise MismatchError(
            "a checkpoint is for the fit of one l2; leave it out, or train for one value of l2"
        )
    if problem.partial is not None:
        raise MismatchError(
            "there are no checkpoints where labels are missing or uncertain, since the fit has "
            "several steps; leave the checkpoint out, and go on from the model (--resume, "
            "warm_start)"
        )


def checkpoint_model(path: str) -> Model | None:
    """Return the model so far that a checkpoint holds; None if it holds none."""
    held = load_checkpoint(path).model
    return None if held is None else unpack_model(path, *held)


def _from(initial: Model, first: Floats, fits: Iterator[Fit]) -> Iterator[Fit]:
    """Note in the first fit which model it started from."""
    counts = int(np.count_nonzero(initial.weights)), int(np.count_nonzero(first))
    for number, fit in enumerate(fits):
        objective = fit.initial_objective
        begun = number == 0 and not math.isnan(objective)
        yield replace(fit, start=Start(objective, *counts)) if begun else fit


def _may_watch(watch: Watch, descent: Descent | None, finish: Finish | None) -> bool:
    """Return whether held-out data can be scored while a fit runs; raise an error if they must."""
    if descent is not None:
        raise MismatchError(
            "EarlyStopping is for the fit of one l2; a path scores every model on held-out data "
            "when it is certified, so leave EarlyStopping out"
        )
    if finish is None:
        return True
    reason = "a model with a kernel gets its final form when the fit is done"
    if watch.patience is not None:
        raise MismatchError(f"there is no early stopping here: {reason}; leave the patience out")
    _log.info("held-out data are not scored while training: %s", reason)
    return False
