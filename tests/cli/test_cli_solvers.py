"""``partwise solvers`` and ``--solver-option``."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import SVMLIGHT, Run, one_object, runner, sentence

from partwise import load_model
from partwise.solvers.registry import SOLVERS


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture
def train(run: Run, tmp_path: Path) -> Run:
    data = tmp_path / "train.svm"
    data.write_text(SVMLIGHT, "ascii")

    def call(*options: object) -> tuple[int, str, str]:
        model = ["--model", tmp_path / "m", "--quiet"]
        return run("train", "--task", "classify", data, *model, *options)

    return call


def test_all_solvers_are_listed(run: Run) -> None:
    code, out, _ = run("solvers")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines() if line[:1].isalpha()] == list(SOLVERS)
    assert "Collins et al. 2008" in out
    assert "options: start=none, order=permutation, eta=search, first_step=none" in out


def test_one_solver_is_described(run: Run) -> None:
    code, out, _ = run("solvers", "dual-cd")
    assert code == 0
    assert out.startswith("dual-cd: Dual coordinate descent")
    assert "structure   a classifier, without constraints" in out
    assert (
        "Dual coordinate descent methods for logistic regression and maximum entropy"
        in " ".join(out.split())
    )
    assert "  newton=modified\n" in out


def test_facts_as_json(run: Run) -> None:
    found = one_object(run("solvers", "--json")[1])["solvers"]
    assert [one["name"] for one in found] == list(SOLVERS)
    one = one_object(run("solvers", "saga", "--json")[1])["solvers"][0]
    assert (one["losses"], one["l1"], one["threads"]) == (["log", "softmax-margin"], True, False)
    names = ["sampling", "eta", "first_curvature", "skipping", "delta", "share"]
    assert [option["name"] for option in one["options"]] == names
    assert one["options"][0]["default"] == "uniform"
    assert one["papers"][0]["citation"] == "Defazio et al. 2014"


def test_an_unknown_solver(run: Run) -> None:
    code, _, err = run("solvers", "perceptron")
    assert code == 2
    assert "unknown solver 'perceptron'; use one of auto, online-eg" in sentence(err)


def test_options_reach_the_solver(train: Run, tmp_path: Path) -> None:
    code, _, err = train("--solver", "lbfgs", "--solver-option", "memory=3")
    assert code == 0, err
    assert load_model(tmp_path / "m").settings["solver_options"] == {"memory": 3}
    # One step of this size is lost in rounding, so the option must have been used.
    slow = ["--solver", "pegasos", "--max-passes", "3", "--json"]
    fast = one_object(train(*slow)[1])["objective"]
    assert one_object(train(*slow, "--solver-option", "eta=1e-30")[1])["objective"] > fast


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["lbfgs", "speed=1"], "lbfgs has no option speed; the options of lbfgs are memory=10"),
        (["lbfgs", "memory=x"], "the option memory of lbfgs is 'x'; give a whole number from 1; "
         "the options of lbfgs are memory=10"),
        (["lbfgs", "memory"], "--solver-option 'memory' is no NAME=VALUE; the options of lbfgs"),
        (["newton", "memory=1"], "newton has no option memory; it has none"),
        (["auto", "memory=1"], "online-eg has no option memory; with the log loss, auto begins "
         "with online-eg: the options of online-eg are start=none, order=permutation"),
    ],
)  # fmt: skip
def test_options_that_are_refused(train: Run, options: list[str], words: str) -> None:
    code, _, err = train("--solver", options[0], "--solver-option", options[1])
    assert code == 2
    assert words in sentence(err)


def test_an_option_that_is_given_twice(train: Run) -> None:
    twice = ["--solver-option", "first-step=1", "--solver-option", "first_step=0.1"]
    code, _, err = train(*twice)
    assert code == 2
    assert "--solver-option first_step is given twice" in sentence(err)


def test_auto_with_the_hinge_loss(train: Run) -> None:
    """For a classifier it begins with crammer-singer, which has fewer options than bcfw."""
    assert train("--loss", "hinge", "--solver-option", "nearness=none")[0] == 0
    code, _, err = train("--loss", "hinge", "--solver-option", "sampling=uniform")
    assert code == 2
    assert "crammer-singer has no option sampling; it has nearness=" in sentence(err)


def test_path_takes_options(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "train.svm"
    data.write_text(SVMLIGHT, "ascii")
    path = ["path", "--task", "classify", data, "--dev", data, "--steps", "2", "--quiet"]
    assert run(*path, "--solver-option", "order=permutation")[0] == 0
    code, _, err = run(*path, "--solver", "lbfgs", "--solver-option", "speed=1")
    assert code == 2
    assert "the options of lbfgs are memory=10" in sentence(err)
