"""The plots of accuracy files and of scale_add's bench files."""

from __future__ import annotations

import math

from . import text
from .canvas import HEADLINE, Sheet, label_ends, level
from .curves import curves_of, drawn_inputs
from .plots_sgemm import WIDTH, where
from .results import ResultFile
from .theme import MUTED, PAPER, kernel_colours


def _apart(ks: list[int]) -> list[int]:
    """Those of the values whose labels do not touch on a logarithmic axis, the last one always."""
    gap = math.log2(ks[-1] / ks[0]) / 5 if ks[0] > 0 else 0
    kept: list[int] = []
    for k in reversed(ks):
        if not kept or math.log2(kept[-1] / k) >= gap:
            kept.append(k)
    return kept[::-1]


def accuracy(result: ResultFile):
    inputs, colours = drawn_inputs(result), kernel_colours(result)
    height, label_room = 4.0, 1.75
    bound = "" if result.is_suite else " · dashed: the bound that verification demands"
    sheet = Sheet(
        WIDTH, HEADLINE + height + 0.95, "Error against K",
        f"{result.device['name']} · solid: root mean square · dotted: largest element{bound} · "
        "in units of u·|A||B|, u = 2⁻²⁴",
    )  # fmt: skip
    width = (WIDTH - 0.55) / len(inputs) - label_room
    first = None
    for i, kind in enumerate(inputs):
        rows = [row for row in result.rows if row.input == kind]
        left = 0.6 + i * (width + label_room)
        axes = sheet.axes(left, HEADLINE + 0.35, width, height, sharey=first)
        first = first or axes
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        curves = curves_of(rows, result.kernels)
        for kernels, rms, most in curves:
            peer = result.role(kernels[0]) == "peer"
            axes.plot(*zip(*most), color=colours[kernels[0]], linewidth=1, linestyle=(0, (1, 2)), zorder=2.5)
            axes.plot(
                *zip(*rms), color=colours[kernels[0]], linewidth=2.2 if peer else 1.7, marker="o", markersize=3.6,
                markeredgecolor=PAPER, markeredgewidth=0.5, zorder=4 if peer else 3,
            )  # fmt: skip
        bounds = sorted({(row.k, row.error["bound"]) for row in rows if row.error and row.error.get("bound")})
        if bounds and not result.is_suite:
            axes.plot(*zip(*bounds), color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        ticks = _apart(sorted({row.k for row in rows}))
        axes.set_xticks(ticks, [str(k) for k in ticks])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.grid(axis="x", visible=False)
        axes.set_title(f"{kind} input", pad=8)
        axes.set_xlabel("K")
    # Labels last: the shared scale is only now what it will be.
    for axes, kind in zip(sheet.figure.axes, inputs):
        curves = curves_of([row for row in result.rows if row.input == kind], result.kernels)
        ends = [(*rms[-1], text.group(kernels), colours[kernels[0]])
                for kernels, rms, _ in curves]  # fmt: skip
        label_ends(axes, ends, height, size=8)
    return sheet.figure


def bandwidth(result: ResultFile):
    height, colours = 4.2, kernel_colours(result)
    sheet = Sheet(WIDTH, HEADLINE + height + 1.0, "B = a·A + b: bytes moved per second", where(result))
    axes = sheet.axes(0.75, HEADLINE + 0.3, WIDTH - 3.4, height)
    ends = []
    for kernel in result.timed_kernels:
        points = [(shape.flops / 2, row.gbs) for shape in result.timed_shapes if (row := result.at(kernel, shape))]
        axes.plot(*zip(*points), color=colours[kernel], marker="o", markersize=5, markeredgecolor=PAPER)
        ends.append((*points[-1], text.kernel(kernel), colours[kernel]))
    axes.set_xscale("log", base=2)
    shapes = result.timed_shapes
    names = [str(shape.m) if shape.m == shape.n else f"{shape.m}×{shape.n}" for shape in shapes]
    axes.set_xticks([shape.flops / 2 for shape in shapes], names)
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    peak = result.device.get("measured_read_gbs")
    if peak:
        level(axes, peak, f"measured read bandwidth {text.number(peak, 4)} GB/s", x=0.01)
        axes.set_ylim(0, max(axes.get_ylim()[1], peak * 1.12))
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("rows = columns" if all(shape.m == shape.n for shape in shapes) else "rows × columns")
    axes.set_title("GB/s", fontsize=8.5, fontweight="normal", color=MUTED, pad=5)
    label_ends(axes, ends, height)
    return sheet.figure
