#!/usr/bin/env python3
"""`kernelwright run` and the drop-in's variables on a GPU, each judged by what it prints, leaves and returns.

    python3 tools/conformance/run_command.py --program build/cuda/tools/kernelwright/kernelwright

The program under it is PyTorch with ten products, which prints a digest of their bits: cuBLAS's own where all is left to
cuBLAS, others where the library computes. Needs PyTorch with CUDA.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import checks

PRODUCTS = """
import hashlib, sys
import torch

torch.manual_seed(0)
torch.set_float32_matmul_precision(sys.argv[1])
a, b = (torch.randn(1024, 1024, device="cuda") for _ in range(2))
for _ in range(10):
    c = a @ b
exact = a.double() @ b.double()
print("bits", hashlib.sha256(c.cpu().numpy().tobytes()).hexdigest()[:16], flush=True)
print("error", float((c - exact).norm() / exact.norm()), flush=True)
sys.exit(int(sys.argv[2]))
"""
CALLS = 10
FP32 = 1e-5  # relative errors below it are of FP32: TF32 has some 3e-4
PLACES = ("../../adapters/cublas", "../lib", "../lib64", "../lib/x86_64-linux-gnu", ".")
OWN = "KERNELWRIGHT_"


@dataclass
class Done:
    """What a run of the program came to."""

    code: int
    out: str
    said: str
    report: dict | None = None
    log: str = ""

    @property
    def bits(self) -> str | None:
        found = re.search(r"^bits (\w+)", self.out, re.MULTILINE)
        return found and found[1]

    @property
    def error(self) -> float:
        found = re.search(r"^error (\S+)", self.out, re.MULTILINE)
        return float(found[1]) if found else float("inf")

    def calls(self, taken: bool) -> int:
        calls = (self.report or {}).get("calls", [])
        return sum(call["calls"] for call in calls if call["taken"] is taken)


def find_adapter(program: Path) -> Path:
    for place in PLACES:
        path = (program.parent / place / "libkernelwright_cublas.so").resolve()
        if path.is_file():
            return path
    sys.exit(f"run_command.py: libkernelwright_cublas.so is not beside {program.name}; name it by --adapter.")


class Runs:
    """Runs the program in all the ways that are asked for, a few at once."""

    def __init__(self, program: Path, adapter: Path, folder: Path):
        self.program, self.adapter, self.folder = program, adapter, folder
        self.clean = {
            name: value for name, value in os.environ.items() if not name.startswith(OWN) and name != "LD_PRELOAD"
        }
        self.script = folder / "products.py"
        self.script.write_text(PRODUCTS, encoding="utf-8")

    def products(self, precision: str = "highest", code: int = 0) -> list[str]:
        return [sys.executable, str(self.script), precision, str(code)]

    def start(self, command: list[str], **variables: str) -> Done:
        done = subprocess.run(
            command, env={**self.clean, **variables}, capture_output=True, text=True, check=False, timeout=120
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def run(self, name: str, *options: str, under: list[str] | None = None, **variables: str) -> Done:
        """By `kernelwright run`, with a report."""
        path = self.folder / f"{name}.json"
        command = [str(self.program), "run", *options, "--report", str(path), "--", *(under or self.products())]
        done = self.start(command, **variables)
        done.report = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
        return done

    def preloaded(self, **variables: str) -> Done:
        log = variables.get("KERNELWRIGHT_LOG_FILE")
        done = self.start(self.products(), LD_PRELOAD=str(self.adapter), **variables)
        done.log = Path(log).read_text(encoding="utf-8") if log and Path(log).is_file() else ""
        return done


def all_runs(runs: Runs) -> dict[str, Done]:
    nowhere = str(runs.folder / "nowhere" / "libkernelwright.so")
    ways = {
        "plain": lambda: runs.start(runs.products()),
        "run": lambda: runs.run("run"),
        "fp32": lambda: runs.run("fp32", "--quiet", "--math", "fp32", KERNELWRIGHT_SLOWER="take"),
        "off": lambda: runs.run("off", "--math", "off"),
        "verify": lambda: runs.run("verify", "--verify", "2"),
        "tf32": lambda: runs.run("tf32", "--quiet", under=runs.products("high")),
        "seven": lambda: runs.run("seven", "--quiet", under=runs.products(code=7)),
        "stdout": lambda: runs.start([str(runs.program), "run", "--quiet", "--report", "-", "--", *runs.products()]),
        "preload": lambda: runs.preloaded(),
        "switch": lambda: runs.preloaded(KERNELWRIGHT_MATH="off", KERNELWRIGHT_LOG="calls"),
        "summary": lambda: runs.preloaded(KERNELWRIGHT_LOG="summary"),
        "log": lambda: runs.preloaded(KERNELWRIGHT_LOG="calls", KERNELWRIGHT_LOG_FILE=str(runs.folder / "log")),
        "typo": lambda: runs.preloaded(KERNELWRIGHT_MATH="fast"),
        "no library": lambda: runs.preloaded(KERNELWRIGHT_LIBRARY=nowhere),
        "smallest": lambda: runs.run("smallest", "--quiet", KERNELWRIGHT_SMALLEST="1e12"),
        "killed": lambda: runs.run("killed", "--quiet", under=["sh", "-c", "kill -TERM $$"]),
        "missing": lambda: runs.run("missing", under=[str(runs.folder / "nowhere" / "program")]),
        "nothing": lambda: runs.run("nothing", under=["true"]),
    }
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        futures = {name: pool.submit(way) for name, way in ways.items()}
        return {name: future.result() for name, future in futures.items()}


def lines_of(text: str, pattern: str) -> int:
    return len(re.findall(pattern, text, re.MULTILINE))


def judge(checked: checks.Checks, done: dict[str, Done]) -> None:
    plain, run = done["plain"], done["run"]

    def add(name: str, passed: bool, of: str, detail: str = "") -> None:
        last = done[of].said.strip().splitlines()[-1:] or [""]
        checked.add(name, bool(passed), detail or ("" if passed else last[0][:160]))

    def accurate(of: str, than: float) -> None:
        add(f"{of}: accurate", done[of].error < than, of, f"error {done[of].error:.2e}, at most {than:.2e}")

    def same(of: str, other: str) -> bool:
        return done[of].bits is not None and done[of].bits == done[other].bits

    accurate("plain", FP32)
    accurate("run", 1.05 * plain.error)
    accurate("fp32", 1.5 * plain.error)
    add("run: exit code 0", run.code == 0, "run")
    add("run: says what was taken, and on which GPU", lines_of(run.said, r"\d+ calls of cuBLAS taken, .*NVIDIA"), "run")
    add(
        "run: the report has the calls",
        run.calls(True) == CALLS,
        "run",
        f"{run.calls(True)} taken, {run.calls(False)} left",
    )
    add("run: not cuBLAS's bits", not same("run", "plain"), "run")
    add("--math fp32: all calls taken", done["fp32"].calls(True) == CALLS, "fp32")
    add("--math fp32: not fp32_split's bits", not same("fp32", "run"), "fp32")
    add("--quiet: no summary", "calls of cuBLAS" not in done["fp32"].said, "fp32")
    add("--math off: cuBLAS's bits", same("off", "plain"), "off")
    add("--math off: nothing taken", done["off"].calls(True) == 0, "off")
    add("--verify: says both errors", lines_of(done["verify"].said, r"^\d+ calls verified: .* cuBLAS's"), "verify")
    add("--verify: the bits are those without", same("verify", "run"), "verify")
    verified = sum(call["verified"] for call in (done["verify"].report or {}).get("calls", []))
    add("--verify 2: every second call", verified == CALLS // 2, "verify", f"{verified} of {CALLS}")
    add("TF32: left to cuBLAS", done["tf32"].calls(False) >= CALLS and done["tf32"].calls(True) == 0, "tf32")
    add(
        "a program's exit code", done["seven"].code == 7 and (done["seven"].report or {}).get("exit_code") == 7, "seven"
    )
    add("--report -: on standard output", '"wall_s"' in done["stdout"].out and done["stdout"].bits, "stdout")
    add("LD_PRELOAD alone: the same bits", same("preload", "run"), "preload")
    add("LD_PRELOAD alone: without a word", "kernelwright" not in done["preload"].said, "preload")
    add("KERNELWRIGHT_MATH=off: cuBLAS's bits", same("switch", "plain"), "switch")
    add("KERNELWRIGHT_MATH=off: nothing taken by the log", not lines_of(done["switch"].said, r", taken, "), "switch")
    add(
        "KERNELWRIGHT_LOG=summary: the sum",
        lines_of(done["summary"].said, rf"^kernelwright_cublas: {CALLS} calls taken"),
        "summary",
    )
    add("KERNELWRIGHT_LOG=summary: no line a call", "us of host time" not in done["summary"].said, "summary")
    counted = lines_of(done["log"].log, r", taken, fp32_split by .* us of host time")
    add("KERNELWRIGHT_LOG=calls: a line a call in the file", counted == CALLS, "log", f"{counted} lines")
    add("KERNELWRIGHT_LOG_FILE: nothing elsewhere", "kernelwright" not in done["log"].said, "log")
    add("an unknown value: told", lines_of(done["typo"].said, r'KERNELWRIGHT_MATH is "fast", not one of'), "typo")
    add("an unknown value: the default holds", same("typo", "run"), "typo")
    add("no library: told once", lines_of(done["no library"].said, "all calls go to cuBLAS") == 1, "no library")
    add("no library: cuBLAS's bits", same("no library", "plain"), "no library")
    add(
        "KERNELWRIGHT_SMALLEST: left to cuBLAS",
        done["smallest"].calls(True) == 0 and same("smallest", "plain"),
        "smallest",
    )
    add("killed: 128 and the signal", done["killed"].code == 143, "killed")
    add("no such program: told", "cannot be started" in done["missing"].said and done["missing"].code != 0, "missing")
    add("no products: told", "no call of cuBLAS was seen" in done["nothing"].said, "nothing")


def main() -> int:
    parser = checks.options(__doc__)
    parser.add_argument("--program", metavar="PATH", required=True, help="kernelwright")
    parser.add_argument("--adapter", metavar="PATH", help="libkernelwright_cublas.so (default: beside the program)")
    given = parser.parse_args()
    program = Path(given.program).resolve()
    if not os.access(program, os.X_OK) or not program.is_file():
        parser.error(f"--program {given.program}: no such program; ./dev build cuda makes it")
    checked = checks.Checks(given.json)
    with tempfile.TemporaryDirectory() as folder:
        adapter = Path(given.adapter).resolve() if given.adapter else find_adapter(program)
        judge(checked, all_runs(Runs(program, adapter, Path(folder))))
    return checked.end()


if __name__ == "__main__":
    sys.exit(main())
