"""Plots of files of `apps/measure.py`: times bar by bar with the errors beside them, and losses against steps."""

from __future__ import annotations

import math

from matplotlib.ticker import NullLocator

from . import apps, text
from .canvas import HEADLINE, WIDTH, Sheet, plain_log, small_title
from .labels import CLEAR, label_ends
from .results import ResultFile
from .theme import INK, MUTED, PAPER, kernel_colours

LINE, GAP = 0.19, 0.16  # inches of a bar, and between programs
NAMES, ERRORS, BETWEEN = 1.75, 3.6, 0.5
LONGEST = 1.6  # a bar of more of cuBLAS's time is cut
ROOM = 0.25  # for the numbers behind the bars
HEIGHT, LABELS = 4.0, 1.9


def _places(result: ResultFile, variants: list[str]) -> dict[tuple[str, str], float]:
    """Where each bar stands, in inches from the top."""
    block = LINE * len(variants) + GAP
    return {
        (app, variant): GAP / 2 + block * i + LINE * (j + 0.5)
        for i, app in enumerate(apps.programs(result))
        for j, variant in enumerate(variants)
    }


def _legend(sheet: Sheet, variants: list[str], colours: dict[str, str]) -> None:
    for i, variant in enumerate(variants):
        left = NAMES + 1.9 * i
        sheet.text(left, HEADLINE + 0.12, "■", color=colours[variant], fontsize=11)
        sheet.text(left + 0.18, HEADLINE + 0.12, apps.name(variant), fontsize=8.5)


def _times(axes, result: ResultFile, places: dict, colours: dict[str, str]) -> None:
    longest = 1.0
    for (app, variant), y in places.items():
        row, peer = apps.at(result, app, variant), apps.at(result, app, result.peer_name or "")
        if row is None:
            axes.text(0.01, y, "failed", fontsize=7.5, color=MUTED, va="center")
            continue
        share = min(row.median_us / peer.median_us, LONGEST) if peer else 1.0
        axes.barh(y, share, height=LINE * 0.86, color=colours[variant])
        longest = max(longest, share)
        speed = f"  {text.times(row.vs_peer)}" if row.vs_peer is not None and row.role != "peer" else ""
        said = text.microseconds(row.median_us) + speed
        axes.text(share + 0.01, y, said, fontsize=7.5, color=INK, va="center", bbox=CLEAR)
    axes.axvline(1, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    axes.set_xlim(0, longest + ROOM)
    axes.set_xticks([])
    small_title(axes, "median time of a step by cuBLAS's")


def _errors(axes, result: ResultFile, places: dict, colours: dict[str, str]) -> bool:
    found = []
    for (app, variant), y in places.items():
        error = apps.relative_error(apps.at(result, app, variant))
        if error:
            style = {"markersize": 6, "markeredgecolor": PAPER, "markeredgewidth": 0.6}
            axes.plot([error], [y], "o", color=colours[variant], **style)
            found.append(error)
    if found:
        low, high = min(found) / 2, max(found) * 2
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        decades = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
        axes.set_xticks([10.0**decade for decade in decades], [text.decade(decade) for decade in decades])
        axes.xaxis.set_minor_locator(NullLocator())
    return bool(found)


def times_and_errors(result: ResultFile):
    variants, found = apps.variants(result), apps.programs(result)
    colours, places = kernel_colours(result), _places(result, variants)
    height = GAP / 2 + (LINE * len(variants) + GAP) * len(found)
    sheet = Sheet(
        WIDTH, HEADLINE + height + 1.0, "Whole programs under the drop-in",
        f"{text.cut(result.device['name'], 60)} · a step with data movement and optimizer · variants in turn",
    )  # fmt: skip
    _legend(sheet, variants, colours)
    top, left = HEADLINE + 0.5, NAMES + WIDTH - NAMES - ERRORS - BETWEEN - 0.3
    bars = sheet.axes(NAMES, top, left - NAMES, height)
    dots = sheet.axes(left + BETWEEN, top, ERRORS - 0.2, height)
    for axes in (bars, dots):
        axes.set_ylim(height, 0)
        axes.grid(axis="y", visible=False)
        axes.set_yticks([])
    middles = [sum(places[app, variant] for variant in variants) / len(variants) for app in found]
    bars.set_yticks(middles, [text.cut(apps.title(app), 24) for app in found])
    bars.tick_params(axis="y", labelsize=9, labelcolor=INK)
    _times(bars, result, places, colours)
    if _errors(dots, result, places, colours):
        small_title(dots, "relative error against float64")
        for y in middles[1:]:
            dots.axhline(y - (LINE * len(variants) + GAP) / 2, color=MUTED, linewidth=0.3)
    else:
        dots.set_axis_off()
    return sheet.figure


def losses(result: ResultFile, app: str):
    sheet = Sheet(
        WIDTH, HEADLINE + HEIGHT + 0.95, f"The loss of {apps.title(app)}",
        f"{text.cut(result.device['name'], 60)} · the same start, data and steps in every arithmetic",
    )  # fmt: skip
    axes = sheet.axes(0.75, HEADLINE + 0.2, WIDTH - 0.95 - LABELS, HEIGHT)
    colours, ends = kernel_colours(result), []
    for variant in apps.variants(result):
        points = apps.losses(apps.at(result, app, variant))
        if len(points) > 1:
            axes.plot(*zip(*points, strict=True), color=colours[variant])
            ends.append((*points[-1], apps.name(variant), colours[variant]))
    plain_log(axes)
    axes.set_xlabel("step")
    label_ends(axes, ends, HEIGHT)
    return sheet.figure
