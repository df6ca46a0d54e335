"""CRFsuite's model files: read exactly, written byte for byte, and never believed."""

from __future__ import annotations

import random
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest

from partwise.errors import DataError, ModelFileError
from partwise.models.foreign.crfsuite import (
    CRFsuiteModel,
    WeightedPairs,
    parse_crfsuite_model,
    read_crfsuite_model,
    serialize_crfsuite_model,
    write_crfsuite_model,
)

LABELS = ["A", "Bé", "label C"]


def trained(path: Path, seed: int = 0, n: int = 30, **parameters: Any) -> bytes:
    """Train a model by CRFsuite itself and return the bytes of its file."""
    draw = random.Random(seed)
    trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
    trainer.set_params(parameters)
    for _ in range(n):
        length = draw.randint(1, 6)
        x = [
            {"ü" * draw.randint(0, 9) + str(draw.randint(0, 60)): draw.choice([1, -1, 0.5, True])}
            for _ in range(length)
        ]
        trainer.append(x, [draw.choice(LABELS) for _ in range(length)])
    trainer.train(str(path))
    return path.read_bytes()


@pytest.mark.parametrize(
    "parameters",
    [{}, {"c1": 0.3}, {"feature.possible_states": True}, {"feature.possible_transitions": True}],
)
def test_files_are_read_exactly_and_written_byte_for_byte(
    tmp_path: Path, parameters: dict[str, Any]
) -> None:
    data = trained(tmp_path / "m", 1, **parameters)
    model = read_crfsuite_model(tmp_path / "m")
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m"))
    info = tagger.info()
    assert list(model.labels) == tagger.labels()
    assert {name: str(i) for i, name in enumerate(model.attributes)} == info.attributes
    for pairs, names, theirs in (
        (model.state_features, model.attributes, info.state_features),
        (model.transitions, model.labels, info.transitions),
    ):
        ours = {
            (names[a], model.labels[b]): weight
            for a, b, weight in zip(*(part.tolist() for part in pairs), strict=True)
        }
        assert ours.keys() == theirs.keys()
        # CRFsuite prints six digits.
        assert all(abs(ours[pair] - theirs[pair]) <= 5.1e-7 for pair in ours)
    assert serialize_crfsuite_model(model) == data


def test_a_written_model_is_used_by_crfsuite(tmp_path: Path) -> None:
    """Unlike those of its own, this one has labels without weights and unsorted pairs."""
    names = tuple(f"attribute {'x' * i}{i}" for i in range(500))
    draw = np.random.default_rng(0)
    states = WeightedPairs(draw.permutation(500), draw.integers(0, 4, 500), draw.normal(size=500))
    transitions = WeightedPairs(np.array([1, 0]), np.array([0, 1]), np.array([2.0, 3.0]))
    model = CRFsuiteModel(("a", "b", "c", "d"), names, states, transitions)
    write_crfsuite_model(tmp_path / "m", model)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m"))
    scores = np.zeros((500, 4))
    scores[states.source, states.target] = states.weight
    chosen = np.abs(scores).max(axis=1) > 0.5
    for name, row in zip(np.array(names)[chosen], scores[chosen], strict=True):
        assert tagger.tag([[str(name)]]) == ["abcd"[int(row.argmax())]]
    assert tagger.info().transitions == {("b", "a"): 2.0, ("a", "b"): 3.0}


def test_no_name_at_all(tmp_path: Path) -> None:
    pycrfsuite.Trainer(verbose=False).train(str(tmp_path / "m"))
    model = read_crfsuite_model(tmp_path / "m")
    assert (model.labels, model.attributes, model.n_weights) == ((), (), 0)
    assert serialize_crfsuite_model(model) == (tmp_path / "m").read_bytes()


def test_bytes_that_are_not_utf8_survive(tmp_path: Path) -> None:
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([{b"\xff\xfe": 1.0}, {b"ok": 1.0}], ["A", "B"])
    trainer.train(str(tmp_path / "m"))
    model = read_crfsuite_model(tmp_path / "m")
    assert model.attributes[0].encode("utf-8", "surrogateescape") == b"\xff\xfe"
    assert serialize_crfsuite_model(model) == (tmp_path / "m").read_bytes()


def one_weight(labels: tuple[str, ...], source: int = 0) -> CRFsuiteModel:
    none = np.zeros(0, np.int64)
    states = WeightedPairs(np.array([source]), np.array([0]), np.array([1.0]))
    return CRFsuiteModel(labels, ("x",), states, WeightedPairs(none, none, np.zeros(0)))


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (one_weight(("a\0b",)), "zero byte"),
        (one_weight(("a\ud800b",)), "lone surrogate"),
        (one_weight(("a", "a")), "same name"),
        (one_weight(("a",), 1), "out of the range"),
    ],
)
def test_what_a_file_cannot_hold_is_refused(model: CRFsuiteModel, why: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=why):
        write_crfsuite_model(tmp_path / "m", model)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("content", [b"", b"foo", b"lCRFfoo", b"lCRFfoo" * 100, b"lCRF" * 5000])
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ModelFileError, match="/m: "):
        read_crfsuite_model(tmp_path / "m")


@pytest.mark.parametrize("place", [0, 4, 8])
def test_references_that_contradict_the_features(place: int, tmp_path: Path) -> None:
    """The type, the source or the target of the first feature is another one."""
    data = bytearray(trained(tmp_path / "m", 3))
    at = struct.unpack_from("<I", data, 28)[0] + 12 + place
    struct.pack_into("<I", data, at, {0: 1, 4: 1, 8: 7}[place])
    with pytest.raises(ModelFileError, match=r"contradict|label 7 of 3"):
        parse_crfsuite_model(bytes(data))


def test_damage_is_found_or_harmless(tmp_path: Path) -> None:
    """Whatever a byte, a number or the end is changed to: a sentence or a sound model."""
    data = trained(tmp_path / "m", 2)
    draw = random.Random(0)
    refused = 0
    tracemalloc.start()
    for trial in range(1000):
        changed = bytearray(data)
        for _ in range(draw.randint(1, 3)):
            place = draw.choice([draw.randrange(48), draw.randrange(len(data) - 4)])
            if trial % 2:
                changed[place] = draw.randrange(256)
            else:
                value = draw.choice([0, 1, 2**31, 2**32 - 1, draw.randrange(len(data))])
                struct.pack_into("<I", changed, place // 4 * 4, value)
        if trial % 10 == 0:
            changed = changed[: draw.randrange(len(data))]
            struct.pack_into("<I", changed, 4, len(changed)) if len(changed) > 8 else None
        try:
            model = parse_crfsuite_model(bytes(changed))
        except ModelFileError:
            refused += 1
            continue
        again = parse_crfsuite_model(serialize_crfsuite_model(model))
        assert (again.labels, again.attributes) == (model.labels, model.attributes)
        for old, new in zip(
            (*model.state_features, *model.transitions),
            (*again.state_features, *again.transitions),
            strict=True,
        ):
            np.testing.assert_array_equal(old, new)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 300 < refused < 1000
    assert peak < 100 * len(data)
