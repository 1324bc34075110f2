"""The plot of files of `bench sgemm --sustain`: rates that last and rested ones, and energy, against size."""

from __future__ import annotations

from . import sustained, text
from .canvas import HEADLINE, WIDTH, Sheet, log_sizes, small_title
from .labels import label_ends
from .results import ResultFile
from .rows import Row
from .theme import MUTED, PAPER, kernel_colours

HEIGHT, LABELS = 4.3, 1.75


def _name(row: Row, sign: str) -> str:
    """Of products in 16 bits with what makes them comparable: cuBLAS FP16 ÷ 3."""
    return f"{sustained.name(row)} {sign} {sustained.divisor(row)}" if sustained.divisor(row) > 1 else sustained.name(row)


def _curve(result: ResultFile, kernel: str, shapes: list, of) -> list[tuple[int, float]]:
    rows = [(shape.m, row) for shape in shapes if (row := result.at(kernel, shape))]
    return [(size, value) for size, row in rows if (value := of(row)) is not None]


def _panel(axes, result: ResultFile, shapes: list, sign: str, solid, dashed=None) -> None:
    colours, ends = kernel_colours(result), []
    for kernel in result.timed_kernels:
        points = _curve(result, kernel, shapes, solid)
        if not points:
            continue
        row = next(row for row in result.rows if row.kernel == kernel)
        bold = result.role(kernel) == "production"
        axes.plot(
            *zip(*points, strict=True), color=colours[kernel], marker="o", markersize=4.8, markeredgecolor=PAPER,
            markeredgewidth=0.6, linewidth=2.4 if bold else 1.7, zorder=5 if bold else 4,
        )  # fmt: skip
        rested = _curve(result, kernel, shapes, dashed) if dashed else []
        if rested:
            axes.plot(
                *zip(*rested, strict=True), color=colours[kernel], marker="o", markersize=4.2, markerfacecolor=PAPER,
                markeredgecolor=colours[kernel], markeredgewidth=1.1, linewidth=1, linestyle=(0, (3, 2.5)), zorder=3,
            )  # fmt: skip
        ends.append((*points[-1], _name(row, sign), colours[kernel]))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("size")
    label_ends(axes, ends, HEIGHT)


def rates_and_energy(result: ResultFile):
    shapes = [shape for shape in result.timed_shapes if shape.square]
    unit, scale = text.rate_unit(result.rows)
    has_energy = any(sustained.joules_a_tera(row) for row in result.rows)
    panels = 2 if has_energy else 1
    width = (WIDTH - 0.65) / panels - LABELS - (0.35 if has_energy else 0)
    sheet = Sheet(
        WIDTH, HEADLINE + HEIGHT + 1.05, "Rates that last, and their energy" if has_energy else "Rates that last",
        f"{text.cut(result.device['name'], 60)} · M = N = K · one kernel back to back · a split product takes three products "
        "in 16 bits",
    )  # fmt: skip

    def rate(row: Row) -> float:
        return row.gflops / scale / sustained.divisor(row)

    def rested(row: Row) -> float | None:
        return row.rested_gflops / scale / sustained.divisor(row) if row.rested_gflops else None

    left = sheet.axes(0.65, HEADLINE + 0.35, width, HEIGHT)
    log_sizes(left, [shape.m for shape in shapes], str, width)
    _panel(left, result, shapes, "÷", rate, rested)
    small_title(left, f"{unit} · solid: sustained · dashed: a short spell after a rest")
    if has_energy:
        right = sheet.axes(0.65 + width + LABELS + 0.55, HEADLINE + 0.35, width, HEIGHT)
        log_sizes(right, [shape.m for shape in shapes], str, width)
        _panel(right, result, shapes, "×", sustained.joules_a_tera)
        small_title(right, "J for 10¹² operations of an FP32 product · sustained")
    limit = next((row.power_limit_w for row in result.rows if row.power_limit_w), None)
    if limit:
        sheet.text(0.65, HEADLINE + HEIGHT + 0.9, f"board limit {text.number(limit)} W", color=MUTED, fontsize=8.5)
    return sheet.figure
