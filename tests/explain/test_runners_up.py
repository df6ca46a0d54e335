"""Margins to the runner-up, against an enumeration of all labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.bits import Bits
from support.explained import case

from partwise.explain import Part
from partwise.models.fit import Settings, fit_model
from partwise.models.numbered import NumberedFeatures
from partwise.models.prediction import k_best_labels
from partwise.problem.rows import Rows

#: More labels than any of the small examples has.
ALL = 30_000


def position(part: Part, label: Any) -> Any:
    return label[part.place[0] if part.place else 0]


def segment(part: Part, label: Any) -> Any:
    wanted = list(part.place)
    return next((k for *place, k in label.tolist() if place == wanted), None)


def arc(part: Part, label: Any) -> Any:
    return tuple(label[part.place[0] - 1].tolist())


def phrase(part: Part, label: Any) -> Any:
    start, end = part.place[0], part.place[-1]
    wanted = [start, end + (part.kind == "word")]
    return next((k for k, *place, _ in label.tolist() if place == wanted), None)


def category(part: Part, label: Any) -> Any:
    """The class of a phrase: its symbol also notes the phrase above it, and spans do not."""
    symbol = phrase(part, label)
    classes = case("brackets-hinge")[0].structure.classes  # type: ignore[attr-defined]
    return symbol if part.kind == "word" or symbol is None else classes[symbol]


def vertices(part: Part, label: Any) -> Any:
    return tuple(label[list(part.place)].tolist())


#: For each model examples that are small enough, and what a label has at the place of a part.
SMALL: dict[str, tuple[Callable[[Any], Any], Callable[[Part, Any], Any]]] = {
    "classifier": (lambda X: X[:20], position),
    "classifier-hinge": (lambda X: X[:20], position),
    "tagger": (lambda X: [x[:3] for x in X[:3]], position),
    "tagger-hinge": (lambda X: [x[:3] for x in X[:3]], position),
    "tagger-constraints": (lambda X: [x[:3] for x in X[:4]], position),
    "second-order": (lambda X: [x[:3] for x in X[:3]], position),
    "segmenter": (lambda X: [x[:4] for x in X[:4]], segment),
    "segmenter-hinge": (lambda X: [x[:4] for x in X[:4]], segment),
    "parser": (lambda X: [_cut(x, 5) for x in X[:4]], arc),
    "parser-labelled": (lambda X: [_cut(x, 3) for x in X[:4]], arc),
    "parser-hinge": (lambda X: [_cut(x, 3) for x in X[:4]], arc),
    "brackets": (lambda X: X[:40], phrase),
    "brackets-hinge": (lambda X: X[:40], category),
    "brackets-words": (lambda X: [x for x in X[:60] if len(x) < 9], phrase),
    "graph": (lambda X: X[:6], vertices),
    "graph-tied": (lambda X: X[:6], vertices),
    "graph-symmetric": (lambda X: X[:6], vertices),
    "graph-domains": (lambda X: X[:12], vertices),
    "kernel-tagger": (lambda X: X[:6], position),
}  # fmt: skip


def _cut(sentence: Any, n: int) -> dict[str, Any]:
    return {name: getattr(sentence, name)[:n] for name in ("form", "cpos", "pos")}


@pytest.mark.parametrize("name", SMALL)
def test_the_runner_up_is_the_best_label_that_differs(name: str) -> None:
    model, X, _ = case(name)
    choose, what = SMALL[name]
    small = choose(X)
    explained = iter(model.explain(small))
    tried = alone = 0
    for inputs in model.inputs(small):
        for scores, labels in k_best_labels(model.batch(inputs), ALL, partial=True):
            one = next(explained)
            if not labels:
                assert one.score is None
                continue
            assert len(labels) < ALL
            assert one.score == pytest.approx(scores[0], rel=1e-12, abs=1e-12)
            for part in one.parts:
                here = what(part, labels[0])
                others = [s for s, y in zip(scores, labels, strict=True) if what(part, y) != here]
                if not others:
                    assert part.runner_up is None
                    alone += 1
                    continue
                assert part.runner_up is not None
                expected = scores[0] - max(others)
                assert part.margin == pytest.approx(expected, rel=1e-9, abs=1e-9)
                tried += 1
    assert tried > 5
    # Where tags are given, most words of a tree have no other symbol.
    assert alone == 0 or name.startswith(("brackets", "tagger-constraints"))


def test_the_label_of_the_runner_up() -> None:
    model, X, _ = case("tagger")
    one = model.explain([X[0][:3]])[0]
    ranked = model.predict([X[0][:3]], k=50)[0]
    for part in one.parts:
        t = part.place[0]
        best_other = next(labels for labels, _ in ranked if labels[t] != part.label)
        assert part.runner_up is not None
        assert part.runner_up.label == best_other[t]


def test_known_labels_leave_no_runner_up() -> None:
    model, X, _ = case("tagger")
    one = model.explain(X[:1], fixed=[{1: "O"}])[0]
    assert one.parts[1].label == "O"
    assert one.parts[1].runner_up is None
    assert one.parts[1].margin is None
    assert one.parts[1].probability == pytest.approx(1.0)
    assert one.parts[0].runner_up is not None
    assert one.prediction == model.predict(X[:1], fixed=[{1: "O"}])[0]


def test_runners_up_can_be_left_out() -> None:
    model, X, _ = case("tagger")
    with_them, without = model.explain(X[:1])[0], model.explain(X[:1], runners_up=False)[0]
    assert all(part.runner_up is None for part in without.parts)
    assert [p.contributions for p in with_them.parts] == [p.contributions for p in without.parts]


def test_classes_are_compared_feature_by_feature() -> None:
    model, X, _ = case("classifier")
    one = model.explain(X[:1])[0]
    (part,) = one.parts
    assert part.runner_up is not None
    dense = model.layout.dense(model.weights, 0)
    a, b = model.label_index[part.label], model.label_index[part.runner_up.label]
    expected = {f"x{k}": X[0, k] * (dense[k, a] - dense[k, b]) for k in range(X.shape[1])}
    expected["intercept"] = dense[-1, a] - dense[-1, b]
    found = {one.feature: one.product for one in part.runner_up.differences}
    assert found == pytest.approx(expected, rel=1e-12)
    assert {(d.label, d.instead) for d in part.runner_up.differences} == {
        (part.label, part.runner_up.label)
    }
    assert np.isclose(sum(found.values()), part.margin)


def test_a_structure_of_another_package() -> None:
    """Its parts only have numbers, and all that can be computed is there."""
    rng = np.random.default_rng(0)
    rows = Rows.from_dense(rng.normal(size=(10, 4)))
    shapes = [3, 0, 2, 1, 4]
    gold = np.split(rng.integers(2, size=10), np.cumsum(shapes)[:-1])
    model, _ = fit_model(
        "pick", Bits(), [rows], shapes, gold, NumberedFeatures((4,)), Settings(tol=1e-3)
    )
    explained = model.explain([rows], shapes)
    ranked = model.k_best([rows], shapes, k=16)
    some = 0
    for one, (scores, labels) in zip(explained, ranked, strict=True):
        total = sum(held.product for part in one.parts for held in part.contributions)
        assert total == pytest.approx(scores[0], abs=1e-12)
        for part in one.parts:
            # A part of this structure is there or not, and the runner-up is without it.
            t = part.place[0]
            expected = scores[0] - max(s for s, y in zip(scores, labels, strict=True) if y[t] == 0)
            assert part.margin == pytest.approx(expected, abs=1e-12)
            some += 1
    assert some > 3
    assert {row.feature for row in model.explain_weights()} == {"x0", "x1", "x2", "x3"}
    assert explained[0].to_text()
