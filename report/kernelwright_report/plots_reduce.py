"""The plots of a reduction's bench file: time and bandwidth against n, gain over the vendor, steps."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.axes import Axes

from . import text
from .canvas import HEADLINE, WIDTH, Point, Sheet, bar_sheet, draw_line, log_sizes, plain_log, small_title, where
from .labels import Placer, around, label_ends, level
from .panels import reduce_steps
from .reductions import Reduction, lengths
from .results import ResultFile, evenly
from .rows import Range, Row
from .theme import kernel_colours

MOST_KERNELS = 40
MOST_POINTS = 64  # of a line

Lines = dict[str, list[Point]]


def _lines(
    result: ResultFile, value: Callable[[Row], float | None], spread: Callable[[Row], Range], positive: bool = False
) -> Lines:
    """Kernel -> (n, value of its row) over the lengths that have one."""
    found = {}
    shapes = evenly([shape for shape in lengths(result) if shape.n > 0], MOST_POINTS)
    for kernel in result.timed_kernels[:MOST_KERNELS]:
        rows = [(shape.n, row) for shape in shapes if (row := result.at(kernel, shape))]
        points = [Point(n, value(row), spread(row)) for n, row in rows if value(row) is not None]
        points = [point for point in points if point.y > 0 or not positive]
        if points:
            found[kernel] = points
    return found


def _draw(axes: Axes, result: ResultFile, lines: Lines, inches: float) -> None:
    colours = kernel_colours(result)
    for kernel, points in lines.items():
        draw_line(axes, points, colours[kernel], result.role(kernel))
    sizes = sorted({int(point.x) for points in lines.values() for point in points})
    log_sizes(axes, sizes, text.length, inches)
    axes.set_xlabel("n")


def _ends(axes: Axes, result: ResultFile, lines: Lines, height: float) -> None:
    colours = kernel_colours(result)
    ends = [(points[-1].x, points[-1].y, text.kernel(kernel), colours[kernel]) for kernel, points in lines.items()]
    label_ends(axes, ends, height)


def by_length(result: ResultFile):
    """Time and bandwidth against n."""
    height = 5.2
    family = lengths(result)[0].family
    sheet = Sheet(WIDTH, HEADLINE + height + 0.85, f"Reduction, {family}: time and bandwidth", where(result))
    width = (WIDTH - 1.3 - 2 * 1.75) / 2

    times = sheet.axes(0.6, HEADLINE + 0.3, width, height)
    lines = _lines(result, lambda row: row.median_us, lambda row: row.time_range, positive=True)
    _draw(times, result, lines, width)
    floor = (result.device.get("empty_kernel_us") or {}).get("graph")
    times.set_yscale("log")
    if floor:
        times.set_ylim(bottom=min(floor / 1.5, times.get_ylim()[0]))
    plain_log(times)
    small_title(times, "µs")
    if floor:
        level(times, floor, f"an empty kernel {text.number(floor)} µs")
    _ends(times, result, lines, height)

    rates = sheet.axes(0.6 + width + 1.75 + 0.6, HEADLINE + 0.3, width, height)
    lines = _lines(result, lambda row: row.gbs, lambda row: row.time_range.inverse)
    _draw(rates, result, lines, width)
    rates.set_ylim(bottom=0)
    small_title(rates, "GB/s")
    measured = result.device.get("measured_read_gbs")
    if measured:
        rates.set_ylim(0, max(rates.get_ylim()[1], measured * 1.06))
        level(rates, measured, f"measured read bandwidth {text.number(measured, 4)} GB/s")
    _ends(rates, result, lines, height)
    return sheet.figure


def over_peer(result: ResultFile):
    """Speed-up over the vendor's library against n."""
    vendor = text.kernel(result.peer_name or "the vendor")
    height, width = 4.0, WIDTH - 3.2
    family = lengths(result)[0].family
    title = f"Reduction, {family}: speed-up over {vendor}"
    sheet = Sheet(WIDTH, HEADLINE + height + 0.85, title, where(result))
    axes = sheet.axes(0.6, HEADLINE + 0.3, width, height)
    lines = _lines(result, lambda row: row.vs_peer, lambda row: row.time_range.inverse)
    _draw(axes, result, lines, width)
    top = max(point.y * min(point.range.high, 1.5) for points in lines.values() for point in points)
    axes.set_ylim(0, max(top, 1) * 1.12)
    small_title(axes, f"time of {vendor} by own time")
    placer = Placer(axes)
    for kernel, points in lines.items():
        if result.role(kernel) == "production":
            for point in points:
                optional = point is not points[0] and point is not points[-1]
                placer.text(f"{point.y:.2f}", around(point.x, point.y), optional, fontsize=7.5, zorder=6)
    _ends(axes, result, lines, height)
    return sheet.figure


def steps(result: ResultFile, shape: Reduction):
    """Share of the read bandwidth at one length, and what each step gained."""
    found, colours = reduce_steps(result, shape), kernel_colours(result)
    return bar_sheet(
        f"Step by step: {shape.label}", where(result), found.panels,
        [text.kernel(row.kernel) for row in found.rows], [colours[row.kernel] for row in found.rows],
    )  # fmt: skip
