"""The tutorial of sklearn-crfsuite, with either import line: objective, F1 and seconds.

    PARTWISE_DATA=FOLDER python -m benchmarks.crfsuite_tutorial
    PARTWISE_DATA=FOLDER python -m benchmarks.crfsuite_tutorial --toolkit partwise --search 10

The data are named entities in Dutch, CoNLL-2002. Settings and features are those of the tutorial.
The objective is computed from the weights in the model file, by the same function for both. The
search is scikit-learn's RandomizedSearchCV over c1 and c2, with three folds.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import expon
from sklearn.metrics import make_scorer
from sklearn.model_selection import RandomizedSearchCV

from partwise import ConvergenceWarning
from partwise.models.foreign.crfsuite import read_crfsuite_model

from .data import MissingDataError, Rows, data_file, read_columns

_MODULES = {
    "sklearn_crfsuite": "sklearn_crfsuite",
    "partwise": "partwise.compat.sklearn_crfsuite",
}
_SETTINGS: dict[str, Any] = {
    "algorithm": "lbfgs",
    "max_iterations": 100,
    "all_possible_transitions": True,
}


def token_features(sentence: Rows, i: int) -> dict[str, Any]:
    """Return the features of the tutorial for token i."""
    word, tag = sentence[i][:2]
    features = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
        "postag": tag,
        "postag[:2]": tag[:2],
    }
    for name, j, edge in (("-1", i - 1, "BOS"), ("+1", i + 1, "EOS")):
        if not 0 <= j < len(sentence):
            features[edge] = True
            continue
        other, tag = sentence[j][:2]
        features[f"{name}:word.lower()"] = other.lower()
        features[f"{name}:word.istitle()"] = other.istitle()
        features[f"{name}:word.isupper()"] = other.isupper()
        features[f"{name}:postag"] = tag
        features[f"{name}:postag[:2]"] = tag[:2]
    return features


def read(part: str) -> tuple[list[Any], list[list[str]]]:
    """Return the features and the labels of a file of CoNLL-2002."""
    sentences = [
        [row for row in sentence if row[0] != "-DOCSTART-"]
        for sentence in read_columns(data_file(f"conll2002/ned.{part}.gz"))
    ]
    sentences = [sentence for sentence in sentences if sentence]
    X = [[token_features(s, i) for i in range(len(s))] for s in sentences]
    return X, [[row[-1] for row in sentence] for sentence in sentences]


def objective(path: str, X: Any, y: Any, c1: float, c2: float) -> float:
    """Compute c1 |w|_1 + c2 |w|^2 + the log loss from a model file of CRFsuite."""
    from partwise.compat.pycrfsuite import ItemSequence

    model = read_crfsuite_model(path)
    attributes = {name: number for number, name in enumerate(model.attributes)}
    labels = {name: number for number, name in enumerate(model.labels)}
    n = len(labels)
    states, steps = np.zeros((len(attributes), n)), np.zeros((n, n))
    states[model.state_features.source, model.state_features.target] = model.state_features.weight
    steps[model.transitions.source, model.transitions.target] = model.transitions.weight
    weights = np.concatenate([model.state_features.weight, model.transitions.weight])
    total = c1 * np.abs(weights).sum() + c2 * (weights @ weights)
    for tokens, gold in zip(X, y, strict=True):
        scores = np.zeros((len(gold), n))
        for t, item in enumerate(ItemSequence(tokens).items()):
            for name, value in item.items():
                if name in attributes:
                    scores[t] += value * states[attributes[name]]
        alpha = scores[0]
        for row in scores[1:]:
            alpha = logsumexp(alpha[:, None] + steps, axis=0) + row
        path_ = [labels[label] for label in gold]
        right = scores[np.arange(len(path_)), path_].sum() + steps[path_[:-1], path_[1:]].sum()
        total += float(logsumexp(alpha)) - right
    return float(total)


def run(toolkit: str, train: Any, test: Any) -> dict[str, Any]:
    """Run the tutorial with one toolkit."""
    package = importlib.import_module(_MODULES[toolkit])
    X, y = train
    # What is compiled at first use is not timed.
    package.CRF(c1=0.1, c2=0.1, **_SETTINGS).fit(X[:20], y[:20]).predict(X[:2])
    crf = package.CRF(c1=0.1, c2=0.1, **_SETTINGS)
    wall, processor = time.perf_counter(), time.process_time()
    crf.fit(X, y)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    tagging = time.process_time()
    predicted = crf.predict(test[0])
    tagging = time.process_time() - tagging
    found: dict[str, Any] = {
        "toolkit": toolkit,
        "objective": objective(crf.modelfile.name, X, y, 0.1, 0.1),
        "f1": scored(toolkit, test[1], predicted),
        "fit_seconds": wall,
        "fit_cpu_seconds": processor,
        "predict_cpu_seconds": tagging,
    }
    certificate = getattr(crf, "certificate_", None)
    if certificate is not None:
        found["certificate"] = certificate.to_json()
    return found


def scored(toolkit: str, gold: Any, predicted: Any) -> float:
    """Compute the F1 score of the tutorial: weighted, without O, by the metrics of the toolkit."""
    metrics = importlib.import_module(f"{_MODULES[toolkit]}.metrics")
    labels = sorted({label for sentence in gold for label in sentence} - {"O"})
    more = {"average": "weighted", "labels": labels, "zero_division": 0}
    return float(metrics.flat_f1_score(gold, predicted, **more))


def search(toolkit: str, train: Any, test: Any, n_iter: int, jobs: int) -> dict[str, Any]:
    """Search c1 and c2 as the tutorial does."""
    package = importlib.import_module(_MODULES[toolkit])
    machine = RandomizedSearchCV(
        package.CRF(**_SETTINGS),
        {"c1": expon(scale=0.5), "c2": expon(scale=0.05)},
        cv=3,
        n_iter=n_iter,
        n_jobs=jobs,
        random_state=0,
        scoring=make_scorer(partial(scored, toolkit)),
    )
    wall, processor = time.perf_counter(), time.process_time()
    machine.fit(*train)
    found: dict[str, Any] = {
        "toolkit": toolkit,
        "search_seconds": time.perf_counter() - wall,
        "best": machine.best_params_,
        "mean_f1": float(machine.best_score_),
        "f1": scored(toolkit, test[1], machine.predict(test[0])),
    }
    if jobs == 1:
        found["search_cpu_seconds"] = time.process_time() - processor
    return found


def main() -> int:
    """Run the tutorial and print what it finds, as lines of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--toolkit", nargs="+", choices=list(_MODULES), default=list(_MODULES))
    parser.add_argument("--search", type=int, default=0, metavar="N", help="candidates to try")
    parser.add_argument("--sentences", type=int, help="train on the first ones only")
    parser.add_argument("--jobs", type=int, default=1, help="processes of the search")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    try:
        train, test = read("train"), read("testb")
    except MissingDataError as error:
        print(f"benchmarks.crfsuite_tutorial: {error}", file=sys.stderr)
        return 1
    train = (train[0][: options.sentences], train[1][: options.sentences])
    for toolkit in options.toolkit:
        print(json.dumps(run(toolkit, train, test)), flush=True)
    for toolkit in options.toolkit if options.search else ():
        found = search(toolkit, train, test, options.search, options.jobs)
        print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
