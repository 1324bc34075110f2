"""What the tests of the report share: result files made by hand, a folder for each test."""

import contextlib
import importlib.util
import io
import json
import os
import random
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "report"))

from kernelwright_report import results  # noqa: E402
from kernelwright_report.__main__ import main  # noqa: E402

HAVE_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
if os.environ.get("CI") == "true" and not HAVE_MATPLOTLIB:
    sys.exit("matplotlib is missing; in CI that is a failure: ./dev setup installs it")

SPEEDS = {"r01_slow": 1000.0, "r02_better": 4000.0, "sgemm_own": 4500.0, "cublas": 5000.0}  # GFLOP/s
ROLES = {"sgemm_own": "production", "cublas": "peer"}


def sgemm_row(kernel, size, **changes):
    gflops = SPEEDS[kernel]
    time_us = 2.0 * size**3 / gflops / 1e3
    row = {
        "op": "sgemm", "kernel": kernel, "role": ROLES.get(kernel, "rung"), "m": size, "n": size, "k": size,
        "op_a": "N", "op_b": "N", "lda": size, "ldb": size, "ldc": size, "alpha": 1.0, "beta": 0.0, "batch": 1,
        "layout": "row_major", "math": "fp32", "path": kernel, "input": "uniform", "l2": "hot", "timing": "events",
        "launch": {"grid": [1, 1, 1], "block": [256, 1, 1], "shared_bytes": 0},
        "time_us": {"min": time_us, "median": time_us, "mean": time_us, "max": time_us, "iqr": 0.0, "repeats": 3},
        "gflops": gflops, "gbs": 1.0, "of_peak": gflops / 8000, "peer": "cublas", "vs_peer": gflops / 5000,
        "vs_previous": 4.0 if kernel == "r02_better" else None, "sm_clock_mhz": None, "power_w": None,
        "error": {"max": 3.0, "rms": 0.5, "mean_signed": 0.0, "bound": 32.0}, "c_first": 0.0, "c_last": 0.0,
        "verified": True,
    }  # fmt: skip
    return {**row, **changes}


def untimed(row, verified):
    return {**row, "time_us": None, "gflops": None, "of_peak": None, "vs_peer": None, "verified": verified}


def document(rows, command="kernelwright bench sgemm", kind="cuda", **changes):
    device = {"name": "Test device", "kind": kind, "sm_count": 4, "measured_fp32_tflops": 8.0}
    device["measured_read_gbs"] = 1000.0
    software = {"kernelwright": "0.1.0", "driver": "1.2"}
    return {"schema": 1, "command": command, "device": device, "software": software, "rows": rows, **changes}


REDUCE_TIMES = {"r01_tree": 100.0, "r02_better": 25.0, "reduce_own": 20.0, "cub": 22.0}  # us, at any n
REDUCE_ROLES = {"reduce_own": "production", "cub": "peer"}


def reduce_row(kernel, n, **changes):
    time_us = REDUCE_TIMES[kernel]
    row = {
        "op": "reduce", "kernel": kernel, "role": REDUCE_ROLES.get(kernel, "rung"), "n": n, "dtype": "float32",
        "reduce_op": "sum", "shape": "whole", "rows": None, "cols": None, "ld": None, "segments": None,
        "lengths": None, "misalign": 0, "correction": None, "math": "fp32", "path": kernel, "input": "uniform",
        "l2": "cold", "timing": "graph", "launch": None,
        "time_us": {"min": time_us, "median": time_us, "mean": time_us, "max": time_us, "iqr": 0.0, "repeats": 3},
        "gflops": None, "gbs": 4e-3 * n / time_us, "of_peak": 4e-3 * n / time_us / 1000, "peer": "cub",
        "vs_peer": REDUCE_TIMES["cub"] / time_us, "vs_previous": 4.0 if kernel == "r02_better" else None,
        "sm_clock_mhz": None, "power_w": None,
        "error": {"max": 0.5, "rms": 0.5, "mean_signed": 0.0, "bound": 1.0}, "c_first": 0.0, "c_last": 0.0,
        "verified": True,
    }  # fmt: skip
    return {**row, **changes}


def reductions(lengths=(1024, 4096, 2**22)):
    rows = [reduce_row(kernel, n) for n in lengths for kernel in REDUCE_TIMES]
    return document(rows, command="kernelwright bench reduce --l2 cold")


def sweep_rows(count=300, split=False, programs=False):
    """Log-uniform products, their roofline on a made-up GPU, and times above it that spread as real ones do."""
    rng = random.Random(1)
    rows = []
    for number in range(count):
        m, n, k = (int(2 ** rng.uniform(2, 14)) for _ in range(3))
        moved = 4 * (m * k + k * n + m * n)
        roofline = max(2e-6 * m * n * k / 62, moved / (7e6 if moved < 6e7 else 4.4e6), 0.5)
        ours = roofline * (1 + 6 / (1 + roofline / 2) + rng.uniform(0, 1.2))
        times = {"kernelwright": ours, "cublas": ours * rng.uniform(0.9, 1.6)}
        if split:
            times["kernelwright_split"] = ours * rng.uniform(0.25, 1.1)
        common = {
            "m": m, "n": n, "k": k, "op_a": rng.choice("NT"), "sweep": "programs" if programs else "random",
            "seed": None if programs else 1000, "number": number, "program": f"Program {number}" if programs else None,
            "third": "short" if roofline < 4 else "middle" if roofline <= 50 else "long", "roofline_us": roofline,
        }  # fmt: skip
        for kernel, us in times.items():
            rows.append({
                **sgemm_row("cublas", 8), **common, "kernel": kernel, "path": kernel,
                "role": "peer" if kernel == "cublas" else "production",
                "math": "fp32_split" if kernel.endswith("split") else "fp32",
                "time_us": {"min": us, "median": us, "mean": us, "max": us, "iqr": 0.0, "repeats": 9},
                "gflops": 2e-3 * m * n * k / us, "vs_peer": times["cublas"] / us,
            })  # fmt: skip
    return rows


def ladder(sizes=(512, 4096)):
    return document([sgemm_row(kernel, size) for size in sizes for kernel in SPEEDS])


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, data, name="r.json"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
        return path

    def loaded(self, data):
        (result,) = results.load(self.write(data))
        return result

    def run_main(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(argument) for argument in arguments])
        return code, out.getvalue(), err.getvalue()
