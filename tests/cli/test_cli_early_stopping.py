"""``--dev`` while training, and ``--patience``."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import Run, one_object, runner, sentence

from partwise import load_model
from partwise.datasets import tagged_text, write


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture
def train(run: Run, tmp_path: Path) -> Any:
    write(tagged_text(60, seed=1), tmp_path / "train.txt")
    write(tagged_text(20, seed=2), tmp_path / "dev.txt")

    def call(model: str, *options: object) -> tuple[int, str, str]:
        given = ["--model", tmp_path / model, "--l2", "0.01", *options]
        return run("train", "--task", "tag", tmp_path / "train.txt", *given)

    return call


def test_the_dev_file_is_scored_while_training(train: Any, tmp_path: Path) -> None:
    dev = ["--dev", tmp_path / "dev.txt"]
    code, out, err = train("m", *dev, "--json")
    assert code == 0
    record = one_object(out)
    rows = record["trace"]
    scores = [row["score"] for row in rows if row["score"] is not None]
    assert len(scores) > 2
    assert scores[-1] == record["metrics"]["f1"]
    assert rows[-1]["objective"] == record["objective"]
    # Every epoch has its row, with its running dual value where there is no certified one.
    assert len(rows) >= int(record["passes"])
    assert any(row["objective"] is None for row in rows)
    assert all(row["dual"] <= record["objective"] and row["l2"] == 0.01 for row in rows)
    # A dev file of a third of the training file is scored every 5/3 passes.
    passes = [row["passes"] for row in rows if row["score"] is not None]
    assert all(b - a >= 5 / 3 for a, b in pairwise(passes[:-1]))
    assert record["kept_passes"] is None
    assert err.count("positions have labels") <= 1
    assert train("plain")[0] == 0
    both = [load_model(tmp_path / name).weights for name in ("m", "plain")]
    assert np.array_equal(*both)


def test_patience_keeps_the_best_weights(train: Any, run: Run, tmp_path: Path) -> None:
    dev = ["--dev", tmp_path / "dev.txt", "--tol", "1e-9"]
    code, out, err = train("m", *dev, "--patience", "2", "--json")
    assert code == 3
    record = one_object(out)
    scored = [row for row in record["trace"] if row["score"] is not None]
    best = max(scored, key=lambda row: row["score"])
    assert record["kept_passes"] == best["passes"]
    assert scored.index(best) == len(scored) - 3
    assert record["metrics"]["f1"] == best["score"]
    assert not record["converged"]
    assert "stopped: 2 scorings without a better held-out score; kept the weights" in err
    assert "as --patience asks for" in err
    assert "--max-passes" not in err
    found = one_object(run("evaluate", tmp_path / "m", tmp_path / "dev.txt", "--json")[1])
    assert found["metrics"] == record["metrics"]
    assert train("again", *dev, "--patience", "2", "--quiet")[0] == 3
    both = [load_model(tmp_path / name).weights for name in ("m", "again")]
    assert np.array_equal(*both)
    certified = one_object(train("optimum", *dev, "--json", "--quiet")[1])
    assert record["dual"] <= certified["objective"] <= record["objective"]
    # Training goes on from there.
    assert train("on", "--resume", tmp_path / "m", "--tol", "1e-3", "--quiet")[0] == 0


def test_patience_needs_a_file(train: Any) -> None:
    code, _, err = train("m", "--patience", "2")
    assert code == 2
    assert "--patience needs --dev FILE" in sentence(err)
