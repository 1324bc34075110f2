"""Files of kernelwright_gpt2, with PyTorch's rows of apps/gpt2/pytorch.py: a line a program and way."""

from __future__ import annotations

from . import text
from .results import ResultFile
from .tables import Cell, Table

NAMES = {
    "fp32": "kernelwright, fp32", "fp32_split": "kernelwright, fp32_split", "fp32_graph": "kernelwright, fp32, a graph",
    "pytorch": "PyTorch", "pytorch_compiled": "PyTorch, compiled", "pytorch_graph": "PyTorch, a graph a step",
}  # fmt: skip


def table(result: ResultFile) -> Table:
    rows = []
    for row in sorted((row for row in result.rows if row.median_us), key=lambda row: (row.app, -row.median_us)):
        cells = [row.app, NAMES.get(row.variant, row.variant), text.microseconds(row.median_us), text.plus_minus(row.spread)]
        rows.append([Cell(cell) for cell in [*cells, text.times(row.vs_peer)]])
    caption = "Median time of a whole call, by the host's clock, ± half the interquartile range; PyTorch's eager time by it."
    return Table(caption, ["program", "by", "time", "±", "over PyTorch"], rows, left=2)
