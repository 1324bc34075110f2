#!/usr/bin/env python3
"""Two million mixed FP32 products in one process, whose memory must not grow: soak.cpp, built, run and judged.

    python3 tools/conformance/soak.py --program build/cuda/tools/kernelwright/kernelwright
    python3 tools/conformance/soak.py --calls 200000                                   cuBLAS as it is
    KERNELWRIGHT_SLOWER=take python3 tools/conformance/soak.py --program kernelwright   the library computes all it can

With --program the run is `kernelwright run --report`, and each call must be in the report, taken or left to cuBLAS.
Memory is that of the whole device and of the process, after each 100 000 calls, when all threads have ended and the
device is idle; the warm-up, in which caches and workspaces fill, does not count. So nothing else may use the device.
Needs g++, and libcublas.so.13, libcublasLt.so.13 and libcudart.so.13 of the CUDA toolkit or of PyTorch's wheels.
"""

from __future__ import annotations

import json
import os
import shutil
import site
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import checks

HERE = Path(__file__).resolve().parent
LIBRARIES = ("libcublas.so.13", "libcublasLt.so.13", "libcudart.so.13")
DEVICE_SLACK = 4 << 20  # the driver takes memory by pages of 2 MiB
HOST_SLACK = 12 << 20  # of an allocator with an arena for each thread
VERIFIED_EVERY = 10_000  # calls, at the least


class Failure(Exception):
    """What went wrong, and the way out."""


def folders() -> list[Path]:
    """Where libraries of CUDA may be, those that PyTorch itself loads first."""
    packages = [Path(folder) for folder in [*site.getsitepackages(), *sys.path] if folder]
    wheels = [found for folder in packages for found in sorted(folder.glob("nvidia/*/lib"))]
    home = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    return [*wheels, home / "lib64", home / "lib", Path("/usr/lib/x86_64-linux-gnu")]


def build(into: Path, searched: list[Path]) -> Path:
    if not shutil.which("g++"):
        raise Failure("g++ is missing: apt-get install g++")
    found = {name: next((folder for folder in searched if (folder / name).is_file()), None) for name in LIBRARIES}
    missing = [name for name, folder in found.items() if folder is None]
    if missing:
        raise Failure(
            f"{', '.join(missing)}: not found; name the folder by --libraries, or install the CUDA toolkit 13."
        )
    program = into / "soak"
    places = [f"-{option}{folder}" for folder in dict.fromkeys(found.values()) for option in ("L", "Wl,-rpath,")]
    links = [f"-l:{name}" for name in LIBRARIES]
    command = ["g++", "-std=c++20", "-O2", str(HERE / "soak.cpp"), "-o", str(program), *places, *links, "-pthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f"g++ cannot build soak.cpp:\n{done.stderr}")
    return program


def grown(rounds: list[dict], warm_up: int, what: str) -> int:
    """By how much the last rounds have more than the first after the warm-up; medians, as one round may be disturbed."""
    after = [each[what] for each in rounds if each["calls"] > warm_up]
    part = max(1, len(after) // 4)
    return round(statistics.median(after[-part:]) - statistics.median(after[:part]))


def judge(checked: checks.Checks, rounds: list[dict], wanted: int, warm_up: int) -> None:
    last = rounds[-1]
    rate = last["calls"] / max(last["seconds"], 1e-9)
    checked.add("calls", last["calls"] >= wanted, f"{last['calls']} in {last['seconds']:.0f} s, {rate:.0f} a second")
    checked.add(
        "graphs", last["launches"] > 0, f"{last['in_graphs']} calls captured, {last['launches']} launches of graphs"
    )
    enough = last["verified"] >= last["calls"] // VERIFIED_EVERY
    said = f"{last['verified']} calls compared with float64, {last['wrong']} elements wrong, "
    said += f"the worst {last['worst']:.2f} of what an FP32 sum may have"
    checked.add("results", enough and last["wrong"] == 0, said)
    if sum(each["calls"] > warm_up for each in rounds) < 4:
        checked.add(
            "memory", False, f"too few rounds after the warm-up of {warm_up} calls: more --calls, or a shorter --round"
        )
        return
    for what, slack in (("device_bytes", DEVICE_SLACK), ("host_bytes", HOST_SLACK)):
        more = grown(rounds, warm_up, what)
        name = f"memory of the {what.removesuffix('_bytes')}"
        checked.add(name, more <= slack, f"{more / 2**20:+.1f} MiB to {last[what] / 2**20:.0f} MiB", grown_bytes=more)


def judge_report(checked: checks.Checks, report: dict, last: dict) -> None:
    counted = {
        taken: sum(call["calls"] for call in report["calls"] if call["taken"] is taken) for taken in (True, False)
    }
    said = f"{counted[True]} taken, {counted[False]} left to cuBLAS"
    checked.add("every call is in the report", sum(counted.values()) == last["calls"], said, taken=counted[True])
    checked.add("calls were taken", counted[True] > 0, said)


def run(command: list[str]) -> tuple[list[dict], int]:
    rounds = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            found = json.loads(line)
            if "error" in found:
                raise Failure(found["error"])
            rounds.append(found)
            said = f"{found['calls']:>9} calls {found['seconds']:7.1f} s"
            print(
                f"{said} device {found['device_bytes'] >> 20} MiB, host {found['host_bytes'] >> 20} MiB",
                file=sys.stderr,
            )
    return rounds, process.returncode


def main() -> int:
    parser = checks.options(__doc__)
    parser.add_argument("--program", metavar="PATH", help="kernelwright, to run under the drop-in")
    parser.add_argument("--calls", type=int, default=2_000_000, help="default: 2000000")
    parser.add_argument("--warm-up", type=int, default=400_000, help="calls before memory counts (400000)")
    parser.add_argument("--round", type=int, default=100_000, help="calls between two looks at memory (100000)")
    parser.add_argument("--threads", type=int, default=4, help="that call (4)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--libraries", metavar="FOLDER", help="where CUDA's libraries are, if not at a usual place")
    given = parser.parse_args()
    if given.calls < 1 or not 1 <= given.threads <= given.round:
        parser.error("--calls and --threads must be 1 or more, --round no less than --threads")
    checked = checks.Checks(given.json)
    with tempfile.TemporaryDirectory() as folder:
        searched = [Path(given.libraries)] if given.libraries else folders()
        numbers = [str(number) for number in (given.calls, given.threads, given.round, given.seed)]
        command, report = [str(build(Path(folder), searched)), *numbers], Path(folder, "report.json")
        if given.program:
            command = [given.program, "run", "--quiet", "--report", str(report), "--", *command]
        began = time.monotonic()
        rounds, code = run(command)
        if not rounds:
            raise Failure(f"the program ended with {code} before its first round; its own words are above.")
        checked.add("ended well", code == 0, f"exit code {code}, {time.monotonic() - began:.0f} s")
        judge(checked, rounds, given.calls, given.warm_up)
        if given.program:
            judge_report(checked, json.loads(report.read_text(encoding="utf-8")), rounds[-1])
    return checked.end()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"soak.py: {failure}")
