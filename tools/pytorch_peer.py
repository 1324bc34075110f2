#!/usr/bin/env python3
"""PyTorch beside the library's C interface, for the reductions and row-wise operations of a result file, in one process.

    kernelwright bench reduce --sweep random --seed 7 --l2 cold --json reduce-random.json
    kernelwright bench rowwise --sweep random --seed 7 --l2 cold --json rowwise.json
    python3 tools/pytorch_peer.py reduce-random.json --library build/cuda/src/libkernelwright.so

Both work on the same buffers, as CUDA graphs that take turns; between them a buffer larger than the L2 cache is read, and
calls go over sets of operands that together exceed it, as `--l2 cold` does. The file gets a row a reduction that PyTorch
has a function for: kernel `pytorch`, role `peer`, and in `beside_us` the median of the library's own time in this process,
which its time compares with. Needs PyTorch with a GPU. Reductions with no function that gives the result in one call are
left out. Ctrl-C ends a run with the rows that are done.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import statistics
import sys
from pathlib import Path

import torch
from peer_library import PeerLibrary

KERNEL = "pytorch"
OPS = ("sum", "mean", "min", "max", "argmin", "argmax", "sum_of_squares", "l1_norm", "l2_norm", "max_norm", "variance", "min_max")
TYPES = {
    "float32": torch.float32, "float64": torch.float64, "float16": torch.float16, "bfloat16": torch.bfloat16,
    "int8": torch.int8, "int32": torch.int32, "int64": torch.int64,
}  # fmt: skip
COLD_FACTOR = 4  # times the L2 cache
LEAST_CALLS, SHORTEST_GRAPH_US, MOST_SETS = 20, 100.0, 4096
ROWWISE = ("softmax", "log_softmax", "layer_norm", "rms_norm", "map")
FIELDS = (
    "op", "kernel", "role", "n", "dtype", "reduce_op", "shape", "rows", "cols", "ld", "segments", "lengths", "misalign",
    "correction", "in_place", "residual", "math", "input", "l2", "sweep", "seed", "number", "program", "third", "roofline_us",
)  # fmt: skip


class RowwiseOptions(ctypes.Structure):
    """kwRowwiseOptions of kernelwright.h."""

    _fields_ = [
        ("gamma", ctypes.c_void_p), ("beta", ctypes.c_void_p), ("epsilon", ctypes.c_float), ("activation", ctypes.c_int32),
        ("bias", ctypes.c_void_p), ("residual", ctypes.c_void_p), ("ld_residual", ctypes.c_int64),
        ("residual_rows", ctypes.c_int64), ("residual_index", ctypes.c_void_p), ("sum", ctypes.c_void_p),
        ("ld_sum", ctypes.c_int64), ("index", ctypes.c_void_p), ("x_rows", ctypes.c_int64), ("step_x", ctypes.c_int64),
        ("step_y", ctypes.c_int64),
    ]  # fmt: skip


class Library(PeerLibrary):
    """The reductions and row-wise operations of libkernelwright on PyTorch's stream."""

    def result_dtype(self, op: int, dtype: int) -> int:
        found = ctypes.c_int32()
        self.check(self.c.kwReduceResultType(op, dtype, ctypes.byref(found)))
        return found.value

    def reduce(self, row: dict, data: int, out: int, offsets: int) -> None:
        op, dtype, i64, pointer = OPS.index(row["reduce_op"]), list(TYPES).index(row["dtype"]), ctypes.c_int64, ctypes.c_void_p
        if row["shape"] == "whole":
            status = self.c.kwReduceArray(self.handle, op, dtype, i64(row["n"]), pointer(data), pointer(out))
        elif row["shape"] == "segments":
            status = self.c.kwReduceSegments(
                self.handle, op, dtype, i64(row["n"]), pointer(data), i64(row["segments"]), pointer(offsets), pointer(out)
            )
        else:
            call = self.c.kwReduceRows if row["shape"] == "rows" else self.c.kwReduceColumns
            status = call(
                self.handle, 0, op, dtype, i64(row["rows"]), i64(row["cols"]), pointer(data), i64(row["ld"]), pointer(out)
            )
        self.check(status)

    def rowwise(self, row: dict, x: int, y: int, gamma: int, beta: int) -> None:
        op, dtype, i64, pointer = ROWWISE.index(row["op"]), list(TYPES).index(row["dtype"]), ctypes.c_int64, ctypes.c_void_p
        norm = row["op"].endswith("norm")
        options = RowwiseOptions(gamma=gamma if norm else 0, beta=beta if row["op"] == "layer_norm" else 0, epsilon=1e-5)
        self.check(
            self.c.kwRowwise(
                self.handle, op, dtype, i64(row["rows"]), i64(row["cols"]), pointer(x), i64(row["ld"]), pointer(y),
                i64(row["ld"]), ctypes.byref(options),
            )  # fmt: skip
        )

    def prepare(self, row: dict) -> None:
        correction = row.get("correction") or 0
        self.check(self.c.kwSetVarianceCorrection(self.handle, ctypes.c_int64(correction)))


def result_of(row: dict, x: torch.Tensor, dim: int | None):
    """What a user of PyTorch calls; None where there is no such function."""
    name, floating = row["reduce_op"], x.is_floating_point()
    wide = torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else None
    order = {"l1_norm": 1, "l2_norm": 2, "max_norm": math.inf}
    if name == "sum":
        return lambda: torch.sum(x, dim, dtype=wide)
    if name == "mean":
        return lambda: torch.mean(x, dim, dtype=wide if floating else torch.float64)
    if name in ("min", "max"):
        function = torch.amin if name == "min" else torch.amax
        return lambda: function(x, () if dim is None else dim)
    if name in ("argmin", "argmax"):
        function = torch.argmin if name == "argmin" else torch.argmax
        return lambda: function(x, dim)
    if name == "variance" and floating:
        return lambda: torch.var(x, dim, correction=row["correction"] or 0)
    if name in order and floating:
        return lambda: torch.linalg.vector_norm(x, order[name], dim)
    if name == "sum_of_squares" and floating:
        return lambda: torch.linalg.vector_norm(x, 2, dim).square_()
    if name == "min_max":
        return lambda: torch.aminmax(x, dim=dim)
    return None


def segments_of(row: dict, x: torch.Tensor, offsets: torch.Tensor):
    names = {"sum": "sum", "mean": "mean", "min": "min", "max": "max"}
    if row["reduce_op"] not in names or not x.is_floating_point():
        return None
    return lambda: torch.segment_reduce(x, names[row["reduce_op"]], offsets=offsets, unsafe=True)


def lengths_of(row: dict, generator: torch.Generator) -> torch.Tensor:
    """Lengths distributed as the row's; check/reduce/segment_offsets.cpp has the program's own."""
    count, kind = row["segments"], row["lengths"]
    uniform = torch.rand(count, generator=generator, dtype=torch.float64)
    if kind == "one_to_32":
        return (1 + 32 * uniform).to(torch.int64)
    if kind == "log_uniform":
        return torch.exp(uniform * math.log(100000.0)).to(torch.int64)
    if kind == "uneven":
        lengths = torch.tensor([0, 1, 0, 1, 2, 7, 33, 40])[(8 * uniform).to(torch.int64)]
        lengths[count // 2] = 20011 + 40 * count
        return lengths
    return torch.full((count,), row["n"] // count, dtype=torch.int64)


class Problem:
    """A reduction's operands, in as many sets as a cold cache takes."""

    def __init__(self, row: dict, l2_bytes: int):
        self.row = dict(row)
        dtype = TYPES[row["dtype"]]
        self.offsets = None
        if row.get("shape") == "segments":
            lengths = lengths_of(row, torch.Generator().manual_seed(1))
            self.offsets = torch.cat([torch.zeros(1, dtype=torch.int64), torch.cumsum(lengths, 0)]).cuda()
            self.row["n"] = int(lengths.sum())
        span = self.row["n"]
        if row.get("shape", "rows") in ("rows", "columns"):
            span = (row["rows"] - 1) * row["ld"] + row["cols"]
        step = -(-(span + row["misalign"]) * dtype.itemsize // 256) * 256 // dtype.itemsize
        self.sets = min(MOST_SETS, max(1, math.ceil(COLD_FACTOR * l2_bytes / (step * dtype.itemsize))))
        size = self.sets * step
        if dtype.is_floating_point:
            self.buffer = torch.empty(size, dtype=dtype, device="cuda").uniform_(-1, 1)
        else:
            self.buffer = torch.randint(-100, 100, (size,), dtype=dtype, device="cuda")
        self.starts = [i * step + row["misalign"] for i in range(self.sets)]
        self.span = span

    def tensor(self, start: int) -> tuple[torch.Tensor, int | None]:
        row = self.row
        if row.get("shape", "rows") in ("rows", "columns"):
            x = torch.as_strided(self.buffer, (row["rows"], row["cols"]), (row["ld"], 1), start)
            return x, 0 if row.get("shape") == "columns" else 1
        x = self.buffer[start : start + self.span]
        if row["shape"] == "segments" and row["lengths"] == "equal":
            return x.view(row["segments"], -1), 1
        return x, None

    def calls(self):
        """PyTorch's call on each set; None where there is none."""
        if self.row["op"] in ROWWISE:
            return [self.rowwise_call(self.tensor(start)[0]) for start in self.starts]
        if self.row["shape"] == "segments" and self.row["lengths"] != "equal":
            return [segments_of(self.row, self.tensor(start)[0], self.offsets) for start in self.starts]
        return [result_of(self.row, *self.tensor(start)) for start in self.starts]


    def vectors(self):
        """Gamma and beta of a norm."""
        if not hasattr(self, "_vectors"):
            self._vectors = [torch.rand(self.row["cols"], dtype=TYPES[self.row["dtype"]], device="cuda") for _ in range(2)]
        return self._vectors

    def rowwise_call(self, x: torch.Tensor):
        name, shape = self.row["op"], (self.row["cols"],)
        functional = torch.nn.functional
        if name == "softmax":
            return lambda: torch.softmax(x, 1)
        if name == "log_softmax":
            return lambda: torch.log_softmax(x, 1)
        gamma, beta = self.vectors()
        if name == "layer_norm":
            return lambda: functional.layer_norm(x, shape, gamma, beta, 1e-5)
        if name == "rms_norm":
            return lambda: functional.rms_norm(x, shape, gamma, 1e-5)
        return lambda: functional.gelu(x, approximate="tanh")


def capture(calls, count: int, stream: torch.cuda.Stream) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for i in range(count):
            calls[i % len(calls)]()
    return graph


def timed_us(work, stream: torch.cuda.Stream, flush: torch.Tensor) -> float:
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    flush.sum()
    begin.record(stream)
    work()
    end.record(stream)
    end.synchronize()
    return 1e3 * begin.elapsed_time(end)


def own_reduction(problem: Problem, library: Library):
    """The library's call on a set."""
    row = problem.row
    kind = library.result_dtype(OPS.index(row["reduce_op"]), list(TYPES).index(row["dtype"]))
    results = {"whole": 1, "rows": row["rows"], "columns": row["cols"], "segments": row["segments"]}[row["shape"]]
    out = torch.empty(2 * results, dtype=list(TYPES.values())[kind], device="cuda")
    offsets = problem.offsets.data_ptr() if problem.offsets is not None else 0
    size = problem.buffer.element_size()

    def own(start: int):
        return lambda: library.reduce(problem.row, problem.buffer.data_ptr() + start * size, out.data_ptr(), offsets)

    return own


def own_rowwise(problem: Problem, library: Library):
    """Out of place, as PyTorch's; results of all sets in rows as far apart as those of x, in as many places as sets."""
    gamma, beta = problem.vectors()
    out = torch.empty_like(problem.buffer)
    size = problem.buffer.element_size()

    def own(start: int):
        x, y = (buffer.data_ptr() + start * size for buffer in (problem.buffer, out))
        return lambda: library.rowwise(problem.row, x, y, gamma.data_ptr(), beta.data_ptr())

    return own


def measure(row: dict, library: Library, stream: torch.cuda.Stream, flush: torch.Tensor, budget_ms: float):
    """Samples in µs of PyTorch and of the library; None where PyTorch has no function."""
    problem = Problem(row, torch.cuda.get_device_properties(0).L2_cache_size)
    theirs = problem.calls()
    if theirs[0] is None:
        return None
    own = own_rowwise(problem, library) if row["op"] in ROWWISE else own_reduction(problem, library)

    library.prepare(problem.row)
    ours = [own(start) for start in problem.starts]
    graphs, counts = [], []
    for calls in (theirs, ours):
        calls[0]()
        quick = min(timed_us(calls[0], stream, flush) for _ in range(3))
        rounds = math.ceil(max(LEAST_CALLS, SHORTEST_GRAPH_US / quick) / len(calls))
        counts.append(len(calls) * rounds if quick < 5000 else 1)
        graphs.append(capture(calls, counts[-1], stream))
    samples: list[list[float]] = [[], []]
    spent = 0.0
    while len(samples[0]) < 5 or spent < 2e3 * budget_ms:
        for i, graph in enumerate(graphs):
            us = timed_us(graph.replay, stream, flush)
            spent += us
            samples[i].append(us / counts[i])
    return samples


def row_of(own: dict, theirs: list[float], ours: list[float]) -> dict:
    ordered = sorted(theirs)
    quarters = statistics.quantiles(ordered, n=4, method="inclusive")
    row = {name: own.get(name) for name in FIELDS}
    row.update(kernel=KERNEL, role="peer", path=KERNEL, timing="graph", verified=True)
    row["time_us"] = {
        "min": ordered[0], "median": statistics.median(ordered), "mean": statistics.fmean(ordered), "max": ordered[-1],
        "iqr": quarters[2] - quarters[0], "repeats": len(ordered),
    }  # fmt: skip
    row["beside_us"] = statistics.median(ours)
    row["gbs"] = own["gbs"] * own["time_us"]["median"] / row["time_us"]["median"]
    if own.get("of_peak"):
        row["of_peak"] = own["of_peak"] * own["time_us"]["median"] / row["time_us"]["median"]
    return row


def problems_of(rows: list[dict]) -> list[dict]:
    """The library's own timed row of each reduction."""
    ops = ("reduce", *ROWWISE)
    own = (row for row in rows if row["op"] in ops and row["role"] == "production" and row.get("time_us"))
    return [row for row in own if row["n"] > 0]


def name_of(row: dict) -> str:
    if row["op"] in ROWWISE:
        return f"{row['op']} {row['dtype']} {row['rows']}x{row['cols']}"
    extents = f"{row['rows']}x{row['cols']}" if row.get("rows") else f"{row['n']}"
    return f"{row['reduce_op']} {row['dtype']} {row['shape']} {extents}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=Path, help="a result file of `kernelwright bench reduce --l2 cold`")
    parser.add_argument("--library", type=Path, required=True, help="libkernelwright.so of the same version")
    parser.add_argument("--json", type=Path, help="where the file with PyTorch's rows goes (default: in its place)")
    parser.add_argument("--budget-ms", type=float, default=20, help="measuring time a kernel and reduction")
    arguments = parser.parse_args()

    data = json.loads(arguments.results.read_text())
    rows = [row for row in data["rows"] if row["kernel"] != KERNEL]
    stream = torch.cuda.Stream()
    library = Library(arguments.library, stream.cuda_stream)
    found, left_out = [], 0
    problems = problems_of(rows)
    with torch.cuda.stream(stream):
        l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        flush = torch.zeros(COLD_FACTOR * l2_bytes // 4, device="cuda")
        for i, own in enumerate(problems):
            print(f"\r{i + 1} of {len(problems)}: {name_of(own):<60.60}", end="", file=sys.stderr)
            try:
                samples = measure(own, library, stream, flush, arguments.budget_ms)
            except KeyboardInterrupt:
                print(f"\ninterrupted: {len(problems) - i} are left out", file=sys.stderr)
                break
            except (RuntimeError, NotImplementedError) as error:
                print(f"\n{name_of(own)}: {str(error).splitlines()[0]}", file=sys.stderr)
                samples = None
            torch.cuda.empty_cache()
            if samples is None:
                left_out += 1
                continue
            found.append(row_of(own, *samples))
            ratio = found[-1]["time_us"]["median"] / found[-1]["beside_us"]
            print(f"{name_of(own):<56} pytorch {found[-1]['time_us']['median']:9.2f} us, here {found[-1]['beside_us']:9.2f}, {ratio:6.2f} x")
    print(f"\n{len(found)} reductions beside PyTorch, {left_out} left out", file=sys.stderr)
    data["rows"] = rows + found
    data["software"]["pytorch"] = torch.__version__
    (arguments.json or arguments.results).write_text(json.dumps(data, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
