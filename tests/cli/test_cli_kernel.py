"""Kernels on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.commands import SVMLIGHT, Run, one_object, runner

from partwise import KernelClassifier, KernelTagger, load_model
from partwise.datasets import tagged_text, write


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    file = tmp_path / "train.txt"
    write(tagged_text(10, seed=1), file)
    write(tagged_text(5, seed=2), tmp_path / "test.txt")
    return file


def _train(call: Run, model: Path, *arguments: object) -> dict[str, object]:
    code, out, err = call("train", *arguments, "--model", model, "--tol", "1e-8", "--json", "-q")
    assert code == 0, err
    return one_object(out)


def test_the_linear_kernel_is_the_linear_model(call: Run, text: Path, tmp_path: Path) -> None:
    plain, kernel = tmp_path / "plain", tmp_path / "kernel"
    tag = ("--task", "tag", text)
    objective = _train(call, plain, *tag)["objective"]
    assert _train(call, kernel, *tag, "--kernel", "linear")["objective"] == pytest.approx(objective)
    outputs = [
        one_object(call("predict", model, tmp_path / "test.txt", "--marginals", "--json")[1])
        for model in (plain, kernel)
    ]
    assert outputs[0]["predictions"] == outputs[1]["predictions"]
    for a, b in zip(outputs[0]["marginals"], outputs[1]["marginals"], strict=True):
        assert np.abs(np.array(a) - b).max() < 1e-3


def test_every_verb_takes_the_model(call: Run, text: Path, tmp_path: Path) -> None:
    model, dev = tmp_path / "m", tmp_path / "test.txt"
    options = ("--kernel", "poly", "--degree", "2", "--coef0", "1", "--gamma", "0.1")
    done = _train(call, model, "--task", "tag", text, *options, "--dev", dev)
    code, out, _ = call("evaluate", model, dev, "--json")
    assert code == 0
    assert one_object(out)["metrics"] == done["metrics"]
    told = one_object(call("info", model, "--json")[1])
    assert told["kernel"] == {"name": "poly", "gamma": 0.1, "degree": 2, "coef0": 1.0}
    assert told["n_inputs"] == 2
    code, out, _ = call(
        "path", "--task", "tag", text, *options, "--folds", "2", "--steps", "2", "--json", "-q"
    )
    assert code == 0
    assert len(one_object(out)["path"]) == 2


def test_a_model_with_a_kernel_can_be_resumed(call: Run, text: Path, tmp_path: Path) -> None:
    model, again = tmp_path / "m", tmp_path / "n"
    tag = ("--task", "tag", "--kernel", "rbf", "--gamma", "0.1")
    cold = _train(call, model, *tag, text)
    warm = _train(call, again, *tag, text, "--resume", model)
    assert warm["objective"] == pytest.approx(cold["objective"])
    assert float(str(warm["passes"])) < float(str(cold["passes"]))
    # Other words than those of the first model have other numbers.
    other = tmp_path / "test.txt"
    cold = _train(call, again, *tag, other)
    assert _train(call, again, *tag, other, "--resume", model)["objective"] == pytest.approx(
        cold["objective"]
    )


def test_python_and_the_command_agree(call: Run, text: Path, tmp_path: Path) -> None:
    model = tmp_path / "m"
    _train(call, model, "--task", "tag", text, "--kernel", "rbf")
    loaded = load_model(model)
    tagger = KernelTagger.from_model(loaded)
    assert (tagger.kernel, tagger.n_support_) == ("rbf", len(tagger.support_))
    sentences = (tmp_path / "test.txt").read_text("utf-8").strip().split("\n\n")
    tokens = [[line.split()[:2] for line in some.split("\n")] for some in sentences]
    out = one_object(call("predict", model, tmp_path / "test.txt", "--json")[1])
    assert tagger.predict(tokens) == out["predictions"]


def test_classifiers(call: Run, tmp_path: Path) -> None:
    file, model = tmp_path / "a.svm", tmp_path / "m"
    file.write_text(SVMLIGHT, "ascii")
    done = _train(call, model, "--task", "classify", file, "--kernel", "rbf", "--gamma", "0.5")
    X = np.zeros((36, 6))
    y = []
    for row, line in enumerate(SVMLIGHT.splitlines()):
        label, *pairs = line.split()
        y.append(label)
        for pair in pairs:
            index, value = pair.split(":")
            X[row, int(index) - 1] = float(value)
    classifier = KernelClassifier(gamma=0.5, fit_intercept=False, tol=1e-8).fit(X, y)
    assert done["objective"] == pytest.approx(classifier.certificate_.primal)
    assert one_object(call("evaluate", model, file, "--json")[1])["metrics"]["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--gamma", "2"], 2, "--gamma belongs to --kernel"),
        (["--kernel", "rbf", "--min-count", "2"], 2, "--kernel takes no --min-count"),
        (["--kernel", "rbf", "--min-frequency", "1"], 2, "--kernel takes no --min-frequency"),
        (["--kernel", "rbf", "--gamma", "0"], 2, "0 is not above 0"),
        (["--kernel", "rbf", "--gamma", "x"], 2, "invalid number, scale or auto value: 'x'"),
        (["--kernel", "rbf", "--l1", "1"], 1, "--kernel takes no --l1"),
        (["--kernel", "rbf", "--weights", "observed"], 1, "--kernel takes no --weights"),
        (["--kernel", "rbf", "--memory-limit", "0.001"], 1, "raise memory_limit"),
    ],
)
def test_options_that_do_not_go_together(
    call: Run, text: Path, tmp_path: Path, options: list[str], code: int, message: str
) -> None:
    found, _, err = call("train", "--task", "tag", text, "--model", tmp_path / "m", *options)
    assert (found, message in err) == (code, True), err
