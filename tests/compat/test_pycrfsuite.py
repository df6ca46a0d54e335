"""The interface of python-crfsuite, with the original as the oracle."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pycrfsuite
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.crfsuite_data import both, random_sequences, trained

from partwise.compat import pycrfsuite as ours
from partwise.compat.pycrfsuite._dumpparser import CRFsuiteDumpParser
from partwise.errors import PartwiseError

ALGORITHMS = ["lbfgs", "l2sgd", "ap", "pa", "arow"]

names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=4)
numbers = st.one_of(st.booleans(), st.integers(-5, 5), st.floats(-1e6, 1e6))
plain = st.one_of(numbers, names, names.map(str.encode))
lists = st.one_of(st.lists(names, max_size=3), st.sets(names, max_size=3))
nested = st.recursive(
    st.dictionaries(names, st.one_of(plain, lists), max_size=3),
    lambda inner: st.dictionaries(names, st.one_of(plain, inner), max_size=3),
    max_leaves=6,
)
items = st.one_of(nested, st.lists(names, max_size=4), st.tuples(names, names))


@given(st.lists(items, max_size=3))
def test_items_are_read_as_by_the_original(sequence: Any) -> None:
    mine = ours.ItemSequence(sequence)
    theirs = pycrfsuite.ItemSequence(sequence)
    assert mine.items() == theirs.items()
    assert (len(mine), repr(mine)) == (len(theirs), repr(theirs))


def test_names_of_other_iterables_and_bytes() -> None:
    item = {"a": 1, b"k\xc3\xa9": b"v\xff"}
    assert ours.ItemSequence([{"a": 1}.keys(), iter(["b"])]).items() == [{"a": 1.0}, {"b": 1.0}]
    assert list(ours.ItemSequence([item]).items()[0]) == ["a", "k\u00e9:v\udcff"]


def nest(depth: int) -> Any:
    """Return a dict inside as many others."""
    found: Any = {"x": 1}
    for _ in range(depth):
        found = {"x": found}
    return found


@pytest.mark.parametrize(
    "sequence",
    ["foo", b"foo", 5, {"a": 1}, ["foo"], [5], [None], [[{"foo": 1.0}]], [{"a": None}], [{1: 2}],
     [{"a": (1, 2)}], [{"a": {"b": None}}], [{"a": [1]}], [{"a": float("nan")}],
     [{"a": float("inf")}], [{"a": 10**400}], [{"a": 1j}], [nest(200)]],
)  # fmt: skip
def test_other_features_are_refused(sequence: Any) -> None:
    """Also by code that expects the TypeError of the original."""
    with pytest.raises(ValueError, match=r"give|use|leave"):
        ours.ItemSequence(sequence)
    with pytest.raises(TypeError):
        ours.Trainer().append(sequence, [])
    with pytest.raises(PartwiseError):
        ours.Trainer().append(sequence, [])


@pytest.mark.parametrize(
    ("tokens", "labels", "why"),
    [
        ([{"a": 1}], ["x", "y"], "differ"),
        ([{"a": 1}], "x", "list of strings"),
        ([{"a": 1}], [1], "give '1'"),
        ([{"a": 1}], ["x\0"], "zero byte"),
        ([{"b": 1}, {"a": "x\0"}], ["x", "y"], "zero byte"),
    ],
)
def test_a_refused_sequence_leaves_nothing_behind(
    tokens: Any, labels: Any, why: str, tmp_path: Path
) -> None:
    files = []
    for refused in (False, True):
        trainer = ours.Trainer(verbose=False)
        trainer.append([{"a": 1}, {"c": 1}], ["x", "y"])
        if refused:
            with pytest.raises(ValueError, match=why):
                trainer.append(tokens, labels)
        trainer.append([{"a": 1}], ["y"])
        trainer.train(str(tmp_path / "m"))
        assert trainer.logparser is not None
        counts = [line for line in trainer.logparser.log if "active" in line]
        files.append(((tmp_path / "m").read_bytes(), counts))
    assert files[0] == files[1]


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "averaged-perceptron", "passive-aggressive"])
def test_parameters_are_those_of_the_original(algorithm: str) -> None:
    theirs, mine = pycrfsuite.Trainer(algorithm), ours.Trainer(algorithm)
    assert mine.params() == theirs.params()
    assert mine.get_params() == theirs.get_params()
    kinds = [type(value) for value in theirs.get_params().values()]
    assert [type(value) for value in mine.get_params().values()] == kinds
    for name in mine.params():
        assert mine.help(name)
    for change in (1, 3, True, "2", 7.0):
        for trainer in (theirs, mine):
            trainer.set("max_iterations", change)
            trainer.set("feature.minfreq", change)
            trainer.set("feature.possible_states", change)
        assert mine.get_params() == theirs.get_params()
    for call in (mine.help, mine.get, lambda name: mine.set(name, 1)):
        with pytest.raises(ValueError, match=f"Parameter not found: foo.*{mine.params()[-1]}"):
            call("foo")
    with pytest.raises(ValueError, match="max_iterations is 'many'; give a int"):
        mine.set("max_iterations", "many")


def test_a_value_is_kept_as_it_was_set() -> None:
    trainer = ours.Trainer(params={"c2": 1.25e-8})
    assert trainer.get("c2") == 1.25e-8
    trainer.select("l2sgd")
    assert trainer.get("c2") == 1.0
    with pytest.raises(ValueError, match=r"algorithm='sgd'.*lbfgs, l2sgd, ap, pa and arow"):
        trainer.select("sgd")
    with pytest.raises(ValueError, match="type='tree'"):
        trainer.select("lbfgs", "tree")


@pytest.mark.parametrize(
    ("name", "value"), [("c2", 0), ("c2", -1), ("c1", -1), ("delta", 0), ("max_iterations", 0)]
)
def test_parameters_without_a_meaning(name: str, value: Any, tmp_path: Path) -> None:
    trainer = ours.Trainer(params={name: value}, verbose=False)
    trainer.append([{"a": 1}], ["x"])
    with pytest.raises(ValueError, match=rf"{name} is {value}.*give"):
        trainer.train(str(tmp_path / "m"))
    assert not (tmp_path / "m").exists()


def test_both_taggers_read_both_files(tmp_path: Path) -> None:
    """The same labels, also where several are equally good, and the same probabilities."""
    X, y = random_sequences(1, 40, 40)
    other, _ = random_sequences(2, 40, 60)
    for algorithm in ("lbfgs", "ap"):
        both(algorithm, X, y, tmp_path)
        for name in ("theirs", "ours"):
            theirs, mine = pycrfsuite.Tagger(), ours.Tagger()
            theirs.open(str(tmp_path / name))
            with open(tmp_path / name, "rb") as file:
                mine.open_inmemory(file.read())
            assert mine.tag_all(other) == [theirs.tag(tokens) for tokens in other]
            tables = mine.marginals_all(other)
            draw = random.Random(0)
            for tokens, table in zip(other, tables, strict=True):
                assert mine.tag(tokens) == theirs.tag(tokens) == mine.tag() == theirs.tag()
                labels = [draw.choice("ABC") for _ in tokens]
                assert mine.probability(labels) == pytest.approx(
                    theirs.probability(labels), rel=1e-9
                )
                for t in range(len(tokens)):
                    for k, label in enumerate(mine.labels()):
                        expected = theirs.marginal(label, t)
                        assert mine.marginal(label, t) == pytest.approx(expected, abs=1e-12)
                        assert table[t, k] == pytest.approx(expected, abs=1e-12)
            mine.dump(tmp_path / "mine.txt")
            # The original does not shorten a file that is there.
            theirs.dump(str(tmp_path / f"{algorithm} {name}.txt"))
            text = (tmp_path / f"{algorithm} {name}.txt").read_text()
            assert (tmp_path / "mine.txt").read_text() == text


def test_the_dump_is_read_back(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    X, y = random_sequences(3)
    _, tagger = trained(ours, "lbfgs", X, y, tmp_path / "m")
    tagger.dump()
    printed = capfd.readouterr().out
    for parser in (CRFsuiteDumpParser(), pycrfsuite._dumpparser.CRFsuiteDumpParser()):
        for line in printed.splitlines(keepends=True):
            parser.feed(line)
        found, held = parser.result, tagger.info()
        assert (found.header, found.labels, found.attributes) == (
            held.header, held.labels, held.attributes,
        )  # fmt: skip
        assert found.state_features == pytest.approx(held.state_features, abs=1e-6)
        assert found.transitions == pytest.approx(held.transitions, abs=1e-6)
    with pytest.raises(ValueError, match="none of a dump"):
        CRFsuiteDumpParser().feed("  (1) a --> b: 0.5")


def test_weights_have_all_their_digits(tmp_path: Path) -> None:
    X, y = random_sequences(3)
    _, tagger = trained(ours, "lbfgs", X, y, tmp_path / "m", c2=100)
    weights = list(tagger.info().state_features.values())
    assert any(weight != round(weight, 6) for weight in weights)


def test_closed_taggers(tmp_path: Path) -> None:
    tagger = ours.Tagger()
    calls: list[Any] = [
        tagger.labels,
        tagger.tag,
        lambda: tagger.tag([{"a": 1}]),
        lambda: tagger.set([{"a": 1}]),
        lambda: tagger.probability(["x"]),
        lambda: tagger.marginal("x", 0),
        lambda: tagger.tag_all([]),
    ]
    ours.Trainer(verbose=False).train(str(tmp_path / "empty"))
    with tagger.open(tmp_path / "empty"):
        assert (tagger.labels(), tagger.tag([]), tagger.tag()) == ([], [], [])
        with pytest.raises(ValueError, match="no labels"):
            tagger.tag([{"a": 1}])
    _, other = trained(ours, "ap", [[{"a": 1}]], [["x"]], tmp_path / "m")
    assert other.tag([{"a": 1}]) == ["x"]
    # A model that is opened has no current sequence yet.
    other.open(tmp_path / "m")
    assert other.tag() == []
    for call in calls:
        with pytest.raises(ValueError, match="not opened"):
            call()
    for call in (tagger.info, tagger.dump):
        with pytest.raises(RuntimeError, match="closed"):
            call()


def test_labels_and_positions_that_a_model_does_not_have(tmp_path: Path) -> None:
    X, y = random_sequences(4)
    _, tagger = trained(ours, "lbfgs", X, y, tmp_path / "m")
    assert (tagger.probability(["A"]), tagger.marginal("A", 0)) == (0.0, 0.0)
    tagger.set([{"f1": 1}, {}])
    with pytest.raises(ValueError, match=r"\|x\| = 2, \|y\| = 1"):
        tagger.probability(["A"])
    for call in (lambda: tagger.probability(["A", "new"]), lambda: tagger.marginal("new", 0)):
        with pytest.raises(RuntimeError, match="identifier: new"):
            call()
    for place in (-1, 2):
        with pytest.raises(ValueError, match="out of range of 2"):
            tagger.marginal("A", place)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("holdout", [-1, 1])
def test_the_log_of_the_original_is_read_in_the_same_way(
    algorithm: str, holdout: int, tmp_path: Path
) -> None:
    X, y = random_sequences(5)
    trainer = pycrfsuite.Trainer(algorithm, verbose=False)
    for i, (tokens, labels) in enumerate(zip(X, y, strict=True)):
        trainer.append(tokens, labels, i % 2)
    trainer.append([{"a": 1}], ["new"], 2)
    trainer.train(str(tmp_path / "m"), holdout=holdout)
    parser = ours.TrainLogParser()
    for message in trainer.logparser.log:
        parser.feed(message)
    assert parser.last_log == trainer.logparser.last_log
    held = vars(parser)
    for one in parser.iterations:
        # The original does not see labels that are found where there are none.
        one["scores"] = {k: v for k, v in one["scores"].items() if v.ref or not v.model}
    for name, value in vars(trainer.logparser).items():
        if name == "state":
            continue
        if name in ("iterations", "last_iteration"):
            assert str(held[name]) == str(value)
        else:
            # A time of 0.000 s is none to the original.
            assert (held[name] or None) == (value or None)


@pytest.mark.parametrize("algorithm", ["ap", "pa", "arow"])
def test_messages_are_those_of_the_original(algorithm: str, tmp_path: Path) -> None:
    """Up to the times, and the words on the certificate."""
    logs = []
    (X, y), (X_dev, y_dev) = random_sequences(6, 1), random_sequences(7, 10)
    for module in (pycrfsuite, ours):
        trainer = module.Trainer(algorithm, {"max_iterations": 4}, False)
        trainer.append(X[0], y[0])
        for tokens, labels in zip(X_dev, y_dev, strict=True):
            trainer.append(tokens, labels, 1)
        trainer.train(str(tmp_path / "m"), holdout=1)
        log = "".join(trainer.logparser.log).splitlines()
        logs.append([line for line in log if "econds required" not in line])
    mine = [line for line in logs[1] if not line.startswith("partwise: no certificate")]
    assert mine == logs[0]
    assert len(logs[1]) == len(mine) + 1


def test_messages_of_a_certified_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = random_sequences(8)
    trainer = ours.Trainer("lbfgs", {"c1": 0.1, "c2": 0.1})
    for i, (tokens, labels) in enumerate(zip(X, y, strict=True)):
        trainer.append(tokens, labels, i % 3)
    trainer.train(str(tmp_path / "m"), holdout=2)
    parser, printed = trainer.logparser, capsys.readouterr().out
    assert parser is not None
    assert printed == "".join(parser.log)
    assert trainer.certificate is not None
    last = parser.iterations[-1]
    assert last["loss"] == pytest.approx(trainer.certificate.primal, abs=1e-5)
    assert last["duality_gap"] == pytest.approx(trainer.certificate.gap, abs=1e-5)
    assert set(last["scores"]) == {"A", "B", "C"}
    assert 0 < last["item_accuracy_float"] <= 1
    assert parser.featgen_num_features is not None
    assert last["active_features"] <= parser.featgen_num_features
    assert "relative gap is at most" in printed
    assert f"Number of active features: {len(_weights(tmp_path / 'm'))} (" in printed


def _weights(path: Path) -> dict[Any, float]:
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    info = tagger.info()
    return {**info.state_features, **info.transitions}


@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("least", [0, 2])
def test_features_are_counted_as_by_the_original(states: bool, least: int, tmp_path: Path) -> None:
    X, y = random_sequences(9)
    counts = []
    for module in (pycrfsuite, ours):
        trainer = module.Trainer("ap", {"max_iterations": 1}, False)
        trainer.set_params({"feature.possible_states": states, "feature.minfreq": least})
        for i, (tokens, labels) in enumerate(zip(X, y, strict=True)):
            trainer.append(tokens, labels, i % 2)
        trainer.train(str(tmp_path / "m"), holdout=1)
        counts.append(trainer.logparser.featgen_num_features)
    assert counts[0] == counts[1] > 0


def test_the_certificate_is_beside_the_model(tmp_path: Path) -> None:
    X, y = random_sequences(10)
    path, beside = tmp_path / "m", tmp_path / "m.certificate.json"
    trainer, _ = trained(ours, "lbfgs", X, y, path, c2=0.25)
    record = json.loads(beside.read_text())
    assert record["certificate"] == trainer.certificate.to_json()
    assert (record["algorithm"], record["parameters"]["c2"]) == ("lbfgs", 0.25)
    # A model that has none must not keep that of another.
    trained(ours, "ap", X, y, path)
    assert not beside.exists()
    trainer.train("")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m"]


def test_an_error_in_a_message_ends_the_training(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    class Impatient(ours.Trainer):
        def on_iteration(self, log: str, info: Any) -> None:
            raise Stop(info["num"])

    X, y = random_sequences(11)
    trainer = Impatient("lbfgs")
    for tokens, labels in zip(X, y, strict=True):
        trainer.append(tokens, labels)
    with pytest.raises(Stop):
        trainer.train(str(tmp_path / "m"))
    assert not (tmp_path / "m").exists()


def test_cleared_data(tmp_path: Path) -> None:
    X, y = random_sequences(12)
    trainer = ours.Trainer(verbose=False)
    trainer.append([{"gone": 1}], ["gone"])
    trainer.clear()
    for tokens, labels in zip(X, y, strict=True):
        trainer.append(ours.ItemSequence(tokens), labels)
    trainer.train(str(tmp_path / "m"))
    with ours.Tagger().open(str(tmp_path / "m")) as tagger:
        assert set(tagger.labels()) == set("ABC")


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    tagger = ours.Tagger()
    for content in (b"", b"lCRFabc", b"lCRFfoo" * 100):
        (tmp_path / "m").write_bytes(content)
        with pytest.raises(ValueError, match="m: "):
            tagger.open(str(tmp_path / "m"))
        with pytest.raises(ValueError, match="CRFsuite"):
            tagger.open_inmemory(content)
    with pytest.raises(OSError, match="absent"):
        tagger.open(str(tmp_path / "absent"))
