"""The origin of converted models in model files, also for versions that do not know it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.foreign_models import SENTENCES, WAPITI, WAPITI_LABELS

from partwise import SequenceTagger, load_model, save_model
from partwise.files.container import read_container, write_container
from partwise.models.file import read_header
from partwise.models.foreign.registry import read_model
from partwise.training.certificate import Certificate


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    (tmp_path / "wapiti").write_text(WAPITI)
    save_model(read_model(tmp_path / "wapiti", "wapiti-model"), tmp_path / "model")
    return tmp_path / "model"


def test_versions_that_do_not_know_it_certify_nothing(saved: Path) -> None:
    header, _ = read_container(saved)
    held = Certificate.from_json(header["certificate"])
    assert not held.consistent
    assert not held.converged
    assert held.verdict == "converted from Wapiti, not certified"
    assert header["loss"] == "log"
    assert header["l2"] == 1.0


@pytest.mark.parametrize("odd", [5, {}, {"toolkit": 1}, ["Wapiti"], None])
def test_an_odd_origin_does_no_harm(odd: Any, saved: Path, tmp_path: Path) -> None:
    header, arrays = read_container(saved)
    header["meta"]["partwise origin"] = odd
    write_container(tmp_path / "odd", header, arrays)
    model = load_model(tmp_path / "odd")
    assert model.origin is None
    assert not model.certificate.known
    assert model.predict(SENTENCES) == WAPITI_LABELS
    assert read_header(tmp_path / "odd")["origin"] is None


def test_estimators_take_converted_models(saved: Path) -> None:
    tagger = SequenceTagger.from_model(load_model(saved))
    assert tagger.predict(SENTENCES) == WAPITI_LABELS
    assert not tagger.certificate_.converged
    assert tagger.started_from_ is None
