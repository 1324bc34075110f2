"""The first thing that a reader sees of a file: its best speed, and how that stands beside the vendor's."""

from __future__ import annotations

from dataclasses import dataclass

from . import apps, distributed, sweeps, text
from .reductions import length_near
from .results import ResultFile, Row
from .schema import ROWWISE

MOST = 3  # headlines of one file


@dataclass(frozen=True)
class Headline:
    figure: str  # 4.20×
    said: str  # kernelwright split over cuBLAS at 4096: 211 TFLOP/s beside 50.2


def rate(result: ResultFile, row: Row) -> str:
    if result.op != "sgemm":
        return f"{text.number(row.gbs)}{text.THIN}GB/s"
    unit, scale = text.rate_unit(result.rows)
    return f"{text.number(row.gflops / scale)}{text.THIN}{unit}"


def _leaders(result: ResultFile, shape) -> list[str]:
    """The library's kernels; where there are none, or too many to name, the fastest at that problem of all but the
    vendor's that are as exact as the rest."""
    own = [kernel for kernel in result.timed_kernels if result.role(kernel) == "production"]
    if 0 < len(own) <= MOST:
        return own
    rows = [row for row in result.timed_at(shape) if row.role != "peer" and row.kernel not in result.own_bounds]
    rows = [row for row in rows if row.kernel in own] or rows
    return [min(rows, key=lambda row: row.median_us).kernel] if rows else []


def _range(result: ResultFile, kernel: str) -> str:
    """The ratio to the vendor over all problems."""
    ratios = [row.vs_peer for row in result.rows if row.kernel == kernel and row.median_us and row.vs_peer is not None]
    if len(ratios) < 2:
        return ""
    return f"; {text.times(min(ratios))} to {text.times(max(ratios))} over {len(ratios)} problems"


def _of_sweep(result: ResultFile) -> list[Headline]:
    vendor = text.kernel(result.peer_name or "the vendor")
    return [
        Headline(
            text.times(line.mean),
            f"{text.kernel(line.kernel)} over {vendor}, the geometric mean of {line.products} products; least "
            f"{text.times(line.least)}, at {line.least_at}",
        )
        for line in sweeps.summaries(result)
        if line.third == "all" and line.mean is not None
    ][:MOST]


def _sustained(result: ResultFile, shape) -> list[Headline]:
    found = []
    for kernel in [kernel for kernel in result.timed_kernels if result.role(kernel) == "production"][:MOST]:
        row = result.at(kernel, shape)
        if row is None:
            continue
        energy = f", {text.number(row.gflop_per_joule)}{text.THIN}GFLOP/J" if row.gflop_per_joule else ""
        share = f"; {text.percent(row.of_fp16_third)} of a third of cuBLAS's FP16" if row.of_fp16_third else ""
        found.append(Headline(rate(result, row), f"{text.kernel(kernel)} sustained at {shape.label}{energy}{share}"))
    return found


def _distributed(result: ResultFile) -> list[Headline]:
    """The largest product of each arithmetic."""
    largest = {row.math: row for row in sorted(distributed.timed(result), key=lambda row: row.shape.flops)}
    return [
        Headline(text.times(row.speedup), f"one GPU on {row.gpus}, {row.math} at {row.shape.label}: {rate(result, row)}")
        for row in largest.values()
    ][:MOST]


def _of_apps(result: ResultFile) -> list[Headline]:
    """The two programs that gain most, and the one that gains least, by the library's last variant."""
    own = [variant for variant in apps.variants(result) if result.role(variant) == "production"]
    rows = [row for app in apps.programs(result) if own and (row := apps.at(result, app, own[-1])) and row.vs_peer]
    rows.sort(key=lambda row: -row.vs_peer)
    shown = rows if len(rows) <= MOST else [*rows[: MOST - 1], rows[-1]]
    return [
        Headline(text.times(row.vs_peer), f"{apps.title(row.app)}, {apps.name(row.kernel)}: a step in "
                 f"{text.microseconds(row.median_us)}") for row in shown
    ]  # fmt: skip


def headlines(result: ResultFile, size: int) -> list[Headline]:
    """A line a kernel of the library."""
    if result.kind == "apps":
        return _of_apps(result)
    if result.kind == "sustained":
        return _sustained(result, result.timed_shapes[-1])
    if result.kind == "distributed":
        return _distributed(result)
    if result.kind != "bench" or result.op in ROWWISE:
        return []
    if sweeps.is_sweep(result):
        return _of_sweep(result)
    if result.op == "reduce":
        shape = length_near(result, None) or result.timed_shapes[-1]
    elif result.op == "scale_add":
        shape = result.timed_shapes[-1]
    else:
        shape = result.shape_near(size)
    found = []
    for kernel in _leaders(result, shape):
        row = result.at(kernel, shape)
        if row is None:
            continue
        peer = result.at(row.peer or "", shape)
        name = text.kernel(kernel)
        if row.vs_peer is not None and peer and peer.kernel != kernel:
            speeds = f"{rate(result, row)} beside {rate(result, peer)}{_range(result, kernel)}"
            said = f"{name} over {text.kernel(peer.kernel)} at {shape.label}: {speeds}"
            found.append(Headline(text.times(row.vs_peer), said))
        else:
            share = f", {text.percent(row.of_peak)} of the measured ceiling" if row.of_peak is not None else ""
            found.append(Headline(rate(result, row), f"{name} at {shape.label}{share}"))
    return found
