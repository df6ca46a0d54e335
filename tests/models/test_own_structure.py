"""A structure and an encoder from outside the package, from features to a loaded model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from support.bits import Bits

from partwise import DataError, MismatchError, ModelFileError, load_model, save_model
from partwise.files.container import read_container, write_container
from partwise.models.features import Arrays, Features, Inputs
from partwise.models.file import read_header
from partwise.models.fit import Settings, fit_model
from partwise.models.model import Model
from partwise.models.numbered import NumberedFeatures
from partwise.problem.evaluation import DualPoint
from partwise.problem.rows import Rows
from partwise.structures.multiclass import Multiclass

SHAPES = [3, 0, 2, 1, 4]
N_FEATURES = 4


def data(seed: int = 0) -> tuple[Rows, list[Any]]:
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(sum(SHAPES), N_FEATURES))
    on = (dense[:, 0] + rng.normal(size=len(dense)) > 0).astype(np.int64)
    return Rows.from_dense(dense), np.split(on, np.cumsum(SHAPES)[:-1])


def fit(settings: Settings | None = None, **more: Any) -> tuple[Model, Any]:
    rows, gold = data()
    arguments: dict[str, Any] = {
        "task": "pick", "structure": Bits(), "features": [rows], "shapes": SHAPES, "gold": gold,
        "encoder": NumberedFeatures((N_FEATURES,)), "settings": settings or Settings(tol=1e-6),
        **more,
    }  # fmt: skip
    return fit_model(**arguments)


def tables(model: Model, rows: Rows) -> list[dict[tuple[int, ...], float]]:
    """The score of every label of every example."""
    table = np.zeros((len(rows), N_FEATURES))
    assert rows.values is not None
    table[np.repeat(np.arange(len(rows)), np.diff(rows.indptr)), rows.indices] = rows.values
    scores = table @ model.layout.dense(model.weights, 0)[:, 0]
    return [
        {y: float(np.dot(y, part)) for y in itertools.product((0, 1), repeat=len(part))}
        for part in np.split(scores, np.cumsum(SHAPES)[:-1])
    ]


def test_prediction_agrees_with_enumeration() -> None:
    model, done = fit()
    rows, _ = data()
    assert done.certificate.converged
    best = model.predict([rows], SHAPES)
    ranked = model.k_best([rows], SHAPES, 3)
    marginals = model.marginals([rows], SHAPES, n_jobs=2)
    log_proba = model.log_proba([rows], SHAPES, best)
    for i, table in enumerate(tables(model, rows)):
        order = sorted(table, key=lambda y: -table[y])[:3]
        assert tuple(best[i].tolist()) == order[0]
        assert [tuple(y.tolist()) for y in ranked[i][1]] == order
        np.testing.assert_allclose(ranked[i][0], [table[y] for y in order], atol=1e-10)
        log_z = math.log(sum(map(math.exp, table.values())))
        wanted = sum(math.exp(s - log_z) * np.array(y, dtype=float) for y, s in table.items())
        np.testing.assert_allclose(marginals[i], wanted, atol=1e-10)
        assert log_proba[i] == pytest.approx(table[order[0]] - log_z, abs=1e-10)


def test_samples_follow_the_marginals_and_the_seed_not_the_threads() -> None:
    model, _ = fit()
    rows, _ = data()
    one = model.sample([rows], SHAPES, 2000, seed=3)
    two = model.sample([rows], SHAPES, 2000, seed=3, n_jobs=3)
    other = model.sample([rows], SHAPES, 2000, seed=4)
    for a, b, c, mu in zip(one, two, other, model.marginals([rows], SHAPES), strict=True):
        np.testing.assert_array_equal(a, b)
        assert not len(mu) or (np.array(a) != np.array(c)).any()
        np.testing.assert_allclose(np.mean(a, axis=0), mu, atol=0.05)


def test_constraints_of_the_model_and_of_examples() -> None:
    _, gold = data()
    rows, _ = data()
    allowed = [[t for t, bit in enumerate(y) if not bit][:1] for y in gold]
    model, _ = fit(own_constraints=allowed)
    plain, _ = fit()
    assert model.certificate.primal < plain.certificate.primal
    first = [[0] if n else None for n in SHAPES]
    for y in model.predict([rows], SHAPES, own_constraints=first):
        assert not y[:1].any()
    found = model.log_proba([rows], SHAPES, [np.ones(n, dtype=int) for n in SHAPES])
    none = model.log_proba([rows], SHAPES, [None] * len(SHAPES))
    assert np.isfinite(found).all()
    assert np.isneginf(none).all()


def test_examples_of_weight_zero_are_left_out() -> None:
    rows, gold = data()
    kept = [0, 1, 3]
    mask = np.repeat(np.isin(np.arange(len(SHAPES)), kept), SHAPES)
    few, _ = fit(features=[rows.take(mask)], shapes=[SHAPES[i] for i in kept],
                 gold=[gold[i] for i in kept])  # fmt: skip
    more, _ = fit(sample_weight=[1, 1, 0, 1, 0], own_constraints=[None] * 5)
    np.testing.assert_array_equal(few.weights, more.weights)


def test_warm_starts() -> None:
    model, done = fit()
    _, warm = fit(initial=model)
    _, again = fit(initial=done.dual_point)
    assert max(len(warm.trace), len(again.trace)) < len(done.trace)
    with pytest.raises(MismatchError, match="a bits cannot start from the weights of a multiclass"):
        fit(initial=classifier())


def test_numbered_features_are_matched_by_number() -> None:
    few, many = NumberedFeatures((2,)), NumberedFeatures((4,))
    assert [of.tolist() for of in many.match(few, Bits())] == [[0, 1, -1, -1]]
    assert [of.tolist() for of in few.match(many, Bits())] == [[0, 1]]


def test_parts_without_labels_need_no_names() -> None:
    left_out, none = (fit(**more)[0] for more in ({}, {"labels": None}))
    assert left_out.labels == none.labels == ()
    np.testing.assert_array_equal(left_out.weights, none.weights)


def classifier() -> Model:
    model, _ = fit_model(
        "mine",
        Multiclass(2),
        [Rows.from_dense(np.eye(2))],
        [1, 1],
        [np.array([0]), np.array([1])],
        NumberedFeatures((2,)),
        Settings(),
        labels=["a", "b"],
    )
    return model


def test_round_trip(tmp_path: Path) -> None:
    model, _ = fit()
    rows, _ = data()
    path = tmp_path / "a.model"
    save_model(model, path)
    with pytest.raises(ModelFileError, match=r"'bits' is unknown.*structures=\[\.\.\.\]"):
        load_model(path)
    again = load_model(path, structures=[Bits])
    assert isinstance(again.structure, Bits)
    assert again.features == model.features
    assert again.labels == ()
    for a, b in zip(again.marginals([rows], SHAPES), model.marginals([rows], SHAPES), strict=True):
        np.testing.assert_array_equal(a, b)
    assert read_header(path)["structure"]["kinds"] == ["on"]
    save_model(again, tmp_path / "b.model")
    assert path.read_bytes() == (tmp_path / "b.model").read_bytes()


def test_numbered_features_of_a_known_structure(tmp_path: Path) -> None:
    save_model(classifier(), tmp_path / "a.model")
    again = load_model(tmp_path / "a.model")
    assert (again.task, again.labels) == ("mine", ("a", "b"))
    assert [int(y[0]) for y in again.predict([Rows.from_dense(np.eye(2))], [1, 1])] == [0, 1]
    with pytest.raises(DataError, match="cannot read examples; give rows of features"):
        again.predict([["a"]])


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"n_features": [3]}, "another number of features"),
        ({"n_features": [4, 0]}, "2 kinds of sites where a bits has 1"),
        ({"n_features": [-4]}, "no counts"),
        ({"n_features": 4}, "no counts"),
        ({}, "other fields"),
    ],
)
def test_hostile_encoders(tmp_path: Path, data: Any, says: str) -> None:
    path = tmp_path / "a.model"
    save_model(fit()[0], path)
    header, arrays = read_container(path)
    write_container(path, {**header, "encoder": {"name": "numbered", "data": data}}, arrays)
    with pytest.raises(ModelFileError, match=says):
        load_model(path, structures=[Bits])


@pytest.mark.parametrize(
    ("array", "change", "says"),
    [
        ("first", lambda a: a[::-1] + 1, "side by side"),
        ("first", lambda a: a * 0, "side by side"),
        ("weights", lambda a: a[:-1], "n_weights"),
        ("slot", lambda a: np.full(4, -2, dtype=np.int32), "odd slots"),
    ],
)
def test_hostile_arrays(tmp_path: Path, array: str, change: Any, says: str) -> None:
    path = tmp_path / "a.model"
    save_model(fit()[0], path)
    header, arrays = read_container(path)
    write_container(path, header, {**arrays, array: change(arrays[array])})
    with pytest.raises(ModelFileError, match=says):
        load_model(path, structures=[Bits])


class Doubling(Features):
    """Two features of one number, with the factor kept as an array."""

    name: ClassVar[str] = "doubling"

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def feature_counts(self, structure: Any) -> tuple[int, ...]:
        return (2,)

    def made(self, numbers: Any) -> Rows:
        return Rows.from_dense(np.outer(numbers, [1.0, self.factor]))

    def rows(self, structure: Any, examples: Any, tally: Any) -> Iterator[Inputs]:
        shapes = [len(example) for example in examples]
        yield Inputs([self.made(np.concatenate(examples))], shapes, examples=examples)

    def named(self, model: Any, label: Any, example: Any) -> Any:
        return label.tolist()

    def to_json(self) -> dict[str, Any]:
        return {}

    def arrays(self) -> dict[str, Any]:
        return {"factor": np.array([self.factor])}

    @classmethod
    def from_saved(cls, data: dict[str, Any], arrays: Arrays) -> Doubling:
        if arrays.keys() != {"factor"} or arrays["factor"].shape != (1,):
            raise DataError("one factor is expected")
        return cls(float(arrays["factor"][0]))


def test_an_encoder_of_ones_own(tmp_path: Path) -> None:
    encoder = Doubling(0.5)
    rows = encoder.made(np.arange(sum(SHAPES)))
    model, _ = fit(features=[rows], encoder=encoder)
    path = tmp_path / "a.model"
    save_model(model, path)
    with pytest.raises(ModelFileError, match=r"'doubling' are unknown.*features=\[\.\.\.\]"):
        load_model(path, structures=[Bits])
    again = load_model(path, structures=[Bits], features=[Doubling])
    assert isinstance(again.features, Doubling)
    np.testing.assert_array_equal(again.features.made([1.0, 2.0]).values, rows.take([1, 2]).values)
    numbers = np.split(np.arange(sum(SHAPES)), np.cumsum(SHAPES)[:-1])
    plain = [y.tolist() for y in again.predict([rows], SHAPES)]
    assert again.predict(numbers) == plain
    assert again.predict(numbers, k=1) == [[(y, pytest.approx(s))] for y, s in zip(
        plain, [float(scores[0]) for scores, _ in again.k_best([rows], SHAPES)], strict=True
    )]  # fmt: skip
    assert load_model(path, structures=[Bits], features=[Doubling]).predict(numbers) == plain
    assert read_header(path)["encoder"] == {"name": "doubling", "data": {}}
    with pytest.raises(DataError, match="'doubling' cannot be found"):
        fit(features=[rows], encoder=encoder, initial=model)
    header, arrays = read_container(path)
    del arrays["encoder_factor"]
    write_container(path, header, arrays)
    with pytest.raises(ModelFileError, match="one factor is expected"):
        load_model(path, structures=[Bits], features=[Doubling])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"shapes": []}, "no examples"),
        ({"gold": []}, "labels for 0 examples"),
        ({"labels": ["a"]}, "1 names of labels where the bits has 0"),
        ({"encoder": NumberedFeatures((5,))}, r"rows of \(4,\) features where the encoder has"),
        ({"encoder": NumberedFeatures((4, 1))}, "2 kinds of sites"),
        ({"sample_weight": [-1, 1, 1, 1, 1]}, "example 0"),
        ({"gold": [np.ones(9)] * 5}, "gold label of example 0"),
        ({"initial": DualPoint(np.zeros(3))}, "dual point"),
        ({"features": [Rows.from_dense(np.full((10, 4), np.nan))]}, "on sites: row 0"),
    ],
)
def test_bad_examples_are_sentences(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        fit(**changes)


def test_bad_requests_are_sentences() -> None:
    model, _ = fit()
    rows, _ = data()
    with pytest.raises(DataError, match="2 kinds of sites where the model has 1: on"):
        model.predict([rows, rows], SHAPES)
    with pytest.raises(DataError, match="k is 0"):
        model.k_best([rows], SHAPES, 0)
    with pytest.raises(DataError, match="size is 0"):
        model.sample([rows], SHAPES, 0)
    with pytest.raises(DataError, match="labels for 1 examples"):
        model.log_proba([rows], SHAPES, [None])
    with pytest.raises(DataError, match="none of its shape"):
        model.log_proba([rows], SHAPES, [np.ones(n + 1) for n in SHAPES])
    hinge, _ = fit(Settings(loss="hinge", l2=10.0, tol=0.05))
    with pytest.raises(MismatchError, match="scores, not probabilities"):
        hinge.sample([rows], SHAPES, 1)
    huge = 1e308 * np.sign(model.layout.dense(model.weights, 0).T)
    with pytest.raises(DataError, match="no finite score"):
        model.sample([Rows.from_dense(np.repeat(huge, 10, axis=0))], SHAPES, 1)
