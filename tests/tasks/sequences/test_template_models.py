from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction import DictVectorizer
from support.commands import Run, one_object, runner

from partwise import (
    DataError,
    LinearClassifier,
    ModelFileError,
    SequenceTagger,
    SequenceTaggerCV,
    Templates,
    load_model,
    save_model,
)
from partwise.datasets import tagged_text, write
from partwise.formats.columns import read_columns
from partwise.tasks.sequences.features import PositionFeatures

UNIGRAMS = ["U0:%x[0,0]", "U1:%x[-1,0]/%x[0,1]", "U2:%x[1,1]"]


def sentences(seed: int = 1, n: int = 30) -> tuple[list[Any], list[Any]]:
    text = tagged_text(n, seed=seed)
    assert text.labels is not None
    fields = zip(*map(text.split, text.fields), strict=True)
    tokens = [list(map(list, zip(*some, strict=True))) for some in fields]
    return tokens, text.split(text.labels)


X, Y = sentences()


def fitted(lines: list[str], **more: Any) -> SequenceTagger:
    return SequenceTagger(templates=lines, **{"l2": 0.5, "tol": 1e-8, **more}).fit(X, Y)


def with_features(lines: list[str], **more: Any) -> SequenceTagger:
    """Fit the same tagger on features that were made before."""
    templates = Templates(lines)
    steps = templates.apply_transitions(X)
    given = {} if templates.transitions is None else {"X_transitions": steps}
    made = SequenceTagger(**{"l2": 0.5, "tol": 1e-8, **more})
    return made.fit(templates.apply(X), Y, **given)


def test_tokens_with_features_give_the_same() -> None:
    templates = [*UNIGRAMS, "B"]
    found, expected = fitted(templates), with_features(templates)
    assert found.model_.structure.tied  # type: ignore[attr-defined]
    assert found.certificate_.primal == pytest.approx(expected.certificate_.primal, rel=1e-7)
    assert set(found.vocabulary_) == set(expected.vocabulary_)
    np.testing.assert_allclose(found.transitions_, expected.transitions_, atol=1e-3)


def test_patterns_of_pairs_are_features_of_transitions() -> None:
    lines = [*UNIGRAMS, "B1:%x[-1,1]/%x[0,1]", "B2:%x[0,0]"]
    found = fitted([*lines, "B"])
    # Tokens with features of transitions keep a constant one, as a line with just B gives it.
    steps = [
        [[name for name in names if name != "B"] for names in sentence]
        for sentence in Templates([*lines, "B"]).apply_transitions(X)
    ]
    expected = SequenceTagger(l2=0.5, tol=1e-8).fit(
        Templates(lines).apply(X), Y, X_transitions=steps
    )
    assert found.certificate_.primal == pytest.approx(expected.certificate_.primal, rel=1e-7)
    features = found.model_.features
    assert isinstance(features, PositionFeatures)
    assert features.transition_vocabulary is not None
    wanted = {name for sentence in steps for names in sentence for name in names}
    assert set(features.transition_vocabulary) == wanted
    # Without the line there is no such weight.
    without = fitted(lines)
    assert without.model_.layout.n_features[1] == len(wanted)
    assert found.model_.layout.n_features[1] == len(wanted) + 1
    assert without.certificate_.dual > found.certificate_.primal
    with pytest.raises(AttributeError, match="without a line of just B"):
        _ = without.transitions_


def test_without_patterns_of_pairs_tokens_are_independent() -> None:
    found = fitted(UNIGRAMS)
    assert found.model_.layout.n_features[1] == 0
    names = [dict.fromkeys(names, 1.0) for s in Templates(UNIGRAMS).apply(X) for names in s]
    flat = [label for labels in Y for label in labels]
    alone = LinearClassifier(l2=0.5, tol=1e-8, fit_intercept=False)
    alone.fit(DictVectorizer().fit_transform(names), flat)
    assert found.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-7)


def test_a_feature_that_occurs_twice_counts_twice() -> None:
    # Without identifiers, neighbours share features.
    lines = ["U:%x[-1,0]", "U:%x[0,0]", "U:%x[0,0]", "B"]
    bags = [
        [{name: float(names.count(name)) for name in names} for names in sentence]
        for sentence in Templates(lines).apply(X)
    ]
    assert max(max(bag.values()) for sentence in bags for bag in sentence) == 2.0
    found = fitted(lines)
    expected = SequenceTagger(l2=0.5, tol=1e-8).fit(bags, Y)
    assert found.certificate_.primal == pytest.approx(expected.certificate_.primal, rel=1e-7)


def test_a_second_constant_has_weights_of_its_own() -> None:
    twice, once = fitted(["U0:%x[0,0]", "B", "B1"]), fitted(["U0:%x[0,0]", "B"])
    assert twice.model_.layout.n_features[1] == 2
    # Two equal weights of half the size cost half as much.
    assert twice.certificate_.primal < once.certificate_.dual


def test_rare_features_of_both_kinds_are_dropped() -> None:
    lines = ["U0:%x[0,0]", "B0:%x[0,0]", "B"]
    found = fitted(lines, min_count=3, tol=1e-3).model_.features
    assert isinstance(found, PositionFeatures)
    for some, kept in (
        (Templates(lines).apply(X), found.vocabulary),
        (Templates(lines[:2]).apply_transitions(X), found.transition_vocabulary),
    ):
        flat = [name for sentence in some for names in sentence for name in names]
        assert kept is not None
        assert set(kept) == {name for name in flat if flat.count(name) >= 3}
        assert 0 < len(kept) < len(set(flat))


@pytest.mark.parametrize(
    "lines", [[*UNIGRAMS, "B"], UNIGRAMS, [*UNIGRAMS, "B1:%x[0,1]"], ["*", '*1:%m[0,0,"^.?"]']]
)
def test_models_keep_them(lines: list[str], tmp_path: Path) -> None:
    tagger = fitted(lines, tol=1e-4)
    save_model(tagger, tmp_path / "m")
    model = load_model(tmp_path / "m")
    assert model.features.templates == Templates(lines)  # type: ignore[attr-defined]
    test, gold = sentences(2)
    expected = tagger.predict(test)
    assert model.predict(test) == expected
    assert model.predict([[tuple(token) for token in sentence] for sentence in test]) == expected
    assert 0.4 < tagger.score(test, gold) <= 1.0
    again = SequenceTagger.from_model(model)
    assert again.templates == Templates(lines)
    again.warm_start = True
    assert again.fit(X, Y).certificate_.primal == pytest.approx(tagger.certificate_.primal, 1e-3)
    names = [[["U0:unheard"] for _ in sentence] for sentence in test]
    if again.model_.features.transition_vocabulary is None:  # type: ignore[attr-defined]
        with pytest.raises(DataError, match="made by templates from the columns"):
            model.predict(names)


def test_damaged_models(tmp_path: Path) -> None:
    features = fitted([*UNIGRAMS, "B1:%x[0,1]"], tol=1e-2).model_.features
    data, arrays = features.to_json(), features.arrays()
    assert PositionFeatures.from_saved(data, arrays).plain_transition is False
    with pytest.raises((DataError, ModelFileError), match="neither true nor false"):
        PositionFeatures.from_saved({**data, "plain_transition": 0}, arrays)
    bare = {name: array for name, array in arrays.items() if not name.startswith("transition_")}
    with pytest.raises((DataError, ModelFileError), match="templates of transitions"):
        PositionFeatures.from_saved({**data, "transition_vocabulary": False}, bare)


def test_as_scikit_learn_uses_them() -> None:
    tagger = SequenceTaggerCV(
        templates=[*UNIGRAMS, "B1:%x[0,1]"], l2_max=1.0, steps=2, cv=2, tol=1e-2
    )
    copy = clone(tagger)
    assert copy.templates == tagger.templates
    assert 0.0 < copy.fit(X, Y).l2_ <= 1.0


def test_what_does_not_go_together() -> None:
    with pytest.raises(DataError, match="leave out lengths and X_transitions"):
        SequenceTagger(templates=["U"]).fit(X, Y, X_transitions=X)
    with pytest.raises(DataError, match="order 2 has no features of transitions"):
        fitted([*UNIGRAMS, "B1:%x[0,1]", "B"], order=2)
    with pytest.raises(DataError, match="add a line with just B"):
        fitted(UNIGRAMS, order=2)
    assert fitted([*UNIGRAMS, "B"], order=2, tol=1e-2).certificate_.converged


# The command


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tagged_text(30, seed=1), tmp_path / "train.txt")
    write(tagged_text(10, seed=2), tmp_path / "test.txt")
    lines = ["# comment", *UNIGRAMS, "B1:%x[0,1]", "B", ""]
    (tmp_path / "t").write_text("\n".join(lines), "utf-8")
    return tmp_path


def test_command(run: Run, folder: Path) -> None:
    model = folder / "m"
    train = ("train", "--task", "tag", folder / "train.txt", "--model", model, "--l2", 0.5)
    code, _, err = run(
        *train, "--template", folder / "t", "--tol", 1e-6, "--dev", folder / "test.txt", "-v"
    )
    assert code == 0
    assert "templates of CRF++, because nothing is of Wapiti only" in err
    found = load_model(model)
    expected = fitted([*UNIGRAMS, "B1:%x[0,1]", "B"]).certificate_.primal
    assert found.certificate.primal == pytest.approx(expected, rel=1e-5)
    code, out, _ = run("evaluate", model, folder / "test.txt", "--json")
    assert code == 0
    test, gold = sentences(2, 10)
    predicted = found.predict(test)
    right = np.mean(
        [a == b for p, g in zip(predicted, gold, strict=True) for a, b in zip(p, g, strict=True)]
    )
    assert one_object(out)["metrics"]["accuracy"] == pytest.approx(right)
    assert run("predict", model, folder / "test.txt", "--output", folder / "out")[0] == 0
    written = read_columns(folder / "out", n_columns=4)
    assert written.labels == [label for labels in predicted for label in labels]
    record = one_object(run("info", model, "--json")[1])
    assert record["templates"] == [*UNIGRAMS, "B1:%x[0,1]", "B"]
    # A model to start from gives its templates.
    assert run(*train[:-3], folder / "again", "--l2", 0.4, "--resume", model)[0] == 0
    assert load_model(folder / "again").features.templates == found.features.templates  # type: ignore[attr-defined]


def test_command_with_path_and_segments(run: Run, folder: Path) -> None:
    template = ("--template", folder / "t", "--template-dialect", "wapiti")
    data = ("--model", folder / "m", "--quiet", "--tol", 1e-2)
    code, _, err = run("path", "--task", "tag", folder / "train.txt", "--dev", folder / "test.txt",
                       "--steps", 2, *template, *data)  # fmt: skip
    assert code == 0, err
    assert load_model(folder / "m").features.templates.dialect == "wapiti"  # type: ignore[attr-defined]
    segment = ("train", "--task", "segment", folder / "train.txt", *data)
    code, _, err = run(*segment, "--template", folder / "t")
    assert code == 1
    assert "the only template of pairs must be a line with just B" in err
    (folder / "u").write_text("\n".join([*UNIGRAMS, "B"]), "utf-8")
    assert run(*segment, "--template", folder / "u")[0] == 0
    assert run("evaluate", folder / "m", folder / "test.txt")[0] == 0


@pytest.mark.parametrize(
    ("template", "more", "code", "message"),
    [
        ("U0:%x[0,0]\nU1:%x[0,2]", (), 1, r"t:2:4: %x looks at column 2, and .*train.txt has 2"),
        ("U0:%x[0,0]\nU1:%y[0,2]", (), 1, r"t:2:4: unknown macro '%y'"),
        ("", (), 1, r"t: no templates"),
        ("U0:%x[0,0]", ("--spelling",), 2, "--spelling belongs to the built-in templates"),
        (None, ("--template-dialect", "crfpp"), 2, "give --template too"),
        (None, ("--template", "none"), 1, "none: no such file"),
    ],
)
def test_faults_of_the_command(
    run: Run, folder: Path, template: str | None, more: tuple[str, ...], code: int, message: str
) -> None:
    if template is not None:
        (folder / "t").write_text(template, "utf-8")
        more = ("--template", str(folder / "t"), *more)
    found = run("train", "--task", "tag", folder / "train.txt", "--model", folder / "m", *more)
    assert found[0] == code
    assert not found[1]
    last = found[2].strip().split("\n")[-1]
    assert re.search(message, last), last
    assert not (folder / "m").exists()
