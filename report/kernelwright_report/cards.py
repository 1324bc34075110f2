"""One ladder on two GPUs: what `<!-- table: FILE... cards OTHER SIZE... -->` stands for."""

from __future__ import annotations

from collections.abc import Callable

from . import text
from .reductions import length_near
from .results import ResultError, ResultFile
from .rows import Row
from .tables import Cell, Table


def _row(results: list[ResultFile], kernel: str, size: int) -> Row | None:
    """Of the first file that has the kernel at that very size."""
    for result in results:
        shape = length_near(result, size) if result.op == "reduce" else result.shape_near(size)
        row = result.at(kernel, shape) if shape else None
        if row and (shape.n if result.op == "reduce" else shape.m) == size:
            return row
    return None


def table(results: list[ResultFile], other: ResultFile, sizes: list[int]) -> Table:
    """A line a rung, and the vendor, that both cards have; at each size its speed on both, and the second's over the
    first's. The library's kernels change from one version to the next, so they are left out."""
    if not results or any(result.op != other.op for result in results):
        raise ResultError("cards: files of one operation, the second card's behind the word.")
    of_bytes = other.op == "reduce"
    rate: Callable[[Row], float] = (lambda row: row.gbs) if of_bytes else (lambda row: row.gflops)
    unit, scale = ("GB/s", 1.0) if of_bytes else text.rate_unit(other.rows)
    names = [device["name"].removeprefix("NVIDIA ").split()[0] for device in (results[0].device, other.device)]
    lines = []
    for kernel in other.timed_kernels:
        pairs = [(_row(results, kernel, size), _row([other], kernel, size)) for size in sizes]
        if other.role(kernel) == "production" or not any(first and second for first, second in pairs):
            continue
        cells = []
        for first, second in pairs:
            cells += [Cell(text.number(rate(row) / scale) if row else text.NONE) for row in (first, second)]
            cells.append(Cell(text.times(rate(second) / rate(first)) if first and second else text.NONE))
        lines.append([Cell(kernel, link=kernel), *cells])
    labels = [f"2{str(size.bit_length() - 1).translate(text.SUPERSCRIPTS)}" if of_bytes else str(size) for size in sizes]
    header = ["kernel", *(words for label in labels for words in (*(f"{label}, {name}" for name in names), "ratio"))]
    return Table(f"{unit} from the median times, and the second card's over the first's.", header, lines)
