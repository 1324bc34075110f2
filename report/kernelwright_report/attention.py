"""Attention: a line a problem with the library's two arithmetics beside PyTorch, errors on every class of data, what a
sweep at random comes to, and the ladder. Files of tools/attention_peer.py and of `kernelwright bench attention`."""

from __future__ import annotations

from . import tables, text
from .results import ResultFile
from .rows import Row
from .sweeps import LOSING_RATIO, geometric_mean
from .tables import Cell, Table

OWN = {"fp32": "kernelwright", "fp32_split": "kernelwright_split"}
PEER = "pytorch"


def _by_shape(result: ResultFile) -> dict:
    found: dict = {}
    for row in result.rows:
        if row.median_us:
            found.setdefault(row.shape, {})[row.kernel] = row
    return found


def _rate(row: Row | None) -> str:
    return text.number(row.gflops / 1e3) if row else text.NONE


def table(result: ResultFile) -> Table:
    """A line a problem."""
    rows = []
    for shape, by in _by_shape(result).items():
        own = [by.get(kernel) for kernel in OWN.values()]
        cells = [shape.size, shape.causal, *(_rate(row) for row in own), _rate(by.get(PEER))]
        rows.append([Cell(cell) for cell in [*cells, *(text.times(row.vs_peer if row else None) for row in own)]])
    caption = "TFLOP/s, 4·D for each pair of query and key that counts, by the median time; PyTorch's FP32 time by the library's. "
    caption += "Interleaved calls in one process, each verified element by element beforehand."
    header = ["batch × heads × queries × keys × D", "causal", "fp32", "fp32_split", "PyTorch", "fp32 over it", "split over it"]
    return Table(caption, header, rows, left=2)


def errors(result: ResultFile) -> Table:
    """A line a class of data and head size."""
    found: dict = {}
    for row in result.rows:
        if row.input and row.error and not row.median_us:
            found.setdefault((row.input, row.dim), {})[row.math] = row
    rows = []
    for (name, dim), by in found.items():
        plain = next(iter(by.values())).error.get("unfused_rms")
        figures = [by[math].error.get("rms") if math in by else None for math in OWN]
        rows.append([Cell(cell) for cell in [name, str(dim), *(text.number(value) for value in [*figures, plain])]])
    caption = "Root mean square of \\|O − O₆₄\\| in units of 2⁻²⁴·Σ P\\|V\\|; unfused: two FP32 products of PyTorch with a softmax between them."
    return Table(caption, ["data", "D", "fp32", "fp32_split", "unfused"], rows, left=1)


def summary(result: ResultFile) -> Table:
    """What a sweep at random comes to."""
    rows = []
    groups = {"all": lambda row: True, "one query": lambda row: row.queries == 1, "several": lambda row: row.queries > 1}
    for math, kernel in OWN.items():
        for group, fits in groups.items():
            ratios = [row.vs_peer for row in result.rows if row.kernel == kernel and row.vs_peer and fits(row)]
            if ratios:
                cells = [math, group, str(len(ratios)), text.times(geometric_mean(ratios)), text.times(min(ratios))]
                rows.append([Cell(cell) for cell in [*cells, str(sum(ratio < LOSING_RATIO for ratio in ratios))]])
    caption = "PyTorch's FP32 time by the library's: geometric mean and least."
    return Table(caption, ["arithmetic", "queries", "problems", "over PyTorch", "least", f"under {LOSING_RATIO}"], rows, left=2)


def ladder(result: ResultFile, causal: str, ideas: dict[str, str] | None = None) -> Table:
    """The walk: at the first problem of that causal rule."""
    shape = next(shape for shape in _by_shape(result) if shape.causal == causal)
    return tables.ladder(result, shape, ideas)
