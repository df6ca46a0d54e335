"""The progress of a fit on stderr: one live line on a terminal, a table elsewhere."""

from __future__ import annotations

import math
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from .certificate import Certificate
    from .course import TraceRow
    from .result import Progress

__all__ = ["ProgressLine", "eta"]

#: The largest and the smallest number of epochs from which the remaining time is estimated.
_WINDOW: Final = 6
_FEWEST: Final = 3
#: Seconds between two refreshes of the live line.
_REFRESH: Final = 0.1
#: An extrapolation beyond this many seconds means nothing.
_TOO_LONG: Final = 100 * 86400.0

_HEADER: Final = (
    f"{'passes':>8}  {'primal':>14}  {'dual':>14}  {'relative gap':>12}  {'time':>7}  {'left':>7}"
)


def eta(rows: Sequence[TraceRow], tol: float) -> float | None:
    """Estimate the seconds until the relative gap is `tol`.

    The logarithm of the gap is assumed to fall linearly over the last epochs. The slope is the
    median over pairs of epochs, so that a single epoch that goes the wrong way does not matter. It
    is computed from the running estimates only; their error is taken from the last certified row.

    Parameters
    ----------
    rows : sequence of TraceRow
        The trace so far.
    tol : float
        The relative gap that is wanted.

    Returns
    -------
    float or None
        None if no estimate is possible: fewer than 3 epochs, an l2 that is still annealed, or a gap
        that does not fall.
    """
    if not rows or not tol > 0.0:
        return None
    last = rows[-1]
    if last.certified and last.relative_gap <= tol:
        return 0.0
    points: list[tuple[float, float]] = []
    for row in reversed(rows):
        if row.l2 != last.l2 or len(points) == _WINDOW:
            break
        points.append((row.seconds, _log_estimate(row)))
    points = [point for point in reversed(points) if math.isfinite(point[1])]
    slopes = [
        (high - low) / (after - before)
        for (before, low), (after, high) in combinations(points, 2)
        if after > before
    ]
    if len(points) < _FEWEST or not slopes:
        return None
    slope = statistics.median(slopes)
    if slope >= 0.0:
        return None
    level = statistics.median(value + slope * (last.seconds - at) for at, value in points)
    seconds = max(0.0, (level + _correction(rows) - math.log(tol)) / -slope)
    return seconds if seconds < _TOO_LONG else None


def _log_estimate(row: TraceRow) -> float:
    """Return the log of the relative gap as the epoch estimated it, certified or not."""
    size = abs(row.primal if row.certified else row.dual + row.gap_estimate)
    if not (row.gap_estimate > 0.0 and size > 0.0 and math.isfinite(size)):
        return math.nan
    return math.log(row.gap_estimate / size)


def _correction(rows: Sequence[TraceRow]) -> float:
    """Return the log of (certified gap / estimate) for the last certified row."""
    for row in reversed(rows):
        if row.certified:
            estimate = _log_estimate(row)
            if row.relative_gap > 0.0 and math.isfinite(row.relative_gap + estimate):
                return math.log(row.relative_gap) - estimate
            return 0.0
    return 0.0


class ProgressLine:
    """A training callback that shows passes, primal, dual, relative gap, time and time left.

    On a terminal it updates a single line; elsewhere it writes a row from time to time, below a
    header. ``~`` marks a gap that is only the running estimate, and ``-`` stands where there is
    none, as before every example was visited. The primal is the one of the last full evaluation.

    Parameters
    ----------
    stream : text stream or None
        Where to write; None is stderr.
    l2 : float or None
        The target l2, to show whether l2 is still annealed.
    scored : bool
        Whether held-out data are scored, so that the last score is shown too.
    interval : float
        The minimum number of seconds between two rows if the stream is not a terminal.
    clock : callable
        Returns the current time in seconds.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        l2: float | None = None,
        scored: bool = False,
        interval: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._live = bool(self._stream.isatty())
        self._l2 = l2
        self._scored = scored
        self._score = math.nan
        self._interval = _REFRESH if self._live else interval
        self._clock = clock
        self._due = clock() + self._interval
        self._rows: list[TraceRow] = []
        self._primal = math.nan
        self._header = False
        self._shown = 0

    def __call__(self, progress: Progress) -> None:
        """Show one more epoch; the result never stops the fit."""
        row = progress.row
        self._rows.append(row)
        if row.certified:
            self._primal = row.primal
        if not math.isnan(row.score):
            self._score = row.score
        now = self._clock()
        if now < self._due:
            return
        self._due = now + self._interval
        left = eta(self._rows, progress.tol)
        if self._live:
            self._write_over(self._sentence(row, left))
            return
        if not self._header:
            self._header = True
            self._stream.write(_HEADER + (f"  {'score':>9}" if self._scored else "") + "\n")
        self._stream.write(self._columns(row, left) + "\n")
        self._stream.flush()

    def finish(self, certificate: Certificate) -> None:
        """Write the last line: what the fit guarantees and why it stopped."""
        if self._live:
            self._write_over("")
        self._stream.write(f"{certificate}; {certificate.verdict}\n")
        self._stream.flush()

    def clear(self) -> None:
        """Erase the live line, so that another line can be written in its place."""
        if self._live and self._shown:
            self._write_over("")

    def abandon(self) -> None:
        """End the live line of a fit that ended without a certificate."""
        if self._live and self._shown:
            self._stream.write("\n")
            self._stream.flush()
            self._shown = 0

    def _write_over(self, text: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        text = text[: max(width, 20)]
        # Blanks and not an escape sequence: they work on every terminal.
        self._stream.write("\r" + text.ljust(self._shown))
        if not text:
            self._stream.write("\r")
        self._stream.flush()
        self._shown = len(text)

    def _sentence(self, row: TraceRow, left: float | None) -> str:
        # What matters most comes first: a narrow terminal cuts the rest off.
        parts = [f"pass {row.passes:.0f}"]
        if math.isfinite(row.relative_gap):
            parts.append(f"gap {_gap(row)}")
        parts.append(_duration(row.seconds))
        if left is not None:
            parts.append(f"{_duration(left)} left")
        if not math.isnan(self._score):
            parts.append(f"score {self._score:.4f}")
        if self._l2 is not None and row.l2 > self._l2:
            parts.append(f"l2 {row.l2:.3g} on its way to {self._l2:.3g}")
        if not math.isnan(self._primal):
            parts.append(f"primal {_number(self._primal)}")
        parts.append(f"dual {_number(row.dual)}")
        return "  ".join(parts)

    def _columns(self, row: TraceRow, left: float | None) -> str:
        primal = "-" if math.isnan(self._primal) else _number(self._primal)
        rest = "-" if left is None else _duration(left)
        score = "-" if math.isnan(self._score) else f"{self._score:.4f}"
        return (
            f"{row.passes:8.1f}  {primal:>14}  {_number(row.dual):>14}  {_gap(row):>12}  "
            f"{_duration(row.seconds):>7}  {rest:>7}" + (f"  {score:>9}" if self._scored else "")
        )


def _number(value: float) -> str:
    """Write a value with 4 decimals, or in scientific notation where that is too long."""
    text = f"{value:.4f}"
    return text if len(text) <= 14 else f"{value:.7e}"


def _gap(row: TraceRow) -> str:
    if not math.isfinite(row.relative_gap):
        return "- "
    return f"{row.relative_gap:.2e}" + (" " if row.certified else "~")


def _duration(seconds: float) -> str:
    """Write seconds as `4.2s`, `75s`, `12m05s` or `3h07m`."""
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 120:
        return f"{minutes}m{rest:02d}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m"
