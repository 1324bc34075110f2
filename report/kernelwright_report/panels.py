"""Panels of bars: what they show, decided without drawing, so that captions speak of what is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from . import text
from .reductions import Reduction, over_first
from .results import ResultFile
from .rows import EXACT, Range, Row, Shape

VISIBLE = 0.01  # a spread below this share of the value would be thinner than the line
MOST_SIZES = 15  # panels and columns of "every kernel at every size"
MOST_BARS = 40  # a sheet with more could not be read


@dataclass(frozen=True)
class Bars:
    """One panel of horizontal bars, one a kernel."""

    title: str
    values: list[float | None]
    show: Callable[[float | None], str]
    ranges: list[Range]  # of each value
    log: bool = False  # gains: they begin at 1, and 0.5 is as long as 2
    reference: float | None = None  # where a dashed line stands


@dataclass(frozen=True)
class Steps:
    """The kernels that were timed at one problem, and the panels that have anything to show."""

    rows: list[Row]
    panels: list[Bars]

    @property
    def caption(self) -> str:
        titles = [panel.title for panel in self.panels]
        return text.listing(titles) + (", on logarithmic axes" if any(panel.log for panel in self.panels) else "")


def _steps(rows: list[Row], panels: list[Bars]) -> Steps:
    return Steps(rows, [panel for panel in panels if any(value is not None for value in panel.values)])


def _ratio_ranges(rows: list[Row], others: list[Row | None]) -> list[Range]:
    """Of the other's median by a row's: both spread, independently."""
    found = []
    for row, other in zip(rows, others):
        over, own = (other.time_range if other else EXACT), row.time_range.inverse
        down, up = math.hypot(1 - over.low, 1 - own.low), math.hypot(over.high - 1, own.high - 1)
        found.append(Range(max(1 - down, 0.01), 1 + up))
    return found


def _rate_ranges(rows: list[Row | None]) -> list[Range]:
    return [row.time_range.inverse if row else EXACT for row in rows]


def _over_parent(result: ResultFile, rows: list[Row]) -> Bars:
    parents = [result.at(result.parents.get(row.kernel, ""), row.shape) for row in rows]
    values = [row.vs_previous for row in rows]
    return Bars("gain over the step before", values, text.times, _ratio_ranges(rows, parents), log=True)


def sgemm_steps(result: ResultFile, shape: Shape) -> Steps:
    """Gain over the step before, and ratio to the vendor."""
    rows = result.timed_at(shape)[:MOST_BARS]
    ratios = [1.0 if row.role == "peer" and row.kernel == result.peer_name else row.vs_peer for row in rows]
    if not any(row.vs_peer is not None for row in rows):
        ratios = []
    vendor = text.kernel(result.peer_name or "the vendor")
    peers = [result.at(row.peer or "", shape) for row in rows]
    panels = [
        _over_parent(result, rows),
        Bars(f"speed as a share of {vendor}'s", ratios, text.percent, _ratio_ranges(rows, peers), reference=1.0),
    ]
    return _steps(rows, panels)


def reduce_steps(result: ResultFile, shape: Reduction) -> Steps:
    """Share of the read bandwidth at one length, and what each step gained."""
    rows = result.timed_at(shape)[:MOST_BARS]
    first = over_first(result, shape)
    ranges = _rate_ranges(rows)
    panels = [
        Bars(
            "share of the measured read bandwidth", [row.of_peak for row in rows], text.percent, ranges, reference=1.0
        ),
        _over_parent(result, rows),
        Bars("gain over the first rung", [first.get(row.kernel) for row in rows], text.times, ranges, log=True),
    ]
    return _steps(rows, panels)


def peak_shares(result: ResultFile) -> tuple[list[str], list[Bars]]:
    """Kernels, and their shares of the measured FP32 peak at up to three of the largest sizes."""
    shapes = [shape for shape in result.timed_shapes if any(row.of_peak is not None for row in result.timed_at(shape))][
        -3:
    ]
    kernels = [k for k in result.timed_kernels if any(result.at(k, shape) for shape in shapes)][:MOST_BARS]
    found = []
    for shape in shapes:
        rows = [result.at(kernel, shape) for kernel in kernels]
        shares = [row and row.of_peak for row in rows]
        found.append(Bars(text.cut(shape.label, 36), shares, text.percent, _rate_ranges(rows), reference=1.0))
    return kernels, found
