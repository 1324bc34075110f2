"""Files of `bench sgemm --sustain`: rates that last, beside rested ones, and what they cost in energy."""

from __future__ import annotations

from . import text
from .results import ResultFile
from .rows import Row
from .tables import Cell, Table

PRODUCTS = 3  # in 16 bits, that a split product takes
HALF = ("fp16", "bf16")
CAPTION = (
    "One kernel back to back, nothing beside it: the median rate of the time's windows; rested, that of a short spell after "
    "a rest; board power and SM clock over the time; energy a call, and operations a joule. Of FP16 / 3: the rate by a third "
    "of that of cuBLAS's FP16 product in the same run, for a split product takes three."
)
LIMITS = {
    "power_cap": "power", "software_thermal": "heat", "hardware_thermal": "heat", "power_brake": "power brake",
    "set_clock": "a set clock", "hardware": "hardware", "sync_boost": "sync boost", "display_clock": "display",
}  # fmt: skip
OFTEN = 0.05  # of the samples


def limits(row: Row) -> str:
    """What held the clock down in more than a few samples."""
    if row.limited_by is None:
        return text.NONE
    found = dict.fromkeys(LIMITS.get(name, name) for name, share in row.limited_by.items() if share > OFTEN)
    return ", ".join(found) or "nothing"


def divisor(row: Row) -> int:
    return PRODUCTS if row.math in HALF else 1


def name(row: Row) -> str:
    return text.kernel(row.kernel)


def joules_a_tera(row: Row) -> float | None:
    """For 10¹² operations of an FP32 product: three times the energy of 16 bits."""
    return 1e3 / row.gflop_per_joule * divisor(row) if row.gflop_per_joule else None


def _seconds(result: ResultFile) -> str:
    longest = max((row.sustained_s for row in result.rows if row.sustained_s), default=0)
    return f" Each for {text.number(longest, 2)}{text.THIN}s." if longest else ""


def table(result: ResultFile) -> Table:
    """A line a kernel and size."""
    unit, scale = text.rate_unit(result.rows)
    header = ["size", "kernel", unit, "rested", "W", "MHz", "J a call", "GFLOP/J", "of FP16 / 3", "held down by"]
    rows = []
    for shape in result.timed_shapes:
        for row in result.timed_at(shape):
            shown = [
                text.number(row.gflops / scale),
                text.number(row.rested_gflops / scale if row.rested_gflops else None),
                text.number(row.power_w), text.number(row.sm_clock_mhz, 4), text.number(row.joules_per_call),
                text.number(row.gflop_per_joule), text.NONE if row.of_fp16_third is None else f"{row.of_fp16_third:.3f}",
                limits(row),
            ]  # fmt: skip
            rows.append([Cell(shape.label), Cell(name(row), link=row.kernel), *map(Cell, shown)])
    return Table(CAPTION + _seconds(result), header, rows, left=2)
