"""The plot of a sweep of products: how far each call is from the roofline, against the product's intensity."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from . import sweeps, text
from .canvas import HEADLINE, WIDTH, Sheet, small_title, where
from .labels import label_ends, level
from .results import ResultFile
from .rows import Row
from .theme import PAPER, kernel_colours

MOST_GROUPS, LEAST_IN_GROUP = 12, 8  # of products of like intensity, for the means
MOST_PRODUCTS = 4000
MANY = 100  # products from which on dots are small
TINY, HUGE = 1e-12, 1e12


def _points(result: ResultFile, kernel: str) -> list[tuple[float, float]]:
    """Intensity and time over roofline of each product that the kernel was timed on."""
    found = []
    for product in sweeps.products(result)[:MOST_PRODUCTS]:
        row = product.get(kernel)
        over = sweeps.over_roofline(row) if row else None
        if over and TINY < over < HUGE and (x := sweeps.intensity(row)) and TINY < x < HUGE:
            found.append((x, over))
    return found


def _means(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Geometric means of groups of as many products each, from low intensity to high; of too few products none."""
    ordered = sorted(points)
    count = min(MOST_GROUPS, len(ordered) // LEAST_IN_GROUP)
    if count < 2:
        return []
    bounds = [round(i * len(ordered) / count) for i in range(count + 1)]
    groups = [ordered[low:high] for low, high in zip(bounds, bounds[1:])]
    return [tuple(sweeps.geometric_mean(values) for values in zip(*group, strict=True)) for group in groups]


def _ticks(axes: Axes) -> None:
    """1, 10, 100 along x; 1, 2, 5, 10 along y."""
    for axis, limits, digits, unit in (
        (axes.xaxis, axes.get_xlim(), (1,), ""),
        (axes.yaxis, axes.get_ylim(), (1, 2, 5), "×"),
    ):
        low, high = limits
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks = [tick for decade in decades for digit in digits if low <= (tick := digit * 10.0**decade) <= high]
        axis.set_major_locator(FixedLocator(ticks[:: 1 + len(ticks) // 12] or [low]))
        axis.set_major_formatter(lambda value, _, unit=unit: f"{value:,g}{unit}".replace(",", text.THIN))
        axis.set_minor_locator(NullLocator())


def roofline(result: ResultFile):
    height, width, colours = 5.2, WIDTH - 2.7, kernel_colours(result)
    sheet = Sheet(
        WIDTH, height + 1.6, "Time over the roofline against intensity",
        f"{where(result)} · a dot a product · lines: geometric means of products of like intensity",
    )  # fmt: skip
    axes = sheet.axes(0.6, HEADLINE + 0.2, width, height)
    axes.set_xscale("log")
    axes.set_yscale("log")
    peers = [kernel for kernel in result.timed_kernels if result.role(kernel) == "peer"]
    ends, values = [], []
    for kernel in [*peers, *sweeps.own_kernels(result)]:
        points = _points(result, kernel)
        if not points:
            continue
        peer, colour = kernel in peers, colours[kernel]
        axes.scatter(
            *zip(*points, strict=True), s=12 if len(points) > MANY else 30, color=colour, alpha=0.42, linewidths=0, marker="D" if peer else "o",
            zorder=2.5 if peer else 2.7,
        )  # fmt: skip
        line = _means(points)
        if line:
            axes.plot(*zip(*line, strict=True), color=PAPER, linewidth=4.6, zorder=3.4)
            axes.plot(*zip(*line, strict=True), color=colour, linewidth=2.3, zorder=3.5)
        ends.append((*(line[-1] if line else max(points)), text.kernel(kernel), colour))
        values += points
    xs, ys = ([point[i] for point in values] for i in (0, 1))
    axes.set_xlim(min(xs) * 0.8, max(xs) * 1.25)
    axes.set_ylim(min([*ys, 1]) * 0.85, max([*ys, 2]) * 1.2)
    _ticks(axes)
    level(axes, 1, "roofline")
    axes.set_xlabel("intensity: operations for each byte that must move")
    small_title(axes, "time over roofline")
    label_ends(axes, ends, height)
    return sheet.figure
