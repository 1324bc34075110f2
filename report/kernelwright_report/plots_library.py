"""The library's modes and steps of the ladder against the vendor, over the sizes: one line each."""

from __future__ import annotations

from .canvas import HEADLINE, Sheet
from .labels import label_ends
from .library import Library
from .theme import COLOURS, MUTED, PAPER, ramp

WIDTH, HEIGHT = 10.5, 4.6
TICKS = (0.01, 0.03, 0.1, 0.3, 1, 2, 5)


def speed_over_vendor(shown: Library):
    result = shown.choices[0].result
    sheet = Sheet(
        WIDTH, HEIGHT + 1.5, f"How many times as fast as {shown.vendor}",
        f"{result.device['name']} · FP32 in and out, M = N = K · each line beside {shown.vendor} in its own run · medians",
    )  # fmt: skip
    axes = sheet.axes(0.6, HEADLINE + 0.15, WIDTH - 2.9, HEIGHT)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    colours = [COLOURS[name][0] for name in ("production", "production-2")]
    colours += [ramp(i, len(shown.rungs)) for i in range(len(shown.rungs))]
    ends = []
    for line, colour in zip(shown.lines, colours, strict=True):
        points = [(shape.m, line.rows[shape].vs_peer) for shape in shown.shapes]
        bold = line in shown.choices
        axes.plot(
            *zip(*points, strict=True), color=colour, marker="o", markersize=4.6 if bold else 3.6, markeredgecolor=PAPER,
            markeredgewidth=0.6, linewidth=2.4 if bold else 1.5, zorder=4 if bold else 3,
        )  # fmt: skip
        ends.append((*points[-1], line.name if bold else line.kernel.replace("_", " "), colour))
    sizes = [shape.m for shape in shown.shapes if shape.m & (shape.m - 1) == 0]
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    low = min(line.rows[shape].vs_peer for line in shown.lines for shape in shown.shapes)
    high = max(line.rows[shape].vs_peer for line in shown.lines for shape in shown.shapes)
    axes.set_ylim(low * 0.8, high * 1.2)
    ticks = [tick for tick in TICKS if low * 0.8 <= tick <= high * 1.2]
    axes.set_yticks(ticks, [f"{tick:g}×" for tick in ticks])
    axes.set_xlabel("size")
    axes.axhline(1, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=1.5)
    label_ends(axes, [*ends, (sizes[-1], 1.0, shown.vendor, MUTED)], HEIGHT)
    return sheet.figure
