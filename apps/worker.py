"""A process that holds programs and steps them when it is told to: one for each variant that measure.py compares.

It reads one JSON object a line from its input and answers with one on its output; what a program prints goes to
standard error."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import platform
import sys
import time
from argparse import Namespace
from pathlib import Path

import program
import torch

WARM_UP = 3
WRITES_EVERY_S = 2  # the adapter's record, at the next product
MARK = (3, 7, 5)  # m, n, k of a product that is only there to have it written


def multiply_mark() -> None:
    torch.ones(MARK[0], MARK[2], device="cuda") @ torch.ones(MARK[2], MARK[1], device="cuda")


def facts(_) -> dict:
    if not torch.cuda.is_available():
        return {"failed": "PyTorch sees no CUDA device."}
    device = torch.cuda.get_device_properties(0)
    return {
        "name": device.name, "architecture": f"sm_{device.major}{device.minor}",
        "compute_capability": 10 * device.major + device.minor, "sm_count": device.multi_processor_count,
        "memory_bytes": device.total_memory, "torch": torch.__version__, "cuda": torch.version.cuda,
        "cublas": cublas_version(), "python": platform.python_version(),
    }  # fmt: skip


def cublas_version() -> str | None:
    """Of the library that this process has loaded: 13.1.0."""
    multiply_mark()
    loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libcublas.so" in line}
    numbers, value = [], ctypes.c_int()
    for path in sorted(loaded)[:1]:
        for part in range(3):
            ctypes.CDLL(path).cublasGetProperty(part, ctypes.byref(value))
            numbers.append(str(value.value))
    return ".".join(numbers) or None


class Worker:
    def __init__(self, tf32: bool):
        self.tf32 = tf32
        self.program: program.Program | None = None
        self.record = os.environ.get("KERNELWRIGHT_RECORD")
        self.before: dict[str, int] = {}  # what was counted when the last program ended

    def prepare(self, order: dict) -> dict:
        """Builds a program, computes its error, and warms it up."""
        program.set_up(self.tf32)
        module = importlib.import_module(order["module"])
        self.program = module.make(Namespace(**{**module.SIZES, **order["sizes"]}))
        error = program.finite(self.program.error())
        torch.cuda.empty_cache()
        done = program.run(self.program, 0, warm_up=WARM_UP)
        return {"error": error, "loss": done.loss}

    def block(self, order: dict) -> dict:
        done = program.run(self.program, order["steps"], warm_up=1)
        return {"time_us": done.time_us, "loss": done.loss}

    def finish(self, _) -> dict:
        """Lets the program go; tells which calls the adapter counted for it, by what became of them."""
        self.program = None
        torch.cuda.empty_cache()
        before, self.before = self.before, self.counted()
        return {"calls": {what: count - before.get(what, 0) for what, count in self.before.items()}}

    def counted(self) -> dict[str, int]:
        """All calls of this process so far: "" for those taken, else why they were forwarded."""
        if not self.record:
            return {}
        time.sleep(WRITES_EVERY_S + 0.05)
        multiply_mark()
        found: dict[str, int] = {}
        path = Path(self.record) / f"{os.getpid()}.json"
        calls = json.loads(path.read_text(encoding="utf-8"))["calls"] if path.is_file() else []
        for call in calls:
            if sorted((call["m"], call["n"], call["k"])) != sorted(MARK):
                why = "" if call["taken"] else call["reason"]
                found[why] = found.get(why, 0) + call["calls"]
        return found


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker = Worker(tf32=sys.argv[1:] == ["--tf32"])
    known = {"facts": facts, "prepare": worker.prepare, "block": worker.block, "finish": worker.finish}
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = known[order["do"]](order)
        except Exception as error:  # a program that fails in one arithmetic is a result, too
            answer = {"failed": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
