"""Estimators made of saved models: their parameters, and input that the model cannot read."""

from __future__ import annotations

import dataclasses
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.grammar_of_arcs import treebank as arc_trees
from support.grammar_of_phrases import treebank as phrase_trees

from partwise import (
    ConstituencyParser,
    ConvergenceWarning,
    DataError,
    DependencyParser,
    GraphLabeler,
    KernelClassifier,
    KernelTagger,
    LinearClassifier,
    LinearClassifierCV,
    SegmentTagger,
    SequenceTagger,
    SequenceTaggerCV,
    UnknownFeaturesWarning,
    load_model,
    save_model,
)
from partwise.files.container import read_container, write_container
from partwise.formats.conll import Sentence
from partwise.models.file import read_header
from partwise.tasks.constituency.templates import standard_templates
from partwise.training.settings import Settings, as_json, read_noted

#: What no model keeps: it belongs to the process that fits.
SESSION = {"n_jobs", "warm_start", "verbose", "callbacks", "checkpoint", "out_of_core"}
SHARED: dict[str, Any] = {
    "loss": "softmax-margin",
    "l2": 0.5,
    "l1": 0.01,
    "solver": "owl-qn",
    "solver_options": {"memory": 4},
    "tol": 0.3,
    "max_passes": 70,
    "random_state": 3,
    "missing_label": "?",
}
KERNEL: dict[str, Any] = {
    **{name: SHARED[name] for name in SHARED if name != "l1"},
    "kernel": "poly",
    "gamma": "auto",
    "degree": 2,
    "coef0": 0.5,
    "gram_tol": 1e-9,
    "memory_limit": 100,
    "solver": "lbfgs",
}
COST = [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
CHAIN: dict[str, Any] = {"order": 2, "start": True, "end": True, "constraints": "BIO"}

TOKENS = [
    [{"w": "the"}, {"w": "dog"}, {"w": "barks"}],
    [{"w": "a"}, {"w": "dog"}],
    [{"w": "the"}, {"w": "barks"}],
]
TAGS = [["B-NP", "I-NP", "O"], ["B-NP", "I-NP"], ["B-NP", "O"]]
ROWS = [np.eye(5)[:n] + 0.1 for n in (3, 2, 2)]
TABLE = (np.arange(12.0).reshape(6, 2) % 5, [4, 5, 6, 4, 5, 6])
EDGES = [[0, 1], [1, 2]]
GRAPHS = [([{"w": "x"}, {"w": "y"}, {"w": "x"}], EDGES, [{"e": "p"}, {"e": "q"}])] * 2

Case = tuple[Any, dict[str, Any], tuple[Any, ...]]
CASES: dict[str, Case] = {
    "classifier": (
        LinearClassifier,
        {
            **SHARED,
            "fit_intercept": False,
            "intercept_scaling": 3.0,
            "weights": "observed",
            "min_count": 2,
            "cost_matrix": COST,
            "class_weight": {5: 2.0},
        },
        TABLE,
    ),
    "tagger": (
        SequenceTagger,
        {
            **SHARED,
            **CHAIN,
            "weights": "observed",
            "min_count": 2,
            "cost_matrix": COST,
            "transition_weights": "all",
            "min_frequency": 1.0,
            "class_weight": {"O": 2.0},
        },
        (TOKENS, TAGS),
    ),
    "segmenter": (
        SegmentTagger,
        {
            **SHARED,
            "weights": "observed",
            "min_count": 2,
            "max_length": 3,
            "outside": "X",
            "scheme": "IOB2",
            "segment_features": "text",
            "start": True,
            "end": True,
            "constraints": [["NP", "NP"]],
            "cost_matrix": [[0.0, 2.0], [1.0, 0.0]],
            "class_weight": "balanced",
        },
        (TOKENS, [[tag.replace("O", "X") for tag in tags] for tags in TAGS]),
    ),
    "parser": (
        DependencyParser,
        {
            **SHARED,
            "projective": False,
            "labelled": True,
            "single_root": False,
            "nonprojective_gold": "skip",
            "weights": "observed",
            "min_count": 2,
            "templates": ["h.pos m.pos", "m.form"],
        },
        (arc_trees(5),),
    ),
    "hashing parser": (
        DependencyParser,
        {**SHARED, "nonprojective_gold": "raise", "hashing": 256},
        (arc_trees(5),),
    ),
    "brackets": (
        ConstituencyParser,
        {
            **SHARED,
            "horizontal": 0,
            "vertical": 2,
            "side": "left",
            "max_length": 8,
            "tags": "predict",
            "splits": True,
            "weights": "observed",
            "min_count": 2,
            "templates": {kind: list(held) for kind, held in standard_templates(False).items()},
        },
        (phrase_trees(6, longest=10),),
    ),
    "graph": (
        GraphLabeler,
        {
            **SHARED,
            "weights": "observed",
            "domains": {"label": ["a", "b", "c"]},
            "symmetric": True,
            "constant": False,
            "forbidden": {"edge": [["a", "c"]]},
            "cost_matrix": COST,
            "max_megabytes": 100,
        },
        (GRAPHS, [["a", "b", "a"], ["b", "b", "a"]]),
    ),
    "kernel classifier": (
        KernelClassifier,
        {
            **KERNEL,
            "fit_intercept": False,
            "intercept_scaling": 3.0,
            "cost_matrix": COST,
            "class_weight": {5: 2.0},
        },
        TABLE,
    ),
    "kernel tagger": (
        KernelTagger,
        {**KERNEL, **CHAIN, "cost_matrix": COST, "class_weight": {"O": 2.0}},
        (ROWS, TAGS),
    ),
}
#: Parameters that cannot differ from the default together with the others of a case.
LEFT_OUT = {
    # Tokens that hold their features have no templates, hashed features are not counted, and
    # chains of order 2 are always tied.
    "classifier": {"hashing"},
    "tagger": {"templates", "hashing", "tied"},
    "segmenter": {"hashing"},
    "brackets": {"hashing"},
    "graph": {"hashing"},
    "kernel tagger": {"templates", "tied"},
    "parser": {"hashing"},
    "hashing parser": {
        "projective", "labelled", "single_root", "weights", "min_count", "templates",
    },
}  # fmt: skip


def fitted(name: str) -> Any:
    kind, parameters, data = CASES[name]
    made = kind(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return made.fit(*data)


@pytest.mark.parametrize("name", CASES)
def test_parameters_come_back(name: str, tmp_path: Path) -> None:
    kind, _, data = CASES[name]
    made = fitted(name)
    session = SESSION if "kernel" in name else {*SESSION, "memory_limit"}
    kept = {k: v for k, v in made.get_params().items() if k not in session}
    same = {k for k, v in kind().get_params().items() if k in kept and kept[k] == v}
    assert same == LEFT_OUT.get(name, set())
    save_model(made, tmp_path / "m")
    again = kind.from_model(load_model(tmp_path / "m"))
    assert {k: v for k, v in again.get_params().items() if k in kept} == kept
    found, wanted = again.predict(data[0]), made.predict(data[0])
    assert np.array_equal(found, wanted) if isinstance(found, np.ndarray) else found == wanted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        again.fit(*data)
    np.testing.assert_array_equal(again.model_.weights, made.model_.weights)


@pytest.mark.parametrize("name", ["tagger", "segmenter", "parser", "graph"])
def test_files_without_settings_give_what_the_model_holds(name: str, tmp_path: Path) -> None:
    kind, parameters, _ = CASES[name]
    made = fitted(name)
    save_model(made, tmp_path / "new")
    header, arrays = read_container(tmp_path / "new")
    assert header["meta"].pop("partwise settings")["solver"] == "owl-qn"
    write_container(tmp_path / "old", header, arrays)
    assert load_model(tmp_path / "old").settings == {}
    assert read_header(tmp_path / "old")["settings"] == {}
    again = kind.from_model(load_model(tmp_path / "old"))
    held = {"loss", "l2", "l1", "tol"}
    assert {k: getattr(again, k) for k in held} == {k: parameters[k] for k in held}
    if name == "tagger":
        assert (again.order, again.start, again.weights, again.min_count) == (2, True, "all", 1)
        assert again.constraints.transitions == made.model_.constraints.transitions
    if name == "segmenter":
        assert (again.max_length, again.scheme, again.segment_features) == (3, "IOB2", "text")
    if name == "parser":
        assert again.templates == tuple(parameters["templates"])
        assert (again.projective, again.nonprojective_gold) == (False, "lift")
    if name == "graph":
        assert again.forbidden == {"edge": [("a", "c")]}
        assert again.domains == {"label": ("a", "b", "c")}


@pytest.mark.parametrize("odd", [5, {"weights": 3, "class_weight": [[[1], 2], 7], "no": 1}])
def test_odd_settings_do_no_harm(odd: Any, tmp_path: Path) -> None:
    save_model(fitted("tagger"), tmp_path / "new")
    header, arrays = read_container(tmp_path / "new")
    header["meta"]["partwise settings"] = odd
    write_container(tmp_path / "odd", header, arrays)
    again = SequenceTagger.from_model(load_model(tmp_path / "odd"))
    assert again.predict(TOKENS) == fitted("tagger").predict(TOKENS)
    if odd != 5:
        with pytest.raises(DataError, match="weights is 3"):
            again.fit(TOKENS, TAGS)


def test_what_json_cannot_hold_is_left_out() -> None:
    class_weight = {np.int64(1): np.float64(2.0), 2: 1.0}
    made = SequenceTagger(
        class_weight=class_weight, cost_matrix=np.eye(2), max_passes=np.inf, constraints=max,
        random_state=None,
    )  # fmt: skip
    noted = made.noted()
    assert noted == json.loads(json.dumps(noted))
    assert noted == {
        "solver": "auto", "weights": "all", "min_count": 1, "cost_matrix": [[1.0, 0.0], [0.0, 1.0]],
        "class_weight": [[1, 2.0], [2, 1.0]], "solver_options": None, "random_state": None,
        "order": 1, "tied": True, "start": False, "end": False, "transition_weights": None,
        "min_frequency": None, "missing_label": None, "hashing": None,
    }  # fmt: skip
    assert as_json({"templates": ("a",), "domains": {1: [2]}, "l2": np.float64(2.0)}) == {"l2": 2.0}
    assert Settings(seed=np.random.default_rng(0), max_passes=np.inf).noted() == {
        "solver": "auto", "weights": "all", "cost_matrix": None, "solver_options": None,
    }  # fmt: skip
    assert read_noted(noted, ["class_weight", "solver"])["class_weight"] == {1: 2.0, 2: 1.0}


@pytest.mark.parametrize("kind", [LinearClassifierCV, SequenceTaggerCV])
def test_those_that_choose_l2_keep_their_parameters(kind: Any, tmp_path: Path) -> None:
    X, y = (TABLE[0], TABLE[1]) if kind is LinearClassifierCV else (TOKENS, TAGS)
    made = kind(steps=2, tol=0.3, solver="lbfgs", random_state=2, cv=2)
    made.fit(X, y, dev=(X, y))
    save_model(made, tmp_path / "m")
    again = kind.from_model(load_model(tmp_path / "m"))
    assert (again.solver, again.random_state, again.l2) == ("lbfgs", 2, made.l2_)


# Input of which the model knows nothing

STRANGE: dict[str, Any] = {
    "tagger": [[{"q": "unseen"}, "w"], []],
    "segmenter": [[{"w": "7-up"}]],
    "parser": [Sentence.from_columns(["unseen", "too"], pos=["?", "?"], head=[0, 1])],
    "hashing parser": [Sentence.from_columns(["unseen", "too"], pos=["?", "?"], head=[0, 1])],
    "brackets": [[("7-up8", "?"), ("8-up9", "?")]],
    "graph": [([{"w": "unseen"}] * 3, EDGES, [{}, {}])],
}


@pytest.mark.parametrize("name", STRANGE)
def test_input_of_unknown_features_is_warned_of(name: str) -> None:
    made = fitted(name)
    known = made.predict(CASES[name][2][0])
    for method in ("predict", "predict_marginals"):
        with pytest.warns(UnknownFeaturesWarning, match=r"knows none of the .*100% are") as found:
            getattr(made, method)(STRANGE[name])
        assert len(found) == 1
        assert found[0].filename == __file__
    # A single thing that is known is enough, and nothing at all is no matter.
    assert made.predict([*STRANGE[name], *CASES[name][2][0]])[-len(known) :] == known
    assert made.predict([]) == []


def test_tokens_without_features_are_no_matter() -> None:
    made = fitted("tagger")
    made.predict([[{}, []], [], [{"w": None}]])
    made.score([[{}]], [["O"]])
    # The features of whole segments count too, but for what is before and after the sentence.
    fitted("segmenter").predict([[{"w": "unseen"}]])
    with pytest.warns(UnknownFeaturesWarning, match="none of the 2 features"):
        made.score([[["unseen", "too"]]], [["O"]])
    fitted("graph").predict([([{}] * 3, EDGES, [{}, {}])])


def test_transitions_count_too() -> None:
    steps = [[{"s": "x"}] * (len(tokens) - 1) for tokens in TOKENS]
    made = SequenceTagger(tol=0.3).fit(TOKENS, TAGS, X_transitions=steps)
    made.predict([["unseen", "too"]], X_transitions=[[{"s": "x"}]])
    with pytest.warns(UnknownFeaturesWarning, match="none of the 3 features"):
        made.predict([["unseen", "too"]], X_transitions=[[{"s": "y"}]])


def test_models_without_settings_are_made_as_before() -> None:
    model = fitted("tagger").model_
    bare = dataclasses.replace(model, settings={})
    assert SequenceTagger.from_model(bare).weights == "all"
    assert SequenceTagger.from_model(model).weights == "observed"
