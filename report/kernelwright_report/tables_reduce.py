"""The tables of reductions' bench files."""

from __future__ import annotations

from . import text
from .reductions import Reduction, over_first, own, peer
from .results import ResultFile
from .tables import Cell, Table, best_of, over_parent


def _of_bandwidth(result: ResultFile) -> str:
    measured = result.device.get("measured_read_gbs")
    return f"share of the measured read bandwidth of {text.number(measured, 4)} GB/s" if measured else (
        "share of the read bandwidth, which was not measured"
    )  # fmt: skip


def ladder(result: ResultFile, shape: Reduction, ideas: dict[str, str] | None = None) -> Table:
    """The walk at one length: time, bytes a second, gain over the first rung and over the step before."""
    best, first = best_of(result, shape), over_first(result, shape)
    rows = []
    for kernel in result.timed_kernels:
        row = result.at(kernel, shape)
        if row is None:
            continue
        cells = [
            Cell(kernel if ideas is not None else text.kernel(kernel), link=kernel),
            Cell(text.number(row.median_us)),
            Cell(text.plus_minus(row.spread)),
            Cell(text.number(row.gbs), "best" if kernel == best else ""),
            Cell(text.percent(row.of_peak)),
            Cell(text.times(first.get(kernel))),
            Cell(over_parent(result, row)),
        ]
        if ideas is not None:
            cells.insert(1, Cell(ideas.get(kernel, "")))
        rows.append(cells)
    header = ["kernel", "µs", "±", "GB/s", "of bandwidth", "over the first rung", "over the step before"]
    if ideas is not None:
        header.insert(1, "idea")
    caption = f"{shape.label}: median time; bytes that must be read, by that time; {_of_bandwidth(result)}."
    return Table(caption, header, rows, left=1 if ideas is None else 2)


def problems(result: ResultFile, lead: dict[str, str]) -> Table:
    """A line a problem: the library beside its peer. `lead` has the first columns: title -> property."""
    peers = list(dict.fromkeys(row.kernel for row in result.rows if row.role == "peer"))
    vendor = text.kernel(peers[0]) if peers else "the vendor"
    rows = []
    for shape in result.timed_shapes:
        mine, other = own(result, shape), peer(result, shape)
        if mine is None:
            continue
        ratio = text.times(other.median_us / mine.median_us) if other else text.NONE
        rows.append([
            *(Cell(str(getattr(shape, field))) for field in lead.values()),
            Cell(text.kernel(mine.kernel), link=mine.kernel),
            Cell(text.number(mine.median_us)),
            Cell(text.plus_minus(mine.spread)),
            Cell(text.number(other.median_us if other else None)),
            Cell(ratio),
            Cell(text.number(mine.gbs)),
            Cell(text.percent(mine.of_peak)),
            Cell(text.percent(other.of_peak if other else None)),
        ])  # fmt: skip
    families = list(dict.fromkeys(shape.family for shape in result.timed_shapes))
    subject = f"{families[0]}, L2" if len(families) == 1 else "L2"
    caption = f"{subject} {'/'.join(result.values('l2'))}: medians of one run; {_of_bandwidth(result)}."
    header = [*lead, "kernel", "µs", "±", f"{vendor}, µs", f"over {vendor}", "GB/s", "of bandwidth", f"{vendor} of it"]
    return Table(caption, header, rows, left=len(lead) + 1)


def by_length(result: ResultFile) -> Table:
    return problems(result, {"n": "size"})


def shapes(result: ResultFile) -> Table:
    return problems(result, {"shape": "size"})


def types(result: ResultFile) -> Table:
    return problems(result, {"operation": "reduce_op", "type": "dtype", "n": "size"})
