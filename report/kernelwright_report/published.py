"""Tables of another's published times beside ours: a line of theirs, a line of the kernel here that has the same structure,
and how many times as fast it is, by size."""

from __future__ import annotations

import csv
from dataclasses import dataclass

from . import text
from .results import ResultError, ResultFile
from .tables import Cell, Table


@dataclass(frozen=True)
class Step:
    name: str
    kernel: str
    ms: dict[int, float]  # by size: the mean


def steps(content: str) -> list[Step]:
    """Of a file with the columns step, kernel, n and ms: ladder/sgemm/published-s1.csv."""
    found: dict[str, Step] = {}
    try:
        for row in csv.DictReader(content.splitlines()):
            step = found.setdefault(row["step"], Step(row["step"].replace("_", " "), row["kernel"], {}))
            step.ms[int(row["n"])] = float(row["ms"])
    except (KeyError, ValueError, TypeError) as error:
        raise ResultError(f"not a table of published times ({error}).") from None
    if not found:
        raise ResultError("no published times in it.")
    return list(found.values())


def table(result: ResultFile, content: str) -> Table:
    """TFLOP/s of 10^12 operations, from the published means and our medians."""
    known = steps(content)
    sizes = sorted({n for step in known for n in step.ms})
    rows = []
    for step in known:
        theirs = [2e-9 * n**3 / step.ms[n] if n in step.ms else None for n in sizes]
        ours = [_tflops(result, step.kernel, n) for n in sizes]
        ratios = [mine / their if mine and their else None for mine, their in zip(ours, theirs)]
        rows.append([Cell(step.name), Cell("published"), *(Cell(text.number(x)) for x in theirs)])
        rows.append([Cell(step.kernel, link=step.kernel), Cell("here"), *(Cell(text.number(x)) for x in ours)])
        rows.append([Cell(""), Cell("times as fast"), *(Cell(text.times(x)) for x in ratios)])
    caption = f"TFLOP/s (10¹² operations a second): published mean times, and median times on {result.device['name']}."
    return Table(caption, ["step", "", *map(str, sizes)], rows, left=2)


def _tflops(result: ResultFile, kernel: str, n: int) -> float | None:
    shape = result.shape_near(n)
    row = result.at(kernel, shape)
    if row is None or row.gflops is None or (shape.m, shape.n, shape.k) != (n, n, n):
        return None
    return row.gflops / 1e3
