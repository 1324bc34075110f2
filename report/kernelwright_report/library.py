"""The library as a whole beside the vendor and the ladder, from several result files: README's table and plot.

Each file is a run of its own, so ratios are to the vendor's row of the same file and no others are formed.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import text
from .results import ResultError, ResultFile, Row, Shape
from .tables import Cell, Table

CHOICES = {"kernelwright": "fp32", "kernelwright_split": "fp32_split"}  # row of the library's choice -> its Math


@dataclass(frozen=True)
class Line:
    """One kernel's rows at the square sizes."""

    name: str
    kernel: str
    result: ResultFile
    rows: dict[Shape, Row]


@dataclass(frozen=True)
class Library:
    choices: list[Line]
    rungs: list[Line]

    @property
    def lines(self) -> list[Line]:
        return [*self.choices, *self.rungs]

    @property
    def vendor(self) -> str:
        return text.kernel(next(row.peer for row in self.choices[0].rows.values()))

    @property
    def shapes(self) -> list[Shape]:
        """The sizes that every file has."""
        return [shape for shape in self.choices[0].rows if all(shape in line.rows for line in self.lines)]


def _line(result: ResultFile, kernel: str, name: str) -> Line:
    rows = {
        shape: row
        for shape in result.timed_shapes
        if shape.square and (row := result.at(kernel, shape)) and row.vs_peer
    }
    if not rows:
        raise ResultError(f"{result.path} has no times of '{kernel}' beside a vendor at square sizes.")
    return Line(name, kernel, result, rows)


def library(results: list[ResultFile], wanted: list[str]) -> Library:
    """The files' choices of the library, and of the last file the rungs that begin as wanted."""
    if len(results) < 2:
        raise ResultError("library takes the files of the library's choices, then the ladder's, then rungs of it.")
    choices = [(result, kernel) for result in results[:-1] for kernel in CHOICES if kernel in result.timed_kernels]
    if len(choices) != len(results) - 1:
        raise ResultError(f"each file but the last has one row of {' or '.join(CHOICES)}.")
    rungs = [kernel for word in wanted for kernel in results[-1].timed_kernels if kernel.startswith(f"{word}_")]
    if len(rungs) != len(wanted):
        raise ResultError(f"{results[-1].path} does not have all of {', '.join(wanted)}.")
    found = Library(
        [_line(result, kernel, CHOICES[kernel]) for result, kernel in choices],
        [_line(results[-1], kernel, kernel.partition("_")[0]) for kernel in rungs],
    )
    if not found.shapes:
        raise ResultError("the files have no square size in common.")
    return found


def _speed(row: Row) -> Cell:
    return Cell(text.number(row.gflops / 1e3))


def table(shown: Library) -> Table:
    """Speeds at the powers of two, each beside the vendor of its own run."""
    header = ["m = n = k", f"{shown.vendor}, TFLOP/s"]
    for line in shown.choices:
        header += [f"`{line.name}`, TFLOP/s", f"over {shown.vendor}"]
    header += [f"ladder: {line.name}" if i == 0 else line.name for i, line in enumerate(shown.rungs)]
    rows = []
    for shape in (shape for shape in shown.shapes if shape.m & (shape.m - 1) == 0):
        first = shown.choices[0]
        peer = first.result.at(first.rows[shape].peer, shape)
        cells = [Cell(shape.label), _speed(peer)]
        for line in shown.choices:
            row = line.rows[shape]
            cells += [_speed(row), Cell(text.times(row.vs_peer), "best" if row.vs_peer >= 1 else "")]
        rows.append([*cells, *(Cell(text.times(line.rows[shape].vs_peer)) for line in shown.rungs)])
    caption = (
        f"Median times. Ratios are to {shown.vendor} in FP32 in the same run, a run for each mode and one for the "
    )
    caption += "ladder; 1 or more is bold."
    return Table(caption, header, rows)
