#!/usr/bin/env python3
"""Traced counts beside an H200's hardware counters: results/h200/trace-vs-ncu.csv.

    tools/trace_vs_ncu.py PROGRAM FILE:SIZE... > results/h200/trace-vs-ncu.csv

PROGRAM is kernelwright-trace (cmake --build BUILD --target kernelwright_trace). FILE is what ncu --csv printed of rungs
(docs/measuring.md, tools/rung_counters.sh), SIZE the problem: 2048, 1000x1001x999, of a reduction 2^25.

Each rung is traced at the same problem. Of large products of whole tiles, whose blocks all do the same, some blocks are
counted twice, each time other ones; where their counts a block are the same, they are multiplied. The kernels of a rung
are found in the file by their names; of several launches of one the first counts.

A ratio is trace by counter. One that is off by more than 2 % has a reason in REASONS, or this program fails.
"""

from __future__ import annotations

import csv
import fnmatch
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "report"))
from kernelwright_report import counters  # noqa: E402

TOLERANCE = 0.02
WHOLE_FROM = 2**32  # multiply-adds: from here on, some blocks stand for all

# What ncu calls it, what it is called here, and where it is in a trace.
LOADS, STORES = ("global_load", "async_copy_from"), ("global_store",)
COUNTERS = [
    ("global load requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", LOADS, "requests"),
    ("global load sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", LOADS, "sectors"),
    ("global store requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", STORES, "requests"),
    ("global store sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", STORES, "sectors"),
    ("shared load instructions", "smsp__inst_executed_op_shared_ld.sum", ("shared_load",), "requests"),
    ("shared load wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", ("shared_load",), "wavefronts"),
    ("shared store instructions", "smsp__inst_executed_op_shared_st.sum", ("shared_store",), "requests"),
    ("shared store wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", ("shared_store",), "wavefronts"),
    ("barriers", "BAR", None, "warp_barriers"),  # an opcode: rung_counters.sh
]

MERGED = "nvcc makes one wide read of several narrow ones; the trace has them as the source does"
PREDICATED = "warps without a lane at work execute the instruction too, switched off; the trace counts those with lanes"
ARBITER = "the unit's arbiter counts stores again that wait for another access; varies from run to run"
REASONS: list[tuple[str, str, str]] = []  # rung, counter, reason: globs; the first that fits


def launches_of(program: str, rung: str, size: str, blocks: int | None = None) -> list[dict]:
    option = "--n" if "x" not in size and "^" in size else "--shape"
    command = [program, rung, option, size, "--json", "-", *(["--blocks", str(blocks)] if blocks else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode > 1:  # 1: a wrong result or a race, which others tests tell
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}")
    return json.loads(done.stdout)["traces"][0]["launches"]


def values(launch: dict, scale: float = 1) -> dict[str, float]:
    found = {}
    for name, _, kinds, key in COUNTERS:
        if kinds is None:
            found[name] = launch[key] * scale
        else:
            found[name] = sum(launch["totals"].get(kind, {}).get(key, 0) for kind in kinds) * scale
    return found


def traced(program: str, rung: str, size: str) -> Iterator[tuple[str, dict[str, float]]]:
    """Kernel and counts of each launch."""
    extents = [int(x) for x in size.split("x")] if "^" not in size else [0]
    work = (extents * 3)[0] * (extents * 3)[1] * (extents * 3)[2]
    if work < WHOLE_FROM:
        for launch in launches_of(program, rung, size):
            yield launch["kernel"], values(launch)
        return
    for few, more in zip(launches_of(program, rung, size, 3), launches_of(program, rung, size, 8)):
        one, other = (values(launch, launch["blocks"] / launch["traced_blocks"]) for launch in (few, more))
        if one != other:
            raise SystemExit(f"{rung} at {size}: the blocks of {few['kernel']} differ, so some do not stand for all")
        yield few["kernel"], one


def plain(function: str) -> str:
    """A kernel's name and template arguments, the same from ncu and from a trace."""
    name = re.sub(r"\((anonymous namespace)\)|<?unnamed>", "", function)
    name = re.sub(r"\((?![\w:]+\)\d).*", "", name) if "<" not in name else name[: _end_of_arguments(name)]
    name = re.sub(r"\b(\w*::)+", "", name.removeprefix("void "))
    return name.replace("false", "0").replace("true", "1").replace(" ", "").replace("::", "")


def _end_of_arguments(name: str) -> int:
    depth = 0
    for i, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == ">" and depth == 0:
            return i + 1
    return len(name)


def reason_for(rung: str, counter: str) -> str:
    return next((why for r, c, why in REASONS if fnmatch.fnmatch(rung, r) and fnmatch.fnmatch(counter, c)), "")


def compare(program: str, file: str, size: str) -> Iterator[list[str]]:
    measured: dict[str, dict[str, float]] = {}
    for function, metrics in counters.read(Path(file).read_text(encoding="utf-8")).items():
        measured.setdefault(plain(function), metrics)
    ladder = "reduce" if "^" in size else "sgemm"
    listed = subprocess.run([program, "--list"], stdout=subprocess.PIPE, check=True, text=True).stdout
    rungs = [line.split("\t")[0] for line in listed.splitlines() if line.split("\t")[1] == ladder]
    for rung in rungs:
        # Which rungs the file has follows from their own functions; whose launches they share, from tracing them.
        if not any(counters.kernel_of(name, [rung]) for name in measured):
            continue
        print(f"{rung} at {size}", file=sys.stderr)
        seen = set()
        for kernel, counts in traced(program, rung, size):
            metrics = measured.get(plain(kernel))
            if metrics is None or kernel in seen:
                continue
            seen.add(kernel)
            for name, metric, _, _ in COUNTERS:
                ncu, trace = metrics.get(metric), counts[name]
                if not ncu and not trace or ncu is None:
                    continue
                ratio = trace / ncu if ncu else float("inf")
                off = abs(ratio - 1) > TOLERANCE
                yield [rung, size, plain(kernel), name, f"{ncu:.0f}", f"{trace:.0f}", f"{ratio:.4f}", reason_for(rung, name) if off else ""]


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["rung", "size", "kernel", "counter", "ncu", "trace", "ratio", "reason"])
    rows = [row for pair in sys.argv[2:] for row in compare(sys.argv[1], *pair.rsplit(":", 1))]
    out.writerows(rows)
    within = [row for row in rows if abs(float(row[6]) - 1) <= TOLERANCE]
    unexplained = [row for row in rows if row not in within and not row[7]]
    print(f"{len(within)} of {len(rows)} pairs within {TOLERANCE:.0%}", file=sys.stderr)
    for row in unexplained:
        print(f"no reason for {row[0]} at {row[1]}: {row[3]}, ncu {row[4]}, trace {row[5]}", file=sys.stderr)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
