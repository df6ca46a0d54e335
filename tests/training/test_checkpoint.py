"""A fit that goes on from a checkpoint ends as the one that was not interrupted, bit for bit."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.instances import make_instance
from support.structure_cases import problem_of

from partwise.errors import DataError, ModelFileError
from partwise.files.container import read_container, write_container
from partwise.solvers.base import Solver
from partwise.solvers.registry import SOLVERS, offered
from partwise.training.checkpoint import Checkpoint, Keeper, is_checkpoint, load_checkpoint
from partwise.training.loop import train
from partwise.training.result import Fit

#: scipy's method begins anew from its weights.
SCIPY = {"cg"}


def digest(fit: Fit) -> str:
    parts = [fit.weights.tobytes(), fit.dual_point.theta.tobytes()]
    parts += [np.array([(r.passes, r.primal, r.dual) for r in fit.trace]).tobytes()]
    return hashlib.sha256(b"".join(parts)).hexdigest()


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Save after every stretch, and keep a copy of every checkpoint."""
    monkeypatch.setattr(Solver, "stretch", 3)
    monkeypatch.setattr("partwise.solvers.stochastic.base._PARTS_A_WEIGHT", 0)
    kept: list[Path] = []
    write = Keeper.write

    def copied(self: Keeper, *arguments: Any) -> None:
        write(self, *arguments)
        kept.append(tmp_path / f"{len(kept)}.kept")
        shutil.copy(self.checkpoint.path, kept[-1])

    monkeypatch.setattr(Keeper, "write", copied)
    return kept


def chosen(copies: list[Path], most: int = 8) -> list[Path]:
    places = np.unique(np.linspace(0, len(copies) - 1, most).astype(int))
    return [copies[k] for k in places]


def cases() -> list[tuple[str, str, str]]:
    return [
        (solver, structure, loss)
        for solver in SOLVERS
        for structure in ("chain", "multiclass")
        for loss in ("log", "hinge")
        if SOLVERS[solver].needs <= offered(problem_of(structure, loss))
    ]


@pytest.mark.parametrize("case", cases(), ids="-".join)
def test_every_solver_goes_on(case: tuple[str, str, str], tmp_path: Path, copies: Any) -> None:
    solver, structure, loss = case
    problem = problem_of(structure, loss)
    passes = 300 if solver in SCIPY else 9
    how = {"solver": solver, "tol": 1e-6, "max_passes": passes, "seed": 3, "quiet": True}
    whole = train(problem, 0.3, **how)
    path = tmp_path / "fit.checkpoint"
    saved = train(problem, 0.3, **how, checkpoint=Checkpoint(path, every=0.0))
    assert digest(saved) == digest(whole)
    assert len(copies) > 1
    for copy in chosen(list(copies)):
        before = load_checkpoint(copy).header["loop"]["passes"]
        again = train(problem, 0.3, **how, checkpoint=Checkpoint(copy, every=1e3, resume=True))
        if solver in SCIPY:
            assert again.certificate.converged
            assert whole.certificate.converged
            assert again.certificate.passes >= before
        else:
            assert digest(again) == digest(whole)


@pytest.mark.parametrize(
    ("solver", "options"),
    [
        ("svm-struct", {"slack": "each"}),
        ("svm-struct", {"slack": "each", "every": 2, "patience": 2}),
        ("svm-struct", {"preset": "tsochantaridis2005-algorithm1"}),
        ("blocks", {"preset": "collins2008-parallel", "blocks": 3}),
        ("sgd", {"preset": "collins2008-sgd"}),
    ],
    ids=str,
)
def test_published_forms_go_on(
    solver: str, options: dict[str, Any], tmp_path: Path, copies: Any
) -> None:
    problem = problem_of("chain", "hinge")
    how = {"solver": solver, "options": options, "tol": 1e-6, "max_passes": 9, "quiet": True}
    whole = train(problem, 0.3, **how)
    path = tmp_path / "fit.checkpoint"
    saved = train(problem, 0.3, **how, checkpoint=Checkpoint(path, every=0.0))
    assert digest(saved) == digest(whole)
    for copy in chosen(list(copies)):
        again = train(problem, 0.3, **how, checkpoint=Checkpoint(copy, every=1e3, resume=True))
        assert digest(again) == digest(whole)


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_a_fit_that_began_with_weights_goes_on(loss: str, tmp_path: Path, copies: Any) -> None:
    problem = problem_of("chain", loss)
    weights = train(problem, 0.4, tol=1e-2).weights
    how: dict[str, Any] = {"tol": 1e-5, "max_passes": 9, "quiet": True}
    whole = train(problem, 0.3, **how, initial_weights=weights)
    path = tmp_path / "fit.checkpoint"
    train(problem, 0.3, **how, initial_weights=weights, checkpoint=Checkpoint(path, every=0.0))
    assert len(copies) > 1
    for copy in chosen(list(copies)):
        again = train(problem, 0.3, **how, checkpoint=Checkpoint(copy, every=1e3, resume=True))
        assert digest(again) == digest(whole)
        assert again.initial_objective == whole.initial_objective


@pytest.mark.parametrize("bad", ["short", "whole numbers", "a number"])
def test_first_weights_that_do_not_fit(bad: str, tmp_path: Path) -> None:
    problem = problem_of("chain", "log")
    weights = train(problem, 0.4, tol=1e-2).weights
    how: dict[str, Any] = {"tol": 1e-9, "max_passes": 2, "quiet": True}
    path = tmp_path / "fit.checkpoint"
    train(problem, 0.3, **how, initial_weights=weights, checkpoint=Checkpoint(path))
    header, arrays = read_container(path)
    name = header["loop"]["initial"]["array"]
    arrays = dict(arrays)
    if bad == "a number":
        header["loop"]["initial"] = 10**30
    else:
        header["loop"]["initial"] = {"array": "other"}
        arrays["other"] = arrays[name][1:] if bad == "short" else arrays[name].astype(np.int64)
    write_container(path, header, arrays)
    with pytest.raises(DataError, match="is not sound"):
        train(problem, 0.3, **how, checkpoint=Checkpoint(path, resume=True))


def test_the_epoch_is_saved_within(tmp_path: Path, copies: list[Path]) -> None:
    problem = problem_of("chain", "log")
    train(problem, 0.3, checkpoint=Checkpoint(tmp_path / "a", every=0.0))
    left = [read_container(copy)[1]["solver.machine.left"] for copy in copies]
    assert sum(len(order) > 0 for order in left) > len(left) / 2


@pytest.mark.parametrize("more", [{"l1": 0.1}, {"l2": 1e-3}, {"solver": "online-eg"}], ids=str)
def test_other_objectives_go_on(more: Any, tmp_path: Path, copies: list[Path]) -> None:
    problem = make_instance("chain", "log", 12, n=15, weighted=True, weights="observed").problem
    how = {"l2": 0.3, "tol": 1e-6, "max_passes": 30, "quiet": True, **more}
    whole = train(problem, **how)
    train(problem, **how, checkpoint=Checkpoint(tmp_path / "a", every=0.0))
    for copy in chosen(copies):
        again = train(problem, **how, checkpoint=Checkpoint(copy, every=1e3, resume=True))
        assert digest(again) == digest(whole)


def test_a_fit_that_takes_over_goes_on(
    tmp_path: Path, copies: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("partwise.solvers.automatic._PATIENCE", 1.0)
    monkeypatch.setattr("partwise.solvers.automatic._WINDOW", 2)
    problem = problem_of("chain", "log")
    how: dict[str, Any] = {"l1": 0.05, "tol": 1e-7, "max_passes": 60, "quiet": True}
    whole = train(problem, 0.01, **how)
    train(problem, 0.01, **how, checkpoint=Checkpoint(tmp_path / "a", every=0.0))
    machines = {load_checkpoint(c).header["state"]["machine"]["solver"] for c in copies}
    assert machines == {"proximal-eg", "owl-qn"}
    for copy in chosen(copies, 12):
        again = train(problem, 0.01, **how, checkpoint=Checkpoint(copy, every=1e3, resume=True))
        assert digest(again) == digest(whole)


def test_max_passes_and_then_more(tmp_path: Path) -> None:
    problem, path = problem_of("chain", "log"), tmp_path / "a"
    whole = train(problem, 0.3, tol=1e-8)
    short = train(problem, 0.3, tol=1e-8, max_passes=5, quiet=True, checkpoint=Checkpoint(path))
    assert not short.certificate.converged
    rest = train(problem, 0.3, tol=1e-8, checkpoint=Checkpoint(path, resume=True))
    assert digest(rest) == digest(whole)
    assert rest.certificate.passes == whole.certificate.passes


def test_a_fit_that_has_ended_costs_one_evaluation(tmp_path: Path) -> None:
    problem, path = problem_of("chain", "log"), tmp_path / "a"
    first = train(problem, 0.3, checkpoint=Checkpoint(path))
    assert load_checkpoint(path).ended
    again = train(problem, 0.3, checkpoint=Checkpoint(path, resume=True))
    assert again.certificate.passes == first.certificate.passes
    assert again.weights.tobytes() == first.weights.tobytes()
    closer = train(problem, 0.3, tol=1e-9, checkpoint=Checkpoint(path, resume=True))
    assert closer.certificate.relative_gap <= 1e-9


def test_held_out_scores_go_on(tmp_path: Path, copies: list[Path]) -> None:
    from partwise.training.early_stopping import Watch

    problem = problem_of("chain", "log")
    watch = Watch(lambda weights: -float(np.abs(weights).sum()), every=1.0, patience=4)
    how: dict[str, Any] = {"tol": 1e-9, "watch": watch, "quiet": True}
    whole = train(problem, 0.01, **how)
    assert whole.kept_passes is not None
    train(problem, 0.01, **how, checkpoint=Checkpoint(tmp_path / "a", every=0.0))
    for copy in chosen(copies):
        again = train(problem, 0.01, **how, checkpoint=Checkpoint(copy, every=1e3, resume=True))
        assert digest(again) == digest(whole)
        assert again.kept_passes == whole.kept_passes


def test_other_data_and_settings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    train(problem_of("chain", "log"), 0.3, checkpoint=Checkpoint(path))
    again = Checkpoint(path, resume=True)
    for words, problem, more in (
        ("other examples", problem_of("chain", "hinge"), {}),
        ("other examples", problem_of("multiclass", "log"), {}),
        ("has l2 0.3, and this fit 0.4", problem_of("chain", "log"), {"l2": 0.4}),
        ("has seed 0, and this fit 1", problem_of("chain", "log"), {"seed": 1}),
        ("has solver 'auto'", problem_of("chain", "log"), {"solver": "sag"}),
        ("has options", problem_of("chain", "log"), {"options": {"first_step": 0.1}}),
    ):
        with pytest.raises(DataError, match=f"not a checkpoint of this fit: .*{words}"):
            train(problem, **{"l2": 0.3, **more}, checkpoint=again)


def test_a_fit_that_has_not_ended_is_not_overwritten(tmp_path: Path) -> None:
    problem, path = problem_of("chain", "log"), tmp_path / "a"
    train(problem, 0.3, max_passes=2, quiet=True, checkpoint=Checkpoint(path))
    with pytest.raises(DataError, match="has not ended; go on from it"):
        train(problem, 0.3, checkpoint=Checkpoint(path))
    train(problem, 0.3, checkpoint=Checkpoint(path, resume=True))
    train(problem, 0.5, checkpoint=Checkpoint(path))  # it has ended
    (tmp_path / "b").write_text("mine")
    with pytest.raises(DataError, match="is no checkpoint; choose another name"):
        train(problem, 0.3, checkpoint=Checkpoint(tmp_path / "b"))


@pytest.mark.parametrize("given", [{"path": ""}, {"path": 3}, {"path": "a", "every": -1.0}])
def test_bad_values(given: Any) -> None:
    with pytest.raises(DataError, match="give"):
        Checkpoint(**given)


def test_what_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_checkpoint(tmp_path / "none")
    write_container(tmp_path / "model", {"kind": "partwise model"}, {})
    assert not is_checkpoint(tmp_path / "model")
    with pytest.raises(ModelFileError, match="is no checkpoint"):
        load_checkpoint(tmp_path / "model")
    write_container(tmp_path / "half", {"kind": "partwise checkpoint"}, {})
    with pytest.raises(ModelFileError, match="not that of a checkpoint"):
        load_checkpoint(tmp_path / "half")


def mutated(header: Any, rng: np.random.Generator) -> Any:
    """Change one thing somewhere in a header."""
    text = json.loads(json.dumps(header))
    at = text[rng.choice(["state", "loop", "generator"])]
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            return text
        key = keys[int(rng.integers(len(keys)))]
        if isinstance(at[key], (dict, list)) and at[key] and rng.random() < 0.8:
            at = at[key]
            continue
        if isinstance(at, dict) and rng.random() < 0.3:
            del at[key]
        else:
            at[key] = [None, -1, 10**30, "x", {"array": "none"}, [], {"list": 3}][rng.integers(7)]
        return text


@pytest.mark.parametrize(
    "solver",
    [
        "auto",
        "bcfw",
        "crammer-singer",
        "sag-nus",
        "sgd-nus",
        "svrg",
        "hybrid",
        "dual-cd",
        "svm-struct",
    ],
)
def test_hostile_checkpoints_are_refused_or_harmless(
    solver: str, tmp_path: Path, copies: list[Path]
) -> None:
    loss = "hinge" if SOLVERS[solver].needs & {"tau=0"} else "log"
    kind = "multiclass" if "multiclass" in SOLVERS[solver].needs else "chain"
    problem = problem_of(kind, loss)
    how: dict[str, Any] = {"solver": solver, "max_passes": 6, "tol": 1e-9, "quiet": True}
    train(problem, 0.3, **how, checkpoint=Checkpoint(tmp_path / "a", every=0.0))
    kept = [*copies]
    rng = np.random.default_rng(5)
    refused = 0
    for _ in range(60):
        header, arrays = read_container(kept[int(rng.integers(len(kept)))])
        changed = dict(arrays)
        if rng.random() < 0.5:
            header = mutated(header, rng)
        else:
            name = str(rng.choice(list(arrays)))
            array = np.array(arrays[name])
            if array.dtype.kind in "iu" and array.size and rng.random() < 0.8:
                array.flat[int(rng.integers(array.size))] = 10**6
            elif array.size:
                array = array.ravel()[:-1]
            changed[name] = array
        write_container(tmp_path / "bad", header, changed)
        again = Checkpoint(tmp_path / "b", every=1e3, resume=tmp_path / "bad")
        (tmp_path / "b").unlink(missing_ok=True)
        try:
            train(problem, 0.3, **how, checkpoint=again)
        except (DataError, ModelFileError):
            refused += 1
    assert refused > 20
