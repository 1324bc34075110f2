"""Row-wise operations: what a file of them comes to, by the length of rows, and a line each. Beside the library's time
there is that of a plain copy of the same rows in the same run, and PyTorch's where tools/pytorch_peer.py has added it,
beside the library's own in the same process."""

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
    """One call of the library, the copy of its rows, and PyTorch's call."""

    own: Row
    copy: Row | None
    peer: Row | None

    @property
    def of_copy(self) -> float | None:
        """The copy's time by the library's."""
        return self.copy.median_us / self.own.median_us if self.copy else None

    @property
    def ratio(self) -> float | None:
        return self.peer.median_us / self.peer.beside_us if self.peer and self.peer.beside_us else None

    @property
    def row_bytes(self) -> int:
        return self.own.cols * (4 if self.own.dtype == "float32" else 2)

    @property
    def bar(self) -> float:
        return next(bar for bar, fits in GROUPS.values() if fits(self.row_bytes))

    @property
    def bytes(self) -> float:
        return self.own.gbs * self.own.median_us * 1e3


def measured(result: ResultFile) -> list[Measured]:
    beside = {(row.kernel, row.shape): row for row in result.rows if row.role == "peer" and row.median_us}
    own = [row for row in result.rows if row.role == "production" and row.median_us]
    return [Measured(row, beside.get(("copy", row.shape)), beside.get(("pytorch", row.shape))) for row in own]


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
    caption = "Calls that read and write 64 MiB or more. Of a copy of 4 GiB: share of its bandwidth, one read and one write counted; of "
    caption += "the rows' copy: the time of a plain copy of the same rows, in the same run, by the library's. Mean, least and how many are "
    caption += "under the bar. PyTorch's time by the library's, both in one process. Means are geometric."
    header = ["operation", "", "calls", "bar", "of a copy of 4 GiB", "least", "under", "of the rows' copy", "least", "under", "PyTorch", "least"]
    return Table(caption, [*header, f"under {LOSING_RATIO}"], rows, left=2)


def _line(operation: str, group: str, bar: float | None, mine: list[Measured]) -> list[Cell]:
    ratios = [each.ratio for each in mine if each.ratio]
    cells = [operation, group, str(len(mine)), text.percent(bar)]
    cells += _shares([(each.own.of_peak, each.bar) for each in mine if each.own.of_peak])
    cells += _shares([(each.of_copy, each.bar) for each in mine if each.of_copy])
    cells += [text.times(geometric_mean(ratios) if ratios else None), text.times(min(ratios, default=None))]
    return [Cell(cell) for cell in [*cells, str(sum(ratio < LOSING_RATIO for ratio in ratios)) if ratios else text.NONE]]


def _shares(found: list[tuple[float, float]]) -> list[str]:
    """Of shares and the bars that they are to reach: the mean, the least, and how many are under their bar."""
    if not found:
        return [text.NONE] * 3
    shares = [share for share, _ in found]
    return [text.percent(geometric_mean(shares)), text.percent(min(shares)), str(sum(share < bar for share, bar in found))]


def table(result: ResultFile) -> Table:
    """A line a call."""
    rows = []
    for each in measured(result):
        own = each.own
        rows.append([
            Cell(own.op), Cell(own.dtype), Cell(own.shape.size), Cell(own.path or own.kernel), Cell(text.microseconds(own.median_us)),
            Cell(text.plus_minus(own.spread)), Cell(text.number(own.gbs)), Cell(text.percent(own.of_peak)), Cell(text.percent(each.of_copy)),
            Cell(text.times(each.ratio)),
        ])  # fmt: skip
    caption = "Median time, ± half the interquartile range of the repeats; GB/s: bytes read and written by that time; share of the "
    caption += "bandwidth of a copy of 4 GiB; the time of a plain copy of the same rows by the library's; PyTorch's time by the library's where "
    caption += "both were measured in one process."
    header = ["operation", "type", "rows × columns", "kernel", "time", "±", "GB/s", "of a copy of 4 GiB", "of the rows' copy", "PyTorch"]
    return Table(caption, header, rows, left=4)
