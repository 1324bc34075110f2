"""The plots of a product's bench file: bars by size, lines, share of peak, step by step."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from . import text
from .canvas import HEADLINE, WIDTH, Point, Sheet, bar_sheet, draw_line, log_sizes, small_title, where
from .labels import label_ends, level
from .panels import MOST_SIZES, VISIBLE, peak_shares, sgemm_steps
from .results import ResultFile, evenly
from .rows import Shape
from .tables import best_of
from .theme import GRID, INK, MUTED, TINT, kernel_colours

MOST_KERNELS = 40
MOST_POINTS = 64  # of a line


def _bands(shapes: list[Shape], most: int = 5) -> list[list[Shape]]:
    """The sizes in rows of equal length, as far as they go."""
    count = math.ceil(len(shapes) / most)
    length = math.ceil(len(shapes) / count)
    return [shapes[i : i + length] for i in range(0, len(shapes), length)]


def _one_size(axes: Axes, result: ResultFile, kernels: list[str], shape: Shape) -> None:
    scale = text.rate_unit(result.rows)[1]
    colours = kernel_colours(result)
    rows = {kernel: row for kernel in kernels if (row := result.at(kernel, shape))}
    rates = {kernel: row.gflops / scale for kernel, row in rows.items()}
    tops, strokes = {}, []
    for kernel, rate in rates.items():
        at, around = kernels.index(kernel), rows[kernel].time_range.inverse
        axes.bar(at, rate, 0.88, color=colours[kernel], zorder=2)
        tops[kernel] = rate * around.high
        if around.width > VISIBLE:
            strokes.append((at, rate * around.low, rate * around.high))
    if strokes:
        axes.vlines(*zip(*strokes), color=INK, linewidth=0.8, zorder=4)
    best = best_of(result, shape)
    top = max([*tops.values(), 1e-9]) * 1.22
    if best in rates:
        axes.annotate(
            text.number(rates[best]), (kernels.index(best), tops[best]), xytext=(0, 2),
            textcoords="offset points", ha="center", va="bottom", fontsize=8.5, fontweight="bold", zorder=5,
        )  # fmt: skip
    peak = (result.device.get("measured_fp32_tflops") or math.inf) * 1e3 / scale
    if peak < top * 1.5:
        axes.axhline(peak, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=1.5)
        top = max(top, peak * 1.08)
    axes.set_ylim(0, top)
    axes.set_xlim(-0.9, len(kernels) - 0.1)
    axes.set_xticks([])
    axes.locator_params(axis="y", nbins=3)
    axes.set_title(text.cut(shape.label, 24), pad=5)


def _grid_table(axes: Axes, result: ResultFile, kernels: list[str], shapes: list[Shape]) -> None:
    """The table under the bars; its first column is the legend."""
    (unit, scale), colours = text.rate_unit(result.rows), kernel_colours(result)
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(len(kernels) + 0.1, -1.1)
    first = 2.25 / (WIDTH - 0.5)
    column = min((1 - first) / len(shapes), 0.09)
    axes.text(0.006, -0.5, unit, color=MUTED, fontsize=8.5, va="center")
    for j, shape in enumerate(shapes):
        label = text.cut(shape.label, 16)
        size = 8.5 if len(label) < 9 else 6.5
        axes.text(first + (j + 0.92) * column, -0.5, label, ha="right", va="center", color=MUTED, fontsize=size)
    for i, kernel in enumerate(kernels):
        axes.plot([0, first + len(shapes) * column], [i, i], color=GRID, linewidth=0.8)
        axes.add_patch(Rectangle((0.006, i + 0.2), 0.013, 0.6, color=colours[kernel], linewidth=0))
        axes.text(0.026, i + 0.5, text.cut(text.kernel(kernel), 30), va="center", fontsize=8.5)
    for j, shape in enumerate(shapes):
        best = best_of(result, shape)
        for i, kernel in enumerate(kernels):
            row = result.at(kernel, shape)
            if kernel == best:
                left = first + (j + 0.04) * column
                axes.add_patch(Rectangle((left, i + 0.06), column * 0.94, 0.88, color=TINT, linewidth=0, zorder=0.5))
            axes.text(
                first + (j + 0.92) * column, i + 0.5, text.number(row.gflops / scale if row else None), ha="right",
                va="center", fontsize=8.5, fontweight="bold" if kernel == best else "normal",
                color=INK if row else MUTED,
            )  # fmt: skip


def by_size(result: ResultFile):
    shapes, kernels = evenly(result.timed_shapes, MOST_SIZES), result.timed_kernels[:MOST_KERNELS]
    bands = _bands(shapes)
    panel_height, gap, row_height = 1.55, 0.5, 0.225
    top = HEADLINE + 0.38
    table_top = top + len(bands) * (panel_height + gap) - 0.12
    table_height = (len(kernels) + 1.2) * row_height
    unit = text.rate_unit(result.rows)[0]
    note = " · each size has its own scale"
    if result.device.get("measured_fp32_tflops"):
        note += " · dashed: measured FP32 peak"
    sheet = Sheet(WIDTH, table_top + table_height + 0.15, f"Every kernel at every size, {unit}", where(result) + note)
    pitch = (WIDTH - 0.5) / len(bands[0])
    for i, band in enumerate(bands):
        for j, shape in enumerate(band):
            axes = sheet.axes(0.6 + j * pitch, top + i * (panel_height + gap), pitch - 0.45, panel_height)
            _one_size(axes, result, kernels, shape)
    _grid_table(sheet.axes(0.25, table_top, WIDTH - 0.5, table_height), result, kernels, shapes)
    return sheet.figure


def lines(result: ResultFile):
    unit, scale = text.rate_unit(result.rows)
    height, width, colours = 5.4, WIDTH - 3.2, kernel_colours(result)
    sheet = Sheet(WIDTH, height + 1.55, f"{unit} against size", f"{where(result)} · M = N = K")
    axes = sheet.axes(0.6, HEADLINE + 0.2, width, height)
    shapes = evenly([shape for shape in result.timed_shapes if shape.square and shape.m > 0], MOST_POINTS)
    ends = []
    for kernel in result.timed_kernels[:MOST_KERNELS]:
        rows = [(shape.m, row) for shape in shapes if (row := result.at(kernel, shape))]
        if rows:
            points = [Point(size, row.gflops / scale, row.time_range.inverse) for size, row in rows]
            draw_line(axes, points, colours[kernel], result.role(kernel))
            ends.append((points[-1].x, points[-1].y, text.kernel(kernel), colours[kernel]))
    log_sizes(axes, [shape.m for shape in shapes], str, width)
    axes.set_ylim(bottom=0)
    peak = result.device.get("measured_fp32_tflops")
    if peak:
        axes.set_ylim(0, max(axes.get_ylim()[1], peak * 1e3 / scale * 1.06))
        level(axes, peak * 1e3 / scale, f"measured FP32 peak {text.number(peak * 1e3 / scale)}")
    axes.set_xlabel("size")
    small_title(axes, unit)
    label_ends(axes, ends, height)
    return sheet.figure


def of_peak(result: ResultFile):
    kernels, panels = peak_shares(result)
    unit, scale = text.rate_unit(result.rows)
    peak = result.device.get("measured_fp32_tflops")
    known = f" · 100{text.THIN}% = {text.number(peak * 1e3 / scale)} {unit}" if peak else ""
    colours = kernel_colours(result)
    return bar_sheet(
        "Share of the measured FP32 peak, largest sizes", where(result) + known, panels,
        [text.kernel(kernel) for kernel in kernels], [colours[kernel] for kernel in kernels],
    )  # fmt: skip


def steps(result: ResultFile, shape: Shape):
    found, colours = sgemm_steps(result, shape), kernel_colours(result)
    return bar_sheet(
        f"Step by step at {shape.label}", where(result), found.panels,
        [text.kernel(row.kernel) for row in found.rows], [colours[row.kernel] for row in found.rows],
    )  # fmt: skip
