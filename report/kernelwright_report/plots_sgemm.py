"""The plots of a product's bench file: bars by size, lines, share of peak, step by step."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from . import text
from .canvas import HEADLINE, Sheet, bars, label_ends, level
from .results import ResultFile, Shape
from .theme import GRID, INK, MUTED, PAPER, TINT, kernel_colours

WIDTH = 13.0


def where(result: ResultFile) -> str:
    l2 = "/".join(result.values("l2"))
    inputs = "/".join(result.values("input"))
    return " · ".join(
        filter(None, [result.device["name"], "median times", l2 and f"L2 {l2}", inputs and f"{inputs} input"])
    )


def _bands(shapes: list[Shape], most: int = 5) -> list[list[Shape]]:
    """The sizes in rows of equal length, as far as they go."""
    count = math.ceil(len(shapes) / most)
    length = math.ceil(len(shapes) / count)
    return [shapes[i : i + length] for i in range(0, len(shapes), length)]


def _one_size(axes: Axes, result: ResultFile, shape: Shape) -> None:
    scale = text.rate_unit(result.rows)[1]
    kernels, colours = result.timed_kernels, kernel_colours(result)
    rates = {kernel: row.gflops / scale for kernel in kernels if (row := result.at(kernel, shape))}
    for kernel, rate in rates.items():
        axes.bar(kernels.index(kernel), rate, 0.88, color=colours[kernel], zorder=2)
    best = max(rates, key=rates.get)
    axes.annotate(
        text.number(rates[best]), (kernels.index(best), rates[best]), xytext=(0, 2), textcoords="offset points",
        ha="center", va="bottom", fontsize=8.5, fontweight="bold", zorder=5,
    )  # fmt: skip
    top = rates[best] * 1.2
    peak = (result.device.get("measured_fp32_tflops") or math.inf) * 1e3 / scale
    if peak < rates[best] * 1.8:
        axes.axhline(peak, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=1.5)
        top = max(top, peak * 1.08)
    axes.set_ylim(0, top)
    axes.set_xlim(-0.9, len(kernels) - 0.1)
    axes.set_xticks([])
    axes.locator_params(axis="y", nbins=3)
    axes.set_title(shape.label, pad=5)


def _grid_table(axes: Axes, result: ResultFile) -> None:
    """The table under the bars; its first column is the legend."""
    kernels, shapes, colours = result.timed_kernels, result.timed_shapes, kernel_colours(result)
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(len(kernels) + 0.1, -1.1)
    first = 2.25 / (WIDTH - 0.5)
    column = min((1 - first) / len(shapes), 0.09)
    axes.text(0.006, -0.5, "GFLOP/s", color=MUTED, fontsize=8.5, va="center")
    for j, shape in enumerate(shapes):
        axes.text(first + (j + 0.92) * column, -0.5, shape.label, ha="right", va="center", color=MUTED, fontsize=8.5)
    for i, kernel in enumerate(kernels):
        axes.plot([0, first + len(shapes) * column], [i, i], color=GRID, linewidth=0.8)
        axes.add_patch(Rectangle((0.006, i + 0.2), 0.013, 0.6, color=colours[kernel], linewidth=0))
        axes.text(0.026, i + 0.5, text.kernel(kernel), va="center", fontsize=8.5)
    for j, shape in enumerate(shapes):
        rates = [row.gflops if (row := result.at(kernel, shape)) else None for kernel in kernels]
        best = max(rate for rate in rates if rate is not None)
        for i, rate in enumerate(rates):
            if rate == best:
                left = first + (j + 0.04) * column
                axes.add_patch(Rectangle((left, i + 0.06), column * 0.94, 0.88, color=TINT, linewidth=0, zorder=0.5))
            axes.text(
                first + (j + 0.92) * column, i + 0.5, text.number(rate), ha="right", va="center", fontsize=8.5,
                fontweight="bold" if rate == best else "normal", color=MUTED if rate is None else INK,
            )  # fmt: skip


def by_size(result: ResultFile):
    bands = _bands(result.timed_shapes)
    panel_height, gap, row_height = 1.55, 0.5, 0.225
    top = HEADLINE + 0.38
    table_top = top + len(bands) * (panel_height + gap) - 0.12
    table_height = (len(result.timed_kernels) + 1.2) * row_height
    unit = text.rate_unit(result.rows)[0]
    note = " · each size has its own scale"
    if result.device.get("measured_fp32_tflops"):
        note += " · dashed: measured FP32 peak"
    sheet = Sheet(WIDTH, table_top + table_height + 0.15, f"Every kernel at every size, {unit}", where(result) + note)
    pitch = (WIDTH - 0.5) / len(bands[0])
    for i, shapes in enumerate(bands):
        for j, shape in enumerate(shapes):
            axes = sheet.axes(0.6 + j * pitch, top + i * (panel_height + gap), pitch - 0.45, panel_height)
            _one_size(axes, result, shape)
    _grid_table(sheet.axes(0.25, table_top, WIDTH - 0.5, table_height), result)
    return sheet.figure


def lines(result: ResultFile):
    unit, scale = text.rate_unit(result.rows)
    height, colours = 5.4, kernel_colours(result)
    sheet = Sheet(WIDTH, height + 1.55, f"{unit} against size", f"{where(result)} · M = N = K")
    axes = sheet.axes(0.6, HEADLINE + 0.2, WIDTH - 3.2, height)
    shapes = [shape for shape in result.timed_shapes if shape.square]
    ends = []
    for kernel in result.timed_kernels:
        points = [(shape.m, row.gflops / scale) for shape in shapes if (row := result.at(kernel, shape))]
        if not points:
            continue
        peer = result.role(kernel) == "peer"
        axes.plot(
            *zip(*points), color=colours[kernel], marker="o", markersize=4.2, markeredgecolor=PAPER,
            markeredgewidth=0.6, linewidth=2.4 if peer else 1.7, zorder=4 if peer else 3,
        )  # fmt: skip
        ends.append((*points[-1], text.kernel(kernel), colours[kernel]))
    axes.set_xscale("log", base=2)
    axes.set_xticks([shape.m for shape in shapes], [shape.label for shape in shapes])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    peak = result.device.get("measured_fp32_tflops")
    if peak:
        level(axes, peak * 1e3 / scale, f"measured FP32 peak {text.number(peak * 1e3 / scale)}", x=0.01)
        axes.set_ylim(0, max(axes.get_ylim()[1], peak * 1e3 / scale * 1.06))
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("size")
    axes.set_title(unit, fontsize=8.5, fontweight="normal", color=MUTED, pad=5)
    label_ends(axes, ends, height)
    return sheet.figure


def of_peak(result: ResultFile):
    shapes = [shape for shape in result.timed_shapes if any_of_peak(result, shape)][-3:]
    kernels, colours = result.timed_kernels, kernel_colours(result)
    height = 0.27 * len(kernels)
    peak = text.number((result.device.get("measured_fp32_tflops") or 0) * 1e3 / text.rate_unit(result.rows)[1])
    sheet = Sheet(
        WIDTH, HEADLINE + height + 0.75, "Share of the measured FP32 peak, largest sizes",
        f"{where(result)} · 100{text.THIN}% = {peak} {text.rate_unit(result.rows)[0]}",
    )  # fmt: skip
    width = (WIDTH - 2.35 - 0.3 * len(shapes)) / len(shapes)
    for i, shape in enumerate(shapes):
        shares = [row.of_peak if (row := result.at(kernel, shape)) else None for kernel in kernels]
        axes = sheet.axes(2.35 + i * (width + 0.3), HEADLINE + 0.4, width, height)
        bars(
            axes, [text.kernel(kernel) for kernel in kernels], shares, [text.percent(share) for share in shares],
            [colours[kernel] for kernel in kernels], title=shape.label, names=i == 0,
        )  # fmt: skip
        axes.set_xlim(0, 1.12)
        axes.axvline(1, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    return sheet.figure


def any_of_peak(result: ResultFile, shape: Shape) -> bool:
    return any((row := result.at(kernel, shape)) and row.of_peak is not None for kernel in result.kernels)


def gain_limit(values: list[float | None]) -> float | None:
    """Where to cut the few large gains, so that the many small ones can be seen."""
    gains = sorted(value for value in values if value is not None)
    small = [gain for gain in gains if gain <= 1.5]
    return 1.5 if 2 * len(small) > len(gains) and gains[-1] > 2 else None


def steps(result: ResultFile, shape: Shape):
    """Gain over the step before, and ratio to the vendor, at one size."""
    colours = kernel_colours(result)
    rows = [row for kernel in result.timed_kernels if (row := result.at(kernel, shape))]
    peer = next((row.peer for row in rows if row.peer), None)
    panels = [("over the step before", [row.vs_previous for row in rows], text.times, 1.0)]
    if peer:
        ratios = [row.vs_peer if row.role != "peer" else 1.0 for row in rows]
        panels.append((f"of {text.kernel(peer)}", ratios, text.percent, 0.0))
    panels = [panel for panel in panels if any(value is not None for value in panel[1])]
    height = 0.27 * len(rows)
    sheet = Sheet(WIDTH, HEADLINE + height + 0.75, f"Step by step at {shape.label}", where(result))
    width = (WIDTH - 2.35 - 0.5 * len(panels)) / max(len(panels), 1)
    for i, (title, values, show, base) in enumerate(panels):
        axes = sheet.axes(2.35 + i * (width + 0.5), HEADLINE + 0.4, width, height)
        bars(
            axes, [text.kernel(row.kernel) for row in rows], values, [show(value) for value in values],
            [colours[row.kernel] for row in rows], title=title, base=base, names=i == 0,
            limit=gain_limit(values) if base else max(1.0, *(value or 0 for value in values)),
        )  # fmt: skip
        if base == 0:
            axes.axvline(1, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    return sheet.figure
