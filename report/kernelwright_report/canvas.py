"""What all plots share: a sheet with a headline, axes placed in inches, lines with bands, bars with their values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from . import text
from .labels import LEADER, Placer
from .panels import VISIBLE, Bars
from .results import ResultFile
from .rows import EXACT, Range
from .theme import GRID, INK, MUTED, PAPER

WIDTH = 13.0  # inches of every sheet
HEADLINE = 0.78  # inches at the top of every sheet


class Sheet:
    """A figure whose axes are placed in inches from its top left corner."""

    def __init__(self, width: float, height: float, title: str, subtitle: str):
        self.width, self.height = width, height
        self.figure = Figure(figsize=(width, height))
        self.text(0.25, 0.27, text.cut(title, 110), fontsize=13, fontweight="bold")
        self.text(0.25, 0.51, text.cut(subtitle, 200), color=MUTED, fontsize=9)

    def text(self, left: float, top: float, content: str, **style) -> None:
        style.setdefault("va", "center")
        self.figure.text(left / self.width, 1 - top / self.height, content, **style)

    def axes(self, left: float, top: float, width: float, height: float, **options) -> Axes:
        box = (left / self.width, 1 - (top + height) / self.height, width / self.width, height / self.height)
        return self.figure.add_axes(box, **options)


def where(result: ResultFile) -> str:
    """The line under a sheet's title: device, statistic, cache state, input."""
    l2, inputs = "/".join(result.values("l2")), "/".join(result.values("input"))
    device = text.cut(result.device["name"], 60)
    return " · ".join(filter(None, [device, "median times", l2 and f"L2 {l2}", inputs and f"{inputs} input"]))


def small_title(axes: Axes, content: str) -> None:
    axes.set_title(content, fontsize=8.5, fontweight="normal", color=MUTED, pad=5)


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    range: Range = EXACT  # of y


def draw_line(axes: Axes, points: list[Point], colour: str, role: str) -> None:
    """A kernel's line; a band shows the spread where it is wider than the line."""
    width, order = {"rung": (1.5, 3), "peer": (2.3, 4)}.get(role, (2.4, 5))
    axes.plot(
        [point.x for point in points], [point.y for point in points], color=colour, marker="o", markersize=3.8,
        markeredgecolor=PAPER, markeredgewidth=0.5, linewidth=width, zorder=order,
    )  # fmt: skip
    if any(point.range.width > VISIBLE for point in points):
        axes.fill_between(
            [point.x for point in points],
            [point.y * max(point.range.low, 1e-3) for point in points],
            [point.y * point.range.high for point in points],
            color=colour, alpha=0.18, linewidth=0, zorder=2.2,
        )  # fmt: skip


def log_sizes(axes: Axes, sizes: list[int], name: Callable[[int], str], inches: float) -> None:
    """A logarithmic axis of sizes, with as many of their names as do not touch."""
    axes.set_xscale("log", base=2)
    low, high = math.log2(sizes[0]), math.log2(sizes[-1])
    gap = (high - low) * 0.46 / inches
    kept: list[int] = []
    for size in reversed(sizes):
        if not kept or math.log2(kept[-1]) - math.log2(size) >= gap:
            kept.append(size)
    axes.set_xticks(kept, [name(size) for size in kept])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(axis="x", visible=False)


def plain_log(axes: Axes) -> None:
    """A logarithmic y axis labelled 0.1, 1, 10; of a range without two such labels, 1, 2, 5, 10."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [10.0**decade for decade in decades]
    if sum(low <= tick <= high for tick in ticks) < 2:
        ticks = [digit * tick for tick in ticks for digit in (1, 2, 5)]
    axes.yaxis.set_major_locator(FixedLocator(ticks if len(ticks) < 20 else ticks[:: len(ticks) // 10]))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_locator(NullLocator())


# ---------------------------------------------------------------- bars

MOST = 6.0  # bars over so many times the reference are cut, and marked as cut


def _cut(axes: Axes, x: float, y: float) -> None:
    """Two slanted strokes: the bar is longer than it is drawn."""
    slant = 0.012 * (axes.get_xlim()[1] - axes.get_xlim()[0])
    for shift in (0, 1.6 * slant):
        axes.plot(
            [x - shift - slant, x - shift], [y + 0.42, y - 0.42], color=PAPER, linewidth=1.8, zorder=3, label=LEADER
        )


def _log_ticks(axes: Axes, low: float, high: float) -> None:
    steps = (1.0, 2, 4, 8, 16, 64, 256, 1024) if high > 2.5 or low < 0.4 else (1.0, 1.25, 1.5, 2)
    factors = sorted(f for f in {*steps, *(1 / step for step in steps)} if low <= f <= high)
    axes.xaxis.set_major_locator(FixedLocator(factors))
    axes.xaxis.set_major_formatter(FixedFormatter([f"{factor:.3g}×" for factor in factors]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(axis="x", visible=True)


def _limits(bars: Bars) -> tuple[float, float]:
    known = [value for value in bars.values if value is not None]
    if bars.log:
        low, high = min([*known, 1 / 1.1]), max([*known, 1.25])
        low, high = max(low, 1e-3), min(high, 1e4)
        room = (high / low) ** 0.2  # for the numbers beside the bars
        return low / (1 if low > 0.9 else room**0.2), high * room
    top = max(known, default=0.0) or 1.0
    if bars.reference is not None:
        top = min(max(top, bars.reference), MOST * bars.reference)
    return 0.0, top * 1.2


def draw_bars(axes: Axes, bars: Bars, labels: list[str], colours: list[str], names: bool) -> None:
    """In the given order, top to bottom, each with its value written at its end, clear of the lines."""
    axes.set_title(bars.title, pad=8)
    axes.grid(False)
    axes.set_yticks(range(len(labels)), labels if names else [""] * len(labels))
    axes.tick_params(axis="y", labelsize=9, labelcolor=INK, pad=5)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    low, high = _limits(bars)
    base = 1.0 if bars.log else 0.0
    last = high / ((high / low) ** 0.15) if bars.log else high / 1.2  # beyond it stand the numbers
    if bars.log:
        axes.set_xscale("log", base=2)
    axes.set_xlim(low, high)
    if bars.log:
        _log_ticks(axes, low, last)
    else:
        axes.set_xticks([])
    axes.axvline(base, color=GRID, linewidth=1.2, zorder=1, label=LEADER)
    axes.spines["bottom"].set_visible(False)
    if bars.reference is not None:
        axes.axvline(bars.reference, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    placer = Placer(axes)
    for i, (value, range_, colour) in enumerate(zip(bars.values, bars.ranges, colours)):
        end = base if value is None else min(max(value, low), last * 1.0001)
        if value is not None:
            axes.barh(i, end - base, left=base, height=0.7, color=colour, zorder=2)
            cut = value > last * 1.001
            if cut:
                _cut(axes, last - 0.025 * (last - base), i)
            elif range_.width > VISIBLE:
                right = min(end * range_.high, high)
                axes.plot([max(end * range_.low, low), right], [i, i], color=INK, linewidth=1, zorder=4, label=LEADER)
                end = right
        starts = [max(end, base)] + ([max(end, bars.reference)] if bars.reference is not None else [])
        places = [{"xy": (x, i), "xytext": (5, 0), "ha": "left", "va": "center"} for x in starts]
        placer.text(
            bars.show(value), places, fontsize=8.5, color=MUTED if value is None else INK, annotation_clip=False
        )


def bar_sheet(title: str, subtitle: str, panels: list[Bars], labels: list[str], colours: list[str]) -> Figure:
    """Panels of bars side by side; the kernels' names stand on the left."""
    height = max(0.27 * len(labels), 0.5)
    sheet = Sheet(WIDTH, HEADLINE + height + 0.95, title, subtitle)
    width = (WIDTH - 2.35 - 0.4 * len(panels)) / max(len(panels), 1)
    for i, panel in enumerate(panels):
        axes = sheet.axes(2.35 + i * (width + 0.4), HEADLINE + 0.4, width, height)
        draw_bars(axes, panel, [text.cut(label, 32) for label in labels], colours, names=i == 0)
    return sheet.figure
