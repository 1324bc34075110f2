"""Hardware counters as ncu wrote them (--csv, one metric a line) -> one line a kernel.

docs/measuring.md has the command. Lines of the program between ncu's own are skipped.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable

from . import text
from .results import ResultError
from .tables import Cell, Table

# What is executed per what, from two sums; or one metric as it is.
LD, ST = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
COLUMNS: list[tuple[str, str, str | None, bool]] = [  # header, metric, divided by, as a percentage
    ("issue", "smsp__issue_active.avg.pct_of_peak_sustained_active", None, True),
    ("DRAM", "dram__throughput.avg.pct_of_peak_sustained_elapsed", None, True),
    ("threads an instruction", "smsp__thread_inst_executed_per_inst_executed.ratio", None, False),
    ("FMA units", "smsp__inst_executed_pipe_fma.sum", "smsp__inst_executed.sum", True),
    ("tensor cores", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", None, True),
    ("sectors a load", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", False),
    ("wavefronts a shared read", LD, "smsp__inst_executed_op_shared_ld.sum", False),
    ("reads, M wavefronts", LD, None, False),
    ("stores, M wavefronts", ST, None, False),
    ("stall: global memory", STALL.format("long_scoreboard"), None, False),
    ("shared memory", STALL.format("short_scoreboard"), None, False),
    ("MIO queue", STALL.format("mio_throttle"), None, False),
    ("barrier", STALL.format("barrier"), None, False),
    ("dispatch", STALL.format("dispatch_stall"), None, False),
]  # fmt: skip
VENDORS = {
    "cublas": re.compile(r"(cutlass|xmma|ampere|cublas)\S*gemm", re.IGNORECASE),
    "cub": re.compile(r"\bDevice(Segmented)?Reduce\w*Kernel"),
}


def kernel_of(function: str, names: Iterable[str]) -> str | None:
    """The registry's name of a __global__ function: r05_float4 holds float4_tile."""
    # "void kw::<unnamed>::block_tile<0>(kw::Sgemm)"; ncu writes the unnamed namespace in several ways.
    plain = re.sub(r"(\(anonymous namespace\)|<?unnamed>)::", "", function)
    plain = re.sub(r"[<(].*", "", plain).split()[-1].split("::")[-1]
    own = [name for name in names if plain.startswith(re.sub(r"^r\d\d_", "", name))]
    if own:
        return max(own, key=len)
    return next((vendor for vendor, known in VENDORS.items() if known.search(function)), None)


def read(content: str) -> dict[str, dict[str, float]]:
    """Function -> metric -> value, of each function's first launch."""
    lines = [line for line in content.splitlines() if line.startswith('"')]
    found: dict[str, dict[str, float]] = {}
    first: dict[str, str] = {}
    for row in csv.DictReader(lines):
        try:
            function, launch = row["Kernel Name"], row["ID"]
            metric, value = row["Metric Name"], float(row["Metric Value"].replace(",", ""))
        except (KeyError, ValueError) as error:
            raise ResultError(f"not a table of ncu --csv with one metric a line: {error}.") from None
        if first.setdefault(function, launch) == launch:
            found.setdefault(function, {})[metric] = value
    if not found:
        raise ResultError("no counters in it: it should hold what ncu --csv printed.")
    return found


def table(content: str, names: Iterable[str]) -> Table:
    """One line a kernel; columns whose metric nobody asked ncu for are left out."""
    names = list(names)
    rows = {}
    for function, metrics in read(content).items():
        kernel = kernel_of(function, names)
        if kernel and kernel not in rows:
            rows[kernel] = [Cell(kernel, link=kernel), *(_cell(metrics, *column[1:]) for column in COLUMNS)]
    lines = [["kernel", *(column[0] for column in COLUMNS)], *(rows[kernel] for kernel in sorted(rows, key=_order))]
    known = [i for i in range(len(lines[0])) if any(line[i].text != text.NONE for line in lines[1:])]
    header, *kept = ([line[i] for i in known] for line in lines)
    return Table("", header, kept)


def _order(kernel: str) -> tuple:
    return (kernel[:1] != "r" or not kernel[1:3].isdigit(), kernel in VENDORS, kernel)


def _cell(metrics: dict[str, float], metric: str, per: str | None, percent: bool) -> Cell:
    value = metrics.get(metric)
    if value is None or (per and not metrics.get(per)):
        return Cell(text.NONE)
    if per:
        value /= metrics[per]
    if percent:
        return Cell(text.percent(value if per else value / 100))
    if metric in (LD, ST) and not per:
        return Cell(f"{value / 1e6:.1f}")
    return Cell(f"{value:.2f}")
