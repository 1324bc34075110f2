"""The plots of accuracy files and of scale_add's bench files."""

from __future__ import annotations

from matplotlib.ticker import NullLocator

from . import text
from .canvas import HEADLINE, WIDTH, Point, Sheet, draw_line, log_sizes, plain_log, small_title, where
from .curves import curves_of, drawn_inputs
from .labels import label_ends, level
from .results import ResultFile, evenly
from .theme import MUTED, PAPER, kernel_colours

MOST_POINTS = 64


def accuracy(result: ResultFile):
    inputs, colours = drawn_inputs(result), kernel_colours(result)
    height, label_room = 4.0, 1.8
    bound = "" if result.is_suite else " · dashed: the bound that verification demands"
    sheet = Sheet(
        WIDTH, HEADLINE + height + 0.95, "Error against K",
        f"{text.cut(result.device['name'], 60)} · solid: root mean square · dotted: largest element{bound} · "
        "in units of u·|A||B|, u = 2⁻²⁴",
    )  # fmt: skip
    width = (WIDTH - 0.55) / len(inputs) - label_room
    first, drawn = None, []
    for i, kind in enumerate(inputs):
        rows = [row for row in result.rows if row.input == kind]
        axes = sheet.axes(0.6 + i * (width + label_room), HEADLINE + 0.35, width, height, sharey=first)
        first = first or axes
        axes.set_yscale("log")
        curves = curves_of(rows, result.kernels)
        for kernels, rms, most in curves:
            peer = result.role(kernels[0]) == "peer"
            if most:
                axes.plot(*zip(*most), color=colours[kernels[0]], linewidth=1, linestyle=(0, (1, 2)), zorder=2.5)
            axes.plot(
                *zip(*rms), color=colours[kernels[0]], linewidth=2.2 if peer else 1.7, marker="o", markersize=3.6,
                markeredgecolor=PAPER, markeredgewidth=0.5, zorder=4 if peer else 3,
            )  # fmt: skip
        usual = {k: bound for k, bound in sorted(_bounds(rows), reverse=True)}  # the smallest at each k
        if usual and not result.is_suite:
            axes.plot(*zip(*sorted(usual.items())), color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        log_sizes(axes, sorted({k for _, rms, _ in curves for k, _ in rms}), str, width)
        axes.set_title(f"{text.cut(kind, 30)} input", pad=8)
        axes.set_xlabel("K")
        drawn.append((axes, curves))
    plain_log(first)
    # Labels last: the shared scale is only now what it will be.
    for axes, curves in drawn:
        axes.yaxis.set_minor_locator(NullLocator())
        ends = [(*rms[-1], text.group(kernels), colours[kernels[0]]) for kernels, rms, _ in curves]
        label_ends(axes, ends, height, size=8)
    return sheet.figure


def _bounds(rows) -> set[tuple[int, float]]:
    return {(row.k, row.error["bound"]) for row in rows if row.k and row.error and row.error.get("bound")}


def bandwidth(result: ResultFile):
    height, width, colours = 4.2, WIDTH - 3.4, kernel_colours(result)
    sheet = Sheet(WIDTH, HEADLINE + height + 1.0, "B = a·A + b: bytes moved per second", where(result))
    axes = sheet.axes(0.75, HEADLINE + 0.3, width, height)
    shapes = {shape.m * shape.n * shape.batch: shape for shape in result.timed_shapes if shape.flops > 0}
    shapes = {size: shapes[size] for size in evenly(sorted(shapes), MOST_POINTS)}
    ends = []
    for kernel in result.timed_kernels:
        rows = [(size, row) for size, shape in shapes.items() if (row := result.at(kernel, shape))]
        if rows:
            points = [Point(size, row.gbs, row.time_range.inverse) for size, row in rows]
            draw_line(axes, points, colours[kernel], result.role(kernel))
            ends.append((points[-1].x, points[-1].y, text.kernel(kernel), colours[kernel]))
    square = all(shape.m == shape.n for shape in shapes.values())
    log_sizes(
        axes, list(shapes), lambda size: str(shapes[size].m) if square else f"{shapes[size].m}×{shapes[size].n}", width
    )
    axes.set_ylim(bottom=0)
    peak = result.device.get("measured_read_gbs")
    if peak:
        axes.set_ylim(0, max(axes.get_ylim()[1], peak * 1.12))
        level(axes, peak, f"measured read bandwidth {text.number(peak, 4)} GB/s")
    axes.set_xlabel("rows = columns" if square else "rows × columns")
    small_title(axes, "GB/s")
    label_ends(axes, ends, height)
    return sheet.figure
