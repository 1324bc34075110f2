#!/usr/bin/env python3
"""What the pictures of the walks show of each rung, from its trace: ladder/lessons.json.

    tools/trace_lessons.py PROGRAM > ladder/lessons.json

PROGRAM is kernelwright-trace (cmake --build BUILD --target kernelwright_trace). No GPU is needed. Of a rung's first launch
it keeps the block's shape, which outputs the lanes of the first warp store, one request to each array of shared memory and
to each operand, what thread 0 does in order, and of reductions every request to shared memory of the first block.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys

PRODUCTS = "sgemm/r0*,sgemm/s5*,sgemm/r1[0-3]*"
REDUCTIONS = "reduce/r01,reduce/r02,reduce/r03"
SIZE = 256  # of the products


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


def lesson(trace: dict) -> dict:
    launch = trace["launches"][0]
    return {
        "rung": trace["rung"],
        "op": trace["op"],
        "problem": trace["problem"],
        "grid": launch["grid"],
        "block": launch["block"],
        "totals": launch["totals"],
        "barriers": launch["block_barriers"] / launch["traced_blocks"],
        "requests": requests(launch),
        "stores": sorted([[x["bytes"], *x["offset"]] for x in launch["stores"]], key=lambda x: x[1]),
        "order": launch["order"][:1200] if trace["op"] == "sgemm" else "",
        "steps": launch["shared_requests"] if trace["op"] == "reduce" else [],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="kernelwright-trace")
    asked = parser.parse_args()
    found = traces(asked.program, PRODUCTS, "--shape", str(SIZE))
    found += traces(asked.program, REDUCTIONS, "--n", "2^16")
    print('{"schema": 1, "lessons": [')
    print(",\n".join(json.dumps(lesson(trace), separators=(",", ":")) for trace in found))
    print("]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
