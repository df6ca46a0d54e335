"""Text models of Wapiti and CRF++: the labels of the programs, and sums of the weights."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.foreign_models import (
    CRFPP,
    SENTENCES,
    TRAINING,
    WAPITI,
    WAPITI_LABELS,
    WAPITI_WITHOUT_PATTERNS,
    ranked,
)

from partwise import ModelFileError, SequenceTagger, Templates, load_model, save_model
from partwise.models.foreign.registry import read_model
from partwise.models.model import Model

Weights = dict[tuple[str, ...], float]


def put(folder: Path, text: str) -> Path:
    path = folder / "foreign"
    path.write_text(text)
    return path


@pytest.fixture
def wapiti(tmp_path: Path) -> Model:
    return read_model(put(tmp_path, WAPITI), "wapiti-model")


@pytest.fixture
def crfpp(tmp_path: Path) -> Model:
    return read_model(put(tmp_path, CRFPP), "crfpp-model")


def wapiti_weights(text: str) -> Weights:
    """Read the weights of a Wapiti model in the simplest way."""
    _, labels_text, rest = text.split("#qrk#")
    labels = re.findall(r"^\d+:(.*),$", labels_text, re.MULTILINE)
    keys: list[tuple[str, ...]] = []
    for name in re.findall(r"^\d+:(.*),$", rest, re.MULTILINE):
        if name[0] != "b":
            keys += [(name, y) for y in labels]
        if name[0] != "u":
            keys += [(name, a, b) for a in labels for b in labels]
    pairs = re.findall(r"^(\d+)=(\S+)$", rest, re.MULTILINE)
    return {keys[int(number)]: float.fromhex(value) for number, value in pairs}


def crfpp_weights(text: str) -> Weights:
    _, labels_text, _, names, numbers = text.split("\n\n")
    labels, values = labels_text.split("\n"), numbers.split()
    found: Weights = {}
    for line in names.split("\n"):
        number, name = line.split(" ")
        every = [(name, y) for y in labels]
        if name[0] == "B":
            every = [(name, a, b) for a in labels for b in labels]  # type: ignore[misc]
        for k, key in enumerate(every):
            found[key] = float(values[int(number) + k])
    return found


def test_wapiti_gives_the_labels_that_wapiti_gives(wapiti: Model) -> None:
    assert wapiti.predict(SENTENCES) == WAPITI_LABELS


@pytest.mark.parametrize("name", ["wapiti", "crfpp"])
def test_scores_are_sums_of_the_weights_in_the_file(
    name: str, request: pytest.FixtureRequest
) -> None:
    model: Model = request.getfixturevalue(name)
    weights = wapiti_weights(WAPITI) if name == "wapiti" else crfpp_weights(CRFPP)
    templates = model.features.templates  # type: ignore[attr-defined]
    assert isinstance(templates, Templates)
    names, pairs = templates.apply(SENTENCES), templates.apply_transitions(SENTENCES)
    for sentence, (scores, labels), own, two in zip(
        SENTENCES, model.k_best(SENTENCES, k=10**4), names, pairs, strict=True
    ):
        wanted = ranked(weights, own, two, [str(label) for label in model.labels])
        assert len(scores) == len(wanted) == len(model.labels) ** len(sentence)
        np.testing.assert_allclose(scores, [score for score, _ in wanted], rtol=0, atol=1e-12)
        assert labels[0] == wanted[0][1]


def test_names_of_features_do_as_well_as_columns(wapiti: Model) -> None:
    templates = Templates(["u0:%x[0,0]", "*1:%x[0,1]", "b"], "wapiti")
    names = templates.apply(SENTENCES)
    steps = [[[one for one in pair if one != "b"] for pair in sentence]
             for sentence in templates.apply_transitions(SENTENCES)]  # fmt: skip
    assert wapiti.predict(names, X_transitions=steps) == WAPITI_LABELS


def test_probabilities_are_those_of_a_random_field(wapiti: Model) -> None:
    tables = wapiti.marginals(SENTENCES)
    every = ranked(
        wapiti_weights(WAPITI),
        *(made[0] for made in (
            wapiti.features.templates.apply(SENTENCES[:1]),  # type: ignore[attr-defined]
            wapiti.features.templates.apply_transitions(SENTENCES[:1]),  # type: ignore[attr-defined]
        )),
        ["O", "B", "I"],
    )  # fmt: skip
    odds = np.exp([score for score, _ in every])
    wanted = sum(p for p, (_, labels) in zip(odds, every, strict=True) if labels[0] == "O")
    assert tables[0][0, 0] == pytest.approx(wanted / odds.sum(), abs=1e-12)


@pytest.mark.parametrize("name", ["wapiti", "crfpp"])
def test_a_converted_model_survives_its_file(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    model: Model = request.getfixturevalue(name)
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.origin == model.origin
    assert not again.certificate.known
    for old, new in zip(model.k_best(SENTENCES, k=5), again.k_best(SENTENCES, k=5), strict=True):
        assert old[0].tolist() == new[0].tolist()
        assert old[1] == new[1]


def test_cost_factor_multiplies_scores(tmp_path: Path, crfpp: Model) -> None:
    twice = read_model(
        put(tmp_path, CRFPP.replace("cost-factor: 1", "cost-factor: 2")), "crfpp-model"
    )
    assert crfpp.origin is not None
    assert crfpp.origin.comparable
    assert twice.origin is not None
    assert not twice.origin.comparable
    best = [float(scores[0]) for scores, _ in crfpp.k_best(SENTENCES, k=1)]
    assert [float(scores[0]) for scores, _ in twice.k_best(SENTENCES, k=1)] == [
        pytest.approx(2 * score) for score in best
    ]


def test_plain_pairs_need_no_features_of_transitions(tmp_path: Path) -> None:
    lines = [line for line in CRFPP.split("\n") if not line.startswith(("B1:", "12 B1", "16 B1",
                                                                        "24 B1"))]  # fmt: skip
    model = read_model(put(tmp_path, "\n".join(lines)), "crfpp-model")
    assert model.structure.constants()["tied"]
    weights = {key: w for key, w in crfpp_weights(CRFPP).items() if not key[0].startswith("B1")}
    names = Templates(["U0:%x[0,0]", "U1:%x[-1,0]/%x[0,0]"]).apply(SENTENCES)
    for (scores, _), own in zip(model.k_best(SENTENCES, k=1), names, strict=True):
        best = ranked(weights, own, [["B"]] * (len(own) - 1), ["B", "O"])[0]
        assert scores[0] == pytest.approx(best[0], abs=1e-12)


def test_how_far_wapiti_was_from_its_optimum(wapiti: Model) -> None:
    rows = [[line.split() for line in one.splitlines()] for one in TRAINING.split("\n\n")]
    X, y = [[row[:2] for row in one] for one in rows], [[row[2] for row in one] for one in rows]
    tagger = SequenceTagger.from_model(wapiti)
    tagger.set_params(l1=0.1, l2=0.01, tol=1e-9, warm_start=True, templates=[
        "u0:%x[0,0]", "*1:%x[0,1]", "b"])  # fmt: skip
    tagger.fit(X, y)
    start = tagger.started_from_
    assert start is not None
    least, most = start.above(tagger.certificate_)
    assert start.n_used == start.n_weights == 24
    # It stopped early, because the labels of its training data no longer changed.
    assert 0 < least <= most < 0.1 * start.objective
    assert start.objective == pytest.approx(tagger.certificate_.primal + least, rel=1e-12)
    # The objective of these weights, from its definition.
    weights = wapiti_weights(WAPITI)
    templates = Templates(["u0:%x[0,0]", "*1:%x[0,1]", "b"], "wapiti")
    total = sum(0.1 * abs(w) + 0.005 * w * w for w in weights.values())
    for own, two, gold in zip(templates.apply(X), templates.apply_transitions(X), y, strict=True):
        every = ranked(weights, own, two, ["O", "B", "I"])
        right = next(score for score, labels in every if labels == gold)
        total += np.log(np.exp([score - right for score, _ in every]).sum())
    assert start.objective == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("#mdl#2#24", "#mdl#1#24", "maximum entropy Markov model"),
        ("#mdl#2#24", "#mdl#5#24", "type is 5"),
        ("#mdl#2#24", "#mdl#2#25", "promises 25 weights and has 24"),
        ("#mdl#2#24", "#mdl#2#999999999999", "promises 999,999,999,999 weights"),
        ("#qrk#10", "#qrk#1000000", "more than fit into the file"),
        ("#qrk#3", "#qrk#0", "#qrk#"),
        ("71=", "79=", "the most that the file can hold"),
        ("1=-0x1.86705ba2f3868p-4", "0=-0x1.8p-4", "two weights for the same label"),
        ("0x1.3543adcd191dap+0", "inf", "finite number"),
        ("5:u0:We,", "5:x0:We,", "does not begin with u, b or"),
        ("5:u0:We,", "6:u0:We,", "LENGTH:TEXT"),
        ("6:u0:ran,", "6:u0:dog,", "occurs twice"),
        ("10:u0:%x[0,0],", "10:u0:%y[0,0],", "unknown macro"),
        ("1:I,", "1:B,", "label occurs twice"),
        ("#rdr#3/1/0", "#rdr#3/0/0", "missing columns"),
    ],
)  # fmt: skip
def test_faults_of_wapiti_models(old: str, new: str, says: str, tmp_path: Path) -> None:
    path = put(tmp_path, WAPITI.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=says) as found:
        read_model(path, "wapiti-model")
    assert str(path) in str(found.value)


def test_maximum_entropy_and_old_headers(tmp_path: Path, wapiti: Model) -> None:
    single = read_model(put(tmp_path, WAPITI.replace("#mdl#2#", "#mdl#0#")), "wapiti-model")
    assert single.origin is not None
    assert "single tokens" in single.origin.objective
    old = WAPITI.replace("#mdl#2#", "#mdl#").replace("#rdr#3/1/0", "#rdr#3/1")
    assert read_model(put(tmp_path, old), "wapiti-model").predict(SENTENCES) == WAPITI_LABELS


def test_more_columns_than_patterns_look_at(tmp_path: Path) -> None:
    model = read_model(put(tmp_path, WAPITI), "wapiti-model", inputs=3)
    wide = [[[*token, "more"] for token in sentence] for sentence in SENTENCES]
    assert model.predict(wide) == WAPITI_LABELS
    with pytest.raises(ModelFileError, match="look at 2 columns, and there are 1"):
        read_model(tmp_path / "foreign", "wapiti-model", inputs=1)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("version: 100", "nothing", "crf_learn -t"),
        ("maxid: 32", "maxid: 31", "is 31 and there are 32|the most that the file can hold|beyond"),
        ("maxid: 32\n", "", "no maxid"),
        ("xsize: 2", "xsize: 1", "missing columns"),
        ("xsize: 2", "xsize: x", "finite number"),
        ("8 U1:the/dog", "9 U1:the/dog", "share a weight"),
        ("8 U1:the/dog", "8 V1:the/dog", "NUMBER U"),
        ("\n0.1000000000000000", "\nnan", "finite number"),
        ("\n0.1000000000000000", "", "there are 31 weights"),
        ("\nB\nO\n\n", "\n\n", "0 labels"),
    ],
)  # fmt: skip
def test_faults_of_crfpp_models(old: str, new: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=says):
        read_model(put(tmp_path, CRFPP.replace(old, new, 1)), "crfpp-model")


def test_wapiti_without_patterns(tmp_path: Path) -> None:
    model = read_model(put(tmp_path, WAPITI_WITHOUT_PATTERNS), "wapiti-model")
    X = [[["u:w=We"], ["u:w=dog", "*:x"], ["u:w=the"]], [["u:w=dog"], ["u:w=dog"]]]
    steps = [[["*:x", "b"], ["b"]], [["b"]]]
    # Pairs of labels have no weights where no b is given.
    assert not model.features.plain_transition  # type: ignore[attr-defined]
    # What Wapiti itself says.
    assert model.predict(X, X_transitions=steps) == [["O", "O", "B"], ["I", "I"]]
    save_model(model, tmp_path / "model")
    assert load_model(tmp_path / "model").predict(X, X_transitions=steps) == [
        ["O", "O", "B"], ["I", "I"]]  # fmt: skip
