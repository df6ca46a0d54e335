from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.report_data import MODELS, model_and_data

from partwise import load_model
from partwise.metrics import (
    accuracy,
    attachment_scores,
    bracket_scores,
    sequence_accuracy,
    span_scores,
)
from partwise.tasks.comparison import NONE, confused
from partwise.tasks.dependency.treebank import separated
from partwise.tasks.labels import spelled
from partwise.tasks.registry import task_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("comparison")


def _expected(task: str, source: Any, labels: Any, labelled: bool) -> dict[str, float]:
    """Return the measures by the functions of `partwise.metrics`."""
    if task == "brackets":
        some = bracket_scores(source.trees, labels)
        return {"precision": some.precision, "recall": some.recall, "f1": some.f1,
                "complete": some.complete_match}  # fmt: skip
    if task == "parse":
        heads, relations = separated(labels, labelled)
        gold = None if relations is None else source.relations
        made = attachment_scores(source.heads, heads, gold_labels=gold, pred_labels=relations)
        more = {"las": made.las, "label_accuracy": made.label_accuracy,
                "complete": made.labelled_match}  # fmt: skip
        first = {"uas": made.uas, "complete_heads": made.unlabelled_match}
        return {**first, **more} if labelled else first
    if task == "classify":
        return {"accuracy": accuracy(source.y, spelled(labels))}
    gold = source.labels if task == "graph" else source.sentences()
    whole = "graph_accuracy" if task == "graph" else "sequence_accuracy"
    measures = {"accuracy": accuracy(gold, labels), whole: sequence_accuracy(gold, labels)}
    if task != "graph":
        spans = span_scores(gold, labels).overall
        measures |= {"precision": spans.precision, "recall": spans.recall, "f1": spans.f1}
    return measures


@pytest.mark.parametrize("name", MODELS)
def test_measures_are_those_of_score(folder: Path, name: str) -> None:
    path, data = model_and_data(folder, name)
    model = load_model(path)
    task = task_of(model.task)
    source = task.read_for(model, str(data), labelled=True)
    given = task.defaults("evaluate")
    metrics, _ = task.score(model, source, given)
    found = task.compare(model, source, given, probabilities=model.probabilistic)
    expected = _expected(task.name, source, model.predict(source), bool(model.labels))
    assert {name: found.value(name) for name in found.measures} == pytest.approx(
        expected, abs=1e-12
    )
    assert {name: metrics[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert next(name for name in task.headline if name in metrics) in found.measures
    assert len(found.lengths) == len(source) == len(found.prints)
    assert found.lengths.sum() == source.n_positions
    by_label = metrics.get("by_type") or metrics.get("by_label")
    if by_label is not None:
        scores = found.tallies.scores().by_type
        assert {k: (s.f1, s.support) for k, s in scores.items()} == {
            k: (row["f1"], row["support"]) for k, row in by_label.items()
        }
    if found.confusions and not found.by_tag:
        wanted: Counter[str] = Counter()
        for (right, _), n in found.confusions.items():
            wanted[right] += n
        del wanted[NONE]
        support = {k: s.support for k, s in found.tallies.scores().by_type.items() if s.support}
        assert dict(wanted) == support


@pytest.mark.parametrize("name", MODELS)
def test_quotes_and_odds_agree_with_the_predictions(folder: Path, name: str) -> None:
    path, data = model_and_data(folder, name)
    model = load_model(path)
    task = task_of(model.task)
    source = task.read_for(model, str(data), labelled=True)
    found = task.compare(
        model, source, task.defaults("evaluate"), probabilities=model.probabilistic
    )
    wrong = {i for i in range(len(source)) if found.quote(i).wrong}
    if found.odds is None:
        assert not model.probabilistic
        return
    assert set(found.odds.example[~found.odds.correct].tolist()) <= wrong or found.unit == "span"
    assert ((found.odds.probability > 0.0) & (found.odds.probability <= 1.0)).all()
    if found.unit == "phrase" or task.name == "segment":
        return  # an explanation has the probabilities of other parts
    for i in (0, 1):
        parts = model.explain(source.take([i]), runners_up=False)[0].parts
        kinds = ("example", "position", "arc", "vertex")
        told = [part.probability for part in parts if part.kind in kinds]
        assert found.odds.probability[found.odds.example == i] == pytest.approx(told, abs=1e-9)


def test_probabilities_do_not_depend_on_batches(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, data = model_and_data(folder, "tag")
    model = load_model(path)
    task = task_of("tag")
    source = task.read_for(model, str(data), labelled=True)
    given = task.defaults("evaluate")
    whole = task.compare(model, source, given, probabilities=True)
    monkeypatch.setattr("partwise.tasks.comparison._BATCH", 3)
    parts = task.compare(model, source, given, probabilities=True)
    assert whole.odds is not None
    assert parts.odds is not None
    assert np.array_equal(whole.odds.probability, parts.odds.probability)
    assert np.array_equal(whole.odds.example, parts.odds.example)


def test_labels_at_the_same_place_are_confused() -> None:
    gold = [("A", (0, 2)), ("B", (2, 3)), ("C", (4, 5)), ("D", (6, 7)), ("D", (6, 7))]
    found = [("A", (0, 2)), ("C", (2, 3)), ("C", (4, 6)), ("D", (6, 7)), ("E", (6, 7))]
    assert confused(gold, found) == {
        ("A", "A"): 1, ("B", "C"): 1, ("C", ""): 1, ("", "C"): 1, ("D", "D"): 1, ("D", "E"): 1,
    }  # fmt: skip


def test_missing_labels_are_left_out(tmp_path: Path) -> None:
    from partwise.cli import main

    (tmp_path / "train").write_text("1 1:1\n2 2:1\n? 1:1\n" * 4, "ascii")
    (tmp_path / "test").write_text("? 1:1\n2 1:1\n1 1:1\n", "ascii")
    train = ["train", "--task", "classify", f"{tmp_path}/train", "--model", f"{tmp_path}/m"]
    assert main([*train, "--missing", "?", "-q"]) in (0, 3)
    model = load_model(tmp_path / "m")
    task = task_of("classify")
    source = task.read_for(model, str(tmp_path / "test"), labelled=True)
    found = task.compare(model, source, {}, probabilities=True)
    assert (found.unscored, found.value("accuracy")) == (1, 0.5)
    assert [found.number(i) for i in range(2)] == [1, 2]
    assert (found.quote(0).right, found.quote(0).found) == ("2", "1")
