"""From sentences and their trees to a model that parses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy.typing as npt

from ...errors import DataError
from ...models.fit import check_weights, fit_model
from ...models.model import Model
from ...problem.dual_point import DualPoint
from ...structures.registry import make_structure
from ...training.loop import Callback, Fit
from ...training.settings import Settings
from .arc_features import ArcTable
from .features import ArcFeatures
from .gold import GoldTrees
from .templates import ARC_TEMPLATES

__all__ = ["TASK", "fit_parser"]

TASK = "parse"


def fit_parser(
    gold: GoldTrees,
    settings: Settings,
    *,
    projective: bool = True,
    single_root: bool = True,
    n_hashed: int = 0,
    templates: Sequence[str] | None = None,
    sample_weight: npt.ArrayLike | None = None,
    callbacks: Sequence[Callback] = (),
    initial: Model | None = None,
    dual_point: DualPoint | None = None,
) -> tuple[Model, Fit]:
    """Train a model that parses.

    Parameters
    ----------
    gold : GoldTrees
        The sentences and trees, as `gold_trees` gives them for the same `projective`
        and `single_root`.
    settings : Settings
        How to train. ``min_count`` counts the arcs of the trees that have a feature.
    projective, single_root : bool
        Which trees there are.
    n_hashed : int
        0, or a power of two: features get numbers below it by hashing.
    templates : sequence of str or None
        What features look at, see `partwise.tasks.dependency.templates`; None: as the initial model
        does, or the standard ones.
    sample_weight : array-like or None
        The weight of each of the sentences of `gold`.
    callbacks, initial, dual_point
        As in :func:`partwise.models.fit.fit_model`.

    Returns
    -------
    model, fit
        ``model.meta["nonprojective"]`` says how many trees were lifted and skipped.
    """
    if not gold.sentences:
        raise DataError("there are no sentences to train on; give at least one that is parsed")
    check_weights(sample_weight, len(gold.sentences))
    # By name: the one that is not wanted need not be compiled.
    structure = make_structure(
        "projective" if projective else "spanning-tree",
        {"n_labels": max(1, len(gold.relations)), "single_root": bool(single_root)},
    )
    if structure.n_labels == 1:
        # Every feature has one weight either way, and blocks without slots are faster.
        settings = replace(settings, weights="all")
    encoder = ArcFeatures(
        ArcTable.fit(
            gold.sentences,
            [tree[:, 0] for tree in gold.trees],
            min_count=settings.min_count,
            n_hashed=n_hashed,
            templates=_templates(templates, initial),
        )
    )
    # The rows are by far the largest thing here: no name holds them.
    return fit_model(
        TASK,
        structure,
        encoder.features(gold.sentences),
        [len(sentence) for sentence in gold.sentences],
        gold.trees,
        encoder,
        settings,
        labels=gold.relations,
        sample_weight=sample_weight,
        callbacks=callbacks,
        initial=initial,
        dual_point=dual_point,
        meta={"nonprojective": {"lifted": gold.lifted, "skipped": gold.skipped}},
    )


def _templates(given: Sequence[str] | None, initial: Model | None) -> Sequence[str]:
    if given is not None:
        return tuple(given)
    if initial is not None and isinstance(initial.encoder, ArcFeatures):
        return initial.encoder.arc_features.templates
    return ARC_TEMPLATES
