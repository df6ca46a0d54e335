"""What cannot fit into memory is refused before it is tried."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from support.commands import Run, runner, sentence

from partwise import DataError, LinearClassifier, memory


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


def test_there_is_a_limit() -> None:
    assert memory.memory_limit() > 2**20


@pytest.mark.parametrize(("text", "expected"), [("1048576\n", 2.0**20), ("max\n", math.inf)])
def test_the_limit_of_a_container(
    text: str, expected: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "limit").write_text(text, "ascii")
    monkeypatch.setattr(memory, "_CGROUPS", (str(tmp_path / "limit"), str(tmp_path / "none")))
    monkeypatch.setattr(memory, "_OWN", str(tmp_path / "none"))
    monkeypatch.delattr(memory.os, "sysconf", raising=False)
    assert memory.memory_limit() == expected


@pytest.mark.parametrize(
    ("groups", "file"),
    [
        ("5:cpu:/other\n4:memory:/fit/inner\n", "memory/fit/memory.limit_in_bytes"),
        ("4:memory:/fit\n", "memory/fit/memory.limit_in_bytes"),
        ("0::/user/fit\n", "user/fit/memory.max"),
    ],
)
def test_the_limit_of_a_group(
    groups: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own").write_text(groups, "ascii")
    (tmp_path / "root" / file).parent.mkdir(parents=True)
    (tmp_path / "root" / file).write_text("1048576\n", "ascii")
    monkeypatch.setattr(memory, "_OWN", str(tmp_path / "own"))
    monkeypatch.setattr(memory, "_ROOT", str(tmp_path / "root"))
    assert memory.memory_limit() == 2.0**20


def test_an_index_that_is_too_large(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "memory_limit", lambda: 2.0**34)
    (tmp_path / "big.svm").write_text("1 1:1\n2 2000000000:1\n1 2:1\n", "ascii")
    train = ("train", "--task", "classify", tmp_path / "big.svm", "--model", tmp_path / "m")
    code, _, err = run(*train)
    assert code == 1
    assert "big.svm:2: index 2000000000: " in sentence(err)
    assert "GiB of memory" in err


def test_a_matrix_that_is_too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    x = csr_matrix((np.ones(2), ([0, 1], [0, 5_000_000])), shape=(2, 5_000_001))
    monkeypatch.setattr(memory, "memory_limit", lambda: 2.0**28)
    with pytest.raises(DataError, match="5,000,002 features and 10,000,004 weights would need"):
        LinearClassifier().fit(x, [0, 1])
