"""The plots of files of `bench distributed`: when the products and copies of each rank ran in one call, and how many times
as fast as one GPU each product was, beside what was predicted."""

from __future__ import annotations

from . import distributed, text
from .canvas import HEADLINE, WIDTH, Sheet, small_title
from .results import ResultFile
from .rows import Row
from .theme import COLOURS, PAPER

LANES = {"product": 0.0, "copy": 0.42}  # below the rank's first
SPANS = {"product": ("products", "production"), "copy": ("copies from other ranks", "peer")}
RANK_HEIGHT, PRODUCT_HEIGHT = 0.9, 0.24


def bars(row: Row) -> list[tuple[float, str, float, float]]:
    """Place, kind, begin and length in ms, of what took time."""
    return [
        (span["rank"] + LANES[span["what"]], span["what"], span["begin_us"] / 1e3, (span["end_us"] - span["begin_us"]) / 1e3)
        for span in row.timeline
        if span["end_us"] > span["begin_us"]
    ]


def timeline(result: ResultFile):
    row = distributed.with_timeline(result)
    ranks = 1 + max(span["rank"] for span in row.timeline)
    height = RANK_HEIGHT * ranks
    facts = f"{row.shape.label} · {row.math} · {text.cut(result.device['name'], 60)}, {row.grid.replace('x', ' × ')}"
    sheet = Sheet(WIDTH, HEADLINE + height + 1.2, "Products and copies of one call", facts)
    axes = sheet.axes(0.95, HEADLINE + 0.35, WIDTH - 1.4, height)
    shown: set[str] = set()
    for place, what, begin, length in bars(row):
        name, colour = SPANS[what]
        axes.barh(
            place, length, left=begin, height=0.36, color=COLOURS[colour][0], edgecolor="white", linewidth=0.6,
            label=None if what in shown else name,
        )  # fmt: skip
        shown.add(what)
    axes.set_xlim(left=0)
    axes.set_ylim(ranks - 0.3, -0.5)
    axes.set_yticks([rank + 0.2 for rank in range(ranks)], [f"rank {rank}" for rank in range(ranks)])
    axes.set_xlabel("ms")
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.46 / height), ncols=2)
    return sheet.figure


def speedups(result: ResultFile):
    rows = sorted(distributed.timed(result), key=lambda row: row.shape.flops)
    height = PRODUCT_HEIGHT * len(rows) + 0.2
    gpus = max(row.gpus for row in rows)
    facts = f"{text.cut(result.device['name'], 60)} · {gpus} GPUs · smallest product first"
    sheet = Sheet(WIDTH, HEADLINE + height + 1.0, "Times as fast as one GPU", facts)
    axes = sheet.axes(2.2, HEADLINE + 0.35, WIDTH - 2.6, height)
    places = range(len(rows))
    for place, row in zip(places, rows):
        if row.predicted_speedup:
            axes.plot(
                [row.speedup, row.predicted_speedup], [place, place], color=COLOURS["muted"][0], linewidth=1, zorder=2,
            )  # fmt: skip
    points = {"marker": "o", "linestyle": "none", "markersize": 6.5, "zorder": 4}
    axes.plot([row.speedup for row in rows], places, color=COLOURS["production"][0], label="measured", **points)
    predicted = [(row.predicted_speedup, place) for place, row in zip(places, rows) if row.predicted_speedup]
    if predicted:
        axes.plot(
            *zip(*predicted, strict=True), color=COLOURS["production"][0], markerfacecolor=PAPER, label="predicted", **points,
        )  # fmt: skip
    axes.axvline(gpus, color=COLOURS["muted"][0], linewidth=1, linestyle=(0, (3, 2.5)))
    axes.set_xlim(left=min(row.speedup for row in rows) - 0.2)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(list(places), [f"{row.shape.label} {row.math}" for row in rows], fontsize=8)
    small_title(axes, "time on one GPU by the time of the slowest rank")
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.3 / height), ncols=2)
    return sheet.figure
