"""The answers of a server are those of the model, for every task and form of input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.explained import case
from support.serving import Running, column_model, running

from partwise.formats.tree import Tree
from partwise.models.model import Model
from partwise.serve import Limits

_N = 12

#: The cases that can be sent, each with the form of an example in JSON.
_NAMES = (
    "classifier", "classifier-hinge", "classifier-hashed", "tagger", "tagger-hinge",
    "tagger-hashed", "tagger-steps", "second-order", "segmenter", "segmenter-hinge",
    "parser", "parser-labelled", "parser-hinge", "brackets", "brackets-words", "graph",
    "kernel-classifier", "kernel-tagger",
)  # fmt: skip


def _inputs(name: str, model: Model, examples: Any, more: dict[str, Any]) -> list[dict[str, Any]]:
    """Return examples as a client sends them."""
    if "classifier" in name:
        return [{"features": row.tolist()} for row in examples[:_N]]
    if name.startswith("graph"):
        return [
            {"nodes": np.asarray(nodes).tolist(), "edges": np.asarray(edges).tolist(),
             "edge_features": np.asarray(of_edges).tolist()}
            for nodes, edges, of_edges in examples[:_N]
        ]  # fmt: skip
    if name.startswith("parser"):
        columns = ("form", "lemma", "cpos", "pos", "feats")
        return [
            {"tokens": [dict(zip(columns, row, strict=True)) for row in zip(
                *(getattr(one, column) for column in columns), strict=True)]}
            for one in examples[:_N]
        ]  # fmt: skip
    if name == "brackets":
        return [
            {"tokens": [list(pair) for pair in zip(tree.words, tree.tags, strict=True)]}
            for tree in examples[:_N]
        ]
    if name == "kernel-tagger":
        return [{"tokens": np.asarray(one).tolist()} for one in examples[:_N]]
    inputs = [{"tokens": list(tokens)} for tokens in examples[:_N]]
    for one, steps in zip(inputs, more.get("X_transitions", []), strict=False):
        one["transitions"] = steps
    return inputs


def _expected(model: Model, label: Any) -> dict[str, Any]:
    """Return a label as the server answers it."""
    if isinstance(label, Tree):
        return {"tree": str(label)}
    if model.task == "parse":
        if not model.labels:
            return {"heads": label, "relations": None}
        return {"heads": [head for head, _ in label], "relations": [name for _, name in label]}
    return {"label": label} if model.task == "classify" else {"labels": label}


@pytest.mark.parametrize("name", _NAMES)
def test_predictions_are_those_of_the_model(name: str) -> None:
    model, examples, more = case(name)
    some = examples[:_N]
    own = {key: value[:_N] for key, value in more.items()}
    inputs = _inputs(name, model, examples, more)
    odds = model.probabilistic
    with running({name: model}) as server:
        said = server.predict({"inputs": inputs, "k": 3, "probabilities": odds, "marginals": odds})
        singly = [server.predict({"model": name, "input": one}) for one in inputs]
    assert said.status == 200, said.body
    results = said.json["results"]
    assert [one["input"] for one in results] == list(range(_N))
    ranked = model.candidates(some, 3, probabilities=odds, **own)
    for result, label, candidates, single in zip(
        results, model.predict(some, **own), ranked, singly, strict=True
    ):
        expected = _expected(model, label)
        assert {key: result[key] for key in expected} == expected
        assert single.status == 200
        (alone,) = single.json["results"]
        assert {key: alone[key] for key in expected} == expected
        assert "alternatives" not in alone
        assert "probabilities" not in alone
        assert len(result["alternatives"]) == len(candidates)
        for told, candidate in zip(result["alternatives"], candidates, strict=True):
            fields = _expected(model, candidate.label)
            assert {key: told[key] for key in fields} == fields
            if np.isinf(candidate.score):  # a sentence without a derivation
                assert told["score"] is None
                continue
            assert told["score"] == pytest.approx(candidate.score, rel=1e-12)
            if odds:
                assert told["probability"] == pytest.approx(candidate.probability, rel=1e-9)
    if odds:
        _check_odds(model, results, model.marginals(some, **own))


def _check_odds(model: Model, results: list[dict[str, Any]], tables: list[Any]) -> None:
    """Compare the probabilities of answers with the tables of the model."""
    for result, table in zip(results, tables, strict=True):
        if model.task == "classify":
            assert result["probability"] == pytest.approx(table.max(), rel=1e-9)
            told = {one["label"]: one["probability"] for one in result["marginals"]}
            assert told == dict(zip(model.labels, table[0].tolist(), strict=True))
        elif model.task in ("tag", "label-graph"):
            assert result["marginals"] == np.asarray(table).tolist()
            assert max(result["probabilities"]) <= 1.0
        elif model.task == "parse":
            arcs = table.sum(axis=2) if model.labels else table
            assert result["marginals"] == arcs.tolist()
            heads = result["head_probabilities" if model.labels else "probabilities"]
            for t, head in enumerate(result["heads"]):
                assert heads[t] == pytest.approx(min(arcs[t, head], 1.0), rel=1e-9)


def test_phrases_are_nodes_with_probabilities() -> None:
    model, trees, _ = case("brackets")
    inputs = _inputs("brackets", model, trees, {})
    with running({"m": model}) as server:
        results = server.predict({"inputs": inputs, "probabilities": True}).json["results"]
    for result, tree in zip(results, model.predict(trees[:_N]), strict=True):
        phrases = [one for one in result["nodes"] if "word" not in one]
        found = [(one["label"], one["start"], one["end"]) for one in phrases]
        assert found == [tuple(one) for one in tree.brackets()]
        for i, one in enumerate(result["nodes"]):
            assert (one["parent"] is None) == (i == 0)
            p = result["probabilities"][i]
            assert p is None if "word" in one else 0.0 <= p <= 1.0


@pytest.mark.parametrize("name", ["segmenter"])
def test_segments_have_probabilities(name: str) -> None:
    from partwise.tasks.sequences.segment_features import segment_spans

    model, examples, _ = case(name)
    inputs = _inputs(name, model, examples, {})
    with running({"m": model}) as server:
        results = server.predict({"inputs": inputs, "probabilities": True}).json["results"]
    for result, spans in zip(results, segment_spans(model, examples[:_N]), strict=True):
        found = [(s["start"], s["end"], s["label"], s["probability"]) for s in result["spans"]]
        assert found == [tuple(one) for one in spans]


@pytest.fixture(scope="module")
def columns() -> Any:
    with running({"one": column_model(1), "two": column_model(2)}) as server:
        yield server


def test_text_is_cut_into_sentences(columns: Running) -> None:
    text = "Anna saw the dog. The dog saw Anna Bell.\nBell"
    asked = {"model": "one", "inputs": [{"text": text}, {"tokens": ["Anna"]}]}
    results = columns.predict({**asked, "probabilities": True}).json["results"]
    assert [one["input"] for one in results] == [0, 0, 0, 1]
    assert [one["tokens"] for one in results[2:]] == [["Bell"], ["Anna"]]
    for one in results[:3]:
        assert [text[a:b] for a, b in one["offsets"]] == one["tokens"]
        best = column_model(1).predict([one["tokens"]])
        assert [one["labels"]] == best
        for span in one["spans"]:
            assert set(span) == {"start", "end", "label", "probability"}
    assert "offsets" not in results[3]


def test_words_are_not_enough_for_two_columns(columns: Running) -> None:
    said = columns.predict({"model": "two", "input": {"text": "Anna"}})
    assert (said.status, said.code) == (422, "text_is_not_enough")
    said = columns.predict({"model": "two", "input": {"tokens": [["Anna", "a"], ["saw"]]}})
    assert (said.status, said.code) == (422, "wrong_columns")
    assert said.json["error"]["where"] == "input.tokens[1]"
    said = columns.predict({"model": "two", "input": {"tokens": [["Anna", "a"], ["saw", "w"]]}})
    (labels,) = column_model(2).predict([[["Anna", "a"], ["saw", "w"]]])
    assert said.json["results"][0]["labels"] == labels


def test_a_model_that_knows_nothing_of_the_input_says_so(columns: Running) -> None:
    asked = {"model": "one", "input": {"tokens": ["§§§"]}}
    assert "notes" not in columns.predict(asked).json
    assert columns.predict({**asked, "notes": True}).json["notes"] == []
    unknown = {"input": {"tokens": [["nothing=known"]]}, "notes": True}
    with running() as server:
        (note,) = server.predict(unknown).json["notes"]
    assert "knows none" in note


def test_several_models_need_a_name(columns: Running) -> None:
    said = columns.predict({"input": {"text": "a"}})
    assert (said.status, said.code) == (422, "missing")
    said = columns.predict({"model": "../one", "input": {"text": "a"}})
    assert (said.status, said.code) == (404, "no_such_model")


def test_sparse_features_count_from_1() -> None:
    model, _X, _ = case("classifier")
    row = np.zeros(5)
    row[[0, 3]] = 1.5, -2.0
    with running({"m": model}) as server:
        said = server.predict({"input": {"features": {"1": 1.5, "4": -2}}, "marginals": True})
        (table,) = model.marginals(row[None])
        told = [one["probability"] for one in said.json["results"][0]["marginals"]]
        assert told == pytest.approx(table[0].tolist(), rel=1e-12)
        for wrong in ({"0": 1}, {"6": 1}, {"a": 1}, {"01": 1}, {"1": "x"}, {"1": 1e400}):
            body = str({"input": {"features": wrong}}).replace("'", '"').replace("inf", "1e400")
            assert server.predict(body.encode()).status == 422


@pytest.mark.parametrize(
    "name",
    ["classifier", "tagger", "segmenter", "parser-labelled", "brackets", "graph",
     "classifier-hinge", "tagger-hashed"],
)  # fmt: skip
def test_explanations_add_up(name: str) -> None:
    model, examples, more = case(name)
    inputs = _inputs(name, model, examples, more)[:3]
    with running({name: model}, Limits(max_explained=3)) as server:
        said = server.ask("POST", "/explain", {"inputs": inputs, "top": 2})
        assert said.status == 200, said.body
        many = server.ask("POST", "/explain", {"inputs": inputs * 2})
        assert (many.status, many.code) == (413, "too_long")
    for one in said.json["results"]:
        if one["score"] is None:  # a sentence without a derivation
            assert one["parts"] == []
            continue
        assert one["score"] == pytest.approx(sum(part["score"] for part in one["parts"]))
        for part in one["parts"]:
            listed = [c["product"] for c in part["contributions"]]
            assert sum(p > 0 for p in listed) <= 2 >= sum(p < 0 for p in listed)
            assert sum(listed) + part["others"]["sum"] == pytest.approx(part["score"], abs=1e-9)


def test_long_examples_are_explained_without_runners_up() -> None:
    model, examples, _ = case("tagger")
    tokens = examples[0] * 3
    with running({"m": model}, Limits(max_explained_length=len(tokens) - 1)) as server:
        asked = {"input": {"tokens": tokens}}
        said = server.ask("POST", "/explain", asked)
        assert (said.status, said.code, said.json["error"]["where"]) == (
            413, "too_long", "runners_up",
        )  # fmt: skip
        said = server.ask("POST", "/explain", {**asked, "runners_up": False})
        assert said.status == 200
        assert all(part["runner_up"] is None for part in said.json["results"][0]["parts"])


@pytest.mark.parametrize("name", _NAMES)
def test_the_sample_of_every_model_can_be_predicted(name: str) -> None:
    model = case(name)[0]
    with running({name: model}) as server:
        (facts,) = server.ask("GET", "/models").json["models"]
        said = server.predict({"input": facts["sample"]})
    if name == "tagger-steps":
        # A sample has no features of neighbours.
        assert said.code == "wrong_transitions"
    else:
        assert said.status == 200, said.body
    assert facts["certificate"]["objective"] >= 0.0
    assert bool(facts["labels"]) == (name != "parser")
