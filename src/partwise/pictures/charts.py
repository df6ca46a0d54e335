"""Small charts as SVG: lines, points and bars over two axes, told apart without colours too."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from .markup import Markup, element, text_width

__all__ = ["Axis", "Chart", "Curve", "interval_svg"]

Point = tuple[float, float]

_WIDTH, _HEIGHT = 460.0, 300.0
_RIGHT, _TOP, _BOTTOM = 14.0, 14.0, 46.0
_SMALL: Final = 12.0
#: The marks of the points of each series: circle, square, triangle, cross.
_SHAPES: Final = (
    "m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0z", "m-3.3-3.3h6.6v6.6h-6.6z",
    "m0-4.2l4 7h-8z", "m-3.4-3.4l6.8 6.8m0-6.8l-6.8 6.8",
)  # fmt: skip


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes
    ----------
    label : str
        What it shows, with its unit.
    low, high : float
        Its ends.
    log : bool
        Whether it is logarithmic; its ends are then above 0.
    reverse : bool
        Whether it goes from the high end to the low one.
    percent : bool
        Whether its numbers are fractions to be written in per cent.

    Examples
    --------
    >>> from partwise.pictures import Axis
    >>> axis = Axis("passes", 0.0, 10.0)
    >>> axis.ticks(), axis.place(2.5)
    ([0.0, 2.0, 4.0, 6.0, 8.0, 10.0], 0.25)
    """

    label: str
    low: float
    high: float
    log: bool = False
    reverse: bool = False
    percent: bool = False

    @classmethod
    def around(cls, label: str, values: Sequence[float], **more: bool) -> Axis:
        """Return an axis that has room for some values."""
        known = [v for v in values if math.isfinite(v) and (v > 0.0 or not more.get("log"))]
        low, high = min(known, default=1.0), max(known, default=1.0)
        if more.get("log"):
            return cls(label, low / 1.3, high * 1.3, **more)
        room = 0.06 * (high - low) or 0.05 * max(abs(high), 1e-9)
        return cls(label, low - room, high + room, **more)

    def place(self, value: float) -> float:
        """Return where a value is, from 0 to 1."""
        a, b, v = (
            (math.log(self.low), math.log(self.high), math.log(value))
            if self.log
            else (self.low, self.high, value)
        )
        share = (v - a) / (b - a) if b > a else 0.5
        return 1.0 - share if self.reverse else share

    def ticks(self) -> list[float]:
        """Return round numbers on the axis, about five of them."""
        if self.log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            if last - first >= 1:
                stride = max(1, math.ceil((last - first) / 5))
                return [10.0**power for power in range(first, last + 1, stride)]
            digits = math.floor(math.log10(self.low))
            several = [k * 10.0**p for p in (digits, digits + 1) for k in (1, 2, 3, 5, 7)]
            return [tick for tick in several if self.low <= tick <= self.high]
        rough = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(k * power for k in (1, 2, 2.5, 5, 10) if k * power >= rough * 0.999)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]

    def text(self, tick: float) -> str:
        """Return a number of the axis as text."""
        if self.percent:
            return f"{100 * tick:.6g}%"
        if self.log and not 1e-3 < tick < 1e5:
            return f"1e{round(math.log10(tick))}"
        shown = 0.0 if abs(tick) < 1e-12 * max(abs(self.low), abs(self.high)) else tick
        return f"{shown:,.6g}"


class Curve(NamedTuple):
    """What is drawn over two axes.

    Attributes
    ----------
    kind : str
        "line", "points", "both" (a line with points), "whiskers" (upright lines, from each point
        down to the next one), "bars" (from the floor to the line between two points) or "band" (the
        height of the chart, between two points).
    points : sequence of (x, y)
        Where it is.
    series : int
        Its number, which tells curves apart by colour, dashes and marks.
    name : str or None
        Its name in the legend.
    """

    kind: str
    points: Sequence[Point]
    series: int
    name: str | None = None


@dataclass
class Chart:
    """A chart that is put together piece by piece, and drawn as SVG, or with matplotlib by `plots`.

    Attributes
    ----------
    title : str
        Its title, which is not drawn: the caption of a figure says it.
    x, y : Axis
        The axes.
    caption, told : str
        What it shows, and the same with numbers for those who do not see it.
    curves : list of Curve
        What is drawn.

    Examples
    --------
    >>> from partwise.pictures import Axis, Chart
    >>> chart = Chart("Convergence", Axis("passes", 0.0, 10.0), Axis("gap", 1e-4, 1.0, log=True))
    >>> chart.line([(0.0, 1.0), (5.0, 1e-2), (10.0, 1e-4)], series=0, name="certified")
    >>> svg = chart.svg("The gap falls from 1 to 0.0001.")
    >>> svg[:4], svg.count("polyline")
    ('<svg', 1)
    """

    title: str
    x: Axis
    y: Axis
    caption: str = ""
    told: str = ""
    curves: list[Curve] = field(default_factory=list)

    @property
    def _left(self) -> float:
        """The left edge, with room for the numbers and the label of the axis."""
        return 30.0 + max((text_width(self.y.text(t), _SMALL) for t in self.y.ticks()), default=0.0)

    def line(
        self,
        points: Sequence[Point],
        series: int,
        name: str | None = None,
        *,
        marked: bool = False,
    ) -> None:
        """Draw a line, solid or dashed by the number of its series, also with marks."""
        self.curves.append(Curve("both" if marked else "line", points, series, name))

    def points(self, points: Sequence[Point], series: int, name: str | None = None) -> None:
        """Draw points, with a mark by the number of their series."""
        self.curves.append(Curve("points", points, series, name))

    def whiskers(self, ends: Sequence[tuple[float, float, float]], series: int) -> None:
        """Draw upright lines (x, low, high), for intervals."""
        points = [(x, y) for x, low, high in ends for y in (low, high)]
        self.curves.append(Curve("whiskers", points, series))

    def rule(self, value: float, name: str, series: int, upright: bool = False) -> None:
        """Draw a line across the chart at a value of y, or of x."""
        ends = [self.y.low, self.y.high] if upright else [self.x.low, self.x.high]
        self.line([(value, end) if upright else (end, value) for end in ends], series, name)

    def bars(self, bars: Sequence[tuple[float, float, float]]) -> None:
        """Draw bars (from, to, height)."""
        points = [(x, height) for start, stop, height in bars for x in (start, stop)]
        self.curves.append(Curve("bars", points, 0))

    def band(self, start: float, stop: float, name: str) -> None:
        """Draw a background from one value of x to another."""
        points = [(start, self.y.low), (stop, self.y.high)]
        self.curves.append(Curve("band", points, 0, name))

    def svg(self, alternative: str) -> Markup:
        """Return the chart.

        Parameters
        ----------
        alternative : str
            What it shows, in words.
        """
        legend, lines = self._legend_rows()
        height = _HEIGHT + 18.0 * lines
        drawn = [part for curve in self.curves for part in self._curve(curve)]
        return element(
            "svg", element("title", self.title), *self._axes(), *drawn, *legend,
            xmlns="http://www.w3.org/2000/svg", class_="pw-picture pw-chart", role="img",
            viewBox=f"0 0 {_WIDTH:g} {height:g}", aria_label=f"{self.title}. {alternative}",
        )  # fmt: skip

    def _curve(self, curve: Curve) -> Iterator[Markup]:
        """Draw a curve, without points that cannot be drawn."""
        if curve.kind in ("line", "points", "both"):
            places = [*map(self._at, self._shown(curve.points))]
            if places and curve.kind != "points":
                path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
                yield element("polyline", points=path, class_=f"pw-curve pw-s{curve.series}")
            if curve.kind != "line":
                yield from (_mark(x, y, curve.series) for x, y in places)
            return
        floor = self._at((self.x.low, max(self.y.low, 0.0)))[1]
        pairs = zip(curve.points[::2], curve.points[1::2], strict=True)
        for (a, top), (b, foot) in ((self._at(one), self._at(two)) for one, two in pairs):
            if curve.kind == "whiskers":
                path = f"M{a:.1f} {top:.1f}V{foot:.1f}"
                yield element("path", d=path, class_=f"pw-curve pw-s{curve.series}")
            elif curve.kind == "bars":
                yield element("rect", x=a + 1.0, y=top, width=max(b - a - 2.0, 1.0),
                              height=max(floor - top, 0.0), class_="pw-bar")  # fmt: skip
            else:
                yield element("rect", x=a, y=foot, width=b - a, height=top - foot, class_="pw-band")

    def _shown(self, points: Sequence[Point]) -> list[Point]:
        """Return the points that can be drawn, those outside moved to the edge."""
        known = [p for p in points if all(map(math.isfinite, p))]
        positive = [
            p for p in known if (p[0] > 0 or not self.x.log) and (p[1] > 0 or not self.y.log)
        ]
        return [
            (min(max(x, self.x.low), self.x.high), min(max(y, self.y.low), self.y.high))
            for x, y in positive
        ]

    def _at(self, point: Point) -> Point:
        x, y = self.x.place(point[0]), self.y.place(point[1])
        wide, high = _WIDTH - self._left - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        return self._left + wide * x, _TOP + high * (1.0 - y)

    def _axes(self) -> list[Markup]:
        left, top, right, foot = self._left, _TOP, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        drawn = []
        for tick in self.y.ticks():
            y = self._at((self.x.low, tick))[1]
            drawn.append(element("path", d=f"M{left:g} {y:.1f}H{right:g}", class_="pw-grid"))
            drawn.append(_text(self.y.text(tick), left - 7.0, y + 4.0, "end"))
        for tick in self.x.ticks():
            x = self._at((tick, self.y.low))[0]
            drawn.append(element("path", d=f"M{x:.1f} {foot:g}v5", class_="pw-axis"))
            drawn.append(_text(self.x.text(tick), x, foot + 19.0, "middle"))
        drawn.append(element("path", d=f"M{left:g} {top:g}V{foot:g}H{right:g}", class_="pw-axis"))
        drawn.append(_text(self.x.label, (left + right) / 2, _HEIGHT - 8.0, "middle"))
        middle = (top + foot) / 2
        turned = element(
            "text", self.y.label, x=0, y=0, text_anchor="middle",
            transform=f"translate(13 {middle:.1f}) rotate(-90)",
        )  # fmt: skip
        return [*drawn, turned]

    def _legend_rows(self) -> tuple[list[Markup], int]:
        """Return the legend below the chart, and how many lines it has."""
        drawn, x, line = [], self._left, 0
        named = [curve for curve in self.curves if curve.name is not None]
        for kind, _, series, name in named:
            assert name is not None
            wide = 34.0 + text_width(name, _SMALL)
            if x > self._left and x + wide > _WIDTH:
                x, line = self._left, line + 1
            y = _HEIGHT + 10.0 + 18.0 * line
            if kind == "band":
                drawn.append(element("rect", x=x, y=y - 9.0, width=22, height=10, class_="pw-band"))
            elif kind != "line":
                drawn.append(_mark(x + 11.0, y - 4.0, series))
            else:
                path = f"M{x:.1f} {y - 4.0:g}h22"
                drawn.append(element("path", d=path, class_=f"pw-curve pw-s{series}"))
            drawn.append(_text(name, x + 28.0, y, "start"))
            x += wide + 10.0
        return drawn, line + 1 if named else 0


def _text(text: str, x: float, y: float, anchor: str) -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor)


def _mark(x: float, y: float, series: int) -> Markup:
    path = f"M{x:.1f} {y:.1f}{_SHAPES[series % len(_SHAPES)]}"
    return element("path", d=path, class_=f"pw-mark pw-m{series}")


def interval_svg(value: float, low: float, high: float) -> Markup:
    """Draw a fraction with its interval on a line from 0 to 1.

    The numbers stand beside it in a table, so that screen readers need not know of it.

    Parameters
    ----------
    value : float
        The fraction.
    low, high : float
        The ends of its interval.

    Returns
    -------
    Markup
        An SVG element.

    Examples
    --------
    >>> from partwise.pictures import interval_svg
    >>> interval_svg(0.9, 0.85, 0.94).startswith("<svg")
    True
    """
    x, a, b = (4.0 + 112.0 * min(max(v, 0.0), 1.0) for v in (value, low, high))
    return element(
        "svg", element("path", d="M4 8H116M4 5v6M60 6v4M116 5v6", class_="pw-axis"),
        element("path", d=f"M{a:.1f} 8H{b:.1f}", class_="pw-whisker"), _mark(x, 8.0, 0),
        class_="pw-picture pw-interval", viewBox="0 0 120 16", width=120, height=16,
        aria_hidden="true",
    )  # fmt: skip
