#!/usr/bin/env python3
"""compute-sanitizer over a small training run under the drop-in (train_small.py).

    python3 tools/conformance/sanitize.py --program build/cuda/tools/kernelwright/kernelwright
    python3 tools/conformance/sanitize.py --program kernelwright --tool initcheck

The library computes all products that it can, and PyTorch's memory is not pooled, so that a tensor's end is an
allocation's. With memcheck a write past an allocation is planted beside, in another run, to show that the tool sees into
the program that `kernelwright run` starts. Needs PyTorch with CUDA and compute-sanitizer.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import checks

HERE = Path(__file__).resolve().parent
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
FOUND = 99  # the tool's exit code where it found something
ENVIRONMENT = {
    "KERNELWRIGHT_SLOWER": "take", "PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "CUDA_MODULE_LOADING": "LAZY", "OMP_NUM_THREADS": "4",
}  # fmt: skip
PLANTED = """
import torch

source = 'extern "C" __global__ void planted(float* x) { x[1 << 26] = 1.0f; }'
x = torch.zeros(16, device="cuda")
torch.cuda._compile_kernel(source, "planted")(grid=(1, 1, 1), block=(1, 1, 1), args=(x,))
torch.cuda.synchronize()
"""


def sanitizer() -> str:
    places = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/cuda/bin"])
    return shutil.which("compute-sanitizer", path=places) or sys.exit(
        "sanitize.py: compute-sanitizer is missing: it comes with the CUDA toolkit; put it on PATH."
    )


def errors(text: str) -> int | None:
    """What the tool's summaries say, of all processes; None where there is none."""
    found = re.findall(r"^=+ (?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)", text, re.MULTILINE)
    return sum(map(int, found)) if found else None


def run(command: list[str], seconds: float) -> tuple[int, str]:
    """Exit code, and all that was said; -1 where it took longer."""
    try:
        done = subprocess.run(command, env={**os.environ, **ENVIRONMENT}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, timeout=seconds)  # fmt: skip
    except subprocess.TimeoutExpired as late:
        return -1, (late.stdout or b"").decode(errors="replace") + f"\nstopped after {seconds:.0f} s"
    return done.returncode, done.stdout


def judge(checked: checks.Checks, code: int, said: str, report: dict, least: int) -> None:
    found = errors(said)
    checked.add("the run ends well", code == 0, f"exit code {code}")
    checked.add("it trained", '"loss"' in said)
    checked.add("nothing found", found == 0, "no summary of the tool" if found is None else f"{found} errors")
    taken = sum(call["calls"] for call in report.get("calls", []) if call["taken"])
    kernels = sorted({call["kernel"] for call in report.get("calls", []) if call["taken"]})
    checked.add("the library computed products", taken >= least, f"{taken} calls by {', '.join(kernels)}")


def main() -> int:
    parser = checks.options(__doc__)
    parser.add_argument("--program", metavar="PATH", required=True, help="kernelwright")
    parser.add_argument("--tool", choices=TOOLS, default="memcheck")
    parser.add_argument("--steps", type=int, default=3, help="of the training run (3)")
    parser.add_argument(
        "--seconds", type=float, default=150, help="after which the run is stopped and has failed (150)"
    )
    given = parser.parse_args()
    checked = checks.Checks(given.json)
    tool = [
        sanitizer(),
        "--tool",
        given.tool,
        "--target-processes",
        "all",
        "--error-exitcode",
        str(FOUND),
        "--print-limit",
        "20",
    ]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor() as pool:
        report, planted = Path(folder, "report.json"), Path(folder, "planted.py")
        planted.write_text(PLANTED, encoding="utf-8")
        beside = None
        if given.tool == "memcheck":
            beside = pool.submit(
                run, [*tool, given.program, "run", "--quiet", "--", sys.executable, str(planted)], given.seconds
            )
        trained = [sys.executable, str(HERE / "train_small.py"), "--no-graph", "--steps", str(given.steps)]
        code, said = run(
            [*tool, given.program, "run", "--quiet", "--report", str(report), "--", *trained], given.seconds
        )
        counted = json.loads(report.read_text(encoding="utf-8")) if report.is_file() else {}
        judge(checked, code, said, counted, least=20 * given.steps)
        if beside is not None:
            _, words = beside.result()
            last = (words.strip().splitlines() or [""])[-1]
            checked.add("a planted write past an allocation is found", "Invalid __global__ write" in words, last[:160])
    if not all(result["passed"] for result in checked.results):
        print("\n".join(said.splitlines()[-60:]), file=sys.stderr)
    return checked.end()


if __name__ == "__main__":
    sys.exit(main())
