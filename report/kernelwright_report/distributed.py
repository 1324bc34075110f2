"""Files of `bench distributed`: products over several devices beside the library's call on one, and what was predicted."""

from __future__ import annotations

from . import text
from .results import ResultError, ResultFile
from .rows import Row
from .tables import Cell, Table

CAPTION = (
    "Time of the slowest rank; its share of one GPU: how many times as fast as the library's own call on one GPU, all GPUs "
    "making that call at once, in turn with the distributed one. Products, transfers: each alone. Predicted: by "
    "`kernelwright plan`, before the run, and how far from the measured time."
)

CLOSE = 0.05  # a prediction within so much of the time


def timed(result: ResultFile) -> list[Row]:
    return [row for row in result.rows if row.median_us is not None]


def with_timeline(result: ResultFile) -> Row | None:
    """The largest product whose products and copies were recorded."""
    rows = [row for row in timed(result) if row.timeline]
    return max(rows, key=lambda row: row.shape.flops) if rows else None


def _signed(share: float) -> str:
    percent = round(100 * share, 1) or 0.0  # no minus of nothing
    return f"{percent:+.1f} %".replace("-", "−")


def _ms(microseconds: float | None) -> Cell:
    return Cell(text.NONE if microseconds is None else f"{microseconds / 1e3:.1f}")


def _predicted(row: Row) -> list[Cell]:
    if not row.predicted_us:
        return [Cell(text.NONE), Cell(text.NONE)]
    return [_ms(row.predicted_us), Cell(_signed(_miss(row)))]


def _miss(row: Row) -> float:
    return row.predicted_us / row.median_us - 1


def _judged(result: ResultFile) -> str:
    """A sentence on how far the predictions are off."""
    rows = [row for row in timed(result) if row.predicted_us]
    if not rows:
        return ""
    close = sum(abs(_miss(row)) <= CLOSE for row in rows)
    worst = max(rows, key=lambda row: abs(_miss(row)))
    return f" {close} of {len(rows)} are within {100 * CLOSE:.0f} %, the farthest is {_signed(_miss(worst))} off."


def table(result: ResultFile) -> Table:
    """A line a product."""
    rows = []
    for row in result.rows:
        if row.gpus is None:
            raise ResultError(f"{result.path} is not of several devices: `kernelwright bench distributed` writes such files.")
        if row.median_us is None:
            continue
        rows.append([
            Cell(row.shape.label), Cell(row.math), Cell(row.grid.replace("x", " × ")), _ms(row.median_us),
            Cell(text.number(row.gflops / 1e3)), Cell(f"{row.speedup:.2f}"), _ms(row.one_gpu_us), _ms(row.products_us),
            _ms(row.transfers_us), *_predicted(row),
        ])  # fmt: skip
    header = ["size", "math", "grid", "ms", "TFLOP/s", "of one GPU", "one GPU, ms", "products", "transfers", "predicted", ""]
    return Table(CAPTION + _judged(result), header, rows, left=3)
