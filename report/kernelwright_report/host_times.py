"""What the host takes for a call: files of `bench sgemm --timing enqueue`."""

from __future__ import annotations

from . import text
from .results import ResultFile
from .rows import Row
from .tables import Cell, Table

CAPTION = (
    "Medians, ± half the interquartile range: what the host takes for a call, checks, choice and launches, on a stream "
    "with a few calls in it; the least of each size is marked. The library's calls go through a context, the vendor's "
    "through a handle that was told stream and workspace before."
)


def _cell(row: Row | None, best: float | None) -> Cell:
    if row is None:
        return Cell(text.NONE)
    spread = f" {text.plus_minus(row.spread)}" if row.spread is not None else ""
    return Cell(text.microseconds(row.median_us) + spread, "best" if row.median_us == best else "")


def table(result: ResultFile) -> Table:
    """A line a size: which kernel computed, the times of the library's calls, the vendor's."""
    kernels = result.timed_kernels
    own = [kernel for kernel in kernels if result.role(kernel) != "peer"]
    rows = []
    for shape in result.timed_shapes:
        found = {kernel: result.at(kernel, shape) for kernel in kernels}
        best = min(row.median_us for row in found.values() if row)
        paths = dict.fromkeys(row.path or row.kernel for kernel in own if (row := found[kernel]))
        cells = [Cell(shape.label), Cell(", ".join(paths) or text.NONE)]
        rows.append(cells + [_cell(found[kernel], best) for kernel in kernels])
    return Table(CAPTION, ["m × n × k", "computed by", *map(text.kernel, kernels)], rows, left=2)
