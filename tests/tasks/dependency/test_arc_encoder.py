"""The features of dependency arcs in models."""

from __future__ import annotations

import numpy as np
import pytest
from support.grammar_of_arcs import crossing, treebank

from partwise import DataError, ModelFileError
from partwise.models.features import read_features
from partwise.structures.dependency.projective import ProjectiveTree
from partwise.structures.multiclass import Multiclass
from partwise.tasks.dependency.arc_table import ArcTable
from partwise.tasks.dependency.features import ArcFeatures
from partwise.tasks.example_form import key_names

TRAIN, TEST = treebank(30), treebank(20, seed=1)


def test_it_checks_what_it_reads() -> None:
    features = ArcFeatures(ArcTable.fit(TRAIN, [s.head for s in TRAIN]))
    data, arrays = features.to_json(), features.arrays()
    again = read_features("arcs", data, arrays)
    assert isinstance(again, ArcFeatures)
    assert again.arc_table.keys.tolist() == features.arc_table.keys.tolist()
    for wrong in ({}, {**data, "more": 1}, {**data, "templates": ["x"]}, {**data, "n_hashed": 3}):
        with pytest.raises(ModelFileError):
            read_features("arcs", wrong, arrays)
    backwards = {**arrays, "keys": arrays["keys"][::-1].copy()}
    missing = {name: array for name, array in arrays.items() if name != "form_bytes"}
    for damaged in (backwards, missing, {**arrays, "more": arrays["keys"]}):
        with pytest.raises(ModelFileError):
            read_features("arcs", data, damaged)
    with pytest.raises(DataError, match="dependency trees"):
        features.feature_counts(Multiclass(2))


def test_features_are_found_again_by_what_they_stand_for() -> None:
    mixed = ["m.pos", "m.form h.pos", "h.pos m.pos", "h.pos m.pos b.pos"]
    old = ArcTable.fit(TRAIN, [s.head for s in TRAIN], templates=mixed)
    again = ["h.pos m.form", "h.pos m.pos b.pos", "m.pos", "h.pos"]
    data = [*TEST, crossing()][::-1]
    new = ArcTable.fit(data, [s.head for s in data], templates=again)
    (same,) = ArcFeatures(new).match(ArcFeatures(old), ProjectiveTree())

    def told(features: ArcTable, number: int) -> tuple[frozenset[str], str]:
        values, _, distance = key_names(features).names([number])[0].partition(",")
        return frozenset(values.split()), distance

    known = {told(old, number): number for number in range(old.n_features)}
    expected = [known.get(told(new, number), -1) for number in range(new.n_features)]
    assert same.tolist() == expected
    assert 0 < np.count_nonzero(same >= 0) < len(same)
