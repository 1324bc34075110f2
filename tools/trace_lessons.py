#!/usr/bin/env python3
"""What the pictures of the walks show of each rung, from its trace: ladder/lessons.json.

    tools/trace_lessons.py PROGRAM > ladder/lessons.json

PROGRAM is kernelwright-trace (cmake --build BUILD --target kernelwright_trace). No GPU is needed. Where nvcc merges the
source's reads of shared memory, their passes are those that ncu counted (results/h200/rung-counters-*1024.csv). Of the launch that
multiplies, the first one of a reduction, it keeps the block's shape, which outputs the lanes of a warp store, one request
to each array of shared memory and to each operand, what the warps do in order and to which bytes of shared memory, what
wgmma reads, bytes moved, and of reductions every request to shared memory of the first block.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "report"), str(ROOT / "tools")]
from kernelwright_report import counters  # noqa: E402
from trace_vs_ncu import plain  # noqa: E402

PRODUCTS = "sgemm/r0*,sgemm/r1[0-5]*,sgemm/r1[7-9]*,sgemm/r2*,sgemm/s5*"
# Of the AMD ladder those that differ in who copies what, or computes what.
AMD = "amd_01*,amd_03_thread*,amd_03_3_transposed,amd_04*,amd_06_serial*,amd_07_two*,amd_07_7*,amd_08_1*,amd_08_2*,amd_09_quarters"
SHARED_TILES = ("sgemm/r16*", "--shape", "256", "--sms", "3")  # so that blocks share tiles, and each has several stages
REDUCTIONS = "reduce/r*"
ATTENTION = "attention/r*"
SIZE = 256  # of the products
COUNTED = [ROOT / "results/h200" / name for name in ("rung-counters-1024.csv", "rung-counters-amd-1024.csv")]
COUNTED_SIZE = 1024
PASSES = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
MERGED = 0.9  # fewer passes than so many of the trace's: the compiler merged reads
FEW = 40  # steps of a warp that are kept
TILES = {"r14": (128, 256), "r15": (128, 256), "r16": (128, 256), "r17": (64, 128), "r18": (64, 128), "r19": (64, 128)}


def traces(program: str, rungs: str, *options: str) -> list[dict]:
    done = subprocess.run([program, rungs, *options, "--json", "-"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["traces"]


def requests(launch: dict) -> list[dict]:
    """One request a kind and memory: of those to one array the one that costs most."""
    kept: dict[tuple, dict] = {}
    for example in launch["examples"]:
        memory = re.sub(r".*::", "", example["memory"])
        if example["kind"] == "global_store":
            continue
        shown = {"kind": example["kind"], "memory": memory, "bytes": example["bytes"], "offset": example["offset"]}
        key = (example["kind"], memory)
        if key not in kept or spread(shown) > spread(kept[key]):
            kept[key] = shown
    return [kept[key] for key in sorted(kept)]


def spread(request: dict) -> tuple[int, int]:
    """Wide accesses before narrow ones, then those over more words."""
    return request["bytes"], len({offset // 4 for offset in request["offset"]})


def counted_passes() -> dict[str, float]:
    """Kernel -> passes of its shared reads for each multiply-add, as ncu counted them."""
    found = {}
    for file in COUNTED:
        for name, values in counters.read(file.read_text(encoding="utf-8")).items():
            if PASSES in values:
                found[plain(name)] = values[PASSES] / COUNTED_SIZE**3
    return found


def moved(launch: dict, counted: dict[str, float]) -> tuple[float, float]:
    """Bytes of the sectors of global loads and of the wavefronts of shared memory, bulk copies as they are. Of wgmma a warp
    reads its 16 rows of A, and the four warps of a warpgroup B once."""
    totals = launch["totals"]
    loaded = sum(totals.get(kind, {}).get("sectors", 0) for kind in ("global_load", "async_copy_from")) * 32
    passes = {kind: totals.get(kind, {}).get("wavefronts", 0) for kind in ("shared_load", "shared_store", "async_copy_to")}
    hardware = counted.get(plain(launch["kernel"]), float("inf")) * SIZE**3
    if hardware < MERGED * passes["shared_load"]:
        passes["shared_load"] = hardware
    shared = sum(passes.values()) * 128
    n = launch["products"][0]["n"] if launch["products"] else 0
    multiplied = launch["wgmma_by_warps"] * (16 + n / 4) * 32
    return loaded + launch["bulk_bytes"], shared + launch["bulk_bytes"] + multiplied


def warps(launch: dict) -> list[dict]:
    """Of warps that do the same, the first steps of the first one and the threads that are their lanes 0; arrays by the last part of their names. Waits and arrivals at mbarriers are a "-". A
    copy by one load and one store after the other becomes loads and then stores, which is how compilers order them."""
    kept = []
    for warp in launch["steps"]:
        steps: list[list] = []
        for what, count, memory, first, last in warp["steps"]:
            step = ["-" if what in "qa" else what, count, re.sub(r".*::", "", memory), first, last]
            if step[0] == "-" and steps and steps[-1][0] == "-":
                continue
            back = loads_before(steps) if what == "L" else None
            if back is not None:
                back[1] += count
            elif what == "w" and steps and steps[-1][0] == "w" and steps[-1][2] == step[2]:
                steps[-1] = ["w", steps[-1][1] + count, step[2], min(steps[-1][3], first), max(steps[-1][4], last)]
            else:
                steps.append(["-", 0, "", 0, 0] if step[0] == "-" else step)
        same = next((other for other in kept if does(other["steps"]) == does(steps[:FEW])), None)
        if same:
            same["threads"].append(warp["thread"])
        else:
            kept.append({"threads": [warp["thread"]], "steps": steps[:FEW]})
    return kept


def does(steps: list[list]) -> list[tuple]:
    return [(what, count, memory) for what, count, memory, _, _ in steps]


def loads_before(steps: list[list]) -> list | None:
    """The loads before stores that end the steps."""
    at = len(steps) - 1
    while at >= 0 and steps[at][0] == "w":
        at -= 1
    return steps[at] if 0 <= at < len(steps) - 1 and steps[at][0] == "L" else None


def tile(rung: str, launch: dict) -> list[int]:
    """A block's rows and columns of C: what the grid says of square tiles, else what the rung has."""
    known = TILES.get(rung.split("_")[0])
    if known:
        return list(known)
    blocks = launch["grid"][0] * launch["grid"][1] * launch["grid"][2]
    side = round((SIZE * SIZE / blocks) ** 0.5)
    return [side, side]


def lesson(trace: dict, counted: dict[str, float]) -> dict:
    launch = trace["launches"][0 if trace["op"] == "reduce" else -1]
    product = trace["op"] == "sgemm"
    loaded, shared = moved(launch, counted)
    stores = [[x["bytes"], *x["offset"]] for x in launch["stores"] if x["memory"] == "C"]
    return {
        "rung": trace["rung"],
        "op": trace["op"],
        "problem": trace["problem"],
        "grid": launch["grid"],
        "block": launch["block"],
        "flops": trace["flops"],
        "loaded_bytes": loaded,
        "shared_bytes": shared,
        "barriers": launch["block_barriers"] / launch["traced_blocks"],
        "requests": requests(launch),
        "stores": sorted(stores, key=lambda x: x[1]) if product else [],
        "warps": [] if trace["op"] == "reduce" else warps(launch),
        "products": launch["products"],
        "tree": launch["shared_requests"] if trace["op"] == "reduce" else [],
        "tile": tile(trace["rung"], launch) if product else [],
        "columns": SIZE,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="kernelwright-trace")
    asked = parser.parse_args()
    counted = counted_passes()
    found = [*traces(asked.program, PRODUCTS, "--shape", str(SIZE)), *traces(asked.program, *SHARED_TILES)]
    found += traces(asked.program, AMD, "--shape", str(SIZE))
    found += traces(asked.program, REDUCTIONS, "--n", "2^16")
    found += traces(asked.program, ATTENTION, "--shape", f"{SIZE}x{SIZE}x128")
    print('{"schema": 1, "lessons": [')
    print(",\n".join(json.dumps(lesson(trace, counted), separators=(",", ":")) for trace in found))
    print("]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
