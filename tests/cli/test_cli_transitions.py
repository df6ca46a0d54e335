"""Transitions that depend on the input, on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.commands import Run, one_object, runner
from support.extraction import extract_fit

from partwise import SequenceTagger, load_model
from partwise.datasets import tagged_text, write
from partwise.errors import DataError
from partwise.formats.columns import read_columns
from partwise.tasks.sequences.templates import TemplateSet, template_for


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    file = tmp_path / "train.txt"
    write(tagged_text(8, seed=1), file)
    write(tagged_text(4, seed=2), tmp_path / "test.txt")
    return file


def _train(call: Run, *arguments: object) -> dict[str, Any]:
    code, out, err = call("train", "--task", "tag", *arguments, "--tol", "1e-8", "--json", "-q")
    assert code == 0, err
    return one_object(out)


def _tokens(file: Path) -> tuple[list[list[list[str]]], list[list[str]]]:
    """Return the features of each token, the ends of sentences included, and the labels."""
    columns = read_columns(file)
    rows, names = extract_fit(columns, template_for(2))
    flat = [
        [names.names[number] for number in rows.indices[a:b]]
        for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]
    ends = columns.lengths.cumsum().tolist()
    spans = list(zip([0, *ends[:-1]], ends, strict=True))
    labels = columns.labels or []
    return [flat[a:b] for a, b in spans], [labels[a:b] for a, b in spans]


@pytest.mark.parametrize("weights", ["all", "observed"])
def test_they_are_those_of_python(call: Run, text: Path, tmp_path: Path, weights: str) -> None:
    model = tmp_path / "model"
    done = _train(call, text, "--model", model, "--transition-features", "--weights", weights)
    X, y = _tokens(text)
    steps = [
        [[name for name in token if not name.startswith("__")] for token in tokens[1:]]
        for tokens in X
    ]
    tagger = SequenceTagger(weights=weights, tol=1e-8).fit(X, y, X_transitions=steps)
    assert done["objective"] == pytest.approx(tagger.certificate_.primal, rel=1e-7)
    assert done["n_weights"] == len(tagger.model_.weights)
    plain = _train(call, text, "--model", tmp_path / "plain", "--weights", weights)
    assert plain["objective"] > done["objective"] * 1.01


def test_the_model_reads_files_by_itself(call: Run, text: Path, tmp_path: Path) -> None:
    model, test = tmp_path / "model", tmp_path / "test.txt"
    more = ("--transition-features", "--weights", "observed", "--dev", test)
    done = _train(call, text, "--model", model, *more)
    assert one_object(call("evaluate", model, test, "--json")[1])["metrics"] == done["metrics"]
    told = one_object(call("info", model, "--json")[1])
    assert told["n_transition_features"] > 100
    assert "depend on" in call("info", model)[1]
    loaded = load_model(model)
    tokens = [[line.split()[:2] for line in some.split("\n")]
              for some in test.read_text("utf-8").strip().split("\n\n")]  # fmt: skip
    predicted = one_object(call("predict", model, test, "--json")[1])["predictions"]
    assert loaded.predict(tokens) == predicted
    again = _train(
        call, text, "--model", tmp_path / "again", "--weights", "observed", "--resume", model
    )
    # The templates of the first model are used, so transitions depend on the input again.
    assert again["objective"] == pytest.approx(done["objective"], rel=1e-7)


def test_templates_say_whether_they_are_for_transitions() -> None:
    plain = template_for(2)
    steps = TemplateSet(plain.views, plain.conjunctions, steps=True)
    assert "steps" not in plain.to_json()
    assert TemplateSet.from_json(plain.to_json()) == plain
    assert TemplateSet.from_json(steps.to_json()) == steps
    assert (plain.transitions, steps.transitions is None) == (None, False)


def test_untied_chains_have_the_optimum_of_tied_ones(call: Run, text: Path, tmp_path: Path) -> None:
    names = ("untied", "tied")
    untied, tied = (
        _train(call, text, "--model", tmp_path / name, *more)
        for name, more in zip(names, (("--untied", "--solver", "sdca"), ()), strict=True)
    )
    assert untied["objective"] == pytest.approx(tied["objective"], rel=1e-7)
    assert untied["n_weights"] == tied["n_weights"]
    models = [load_model(tmp_path / name) for name in names]
    assert [model.structure.tied for model in models] == [False, True]
    assert [SequenceTagger.from_model(model).tied for model in models] == [False, True]
    test = tmp_path / "test.txt"
    for verb, *more in (("predict", "--marginals"), ("predict", "--k", 3)):
        shown = [call(verb, tmp_path / name, test, *more)[1] for name in names]
        # Scores agree to the tolerance only.
        words = [[line.split()[:2] for line in out.splitlines()] for out in shown]
        assert words[0] == words[1] != []
    # An untied transition has a place.
    shown = [call("explain", tmp_path / name, test)[1] for name in names]
    assert ["[transition 0-1 " in out for out in shown] == [True, False]
    X, y = _tokens(text)
    made = SequenceTagger(tied=False, tol=1e-8).fit(X, y)
    assert made.certificate_.primal == pytest.approx(tied["objective"], rel=1e-7)
    assert made.model_.structure.tied is False
    again = _train(call, text, "--model", tmp_path / "again", "--resume", tmp_path / "untied")
    assert again["objective"] == pytest.approx(tied["objective"], rel=1e-7)


def test_options_that_do_not_go_together(call: Run, text: Path, tmp_path: Path) -> None:
    train = ("train", "--task", "tag", text, "--model", tmp_path / "m", "--transition-features")
    code, _, err = call(*train, "--order", "2")
    assert (code, "--transition-features needs --order 1" in err) == (2, True)
    code, _, err = call(*train[:-1], "--untied", "--order", "2")
    assert (code, "--untied needs --order 1; leave one of them out" in err) == (2, True)
    X, y = _tokens(text)
    with pytest.raises(DataError, match="always tied; leave tied=False out, or use order 1"):
        SequenceTagger(tied=False, order=2).fit(X, y)
    with pytest.raises(DataError, match="tied is 1; give True or False"):
        SequenceTagger(tied=1).fit(X, y)  # type: ignore[arg-type]
    code, _, err = call(*train, "--template", text)
    assert (code, "belongs to the built-in templates" in err) == (2, True)
