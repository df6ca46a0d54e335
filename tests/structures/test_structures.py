"""Every structure that has a name can be trained, saved and loaded by it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.bits import Bits
from support.positions import PositionLabeller, PositionSettings, fit_labeller

from partwise import DataError, MismatchError, ModelFileError, load_model, save_model
from partwise.files.container import read_container, write_container
from partwise.models.fit import Settings, fit_model
from partwise.models.model import Model
from partwise.models.numbered import NumberedFeatures
from partwise.problem.rows import Rows
from partwise.structures.base import Structure
from partwise.structures.registry import STRUCTURES, make_structure, structure_class

GRAPH: dict[str, Any] = {
    "domains": {"word": 3, "phrase": 2},
    "factors": {"word": ["word"], "phrase": ["phrase"], "pair": ["word", "phrase"]},
    "tied": ["pair"],
}


def graphs() -> list[Any]:
    from partwise.structures.graph.structure import GraphShape

    alone = (("word", (0,)), ("phrase", (1,)))
    return [
        GraphShape(("word", "phrase"), alone),
        GraphShape(("word", "phrase"), (*alone, ("pair", (0, 1)))),
        GraphShape(("word", "phrase", "word"), (*alone, ("word", (2,)), ("pair", (2, 1)))),
    ]


#: For each structure, constants and shapes of examples.
KNOWN: dict[str, tuple[dict[str, Any], Any]] = {
    "multiclass": ({"n_labels": 3}, [1, 1, 1]),
    "chain": ({"n_labels": 3, "tied": False, "start": True, "end": False}, [1, 3, 2]),
    "second-order-chain": ({"n_labels": 3, "start": False, "end": True}, [1, 4, 3]),
    "semi-markov": (
        {"n_labels": 2, "max_length": 3, "label_lengths": [1, 3], "start": True, "end": True},
        [2, 5, 3],
    ),
    "projective": ({"n_labels": 2, "single_root": True}, [2, 4, 3]),
    "spanning-tree": ({"n_labels": 1, "single_root": False}, [2, 4, 3]),
    "grammar": (
        {
            "n_symbols": 3,
            "rules": [[0, 1, 2], [0, 0, 2], [1, 2, 2]],
            "lexical": [0, 1, 2],
            "starts": [0],
            "split": True,
        },
        [1, 3, 2],
    ),
    "graph": (GRAPH, graphs),
}


def make(name: str) -> tuple[Structure, list[Any]]:
    constants, shapes = KNOWN[name]
    constants = structure_class(name)(**constants).constants()  # with what is the default
    return make_structure(name, constants), shapes() if callable(shapes) else shapes


def features_of(structure: Structure, shapes: list[Any], rng: np.random.Generator) -> list[Rows]:
    """Three random features for each site of the kinds in use."""
    kinds = [structure.sites(structure.topology(shape)).kind for shape in shapes]
    counts = np.bincount(np.concatenate(kinds), minlength=len(structure.kinds))
    widths = [3 if width else 0 for width in structure.widths]
    return [Rows.from_dense(rng.normal(size=pair)) for pair in zip(counts, widths, strict=True)]


def fit(name: str, **more: Any) -> tuple[Model, list[Rows], list[Any]]:
    structure, shapes = make(name)
    rng = np.random.default_rng(0)
    features = features_of(structure, shapes, rng)
    gold = []
    for shape in shapes:
        topo = structure.topology(shape)
        gold.append(structure.best(rng.normal(size=structure.n_parts(topo)), topo)[1])
    counts = tuple(rows.n_features for rows in features)
    labels = [f"label {k}" for k in range(structure.n_labels)]
    model, _ = fit_model(
        "mine", structure, features, shapes, gold, NumberedFeatures(counts), Settings(**more),
        labels=labels,
    )  # fmt: skip
    return model, features, shapes


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("weights", ["all", "observed"])
def test_trained_saved_and_loaded(tmp_path: Path, name: str, weights: str) -> None:
    model, features, shapes = fit(name, weights=weights)
    path = tmp_path / "a.model"
    save_model(model, path)
    again = load_model(path)
    assert type(again.structure) is structure_class(name)
    assert again.structure.constants() == model.structure.constants()
    for a, b in zip(
        again.marginals(features, shapes), model.marginals(features, shapes), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(again.predict(features, shapes), model.predict(features, shapes), strict=True):
        np.testing.assert_array_equal(a, b)
    best = again.predict(features, shapes)
    ranked = again.k_best(features, shapes, 2)
    logs = again.log_proba(features, shapes, best)
    drawn = again.sample(features, shapes, 2)
    for y, (_, ys), log, some in zip(best, ranked, logs, drawn, strict=True):
        np.testing.assert_array_equal(y, ys[0])
        assert -np.inf < log <= 0.0
        assert [one.ndim for one in some] == [y.ndim] * 2
    save_model(again, tmp_path / "b.model")
    assert path.read_bytes() == (tmp_path / "b.model").read_bytes()


JUNK = [None, True, -1, 0, 7, 2**14, 2**20, 2**31, 2**63, 10**400, 0.5, "", "x", [], [0], {}]


@pytest.mark.parametrize("name", STRUCTURES)
def test_hostile_constants_are_refused_or_harmless(tmp_path: Path, name: str) -> None:
    model, features, shapes = fit(name)
    path = tmp_path / "a.model"
    save_model(model, path)
    header, arrays = read_container(path)
    constants = header["structure"]["constants"]
    changes = [{**constants, key: junk} for key in constants for junk in JUNK]
    changes += [{**constants, "extra": 1}, *({"n_labels": junk} for junk in JUNK)]
    changes += [dict.fromkeys(constants, junk) for junk in JUNK]
    for changed in changes:
        shape = {**header["structure"], "constants": changed}
        write_container(path, {**header, "structure": shape}, arrays)
        try:
            again = load_model(path)
        except ModelFileError:
            continue
        # What only limits memory, ties sites or forbids labels may differ.
        assert again.structure.widths == model.structure.widths
        with contextlib.suppress(ValueError):  # the features may not be for such sites
            again.predict(features, shapes)


@pytest.mark.parametrize("name", ["chain", "second-order-chain"])
def test_positions_of_any_structure(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(0)
    lengths = np.array([3, 1, 4])
    rows = Rows.from_dense(rng.normal(size=(8, 3)))
    gold = [rng.integers(2, size=n) for n in lengths]
    constants = {**KNOWN[name][0], "n_labels": 2, **({"tied": True} if name == "chain" else {})}
    structure = make_structure(name, constants)
    model, _ = fit_labeller(
        "tag", rows, lengths, gold, ["x", "y"], PositionSettings(intercept=1.0), structure=structure
    )
    save_model(model, tmp_path / "a.model")
    again = PositionLabeller(load_model(tmp_path / "a.model"))
    for a, b in zip(
        again.marginals(rows, lengths),
        PositionLabeller(model).marginals(rows, lengths),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a.sum(axis=1), 1.0)


def test_the_registry_knows_its_structures() -> None:
    for name in STRUCTURES:
        assert structure_class(name).name == name
    assert make_structure("chain", {"n_labels": 2, "tied": True, "start": False, "end": False})
    for name, constants, says in (
        ("chain", {"n_labels": 2}, "expected end, n_labels, start, tied"),
        ("chain", None, "must be an object"),
        ("multiclass", {"n_labels": 2**25}, "expected 1 to 16777216"),
    ):
        with pytest.raises(DataError, match=says):
            make_structure(name, constants)
    with pytest.raises(MismatchError, match="unknown"):
        make_structure(["chain"], {})


def test_weights_of_other_rules_are_not_taken_over() -> None:
    structure, _ = make("grammar")
    constants = structure.constants()
    numbers = np.arange(structure.n_labels)
    slots = structure.match_slots(make_structure("grammar", constants), numbers)
    assert [len(of) for of in slots] == list(structure.widths)
    np.testing.assert_array_equal(
        np.concatenate(slots), np.concatenate([*map(np.arange, structure.widths)])
    )
    turned = make_structure("grammar", {**constants, "rules": constants["rules"][::-1]})
    assert turned.widths == structure.widths
    with pytest.raises(MismatchError, match="other constants or labels"):
        structure.match_slots(turned, numbers)


def test_a_domain_of_a_graph_has_one_label_or_more() -> None:
    constants = make("graph")[0].constants()
    sizes = constants["domains"]
    made = make_structure("graph", {**constants, "domains": {**sizes, "word": 1}})
    assert made.widths == (1, 2, 2)
    for size in (0, 1.0, True):
        with pytest.raises(DataError, match="domains of a graph"):
            make_structure("graph", {**constants, "domains": {**sizes, "word": size}})


class Wide(Bits):
    name = "wide"

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes
        self.total = sum(sizes)

    @property
    def widths(self) -> tuple[int, ...]:
        return (self.total,)


def test_constants_that_a_constructor_cannot_use_are_a_sentence() -> None:
    assert make_structure("wide", {"sizes": [1, 2]}, [Wide]).widths == (3,)
    assert make_structure("wide", {"sizes": [2**28]}, [Wide]).widths == (2**28,)
    with pytest.raises(DataError, match="at most 268435456"):
        make_structure("wide", {"sizes": [2**28, 1]}, [Wide])
    with pytest.raises(DataError, match="no wide can be made of its constants: TypeError"):
        make_structure("wide", {"sizes": ["a"]}, [Wide])
    with pytest.raises(DataError, match="sites of 1073741824 parts"):
        make_structure("wide", {"sizes": [2**30]}, [Wide])
