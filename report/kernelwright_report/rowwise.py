"""Row-wise operations: what a file of them comes to, by the length of rows, and a line each; PyTorch's time where
tools/pytorch_peer.py has added it, beside the library's own in the same process."""

from __future__ import annotations

from dataclasses import dataclass

from . import text
from .results import ResultFile
from .rows import Row
from .sweeps import LOSING_RATIO, geometric_mean
from .tables import Cell, Table

LARGE = 64 << 20  # bytes read and written, from which on bars hold
LONG_ROW = 4 << 20  # bytes of a row
GROUPS = {"rows up to 4 MiB": (0.85, lambda row_bytes: row_bytes <= LONG_ROW), "longer rows": (0.60, lambda row_bytes: row_bytes > LONG_ROW)}


@dataclass(frozen=True)
class Measured:
    """One call of the library, and PyTorch's."""

    own: Row
    peer: Row | None

    @property
    def ratio(self) -> float | None:
        return self.peer.median_us / self.peer.beside_us if self.peer and self.peer.beside_us else None

    @property
    def row_bytes(self) -> int:
        return self.own.cols * (4 if self.own.dtype == "float32" else 2)

    @property
    def bytes(self) -> float:
        return self.own.gbs * self.own.median_us * 1e3


def measured(result: ResultFile) -> list[Measured]:
    peers = {row.shape: row for row in result.rows if row.role == "peer" and row.median_us}
    own = [row for row in result.rows if row.role == "production" and row.median_us]
    return [Measured(row, peers.get(row.shape)) for row in own]


def summary_table(result: ResultFile) -> Table:
    found = measured(result)
    rows = []
    for operation in dict.fromkeys(each.own.op for each in found):
        for group, (bar, fits) in GROUPS.items():
            mine = [each for each in found if each.own.op == operation and fits(each.row_bytes) and each.bytes >= LARGE]
            if mine:
                rows.append(_line(operation, group, bar, mine))
    large = [each for each in found if each.bytes >= LARGE]
    if large:
        rows.append(_line("all", "", None, large))
    caption = "Calls that read and write 64 MiB or more. Share of the measured copy bandwidth, one read and one write counted: "
    caption += "mean, least and how many are under the bar. PyTorch's time by the library's, both in one process: means are geometric."
    header = ["operation", "", "calls", "share", "least", "bar", "under", "PyTorch", "least", f"under {LOSING_RATIO}"]
    return Table(caption, header, rows, left=2)


def _line(operation: str, group: str, bar: float | None, mine: list[Measured]) -> list[Cell]:
    shares = [each.own.of_peak for each in mine if each.own.of_peak]
    ratios = [each.ratio for each in mine if each.ratio]
    under = text.NONE if bar is None else str(sum(share < bar for share in shares))
    cells = [operation, group, str(len(mine)), text.percent(geometric_mean(shares) if shares else None), text.percent(min(shares, default=None))]
    cells += [text.percent(bar), under, text.times(geometric_mean(ratios) if ratios else None), text.times(min(ratios, default=None))]
    return [Cell(cell) for cell in [*cells, str(sum(ratio < LOSING_RATIO for ratio in ratios)) if ratios else text.NONE]]


def table(result: ResultFile) -> Table:
    """A line a call."""
    rows = []
    for each in measured(result):
        own = each.own
        rows.append([
            Cell(own.op), Cell(own.dtype), Cell(own.shape.size), Cell(own.path or own.kernel), Cell(text.microseconds(own.median_us)),
            Cell(text.plus_minus(own.spread)), Cell(text.number(own.gbs)), Cell(text.percent(own.of_peak)), Cell(text.times(each.ratio)),
        ])  # fmt: skip
    caption = "Median time, ± half the interquartile range of the repeats; GB/s: bytes read and written by that time; share of the "
    caption += "measured copy bandwidth; PyTorch's time by the library's where both were measured in one process."
    return Table(caption, ["operation", "type", "rows × columns", "kernel", "time", "±", "GB/s", "of copy", "PyTorch"], rows, left=4)
