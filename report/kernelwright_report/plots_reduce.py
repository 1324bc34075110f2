"""The plots of a reduction's bench file: time and bandwidth against n, gain over the vendor, steps."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from . import text
from .canvas import HEADLINE, Sheet, bars, label_ends, level
from .plots_sgemm import WIDTH, gain_limit, where
from .reductions import Reduction, lengths, over_first
from .results import ResultFile
from .theme import MUTED, PAPER, kernel_colours

Points = list[tuple[float, float]]


def _lines(result: ResultFile, value) -> dict[str, Points]:
    """Kernel -> (n, value of its row) over the lengths that have one."""
    found = {}
    for kernel in result.timed_kernels:
        rows = [(shape.n, row) for shape in lengths(result) if (row := result.at(kernel, shape))]
        points = [(n, value(row)) for n, row in rows if value(row) is not None]
        if points:
            found[kernel] = points
    return found


def _draw(axes: Axes, result: ResultFile, lines: dict[str, Points]) -> None:
    colours = kernel_colours(result)
    widths = {"rung": 1.4, "production": 2.6}
    for kernel, points in lines.items():
        role = result.role(kernel)
        axes.plot(
            *zip(*points), color=colours[kernel], marker="o", markersize=3.6, markeredgecolor=PAPER,
            markeredgewidth=0.5, linewidth=widths.get(role, 2.2), zorder={"rung": 3, "peer": 4}.get(role, 5),
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    ns = [shape.n for shape in lengths(result)]
    shown = ns if len(ns) <= 8 else [n for i, n in enumerate(reversed(ns)) if i % 4 == 0]
    axes.set_xticks(shown, [text.length(n) for n in shown])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("n")


def _unit(axes: Axes, unit: str) -> None:
    axes.set_title(unit, fontsize=8.5, fontweight="normal", color=MUTED, pad=5)


def _ends(axes: Axes, result: ResultFile, lines: dict[str, Points], height: float) -> None:
    colours = kernel_colours(result)
    ends = [(*points[-1], text.kernel(kernel), colours[kernel]) for kernel, points in lines.items()]
    label_ends(axes, ends, height)


def by_length(result: ResultFile):
    """Time and bandwidth against n."""
    height = 5.2
    family = lengths(result)[0].family
    sheet = Sheet(WIDTH, HEADLINE + height + 0.85, f"Reduction, {family}: time and bandwidth", where(result))
    width = (WIDTH - 1.3 - 2 * 1.75) / 2

    times = sheet.axes(0.6, HEADLINE + 0.3, width, height)
    lines = _lines(result, lambda row: row.median_us)
    _draw(times, result, lines)
    times.set_yscale("log")
    times.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    times.yaxis.set_minor_locator(NullLocator())
    _unit(times, "µs")
    floor = (result.device.get("empty_kernel_us") or {}).get("graph")
    if floor:
        level(times, floor, f"an empty kernel {text.number(floor)} µs")
        times.set_ylim(bottom=floor / 1.5)
    _ends(times, result, lines, height)

    rates = sheet.axes(0.6 + width + 1.75 + 0.6, HEADLINE + 0.3, width, height)
    lines = _lines(result, lambda row: row.gbs)
    _draw(rates, result, lines)
    rates.set_ylim(bottom=0)
    _unit(rates, "GB/s")
    measured = result.device.get("measured_read_gbs")
    if measured:
        level(rates, measured, f"measured read bandwidth {text.number(measured, 4)} GB/s", x=0.01)
        rates.set_ylim(0, max(rates.get_ylim()[1], measured * 1.06))
    _ends(rates, result, lines, height)
    return sheet.figure


def over_peer(result: ResultFile):
    """Speed-up over the vendor's library against n."""
    vendor = text.kernel(next(row.peer for row in result.rows if row.peer))
    height = 4.0
    family = lengths(result)[0].family
    title = f"Reduction, {family}: speed-up over {vendor}"
    sheet = Sheet(WIDTH, HEADLINE + height + 0.85, title, where(result))
    axes = sheet.axes(0.6, HEADLINE + 0.3, WIDTH - 3.2, height)
    lines = _lines(result, lambda row: row.vs_peer)
    _draw(axes, result, lines)
    top = max(value for points in lines.values() for _, value in points)
    axes.set_ylim(0, max(top, 1) * 1.12)
    _unit(axes, f"time of {vendor} by own time")
    for kernel, points in lines.items():
        if result.role(kernel) != "production":
            continue
        for n, value in points:
            axes.annotate(
                f"{value:.2f}", (n, value), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=7.5,
                zorder=6, bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.4},
            )  # fmt: skip
    _ends(axes, result, lines, height)
    return sheet.figure


def steps(result: ResultFile, shape: Reduction):
    """Share of the read bandwidth at one length, and what each step gained."""
    colours, first = kernel_colours(result), over_first(result, shape)
    rows = [row for kernel in result.timed_kernels if (row := result.at(kernel, shape))]
    panels = [
        ("share of the measured read bandwidth", [row.of_peak for row in rows], text.percent, 0.0),
        ("over the step before", [row.vs_previous for row in rows], text.times, 1.0),
        ("over the first rung", [first.get(row.kernel) for row in rows], text.times, 0.0),
    ]
    panels = [panel for panel in panels if any(value is not None for value in panel[1])]
    height = 0.27 * len(rows)
    sheet = Sheet(WIDTH, HEADLINE + height + 0.75, f"Step by step: {shape.label}", where(result))
    width = (WIDTH - 2.35 - 0.5 * len(panels)) / max(len(panels), 1)
    for i, (title, values, show, base) in enumerate(panels):
        axes = sheet.axes(2.35 + i * (width + 0.5), HEADLINE + 0.4, width, height)
        bars(
            axes, [text.kernel(row.kernel) for row in rows], values, [show(value) for value in values],
            [colours[row.kernel] for row in rows], title=title, base=base, names=i == 0,
            limit=1.0 if show is text.percent else gain_limit(values) if base else None,
        )  # fmt: skip
        if show is text.percent:
            axes.axvline(1, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    return sheet.figure
