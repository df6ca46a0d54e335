"""The contributions of a prediction add up to its score, for every kind of model."""

from __future__ import annotations

import logging
import math
from typing import Any

import numpy as np
import pytest
from support.explained import CASES, case

from partwise.explain import Explanation
from partwise.models.prediction import best_labels
from partwise.tasks.registry import example_form, label_form

#: The model of each task of which a thousand predictions are explained; of the others it is fewer.
FIRST = (
    "classifier", "tagger", "second-order", "segmenter", "parser-labelled", "brackets", "graph",
    "kernel-tagger", "tagger-hashed",
)  # fmt: skip
#: Bounds on rounding, relative to the sizes of what is added.
EXACT = 1e-12


def some(name: str, n: int) -> tuple[Any, Any, dict[str, Any]]:
    model, X, more = case(name)
    return model, X[:n], {key: held[:n] for key, held in more.items()}


def products(explanation: Explanation) -> list[float]:
    return [one.product for part in explanation.parts for one in part.contributions]


@pytest.fixture(autouse=True)
def _no_messages() -> Any:
    """Sentences that the grammar does not derive are logged."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", CASES)
def test_contributions_add_up_to_the_score_of_the_decoder(name: str) -> None:
    # The grammar has no tree for some of the sentences, which are more for that.
    many = 1150 if name == "brackets" else 1000
    model, X, more = some(name, many if name in FIRST else 40 if name == "parser-hashed" else 150)
    explained = model.explain(X, runners_up=False, **more)
    ranked = model.k_best(X, k=1, **more)
    assert len(explained) == len(ranked) == len(X)
    summed = 0
    predicted = model.predict(X, **more)
    for one, label, (scores, _) in zip(explained, predicted, ranked, strict=True):
        if one.score is None:
            # The grammar has no tree for the sentence.
            assert scores[0] == -np.inf
            assert one.parts == ()
            continue
        found = products(one)
        sizes = math.fsum(map(abs, found))
        assert abs(math.fsum(found) - scores[0]) <= EXACT * sizes
        assert abs(one.score - scores[0]) <= EXACT * sizes
        for part in one.parts:
            mine = [held.product for held in part.contributions]
            assert abs(part.score - math.fsum(mine)) <= EXACT * sizes
            assert mine == sorted(mine, reverse=True)
            for held in part.contributions:
                assert held.product == held.value * held.weight != 0.0
        assert str(one.prediction) == str(label)
        summed += sizes > 0.0
    assert name not in FIRST or sum(one.score is not None for one in explained) >= 1000
    # A model that learned nothing would pass all of this.
    assert summed > 0.6 * len(X)


@pytest.mark.parametrize("name", CASES)
def test_differences_add_up_to_the_margin(name: str) -> None:
    # The grammar leaves little to choose.
    model, X, more = some(name, 100 if name.startswith("brackets") else 12)
    checked = 0
    for one in model.explain(X, **more):
        for part in one.parts:
            if part.runner_up is None:
                continue
            found = [held.product for held in part.runner_up.differences]
            # The margin is a difference of two scores, which are sums of such products.
            sizes = math.fsum(map(abs, found)) + math.fsum(map(abs, products(one)))
            assert abs(math.fsum(found) - part.runner_up.margin) <= EXACT * sizes
            assert part.margin >= -EXACT * sizes
            checked += 1
    assert checked > 5


@pytest.mark.parametrize("name", CASES)
def test_elements_hold_all_parts_of_a_label(name: str) -> None:
    model, X, more = some(name, 5)
    model = example_form(model).explained()
    form = label_form(model)
    for inputs in model.inputs(X, **more):
        batch = model.batch(inputs)
        labels = best_labels(batch, partial=True)
        assert any(label is not None for label in labels)
        for i, label in enumerate(labels):
            if label is None:
                continue
            topo = batch.shapes.topologies[i]
            parts, counts = model.structure.encode(label, topo)
            held = np.concatenate([one.parts for one in form.elements(label, topo, [])])
            found, times = np.unique(held, return_counts=True)
            order = np.argsort(parts)
            assert found.tolist() == parts[order].tolist()
            assert times.tolist() == counts[order].tolist()
            for one in form.elements(label, topo, []):
                # Just one of the parts that stand for an element is in the label.
                assert len(one.key) == 0 or np.isin(one.key, parts).sum() == 1


@pytest.mark.parametrize("name", [n for n in CASES if "hinge" not in n])
def test_probabilities_are_marginals(name: str) -> None:
    model, X, more = some(name, 8)
    explained = model.explain(X, runners_up=False, **more)
    tables = model.marginals(X, **more)
    candidates = model.candidates(X, 1, probabilities=True, **more)
    for one, table, best in zip(explained, tables, candidates, strict=True):
        if one.score is None:
            continue
        assert one.probability == pytest.approx(best[0].probability, rel=1e-9)
        for part in one.parts:
            assert part.probability is not None
            expected = _marginal(model, part, table, one.prediction)
            if expected is not None:
                assert part.probability == pytest.approx(expected, rel=1e-9, abs=1e-12)


def _marginal(model: Any, part: Any, table: Any, prediction: Any) -> float | None:
    """The probability of a part in the tables that `marginals` returns, where it is there."""
    if part.kind in ("example", "position"):
        return float(table[part.place[0] if part.place else 0][model.label_index[part.label]])
    if part.kind == "arc":
        modifier, head = part.place
        row = table[modifier - 1, head]
        return (
            float(row[model.label_index[prediction[modifier - 1][1]]]) if row.ndim else float(row)
        )
    if part.kind == "vertex":
        v = part.place[0]
        labels = next(iter(model.features.labels.values()))
        return (
            float(table[v][labels.index(part.label)]) if len(model.features.labels) == 1 else None
        )
    return None


@pytest.mark.parametrize("name", [n for n in CASES if "hinge" in n])
def test_the_hinge_has_margins_and_no_probabilities(name: str) -> None:
    model, X, more = some(name, 3)
    for one in model.explain(X, **more):
        assert one.probability is None
        assert all(part.probability is None for part in one.parts)
        assert "probability" not in one.to_text()
