"""The plot of a sweep of reductions: share of the read bandwidth against bytes, and of large ones against aspect."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from . import text
from .canvas import HEADLINE, WIDTH, Sheet, small_title, where
from .labels import level
from .results import ResultFile
from .sweeps_reduce import BARS, Drawn, drawn
from .theme import MUTED, kernel_colours

MOST = 4000
OWN = "the library"
MARKERS = {OWN: "o", "CUB": "D"}


def _shares(each: Drawn, result: ResultFile) -> list[tuple[str, str, float]]:
    """Name, kernel whose colour it has, share of the bandwidth."""
    if each.own.of_peak is None:
        return []
    found = [(text.kernel(peer.kernel), peer.kernel, each.own.of_peak * each.own.median_us / each.peer_us(peer)) for peer in each.peers]
    return [*found, (OWN, result.timed_kernels[0], each.own.of_peak)]


def _scatter(axes: Axes, result: ResultFile, points: list[tuple[float, Drawn]]) -> None:
    colours, named = kernel_colours(result), set()
    for x, each in points[:MOST]:
        for name, kernel, share in _shares(each, result):
            own = name == OWN
            axes.scatter(
                x, 100 * share, s=11, color=colours[kernel], alpha=0.5, linewidths=0, marker=MARKERS.get(name, "^"),
                zorder=2.8 if own else 2.5, label=None if name in named else name,
            )  # fmt: skip
            named.add(name)
    axes.set_xscale("log")
    low, high = (round(math.log10(bound(x for x, _ in points))) if points else 0 for bound in (min, max))
    axes.set_xlim(10.0 ** (low - 0.6), 10.0 ** (high + 0.6))
    decades = range(low, high + 1, 1 if high - low < 9 else 3)
    axes.xaxis.set_major_locator(FixedLocator([10.0**decade for decade in decades]))
    axes.xaxis.set_major_formatter(lambda value, _: text.decade(round(math.log10(value))))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(0, 112)
    level(axes, 100, "measured read bandwidth")


def share(result: ResultFile):
    height = 4.6
    sheet = Sheet(
        WIDTH, height + 1.7, "Share of the read bandwidth against bytes and aspect",
        f"{where(result)} · a dot a reduction",
    )  # fmt: skip
    width = (WIDTH - 2.2) / 2
    reductions = [each for each in drawn(result) if each.own.of_peak is not None]
    sizes = sheet.axes(0.6, HEADLINE + 0.3, width, height)
    _scatter(sizes, result, [(each.bytes * 1e-6, each) for each in reductions])
    sizes.set_xlabel("MB that must be read")
    small_title(sizes, "% of the read bandwidth")
    sizes.legend(loc="upper left", frameon=False, fontsize=8.5, labelcolor=MUTED, bbox_to_anchor=(0, 0.9))
    aspects = sheet.axes(0.6 + width + 1.0, HEADLINE + 0.3, width, height)
    large = [(each.aspect, each) for each in reductions if each.bytes >= BARS[0][0]]
    _scatter(aspects, result, large)
    aspects.set_xlabel("elements of a sequence by sequences")
    small_title(aspects, "from 64 MiB on")
    return sheet.figure
