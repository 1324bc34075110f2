"""Sweeps of many products, random or of programs: what they come to, a line a third and one for all, and every product.
tools/kernelwright/bench/sweep_summary.cpp computes the same while it measures; tests/program/sweep_summary.inc holds both
to it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from . import text
from .results import ResultError, ResultFile
from .rows import Row
from .tables import Cell, Table

THIRDS = {"short": "under 4 µs", "middle": "4 to 50 µs", "long": "over 50 µs", "all": "all"}
SLACK_US, SLACK_BELOW_US = 0.3, 4.0
LOSING_RATIO, LOSING_FACTOR = 0.97, 1.03
COUNTS = ("products", "below", "slower_than_fp32")
PLAIN_CHOICE = "kernelwright"
RULE = (
    "Means are geometric. Where the vendor takes under 4 µs and the library longer, 0.3 µs of slack: its time counts as "
    "so much shorter, but never as shorter than the vendor's. Thirds are by the time of an H200's roofline; times over "
    "the roofline are by the measured device's."
)


@dataclass(frozen=True)
class Summary:
    """Of one kernel and third; None without a vendor, a roofline, plain FP32 beside the split kernel."""

    kernel: str
    third: str
    products: int
    mean: float | None
    fifth_percentile: float | None
    least: float | None
    least_at: str
    below: int | None
    over_roofline: float | None
    vendor_over_roofline: float | None
    slower_than_fp32: int | None


def is_sweep(result: ResultFile) -> bool:
    return result.op == "sgemm" and any(row.number is not None for row in result.rows)


def products(result: ResultFile) -> list[dict[str, Row]]:
    """Of each product of the sweep the timed rows, by kernel."""
    found: dict[tuple, dict[str, Row]] = {}
    for row in result.rows:
        if row.number is not None and row.median_us is not None:
            found.setdefault((row.number, row.shape), {})[row.kernel] = row
    return [found[key] for key in sorted(found)]


def own_kernels(result: ResultFile) -> list[str]:
    return [kernel for kernel in result.timed_kernels if result.role(kernel) != "peer"]


def vendor_of(product: dict[str, Row], row: Row) -> Row | None:
    return product.get(row.peer or "")


def ratio_with_slack(us: float, vendor_us: float) -> float:
    slack = vendor_us < SLACK_BELOW_US and us > vendor_us
    return vendor_us / (max(us - SLACK_US, vendor_us) if slack else us)


def over_roofline(row: Row) -> float | None:
    return row.median_us / row.roofline_us if row.roofline_us else None


def intensity(row: Row) -> float | None:
    """Operations for each byte that a call must move."""
    shape = row.shape
    passes = 2 if row.beta else 1
    moved = 4 * shape.batch * (shape.m * shape.k + shape.k * shape.n + passes * shape.m * shape.n)
    return shape.flops / moved if moved else None


def geometric_mean(values: Iterable[float | None]) -> float | None:
    known = [math.log(value) for value in values if value is not None]
    return math.exp(sum(known) / len(known)) if known else None


def quantile(values: list[float], fraction: float) -> float:
    """Linearly interpolated."""
    ordered, position = sorted(values), fraction * (len(values) - 1)
    low = int(position)
    high = min(low + 1, len(values) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def _summary(kernel: str, third: str, found: list[dict[str, Row]]) -> Summary:
    rows = [(product[kernel], product) for product in found]
    beside = [(row, vendor) for row, product in rows if (vendor := vendor_of(product, row))]
    ratios = [(ratio_with_slack(row.median_us, vendor.median_us), row) for row, vendor in beside]
    least = min(ratios, key=lambda pair: pair[0], default=None)
    plain = [
        (row, product[PLAIN_CHOICE])
        for row, product in rows
        if PLAIN_CHOICE in product and product[PLAIN_CHOICE].math != row.math
    ]
    return Summary(
        kernel, third, len(rows),
        mean=geometric_mean(ratio for ratio, _ in ratios),
        fifth_percentile=quantile([ratio for ratio, _ in ratios], 0.05) if ratios else None,
        least=least[0] if least else None,
        least_at=least[1].shape.label if least else "",
        below=sum(ratio < LOSING_RATIO for ratio, _ in ratios) if ratios else None,
        over_roofline=geometric_mean(over_roofline(row) for row, _ in rows),
        vendor_over_roofline=geometric_mean(over_roofline(vendor) for _, vendor in beside),
        slower_than_fp32=sum(row.median_us > LOSING_FACTOR * other.median_us for row, other in plain) if plain else None,
    )  # fmt: skip


def summaries(result: ResultFile) -> list[Summary]:
    """Thirds that are empty are left out."""
    found = []
    for kernel in own_kernels(result):
        own = [product for product in products(result) if kernel in product]
        for third in THIRDS:
            chosen = [product for product in own if third in ("all", product[kernel].third)]
            found += [_summary(kernel, third, chosen)] if chosen else []
    return found


def figure(result: ResultFile, kernel: str, third: str, name: str) -> float:
    """One figure of the summary, for sentences."""
    if not is_sweep(result):
        raise ResultError(f"{result.path} is of no sweep of products: `kernelwright bench sgemm --sweep random` is one.")
    for summary in summaries(result):
        if (summary.kernel, summary.third) == (kernel, third):
            value = getattr(summary, name, None)
            if isinstance(value, int | float):
                return float(value)
    names = ", ".join(name for name in Summary.__dataclass_fields__ if name not in ("kernel", "third", "least_at"))
    raise ResultError(f"{result.path} has no '{name}' of {kernel}, {third}: thirds are {', '.join(THIRDS)}; figures {names}.")


# ------------------------------------------------------------------------------------------------------------------ tables


def _count(value: int | None, total: int) -> Cell:
    return Cell(text.NONE if value is None else f"{value} of {total}")


def summary_table(result: ResultFile) -> Table:
    vendor = text.kernel(result.peer_name or "the vendor")
    rows = []
    for summary in (found := summaries(result)):
        bold = "best" if summary.third == "all" else ""
        rows.append([
            Cell(text.kernel(summary.kernel), link=summary.kernel), Cell(THIRDS[summary.third]),
            Cell(str(summary.products)), Cell(text.times(summary.mean), bold),
            Cell(text.times(summary.fifth_percentile)), Cell(text.times(summary.least)), Cell(summary.least_at or text.NONE),
            _count(summary.below, summary.products), Cell(text.times(summary.over_roofline)),
            Cell(text.times(summary.vendor_over_roofline)), _count(summary.slower_than_fp32, summary.products),
        ])  # fmt: skip
    header = [
        "kernel", "roofline", "products", f"mean over {vendor}", "5th percentile", "least", "at",
        f"below {LOSING_RATIO:g}", "time over roofline", f"{vendor}'s", "over 3 % slower than FP32",
    ]  # fmt: skip
    if all(summary.slower_than_fp32 is None for summary in found):
        header, rows = header[:-1], [row[:-1] for row in rows]
    return Table(f"{text.cut(_what(result), 200)}. {RULE}", header, rows, left=2)


def _what(result: ResultFile) -> str:
    count = len(products(result))
    if result.values("program"):
        return f"{count} products of programs"
    seeds = text.listing([text.cut(str(seed), 24) for seed in result.values("seed")])
    return f"{count} products at random, seed {seeds}" if seeds else f"{count} products"


def product_table(result: ResultFile) -> Table:
    """A line a product: each kernel's time, its ratio to the vendor, what it takes over the roofline."""
    named, kernels = bool(result.values("program")), own_kernels(result)
    vendor = text.kernel(result.peer_name or "the vendor")
    rows = []
    for product in products(result):
        first = next(iter(product.values()))
        peer = next((vendor_of(product, row) for row in product.values() if vendor_of(product, row)), None)
        cells = [Cell(first.program or text.NONE)] if named else []
        cells += [Cell(first.shape.label), Cell(text.microseconds(first.roofline_us))]
        cells.append(Cell(text.microseconds(peer.median_us if peer else None)))
        for kernel in kernels:
            row = product.get(kernel)
            beside = vendor_of(product, row) if row else None
            won = "best" if row and beside and row.median_us <= beside.median_us else ""
            cells += [
                Cell(text.microseconds(row.median_us if row else None)),
                Cell(text.times(beside.median_us / row.median_us if row and beside else None), won),
                Cell(text.times(over_roofline(row) if row else None)),
            ]
        rows.append(cells)
    header = [*(["program"] if named else []), "m × n × k", "roofline", vendor]
    for kernel in kernels:
        header += [text.kernel(kernel), f"over {vendor}", "over roofline"]
    caption = "Median times, interleaved in one run, and the roofline of each product on this device; ratios of 1 and more "
    caption += "are marked."
    return Table(caption, header, rows, left=2 if named else 1)
