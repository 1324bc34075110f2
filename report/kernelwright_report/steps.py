"""Why a step is faster, in one form for every rung: what `<!-- step: RUNG [ROW...] -->` and
`<!-- table: FILE.csv steps GROUP COUNTERS.csv -->` stand for.

A scheduler issues at most one instruction a cycle, and an FMA is one. So the share of the FMA units that a kernel uses is
the share of cycles in which something is issued, over the instructions that it needs for each FMA. A table has both, before
and after, and where the cycles of a warp go that decide on the first.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from . import counters, text
from .drawings import parent_of
from .results import ResultError
from .tables import Cell, Table, to_markdown

if TYPE_CHECKING:
    from collections.abc import Callable

    from .project import Project

# Counters, and a file of that device, which says its peak.
USUAL = ("results/h100/sgemm-counters.csv", "results/h100/sgemm-ladder.json")
LATER = ("results/h200/rung-stalls-4096.csv", "results/h200/sgemm-ladder-end.json")  # of r14 and all after it
FUNCTIONS = {"s5_shared_rows": "s5_shared_uncoalesced"}  # that are not called as their file
SIZE = 4096  # of the counters' product
ISSUE = "smsp__issue_active.avg.pct_of_peak_sustained_active"
INSTRUCTIONS = "smsp__inst_executed.sum"
LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
WARPS = "smsp__warps_active.avg.per_cycle_active"

# What a warp spends its cycles on between two of its instructions, for readers.
STALLS: list[tuple[str, str, str]] = [  # name in `step:`, ncu's name, text
    ("global", "long_scoreboard", "for data from global memory"),
    ("queue", "lg_throttle", "for a place in the queue to the L1 cache"),
    ("shared", "short_scoreboard", "for data from shared memory"),
    ("mio", "mio_throttle", "for a place in the queue to shared memory"),
    ("barrier", "barrier", "at the barrier, for other warps"),
    ("dispatch", "dispatch_stall", "for operands out of one register bank"),
    ("wait", "wait", "for the result of its own last instruction"),
    ("fma", "math_pipe_throttle", "for the FMA units, which are taken"),
    ("turn", "not_selected", "ready, while another warp has its turn"),
    ("code", "no_instruction", "for instructions to be fetched"),
]  # fmt: skip
LEAST = 0.1  # of a warp's cycles: a reason that takes less before and after is shown where `step:` names it

# Further rows, above the others: name -> text, metric; each is shown for every FMA of a warp.
PER_FMA: dict[str, tuple[str, str]] = {
    "loads": ("loads from global memory", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
    "sectors": ("sectors of global memory that they touch", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    "l2": ("sectors that come from L2", "lts__t_sectors_op_read.sum"),
    "reads": ("reads from shared memory", "smsp__inst_executed_op_shared_ld.sum"),
    "passes": ("passes of reads through shared memory", counters.LD),
    "stores": ("passes of stores to shared memory", counters.ST),
}
PLAIN: dict[str, tuple[str, str, str]] = {  # name -> text, metric, format
    "dram": ("share of memory's bandwidth", "dram__throughput.avg.pct_of_peak_sustained_elapsed", "{:.0f}" + text.THIN + "%"),
    "registers": ("registers a thread", "launch__registers_per_thread", "{:.0f}"),
}  # fmt: skip


class Counted:
    """The counters of one kernel at SIZE cubed."""

    def __init__(self, metrics: dict[str, float]) -> None:
        self.metrics, self.fmas = metrics, SIZE**3 / 32

    def of(self, metric: str) -> float:
        if metric not in self.metrics:
            raise ResultError(f"the counters have no {metric}.")
        return self.metrics[metric]

    def per_fma(self, metric: str) -> float:
        return self.of(metric) / self.fmas

    @property
    def issue(self) -> float:
        return self.of(ISSUE) / 100

    @property
    def instructions(self) -> float:
        return self.per_fma(INSTRUCTIONS)

    @property
    def share(self) -> float:
        """Of the FMA units, from the counters alone."""
        return self.issue / self.instructions

    @property
    def gflops(self) -> float:
        return 64 * self.fmas / self.of("gpu__time_duration.sum")

    def stall(self, name: str) -> float:
        return self.metrics.get(counters.STALL.format(name), 0.0)


def _quotient(before: float, after: float) -> str:
    if not before or not after:
        return ""
    return f"× {after / before:.2f}"


def step(project: Project, document, words: list[str]) -> str:
    """RUNG [ROW...]: its counters beside its parent's, with those rows of PER_FMA and PLAIN, those STALLS however small, and
    the speed of the launches that were counted."""
    rung, rows = words[0], words[1:]
    known = [*PER_FMA, *PLAIN, *(name for name, _, _ in STALLS)]
    unknown = [row for row in rows if row not in known]
    if unknown:
        raise ResultError(f"step: no row {', '.join(unknown)}; there are {', '.join(known)}.")
    parent = parent_of(project, "sgemm", rung)
    kernels = [kernel for kernel in (parent, rung) if kernel]
    counted, of_device = LATER if rung > "r14" and rung[0] == "r" else USUAL
    source, names = project.find(counted).read_text(encoding="utf-8"), list(project.ideas("sgemm"))
    found = project.once(("counted", counted), lambda: _by_kernel(source, names))
    for kernel in kernels:
        if kernel not in found:
            raise ResultError(f"{counted} has no {kernel}.")
    device = project.load(of_device).device
    table = _table([found[kernel] for kernel in kernels], [kernel.split("_")[0] for kernel in kernels], rows, device)
    return to_markdown(table)


def _by_kernel(content: str, names: list[str]) -> dict[str, Counted]:
    found: dict[str, Counted] = {}
    for function, metrics in counters.read(content).items():
        kernel = counters.kernel_of(function, names) or next((name for part, name in FUNCTIONS.items() if part in function), None)
        if kernel:
            found.setdefault(kernel, Counted(metrics))
    return found


def _table(counted: list[Counted], names: list[str], rows: list[str], device: dict) -> Table:
    lines: list[list[Cell]] = []

    def line(label: str, values: list[float], shown: Callable[[float], str], quotient: str = "") -> None:
        lines.append([Cell(label), *(Cell(shown(value)) for value in values), *([Cell(quotient)] if len(values) > 1 else [])])

    for row in rows:
        if row in PER_FMA:
            label, metric = PER_FMA[row]
            line(f"{label}, for an FMA", [each.per_fma(metric) for each in counted], "{:.3f}".format)
        elif row in PLAIN:
            label, metric, shown = PLAIN[row]
            line(label, [each.of(metric) for each in counted], shown.format)
    instructions = [each.instructions for each in counted]
    line("**instructions for an FMA** (1 would be ideal)", instructions, "{:.2f}".format, _quotient(instructions[-1], instructions[0]))
    issue = [each.issue for each in counted]
    line("**share of the cycles with an instruction issued**", issue, text.percent, _quotient(issue[0], issue[-1]))
    if all(WARPS in each.metrics for each in counted):
        line("warps that a scheduler chooses from", [each.of(WARPS) for each in counted], "{:.2f}".format)
    if all(LATENCY in each.metrics for each in counted):
        line("cycles from a warp's instruction to its next", [each.of(LATENCY) for each in counted], "{:.2f}".format)
        for word, name, label in STALLS:
            values = [each.stall(name) for each in counted]
            if word in rows or any(value >= LEAST * each.of(LATENCY) for value, each in zip(values, counted, strict=True)):
                line(f"– of these, {label}", values, "{:.2f}".format)
    together = [each.share for each in counted]
    line("**issued ÷ instructions: FMA units in use**", together, text.percent, _quotient(together[0], together[-1]))
    speeds = [each.gflops / (1e3 * device["measured_fp32_tflops"]) for each in counted]
    line("the launch's speed, of the FMA peak", speeds, text.percent, _quotient(speeds[0], speeds[-1]))
    card = device["name"].removeprefix("NVIDIA ").split(" ")[0]
    return Table("", [f"{SIZE}, {card}", *names, *([""] if len(names) > 1 else [])], lines)


def experiment(content: str, group: str, counted: str) -> Table:
    """One line a kernel of tools/experiments/ladder_steps.cu of that group, over the group's first one."""
    rows = [row for row in csv.DictReader(content.splitlines()) if row.get("group") == group]
    if not rows:
        raise ResultError(f"no kernel of '{group}' in it: tools/experiments/ladder_steps.cu writes one.")
    functions = {_plain(function): Counted(metrics) for function, metrics in counters.read(counted).items()}
    times = {(row["function"], int(row["n"])): float(row["us"]) for row in rows}
    of_function, first = {row["function"]: row for row in rows}, rows[0]["function"]
    sizes = sorted({int(row["n"]) for row in rows})
    lines = []
    for function, row in of_function.items():
        each = functions[_plain(function)]
        spilled = int(row["spilled"])
        lines.append([
            Cell(row["kernel"]),
            Cell(row["registers"] + (f" + {spilled} bytes" if spilled else "")),
            Cell(text.microseconds(times[function, SIZE])),
            *(Cell(f"{times[first, n] / times[function, n]:.3f}") for n in sizes),
            Cell(f"{each.instructions:.3f}"), Cell(text.percent(each.issue)),
            Cell(f"{each.per_fma(counters.LD):.3f}"), Cell(f"{each.per_fma(counters.ST):.3f}"),
            *(Cell(f"{each.stall(name):.2f}") for name in ("long_scoreboard", "short_scoreboard", "barrier", "dispatch_stall")),
        ])  # fmt: skip
    header = ["kernel", "registers", f"time at {SIZE}", *(f"over the first, {n}" for n in sizes), "instructions for an FMA", "issued", "passes of reads for an FMA"]
    header += ["of stores", "waits for global memory", "shared memory", "barrier", "registers' banks"]
    caption = "Median times, the kernels launched one after the other, round by round; over the first: how many times as fast. Counters "
    caption += "at 4096; waits in cycles of a warp for each of its instructions; registers of a thread and what it spills. The kernels "
    caption += "are templates of the experiment with the rungs' loops; ptxas gives them other registers and a few other instructions."
    return Table(caption, header, lines)


def _plain(function: str) -> str:
    """by_async<4,16,3>, of `void kw::on_cuda::by_async<(int)4, (int)16, (int)3>(kw::PlainSgemm)`."""
    found = re.search(r"(\w+)<([\d, ]+)>", function.replace("(int)", ""))
    return f"{found[1]}<{found[2].replace(' ', '')}>" if found else function
