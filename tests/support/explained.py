"""Small models of every kind with examples to predict, for the tests of explanations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from partwise import (
    ConstituencyParser,
    DependencyParser,
    GraphLabeler,
    KernelClassifier,
    KernelTagger,
    LinearClassifier,
    SegmentTagger,
    SequenceTagger,
)
from partwise.models.model import Model
from support import grammar_of_arcs, grammar_of_phrases
from support.graph_data import GRID, grids, mixed
from support.kernel_data import words
from support.sentences import sentences

#: A model, and examples with further data for its methods.
Case = tuple[Model, Any, dict[str, Any]]

_QUICK: dict[str, Any] = {"tol": 0.1, "max_passes": 5}


def _fitted(estimator: Any, *data: Any) -> Model:
    import warnings

    # How well a model fits does not matter here.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model: Model = estimator.fit(*data).model_
    return model


def _rows(n: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 5)), 2)
    return X, np.array(["a", "b", "c", "<d>"])[(X @ rng.normal(size=(5, 4))).argmax(axis=1)]


def _classifier(**parameters: Any) -> Case:
    X, y = _rows(80, 1)
    return _fitted(LinearClassifier(**_QUICK, **parameters), X, y), _rows(1000, 2)[0], {}


def _tagger(**parameters: Any) -> Case:
    X, y = sentences(30, seed=1)
    return _fitted(SequenceTagger(**_QUICK, **parameters), X, y), sentences(1000, seed=2)[0], {}


def _steps(X: Any) -> Any:
    return [[{"pair": f"{a['p']} {b['p']}"} for a, b in pairwise(s)] for s in X]


def _step_tagger(**parameters: Any) -> Case:
    X, y = sentences(20, seed=1)
    estimator = SequenceTagger(**_QUICK, **parameters)
    model = _fitted(estimator, X, y, None, None, _steps(X))
    new = sentences(1000, seed=2)[0]
    return model, new, {"X_transitions": _steps(new)}


def _segmenter(**parameters: Any) -> Case:
    X, y = sentences(20, seed=1)
    words = [[token["w"] for token in sentence] for sentence in X]
    estimator = SegmentTagger(**_QUICK, **parameters)
    new = [[token["w"] for token in sentence] for sentence in sentences(1000, seed=2)[0]]
    return _fitted(estimator, words, y), new, {}


def _parser(**parameters: Any) -> Case:
    estimator = DependencyParser(**_QUICK, **parameters)
    model = _fitted(estimator, grammar_of_arcs.treebank(15))
    return model, grammar_of_arcs.treebank(1000, seed=1), {}


def _brackets(**parameters: Any) -> Case:
    estimator = ConstituencyParser(**_QUICK, **parameters)
    model = _fitted(estimator, grammar_of_phrases.treebank(40))
    trees = grammar_of_phrases.treebank(1150, seed=1)
    if parameters.get("tags") == "predict":
        return model, [list(tree.words) for tree in trees], {}
    return model, trees, {}


def _grids(**parameters: Any) -> Case:
    X, y = grids(20)
    return _fitted(GraphLabeler(**_QUICK, **parameters), X, y), grids(1000, seed=1)[0], {}


def _bare_grids(**parameters: Any) -> Case:
    X, y = grids(20)
    bare = [(nodes, GRID) for nodes, _, _ in grids(1000, seed=1)[0]]
    estimator = GraphLabeler(l2=0.1, **parameters)
    return _fitted(estimator, [(nodes, GRID) for nodes, _, _ in X], y), bare, {}


def _mixed(**parameters: Any) -> Case:
    X, y = mixed(12)
    return _fitted(GraphLabeler(**_QUICK, **parameters), X, y), mixed(1000, seed=1)[0], {}


def _kernel_classifier(**parameters: Any) -> Case:
    X, y = _rows(60, 1)
    return _fitted(KernelClassifier(**_QUICK, **parameters), X, y), _rows(1000, 2)[0], {}


def _kernel_tagger(**parameters: Any) -> Case:
    X, y = words(1, 25)
    return _fitted(KernelTagger(**_QUICK, **parameters), X, y), words(2, 1000)[0], {}


CASES: dict[str, tuple[Callable[..., Case], dict[str, Any]]] = {
    "classifier": (_classifier, {}),
    "classifier-hinge": (_classifier, {"loss": "hinge"}),
    "classifier-hashed": (_classifier, {"hashing": 8}),
    "tagger": (_tagger, {}),
    "tagger-hinge": (_tagger, {"loss": "hinge"}),
    "tagger-softmax-margin": (_tagger, {"loss": "softmax-margin"}),
    "tagger-observed": (_tagger, {"weights": "observed", "start": True, "end": True}),
    "tagger-constraints": (_tagger, {"constraints": "BIO"}),
    "tagger-hashed": (_tagger, {"hashing": 64}),
    "tagger-steps": (_step_tagger, {"weights": "observed"}),
    "tagger-steps-hashed": (_step_tagger, {"weights": "observed", "hashing": 256}),
    "second-order": (_tagger, {"order": 2, "start": True}),
    "second-order-hinge": (_tagger, {"order": 2, "loss": "hinge", "constraints": "BIO"}),
    "segmenter": (_segmenter, {"segment_features": "text", "start": True, "end": True}),
    "segmenter-hinge": (_segmenter, {"loss": "hinge"}),
    "segmenter-hashed": (_segmenter, {"segment_features": "text", "hashing": 256}),
    "parser": (_parser, {"projective": True}),
    "parser-labelled": (_parser, {"labelled": True}),
    "parser-hinge": (_parser, {"labelled": True, "loss": "hinge", "projective": True}),
    "parser-hashed": (_parser, {"labelled": True, "hashing": 4096}),
    "brackets": (_brackets, {}),
    "brackets-words": (_brackets, {"tags": "predict"}),
    "brackets-hinge": (_brackets, {"loss": "hinge", "vertical": 2}),
    "brackets-hashed": (_brackets, {"hashing": 1024}),
    "graph": (_grids, {}),
    "graph-hinge": (_grids, {"loss": "hinge"}),
    "graph-tied": (_bare_grids, {}),
    "graph-symmetric": (_bare_grids, {"symmetric": True}),
    "graph-domains": (_mixed, {}),
    "graph-hashed": (_mixed, {"hashing": 16}),
    "kernel-classifier": (_kernel_classifier, {}),
    "kernel-classifier-hinge": (_kernel_classifier, {"loss": "hinge", "kernel": "poly"}),
    "kernel-tagger": (_kernel_tagger, {}),
}  # fmt: skip


@cache
def case(name: str) -> Case:
    """Return the model and the examples of a case; the model is trained once per process."""
    make, parameters = CASES[name]
    return make(**parameters)
