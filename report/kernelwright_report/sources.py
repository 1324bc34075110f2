"""What the functions of a value (values.py) find in a file: rows of a result file, hardware counters, tables, logs."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import counters, mixes, sweeps
from .results import ResultError, ResultFile, Row

if TYPE_CHECKING:
    from .project import Project


@dataclass(frozen=True)
class Figures:
    """Numbers of one kind, each with the shape at which it was taken."""

    values: tuple[float, ...]
    kind: str = "number"  # time (µs), gflops, gbs, share, gain, ratio, error, count, number, literal, text
    places: tuple[str, ...] = ()
    is_range: bool = False

    def one(self) -> float:
        if len(self.values) != 1:
            raise ResultError(
                f"{len(self.values)} figures where one is wanted: name a shape or a field, or take min, max, mean."
            )
        return self.values[0]


# ------------------------------------------------------------------------------------------------ rows of a result file

TIMES = {"time": "median", "min_time": "min", "max_time": "max", "mean_time": "mean", "iqr": "iqr"}
FIELDS = {  # function -> kind, what of a row
    **{name: ("time", lambda row, of=of: (row.time_us or {}).get(of)) for name, of in TIMES.items()},
    "repeats": ("count", lambda row: (row.time_us or {}).get("repeats")),
    "gflops": ("gflops", lambda row: row.gflops),
    "gbs": ("gbs", lambda row: row.gbs),
    "of_peak": ("share", lambda row: row.of_peak),
    "vs_peer": ("ratio", lambda row: row.vs_peer),
    "vs_previous": ("ratio", lambda row: row.vs_previous),
    "error": ("error", lambda row: (row.error or {}).get("max")),
    "relative_error": ("error", lambda row: (row.error or {}).get("relative")),
    "rms_error": ("error", lambda row: (row.error or {}).get("rms")),
    "signed_error": ("error", lambda row: (row.error or {}).get("mean_signed")),
    "rested": ("gflops", lambda row: row.rested_gflops),
    "of_fp16_third": ("share", lambda row: row.of_fp16_third),
    "joules": ("number", lambda row: row.joules_per_call),
    "gflop_per_joule": ("number", lambda row: row.gflop_per_joule),
    "power": ("number", lambda row: row.power_w),
    "clock": ("number", lambda row: row.sm_clock_mhz),
    "grid": ("count", lambda row: math.prod((row.launch or {}).get("grid") or [0])),
    "block": ("count", lambda row: math.prod((row.launch or {}).get("block") or [0])),
}  # fmt: skip
DEVICE = {
    "peak": ("gflops", lambda device: 1e3 * device["measured_fp32_tflops"]),
    "bandwidth": ("gbs", lambda device: device["measured_read_gbs"]),
    "empty_kernel": ("time", lambda device: device["empty_kernel_us"]["graph"]),
    "sms": ("count", lambda device: device["sm_count"]),
}


def _by_beginning(wanted: str, names: list[str], what: str) -> str:
    """The name that is `wanted`, or the only one that begins with it."""
    if wanted in names:
        return wanted
    found = [name for name in names if name.startswith(wanted)]
    if len(found) != 1:
        raise ResultError(
            f"{what} '{wanted}' is {'not' if not found else 'ambiguous'} among {', '.join(found or names)}."
        )
    return found[0]


def _place(row: Row) -> str:
    return row.shape.size if row.op == "reduce" else row.shape.label


class _Rows:
    """The functions over a result file."""

    def __init__(self, result: ResultFile) -> None:
        self.result = result

    def call(self, name: str, words: list, fields: dict) -> Figures | None:
        if name in DEVICE:
            kind, take = DEVICE[name]
            try:
                return Figures((float(take(self.result.device)),), kind)
            except (KeyError, TypeError):
                raise ResultError(f"{self.result.path} does not say its device's {name}.") from None
        if name == "says" and len(words) == 1:
            known = {**self.result.device, **self.result.software}
            if not isinstance(known.get(words[0]), str):
                raise ResultError(f"{self.result.path} says no {words[0]}.")
            return Figures((0.0,), "text", (known[words[0]],))
        if name in FIELDS:
            kind, take = FIELDS[name]
            return self._figures(self._rows(words, fields), kind, take)
        if name == "field":
            if not words:
                raise ResultError("field() takes the name of a field first.")
            return self._figures(self._rows(words[1:], fields), "number", lambda row: row.fields.get(words[0]))
        if name in ("ratio", "gain", "change"):
            return self._quotient(name, words, fields)
        if name == "sweep" and len(words) == 3:
            kernel, third, figure = map(str, words)
            value = sweeps.figure(self.result, self._kernel(kernel), third, figure)
            return Figures((value,), "count" if figure in sweeps.COUNTS else "ratio")
        return None

    def _figures(self, rows: list[Row], kind: str, take: Callable) -> Figures:
        kept = [(value, _place(row)) for row in rows if isinstance(value := take(row), int | float)]
        if not kept:
            raise ResultError(f"no row of {self.result.path} has that figure.")
        values, places = zip(*kept, strict=True)
        return Figures(tuple(map(float, values)), kind, places)

    def _quotient(self, name: str, words: list, fields: dict) -> Figures:
        if len(words) < 2:
            raise ResultError(f"{name}() takes two kernels.")
        time = FIELDS["time"][1]
        first, second = ({_key(row): row for row in self._rows([kernel, *words[2:]], fields)} for kernel in words[:2])
        pairs = [(first[key], second[key]) for key in first if key in second]
        if not pairs or any(time(row) is None for pair in pairs for row in pair):
            raise ResultError(f"{words[0]} and {words[1]} have no time in common there.")
        speed = {"ratio": lambda a, b: b / a, "gain": lambda a, b: b / a - 1, "change": lambda a, b: a / b - 1}[name]
        return Figures(
            tuple(speed(time(a), time(b)) for a, b in pairs),
            "ratio" if name == "ratio" else "gain",
            tuple(_place(a) for a, _ in pairs),
        )

    def _rows(self, words: list, fields: dict) -> list[Row]:
        words = list(words)
        shapes = [words.pop(i) for i in reversed(range(len(words))) if self._is_shape(words[i])]
        if len(words) > 1 or len(shapes) > 1:
            raise ResultError(f"a kernel and a shape are wanted, not {', '.join(map(str, words + shapes))}.")
        kernel = self._kernel(words[0] if words else None)
        rows = [row for row in self.result.rows if row.kernel == kernel]
        if shapes:
            rows = [row for row in rows if self._fits(row, shapes[0])]
        for name, value in fields.items():
            rows = [row for row in rows if _same(row.fields.get(name), value)]
        if not rows:
            raise ResultError(f"{self.result.path} has no row of {kernel} at {shapes[0] if shapes else fields}.")
        return rows

    def _kernel(self, wanted: str | None) -> str:
        if wanted is not None:
            return _by_beginning(wanted, self.result.kernels, "kernel")
        own = [name for name in self.result.kernels if self.result.role(name) != "peer"]
        if len(own) != 1:
            raise ResultError(f"which kernel? There are {', '.join(self.result.kernels)}.")
        return own[0]

    def _is_shape(self, word) -> bool:
        return isinstance(word, int) or bool(re.match(r"\d", word)) or word in ("rows", "columns", "segments", "whole")

    def _fits(self, row: Row, shape: int | str) -> bool:
        if row.op == "attention":
            return row.shape.label.replace("×", "x") == str(shape)
        if isinstance(shape, int) or shape.isdigit():
            size = int(shape)
            return row.n == size if row.op == "reduce" else row.shape.square and row.m == size
        if row.op == "reduce":
            if power := re.fullmatch(r"2\^(\d+)", shape):
                return row.n == 2 ** int(power[1])
            return shape in (row.fields["shape"], f"{row.rows}x{row.cols}")
        if bounds := re.fullmatch(r"(\d+)\.\.(\d+)", shape):
            return row.shape.square and int(bounds[1]) <= row.m <= int(bounds[2])
        return row.shape.label.replace("×", "x") == shape


def _key(row: Row) -> tuple:
    """What two rows must share to be compared."""
    return (row.shape, row.input, row.l2, row.math)


def _same(have, want) -> bool:
    if isinstance(have, str) and isinstance(want, str):
        return have.lower() == want.lower()
    return have == want and not isinstance(have, bool)


# --------------------------------------------------------------------------------------------- counters, tables and logs

STALL = counters.STALL
COUNTERS: dict[str, tuple[str, str, str | None, float]] = {  # function -> kind, metric, divided by, scale
    "issue": ("share", "smsp__issue_active.avg.pct_of_peak_sustained_active", None, 1e-2),
    "dram": ("share", "dram__throughput.avg.pct_of_peak_sustained_elapsed", None, 1e-2),
    "occupancy": ("share", "sm__warps_active.avg.pct_of_peak_sustained_active", None, 1e-2),
    "fma": ("share", "smsp__inst_executed_pipe_fma.sum", "smsp__inst_executed.sum", 1.0),
    "sectors": ("number", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 1.0),
    "wavefronts": ("number", counters.LD, "smsp__inst_executed_op_shared_ld.sum", 1.0),
    "reads": ("number", counters.LD, None, 1e-6),
    "writes": ("number", counters.ST, None, 1e-6),
    "instructions": ("number", "smsp__inst_executed.sum", None, 1e-6),
    "stall_global": ("number", STALL.format("long_scoreboard"), None, 1.0),
    "stall_shared": ("number", STALL.format("short_scoreboard"), None, 1.0),
    "stall_mio": ("number", STALL.format("mio_throttle"), None, 1.0),
    "stall_barrier": ("number", STALL.format("barrier"), None, 1.0),
    "stall_dispatch": ("number", STALL.format("dispatch_stall"), None, 1.0),
    "stall_queue": ("number", STALL.format("lg_throttle"), None, 1.0),
    "latency": ("number", "smsp__average_warp_latency_per_inst_issued.ratio", None, 1.0),
    "warps": ("number", "smsp__warps_active.avg.per_cycle_active", None, 1.0),
    "registers": ("count", "launch__registers_per_thread", None, 1.0),
    "tensor": ("share", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", None, 1e-2),
    "duration": ("time", "gpu__time_duration.sum", None, 1e-3),
}  # fmt: skip
# Of a square product of that size, for each FMA of a warp: instructions, passes of reads through shared memory; and what
# share of the FMA units they leave, where an SM's four schedulers issue one instruction each a cycle and shared memory has
# one pass.
PER_FMA: dict[str, tuple[str, str, float]] = {  # function -> metric, kind, the share at one for each FMA
    "per_fma": ("smsp__inst_executed.sum", "number", 0),
    "fmas": ("smsp__inst_executed.sum", "share", 1),
    "passes": (counters.LD, "number", 0),
    "pass_limit": (counters.LD, "share", 1 / 4),
}


class _Counters:
    """The functions over what ncu printed."""

    def __init__(self, content: str, names: list[str]) -> None:
        self.launches: dict[int, dict[str, float]] = {}
        self.functions: dict[str, dict[str, float]] = counters.read(content)
        self.kernels: dict[str, dict[str, float]] = {}
        for function, metrics in self.functions.items():
            if kernel := counters.kernel_of(function, names):
                self.kernels.setdefault(kernel, metrics)
        for row in csv.DictReader(line for line in content.splitlines() if line.startswith('"')):
            value = float(row["Metric Value"].replace(",", ""))
            self.launches.setdefault(int(row["ID"]), {})[row["Metric Name"]] = value

    def call(self, name: str, words: list, fields: dict) -> Figures | None:
        if name != "counter" and name not in COUNTERS and name not in PER_FMA:
            return None
        if len(words) != (1 if name in COUNTERS else 2) or fields:
            raise ResultError(f"{name}() takes a kernel{'' if name in COUNTERS else ' and a metric' if name == 'counter' else ' and a size'}.")
        metrics, per = self._metrics(words[0]), None
        if name in PER_FMA:
            metric, kind, share = PER_FMA[name]
        else:
            kind, metric, per, scale = COUNTERS[name] if name in COUNTERS else ("number", words[1], None, 1.0)
        if metric not in metrics or (per and not metrics.get(per)):
            raise ResultError(f"{words[0]} has no {metric}{f' and {per}' if per else ''}.")
        if name in PER_FMA:
            each = metrics[metric] / (int(words[1]) ** 3 / 32)
            return Figures((share / each if share else each,), kind)
        return Figures((scale * metrics[metric] / (metrics[per] if per else 1),), kind)

    def _metrics(self, wanted: int | str) -> dict[str, float]:
        """Of a launch by its number, of a function by a part of its name that no other has, of a kernel by its name."""
        if isinstance(wanted, int):
            if wanted not in self.launches:
                raise ResultError(f"launch {wanted} is not there; the last is {max(self.launches)}.")
            return self.launches[wanted]
        found = [function for function in self.functions if wanted in function]
        if len(found) == 1:
            return self.functions[found[0]]
        return self.kernels[_by_beginning(wanted, list(self.kernels), "kernel")]


class _Opcodes:
    """The function over what ncu counted by opcode."""

    def __init__(self, content: str, names: list[str]) -> None:
        self.kernels = mixes.counts(content, names)

    def call(self, name: str, words: list, fields: dict) -> Figures | None:
        if name != "opcodes":
            return None
        if len(words) != 3 or fields:
            raise ResultError("opcodes() takes a kernel, a kind of instruction and a size.")
        kinds = self.kernels[_by_beginning(words[0], list(self.kernels), "kernel")]
        if words[1] not in kinds:
            raise ResultError(f"{words[0]} has no '{words[1]}'; there are {', '.join(kinds)}.")
        return Figures((kinds[words[1]] / (int(words[2]) ** 3 / 32),), "number")


class _Cells:
    """The function over any other table."""

    def __init__(self, content: str) -> None:
        header, *lines = list(csv.reader(line for line in content.splitlines() if not line.startswith("#")))
        self.lines = [dict(zip(header, line, strict=False)) for line in lines if line]
        self.rows = {line[header[0]]: line for line in self.lines}

    def call(self, name: str, words: list, fields: dict) -> Figures | None:
        if name != "cell":
            return None
        if len(words) < 2 or fields:
            raise ResultError("cell() takes a row, or what is in some of its cells, and a column.")
        *keys, column = words
        row = self.rows[_by_beginning(keys[0], list(self.rows), "row")] if len(keys) == 1 else self._with(keys)
        if column not in row:
            raise ResultError(f"column '{column}' is not among {', '.join(row)}.")
        try:
            return Figures((float(row[column]),), _kind_of(row[column]))
        except ValueError:
            raise ResultError(f"{words[0]}, {column} is '{row[column]}', not a number.") from None

    def _with(self, keys: list) -> dict[str, str]:
        """The only row that has each of these in a cell."""
        found = [row for row in self.lines if all(str(key) in row.values() for key in keys)]
        if len(found) != 1:
            raise ResultError(f"{len(found)} rows have {', '.join(map(str, keys))} in their cells.")
        return found[0]


class _Log:
    """The functions over a text."""

    NUMBER = r"([-+−]?\d[\d,]*(?:\.\d+)?)"

    def __init__(self, content: str) -> None:
        self.content = content

    def call(self, name: str, words: list, fields: dict) -> Figures | None:
        if name == "distinct" and len(words) == 1 and isinstance(words[0], int):
            lines = (line.split()[: words[0]] for line in self.content.splitlines() if line.strip() and line[0] != "#")
            return Figures((float(len({tuple(line) for line in lines})),), "count")
        if name != "log":
            return None
        if not words or fields or words[-1].count("#") != 1:
            raise ResultError("log() takes texts; # in the last is where the figure stands.")
        position = 0
        for i, word in enumerate(words):
            pattern = r"\s+".join(r"\S+" if part == "*" else re.escape(part) for part in word.split(" "))
            if i == len(words) - 1:
                pattern = pattern.replace(re.escape("#"), self.NUMBER)
            match = re.compile(pattern).search(self.content, position)
            if match is None:
                raise ResultError(f"'{word}' is not in it{' behind what precedes it' if position else ''}.")
            position = match.end()
        return Figures((float(match[1].replace(",", "").replace("−", "-")),), _kind_of(match[1]))


def _kind_of(written: str) -> str:
    return "number" if "." in written else "count"


def open_source(project: Project, name: str):
    """The functions over the file of that name."""
    path = project.named(name)
    if path.suffix == ".json":
        return _Rows(project.load(path.as_posix()))
    content = project.find(path.as_posix()).read_text(encoding="utf-8")
    if path.suffix == ".txt":
        return _Log(content)
    if mixes.METRIC in content:
        return _Opcodes(content, list(project.ideas("sgemm")))
    if '"Metric Name"' in content:
        return _Counters(content, list(project.ideas("reduce" if "reduce" in path.name else "sgemm")))
    return _Cells(content)
