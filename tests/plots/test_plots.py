from __future__ import annotations

import builtins
import math
import os
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from partwise.errors import DataError, PartwiseError
from partwise.plots import convergence_picture
from partwise.training.course import TraceRow


def trace(n: int = 30, annealed: int = 5) -> list[TraceRow]:
    rows = []
    for epoch in range(1, n + 1):
        gap = 0.6**epoch
        certified = epoch > annealed and epoch % 8 == 0
        l2 = 1.0 if epoch > annealed else 2.0 ** (annealed + 1 - epoch)
        rows.append(
            TraceRow(
                epoch=epoch,
                passes=1.1 * epoch,
                seconds=0.3 * epoch,
                l2=l2,
                primal=2500.0 * (1 + 0.7 * gap) if certified else math.nan,
                dual=2500.0 * (1 - 0.3 * gap) * (1.0 + 0.4 * (l2 - 1.0)),
                gap_estimate=2000.0 * gap,
            )
        )
    return rows


def size(path: Path) -> tuple[int, int]:
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    return width, height


@pytest.mark.parametrize("annealed", [0, 5])
def test_a_picture_is_written_whole(tmp_path: Path, annealed: int) -> None:
    path = tmp_path / "curve.png"
    convergence_picture(trace(annealed=annealed), path, "a title", tol=1e-4)
    assert size(path) == (1200, 504)
    assert [item.name for item in tmp_path.iterdir()] == ["curve.png"]


@pytest.mark.parametrize(
    "rows",
    [
        trace(1, annealed=0),
        trace(3, annealed=3),
        [TraceRow(1, 1.0, 0.1, 1.0, 0.0, 0.0, 0.0)],
        [TraceRow(1, 1.0, 0.1, 1.0, math.nan, math.nan, math.nan)],
        [TraceRow(1, 1.0, 0.0, 1.0, 5.0, -3.0, 8.0)],
    ],
    ids=["one row", "annealed to the end", "zeros", "nan", "negative dual"],
)
def test_odd_traces_are_drawn(tmp_path: Path, rows: list[TraceRow]) -> None:
    convergence_picture(rows, tmp_path / "odd.png")
    assert size(tmp_path / "odd.png")[0] > 0


def test_an_empty_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="empty trace"):
        convergence_picture([], tmp_path / "none.png")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names there")
def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for target in (pipe, tmp_path):
        with pytest.raises(DataError, match="not a plain file"):
            convergence_picture(trace(), target)
    assert pipe.is_fifo()


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none.png: cannot be written .* folder"):
        convergence_picture(trace(), tmp_path / "nowhere" / "none.png")


def test_without_matplotlib_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "matplotlib", raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(PartwiseError, match=r'pip install "partwise\[plots\]"'):
        convergence_picture(trace(), tmp_path / "none.png")
    assert not list(tmp_path.iterdir())
