#!/usr/bin/env python3
"""Traced counts beside an H200's hardware counters: results/h200/trace-vs-ncu.csv.

    tools/trace_vs_ncu.py PROGRAM [--rungs GLOB] FILE:SIZE... > results/h200/trace-vs-ncu.csv

PROGRAM is kernelwright-trace (cmake --build BUILD --target kernelwright_trace). FILE is what ncu --csv printed of rungs
(docs/measuring.md, tools/rung_counters.sh), SIZE the problem: 1024, 1000x1001x999, of a reduction 2^22, of attention
256x256x128@attention (queries, keys, head size).

Each rung is traced at the same problem. Of large products of whole tiles, whose blocks all do the same, some stand
for all, where each of their counts is a multiple of their number; else all are traced. The kernels of a rung
are found in the file by their names; of several launches of one the first counts.

Shared memory's counters are those that ncu derives from the instructions and their addresses (smsp__sass): they leave out
warps whose lanes are all switched off, and passes that an arbiter repeats. A ratio is trace by counter. One that is off by more than 2 % has a reason in REASONS, or this program fails.
"""

from __future__ import annotations

import argparse
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
WHOLE_FROM = 2**30  # multiply-adds: from here on, some blocks stand for all
SOME_BLOCKS = 7

# What ncu calls it, what it is called here, and where it is in a trace.
LOADS, STORES = ("global_load", "async_copy_from"), ("global_store",)
COUNTERS = [
    ("global load requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", LOADS, "requests"),
    ("global load sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", LOADS, "sectors"),
    ("global store requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", STORES, "requests"),
    ("global store sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", STORES, "sectors"),
    ("shared load instructions", "smsp__sass_inst_executed_op_shared_ld.sum", ("shared_load",), "requests"),
    ("shared load wavefronts", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", ("shared_load",), "wavefronts"),
    ("shared store instructions", "smsp__sass_inst_executed_op_shared_st.sum", ("shared_store",), "requests"),
    ("shared store wavefronts", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", ("shared_store",), "wavefronts"),
    ("barriers", "BAR", None, "warp_barriers"),  # an opcode: rung_counters.sh
]

REASONS: list[tuple[str, str, str]] = [  # rung, counter, reason: globs; the first that fits
    ("r03_shared_tile", "shared load *",
     "nvcc reads A 16 bytes at a time, four k in one read: 1.25 reads an FMA; the source, and so the trace, has 2"),
    *((rung, "shared load *",
       "nvcc makes 6 wide reads a k-step of a warp (24 wavefronts: 2 of B at 8, 4 of A at 2); the source names an element an FMA")
      for rung in ("r04_block_tile", "r05_float4", "r06_barrier_moved")),
    *((rung, "shared load *", "MERGED")
      for rung in ("s5_*", "amd_03_[t1]*", "amd_04*", "amd_06_serial*", "amd_0[789]*", "amd_10*")),
    ("amd_03_6*", "shared store *", "nvcc puts a thread's neighbouring floats of B into stores of 16 bytes"),
    ("r03_shared_tiles", "shared load *", "MERGED"),
    ("r08_*", "global store sectors", "UNEXPLAINED"),
    ("r1[23]_*", "global load requests", "UNEXPLAINED"),
]  # fmt: skip
SHARED_REASONS = {
    "UNEXPLAINED": "not explained",
    "MERGED": "nvcc reads neighbouring floats 8 or 16 bytes at a time, A for up to four k-steps; the source has more reads",
}


def launches_of(program: str, rung: str, size: str, blocks: int | None = None) -> list[dict]:
    option = "--n" if "x" not in size and "^" in size else "--shape"
    shape, _, ladder = size.partition("@")
    command = [program, f"{ladder}/{rung}" if ladder else rung, option, shape, "--json", "-", *(["--blocks", str(blocks)] if blocks else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode > 1:  # 1: a wrong result or a race, which others tests tell
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}")
    return json.loads(done.stdout)["traces"][0]["launches"]


def kernels_of(program: str, rung: str, small: tuple[str, ...]) -> set[str]:
    """What its launches are called, at small problems of whole tiles and with edges."""
    return {plain(launch["kernel"]) for size in small for launch in launches_of(program, rung, size)}


def values(launch: dict) -> dict[str, float]:
    found = {}
    for name, _, kinds, key in COUNTERS:
        if kinds is None:
            found[name] = launch[key]
        else:
            found[name] = sum(launch["totals"].get(kind, {}).get(key, 0) for kind in kinds)
    return found


def traced(program: str, rung: str, size: str) -> Iterator[tuple[str, dict[str, float]]]:
    """Kernel and counts of each launch."""
    extents = [int(x) for x in size.partition("@")[0].split("x")] if "^" not in size else [0]
    work = (extents * 3)[0] * (extents * 3)[1] * (extents * 3)[2]
    launches = launches_of(program, rung, size, SOME_BLOCKS) if work >= WHOLE_FROM else []
    if not launches or any(count % launch["traced_blocks"] for launch in launches for count in values(launch).values()):
        launches = launches_of(program, rung, size)
    for launch in launches:
        counts = values(launch)
        scale = launch["blocks"] / launch["traced_blocks"]
        yield launch["kernel"], {name: count * scale for name, count in counts.items()}


def plain(function: str) -> str:
    """A kernel's name and template arguments, the same from ncu and from a trace."""
    name = re.sub(r"\((anonymous namespace)\)|<?unnamed>", "", function)
    name = re.sub(r"\((?![\w:]+\)\d).*", "", name) if "<" not in name else name[: _end_of_arguments(name)]
    name = re.sub(r"\b(\w*::)+", "", name.removeprefix("void "))
    name = re.sub(r"(\d)u\b", r"\1", name)
    return name.replace("false", "0").replace("true", "1").replace(" ", "").replace("::", "")


def _end_of_arguments(name: str) -> int:
    depth = 0
    for i, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == ">" and depth == 0:
            return i + 1
    return len(name)


def opcodes_beside(file: Path) -> dict[str, dict[str, float]]:
    """Function -> opcode -> how often warps executed it, from the second file of rung_counters.sh; nothing without one."""
    other = file.with_name(file.name.replace("counters", "opcodes"))
    if other == file or not other.exists():
        return {}
    lines = [line for line in other.read_text(encoding="utf-8").splitlines() if line.startswith('"')]
    found: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(lines):
        counts = re.findall(r"(\w+): ([\d,]+)", row["Metric Value"])
        found.setdefault(plain(row["Kernel Name"]), {name: float(count.replace(",", "")) for name, count in counts})
    return found


def reason_for(rung: str, counter: str) -> str:
    why = next((why for r, c, why in REASONS if fnmatch.fnmatch(rung, r) and fnmatch.fnmatch(counter, c)), "")
    return SHARED_REASONS.get(why, why)


def compare(program: str, glob: str, file: str, size: str) -> Iterator[list[str]]:
    measured: dict[str, dict[str, float]] = {}
    for function, metrics in counters.read(Path(file).read_text(encoding="utf-8")).items():
        measured.setdefault(plain(function), metrics)
    for function, opcodes in opcodes_beside(Path(file)).items():
        if function in measured:
            measured[function]["BAR"] = opcodes.get("BAR", 0)
    ladder, small = "sgemm", ("256", "33x35x37")
    if "^" in size:
        ladder, small = "reduce", ("2^16",)
    if "@" in size:
        ladder, small = "attention", ("64x64x32@attention",)
    listed = subprocess.run([program, "--list"], stdout=subprocess.PIPE, check=True, text=True).stdout
    rungs = [line.split("\t")[0] for line in listed.splitlines() if line.split("\t")[1] == ladder]
    rungs = fnmatch.filter(rungs, glob)
    names = {rung: kernels_of(program, rung, small) for rung in rungs}
    for rung in rungs:
        if not names[rung] & measured.keys():
            continue  # the file has none of its kernels
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
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--rungs", default="*", metavar="GLOB", help="only these")
    arguments.add_argument("files", nargs="+", metavar="FILE:SIZE")
    asked = arguments.parse_args()
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["rung", "size", "kernel", "counter", "ncu", "trace", "ratio", "reason"])
    rows = []
    for pair in asked.files:
        for row in compare(asked.program, asked.rungs, *pair.rsplit(":", 1)):
            out.writerow(row)
            sys.stdout.flush()
            rows.append(row)
    within = [row for row in rows if abs(float(row[6]) - 1) <= TOLERANCE]
    unexplained = [row for row in rows if row not in within and not row[7]]
    print(f"{len(within)} of {len(rows)} pairs within {TOLERANCE:.0%}", file=sys.stderr)
    for row in unexplained:
        print(f"no reason for {row[0]} at {row[1]}: {row[3]}, ncu {row[4]}, trace {row[5]}", file=sys.stderr)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
