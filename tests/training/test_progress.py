from __future__ import annotations

import io
import itertools
import math
from typing import Any

import numpy as np
import pytest
from support.class_data import drawn

import partwise
from partwise import LinearClassifier
from partwise.solvers.eg.base import Annealing
from partwise.training.certificate import Certificate
from partwise.training.course import TraceRow
from partwise.training.progress import ProgressLine, eta
from partwise.training.result import Progress

OPTIMUM = 1000.0


def row(
    epoch: int, gap: float, *, certified: bool = False, l2: float = 1.0, pace: float = 1.0
) -> TraceRow:
    """An epoch of `pace` seconds whose relative gap is about `gap`; the estimate is half of it."""
    dual = OPTIMUM * (1 - gap)
    return TraceRow(
        epoch=epoch,
        passes=float(epoch),
        seconds=pace * epoch,
        l2=l2,
        primal=OPTIMUM if certified else math.nan,
        dual=dual,
        gap_estimate=0.5 * gap * OPTIMUM,
    )


def geometric(n: int, rate: float = 0.5, every: int = 0, pace: float = 1.0) -> list[TraceRow]:
    return [
        row(e, rate**e, certified=bool(every) and e % every == 0, pace=pace)
        for e in range(1, n + 1)
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def told(rows: list[TraceRow], line: ProgressLine, clock: Clock, step: float) -> None:
    for one in rows:
        clock.now += step
        assert not line(Progress(one, 1e-4, 100.0, lambda: np.zeros(0)))


@pytest.mark.parametrize("pace", [0.01, 1.0, 60.0])
def test_eta_extrapolates_geometric_decay(pace: float) -> None:
    rows = geometric(10, every=8, pace=pace)
    expected = pace * (math.log(1e-4) / math.log(0.5) - 10)
    assert eta(rows, 1e-4) == pytest.approx(expected, rel=0.02)


def test_eta_without_certified_rows_trusts_the_estimate() -> None:
    rows = geometric(10)
    expected = math.log(1e-4 / 0.5) / math.log(0.5) - 10
    assert eta(rows, 1e-4) == pytest.approx(expected, rel=0.05)


def test_eta_survives_an_epoch_that_goes_up() -> None:
    rows = geometric(10)
    rows[7] = row(8, 0.3)
    expected = math.log(1e-4 / 0.5) / math.log(0.5) - 10
    assert eta(rows, 1e-4) == pytest.approx(expected, rel=0.3)


def test_eta_knows_when_it_does_not_know() -> None:
    assert eta([], 1e-4) is None
    assert eta(geometric(2), 1e-4) is None
    assert eta([row(e, 0.01 * e) for e in range(1, 9)], 1e-4) is None
    assert eta([row(e, 0.5**e, l2=8 / e) for e in range(1, 9)], 1e-4) is None
    assert eta([row(e, math.nan) for e in range(1, 9)], 1e-4) is None
    assert eta([row(e, 0.0) for e in range(1, 9)], 1e-4) is None
    assert eta([row(e, 0.5**e, pace=0.0) for e in range(1, 9)], 1e-4) is None
    assert eta([row(e, 0.1 - 1e-15 * e) for e in range(1, 9)], 1e-12) is None
    assert eta(geometric(9), 0.0) is None


def test_eta_counts_only_rows_of_the_last_l2() -> None:
    annealed = [row(e, 0.9, l2=8.0 / e) for e in range(1, 6)]
    settled = [row(5 + e, 0.5**e) for e in range(1, 5)]
    assert eta(annealed + settled[:2], 1e-4) is None
    assert eta(annealed + settled, 1e-4) == pytest.approx(math.log2(0.5e4) - 4, rel=0.15)


def test_eta_is_zero_when_done() -> None:
    assert eta([row(1, 1e-6, certified=True)], 1e-4) == 0.0


def test_rows_come_now_and_then_under_one_header() -> None:
    stream, clock = io.StringIO(), Clock()
    line = ProgressLine(stream, interval=2.0, clock=clock)
    told(geometric(10, every=4), line, clock, step=0.5)
    lines = stream.getvalue().splitlines()
    assert [text.split()[0] for text in lines] == ["passes", "4.0", "8.0"]
    assert len({len(text.rstrip()) for text in lines}) == 1
    assert "~" not in lines[1]
    assert "\r" not in stream.getvalue()


def test_estimates_are_marked() -> None:
    stream, clock = io.StringIO(), Clock()
    told(geometric(3), ProgressLine(stream, interval=0.0, clock=clock), clock, step=1.0)
    _, first, *_ = stream.getvalue().splitlines()
    assert "~" in first
    assert first.split()[1] == "-"


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_a_gap_without_an_estimate_is_left_out(stream: io.StringIO) -> None:
    # Before every example was visited, nothing is known about the gap.
    unknown = TraceRow(1, 1.0, 0.5, 1.0, math.nan, 2.0, math.inf)
    assert unknown.relative_gap == math.inf
    clock = Clock()
    told([unknown], ProgressLine(stream, interval=0.0, clock=clock), clock, step=1.0)
    shown = stream.getvalue().splitlines()[-1].split()
    if stream.isatty():
        assert shown == ["pass", "1", "0.5s", "dual", "2.0000"]
    else:
        assert shown == ["1.0", "-", "2.0000", "-", "0.5s", "-"]


def test_quick_fits_only_show_the_last_line() -> None:
    stream, clock = io.StringIO(), Clock()
    line = ProgressLine(stream, clock=clock)
    told(geometric(3), line, clock, step=0.1)
    assert stream.getvalue() == ""
    line.finish(Certificate(10.0, 9.9999, 1e-4, 3.0, 0.3, "converged: it did"))
    assert stream.getvalue().endswith("converged: it did\n")
    assert stream.getvalue().count("\n") == 1


def test_a_terminal_gets_one_line_that_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    stream, clock = Terminal(), Clock()
    line = ProgressLine(stream, l2=1.0, clock=clock)
    told([row(e, 0.9, l2=8.0 / e) for e in range(1, 4)], line, clock, step=1.0)
    told(geometric(8, every=4), line, clock, step=1.0)
    text = stream.getvalue()
    assert "\n" not in text
    shown = text.split("\r")[1:]
    assert len(shown) == 11
    assert all(len(one) < 60 for one in shown)
    assert "on its way to" in shown[0]
    assert "left" in shown[-1]
    line.finish(Certificate(10.0, 9.9999, 1e-4, 3.0, 0.3, "converged"))
    assert stream.getvalue().split("\r")[-1].startswith("objective 10.0")


def test_the_live_line_is_refreshed_ten_times_a_second_at_most() -> None:
    stream, clock = Terminal(), Clock()
    told(geometric(100, 0.99), ProgressLine(stream, clock=clock), clock, step=0.01)
    assert 5 <= stream.getvalue().count("\r") <= 10


def test_an_abandoned_line_is_ended() -> None:
    stream, clock = Terminal(), Clock()
    line = ProgressLine(stream, clock=clock)
    line.abandon()
    assert stream.getvalue() == ""
    told(geometric(3), line, clock, step=1.0)
    line.abandon()
    assert stream.getvalue().endswith("\n")


def test_a_cleared_line_leaves_nothing_behind() -> None:
    stream, clock = Terminal(), Clock()
    line = ProgressLine(stream, clock=clock)
    line.clear()
    assert stream.getvalue() == ""
    told(geometric(3), line, clock, step=1.0)
    shown = stream.getvalue().split("\r")[-1]
    line.clear()
    assert stream.getvalue().endswith(f"\r{' ' * len(shown)}\r")


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e30, -5.0])
def test_columns_stay_aligned_for_any_size(size: float) -> None:
    stream, clock = io.StringIO(), Clock()
    line = ProgressLine(stream, interval=0.0, clock=clock)
    rows = [TraceRow(1, 1.0, 8000.0, 1.0, size, size, 0.0)]
    told(rows, line, clock, step=1.0)
    header, only = stream.getvalue().splitlines()
    assert len(only) == len(header)


def test_the_l2_that_is_asked_for_is_shown_in_a_fit_but_not_in_a_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = Terminal()
    seconds = itertools.count()

    class Eager(ProgressLine):
        def __init__(self, **more: Any) -> None:
            super().__init__(stream, clock=lambda: float(next(seconds)), **more)

    monkeypatch.setattr("partwise.training.progress.ProgressLine", Eager)
    monkeypatch.setenv("COLUMNS", "200")
    x, y = drawn(0, 40, 3, 3)
    options = {"annealing": Annealing(10.0)}
    made = LinearClassifier(solver="online-eg", solver_options=options, l2=1.0, verbose=True)
    made.fit(x, y)
    assert "on its way to 1  " in stream.getvalue()
    stream.truncate(0)
    # A path does not use the l2 of the estimator.
    partwise.path(made, x, y, dev=(x, y), l2_max=8.0, steps=2, tol=1e-2)
    assert "pass" in stream.getvalue()
    assert "on its way" not in stream.getvalue()
