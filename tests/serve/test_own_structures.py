"""A structure of one's own is explained, served and reported without a word about it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from support.serving import running

from partwise.errors import DataError, MismatchError
from partwise.models.features import Inputs
from partwise.models.fit import fit_model
from partwise.models.model import Model
from partwise.models.numbered import NumberedFeatures
from partwise.problem.rows import Rows
from partwise.report import report
from partwise.serve import Limits, ServedModel
from partwise.structures.multiclass import Multiclass
from partwise.tasks.registry import task_for
from partwise.training import Settings

X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.5], [0.2, 1.0]])


class Lamps(Multiclass):
    """Structures are known by their names, and nothing is known of this one."""

    name = "lamps"


@cache
def model(loss: str = "log") -> Model:
    """Return a model of one of two lamps."""
    made, _ = fit_model(
        "lamps", Lamps(2), [Rows.from_dense(X)], [1] * 4, [np.array([i % 2]) for i in range(4)],
        NumberedFeatures((2,)), Settings(loss=loss, l2=0.1), labels=["off", "on"],
    )  # fmt: skip
    return made


def inputs(*which: int) -> Inputs:
    """Return some of the examples."""
    return Inputs([Rows.from_dense(X[list(which)])], [1] * len(which))


def _row(row: Any) -> dict[str, Any]:
    return {"features": {"shape": 1, "rows": {"label": [row]}}}


def test_it_is_explained_by_its_labels() -> None:
    first, second = model().explain(inputs(0, 1))
    assert [one.parts[0].label for one in (first, second)] == ["off", "on"]
    part = first.parts[0]
    assert (part.kind, part.place) == ("label", (0,))
    assert [one.feature for one in part.contributions] == ["x0"]
    assert part.score == pytest.approx(first.score)
    assert part.runner_up is not None


def test_it_is_served() -> None:
    served = ServedModel("lamps", model(), Limits())
    assert served.warm_up() >= 0.0
    facts = served.facts()
    assert (facts["task"], facts["view"], facts["labels"]) == ("lamps", "whole", ["off", "on"])
    assert facts["summary"] == "labels with the structure lamps"
    with running({"lamps": model()}) as server:
        body = {"inputs": [_row(X[0].tolist()), _row({"2": 1.0})], "k": 2}
        said = server.predict({**body, "probabilities": True, "marginals": True})
        told = server.ask("POST", "/explain", {"input": facts["sample"]})
        wrong = [
            server.predict({"input": {"features": given}})
            for given in (
                [1, 2],
                {"shape": 1, "rows": {}},
                {"shape": 10**9, "rows": {"label": [{}]}},
                {"shape": "x", "rows": {"label": [{}]}},
                {"shape": 1, "rows": {"label": [{}, {}]}},
                {"shape": 1, "rows": {"label": [{"3": 1.0}]}},
                {"shape": 1, "rows": {"label": [[1.0]]}},
                {"shape": 1, "rows": {"label": {}}},
            )
        ]
    assert said.status == 200, said.body
    first, second = said.json["results"]
    assert [one["parts"][0]["label"] for one in (first, second)] == ["off", "on"]
    assert [len(one["alternatives"]) for one in (first, second)] == [2, 2]
    mu = model().marginals(inputs(0))[0]
    assert first["marginals"] == pytest.approx(mu.tolist())
    assert first["probability"] == pytest.approx(mu.max())
    assert told.status == 200
    assert [one.status for one in wrong] == [422] * len(wrong)


def test_scores_alone_are_served_too() -> None:
    with running({"lamps": model("hinge")}) as server:
        said = server.predict({"input": _row([1.0, 0.0]), "k": 1})
        assert said.json["results"][0]["label"] == [0]
        assert server.predict({"input": _row([1.0, 0.0]), "probabilities": True}).status == 422


def test_it_is_reported(tmp_path: Any) -> None:
    gold = [np.array([i]) for i in (0, 1, 1, 1)]
    page, card = tmp_path / "page.html", tmp_path / "card.md"
    found = report(model(), (inputs(0, 1, 2, 3).rows, [1] * 4), gold, page, card=card)
    assert {one.name: one.score.value for one in found.measures} == {
        "f1": 0.75, "precision": 0.75, "recall": 0.75, "complete": 0.75,
    }  # fmt: skip
    assert {row.label: row.support for row in found.labels} == {"on": 3, "off": 1}
    assert found.wrong is not None
    assert [(one.number, one.parts[0].label) for one in found.wrong] == [(3, "off")]
    assert found.calibration is not None
    assert "Inputs(rows, shapes)" in page.read_text("utf-8")
    assert card.exists()


def test_what_is_no_example_is_refused() -> None:
    task = task_for(model())
    with pytest.raises(DataError, match="give the pair"):
        report(model(), X, [0] * 4, None)
    with pytest.raises(DataError, match="1 labels for 4 examples"):
        task.source(model(), inputs(0, 1, 2, 3), [0])
    with pytest.raises(MismatchError, match="reads no files"):
        task.read_for(model(), "x", labelled=True)
