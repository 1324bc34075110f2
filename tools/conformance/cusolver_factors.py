#!/usr/bin/env python3
"""cusolverDnSpotrf and cusolverDnXpotrf, called as a C program does, beside float64.

    kernelwright run --report run.json -- python3 tools/conformance/cusolver_factors.py --json factors.json

Both triangles, sizes about the library's own blocks, rows apart in memory; L L' is compared with A in |L| |L'|, what lies
beside the triangle must be as it was, info must name the pivot that is not positive. Wrong arguments must come back
with the status that cuSOLVER itself gives, which the same script finds out with the drop-in switched off. Needs
PyTorch with CUDA, whose cuSOLVER it calls.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import subprocess
import sys

import checks

FILLS = {"lower": 0, "upper": 1}
SIZES = (1, 33, 128, 129, 500, 1024, 2050)
PIVOTS = (0, 130, 511)
REAL = 0  # CUDA_R_32F
CANARY = 12345.0
Pointer, Size = ctypes.c_void_p, ctypes.c_int64


def loaded(name: str) -> ctypes.CDLL:
    """The library that PyTorch has loaded."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            if name in line:
                return ctypes.CDLL(line.split()[-1])
    raise OSError(f"{name} is not loaded")


class Solver:
    """The two functions on a handle, on PyTorch's stream."""

    def __init__(self):
        import torch

        torch.linalg.cholesky(torch.eye(2, device="cuda"))
        self.torch, self.library, self.handle = torch, loaded("libcusolver.so"), Pointer()
        assert self.library.cusolverDnCreate(ctypes.byref(self.handle)) == 0
        stream = Pointer(torch.cuda.current_stream().cuda_stream)
        assert self.library.cusolverDnSetStream(self.handle, stream) == 0
        self.info = torch.zeros(1, dtype=torch.int32, device="cuda")

    def spotrf(self, data, n, lda, fill) -> int:
        floats = ctypes.c_int()
        self.library.cusolverDnSpotrf_bufferSize(self.handle, 0, max(n, 1), Pointer(data.data_ptr()), max(lda, n, 1),
                                                 ctypes.byref(floats))  # fmt: skip
        room = self.torch.empty(max(floats.value, 1), device="cuda")
        return self.library.cusolverDnSpotrf(
            self.handle, fill, n, Pointer(data.data_ptr()), lda,
            Pointer(room.data_ptr()), floats.value, Pointer(self.info.data_ptr()),
        )  # fmt: skip

    def xpotrf(self, data, n, lda, fill, *, kind=REAL, compute=REAL) -> int:
        on_device, on_host = ctypes.c_size_t(), ctypes.c_size_t()
        a = Pointer(data.data_ptr())
        self.library.cusolverDnXpotrf_bufferSize(self.handle, Pointer(), fill, Size(n), kind, a, Size(lda), compute,
                                                 ctypes.byref(on_device), ctypes.byref(on_host))  # fmt: skip
        room = self.torch.empty(max(on_device.value, 1), dtype=self.torch.uint8, device="cuda")
        beside = ctypes.create_string_buffer(max(on_host.value, 1))
        return self.library.cusolverDnXpotrf(
            self.handle, Pointer(), fill, Size(n), kind, a, Size(lda), compute, Pointer(room.data_ptr()), on_device,
            beside, on_host, Pointer(self.info.data_ptr()),
        )  # fmt: skip


def positive(torch, n: int, fill: str):
    """A column-major matrix, columns n + 5 apart (a row of the tensor is a column), of which one triangle counts."""
    x = torch.randn(n, 64, device="cuda")
    a = (x @ x.mT).tril()
    a += a.tril(-1).mT  # the product's own triangles differ in their rounding
    a.diagonal().add_(n)
    data = torch.full((n, n + 5), CANARY, device="cuda")
    counts = torch.zeros(n, n + 5, dtype=torch.bool, device="cuda")
    ones = torch.ones(n, n, dtype=torch.bool, device="cuda")
    counts[:, :n] = ones.triu() if fill == "lower" else ones.tril()
    data[counts] = torch.nn.functional.pad(a, (0, 5))[counts]
    return data, counts, a


def factored(data, counts, n: int, fill: str):
    """L in float64."""
    kept = data[:, :n].double() * counts[:, :n]
    return kept.mT if fill == "lower" else kept


def check_factors(checked: checks.Checks, solver: Solver) -> None:
    torch = solver.torch
    for name in ("spotrf", "xpotrf"):
        for fill, code in FILLS.items():
            for n in SIZES:
                with checked.attempt(f"{name} {fill} {n}") as result:
                    data, counts, a = positive(torch, n, fill)
                    solver.info.fill_(-7)
                    status = getattr(solver, name)(data, n, n + 5, code)
                    lower = factored(data, counts, n, fill)
                    size = lower.abs() @ lower.abs().mT
                    error = ((lower @ lower.mT - a.double()).abs() / (checks.sum_error(n) * size)).max().item()
                    untouched = bool((data[~counts] == CANARY).all())
                    result["passed"] = status == 0 and solver.info.item() == 0 and error <= 1 and untouched
                    result["detail"] = f"status {status}, info {solver.info.item()}, {error:.2f} of the bound" + (
                        "" if untouched else ", wrote beside the triangle"
                    )
                checked.expect(f"{name} {fill} {n}", n, n, n)


def check_info(checked: checks.Checks, solver: Solver) -> None:
    for value in (0.0, -3.0, float("nan")):
        for pivot in PIVOTS:
            with checked.attempt(f"pivot {pivot + 1} is {value}") as result:
                data, _, _ = positive(solver.torch, 600, "lower")
                data[pivot, pivot] = value
                status, info = solver.xpotrf(data, 600, 605, 0), solver.info.item()
                result.update(passed=status == 0 and info == pivot + 1, detail=f"status {status}, info {info}")


def statuses(solver: Solver) -> dict[str, int]:
    data, _, _ = positive(solver.torch, 64, "lower")
    return {
        "fill": solver.spotrf(data, 64, 69, 7),
        "n": solver.spotrf(data, -1, 69, 0),
        "lda": solver.spotrf(data, 64, 63, 0),
        "no rows": solver.spotrf(data, 0, 69, 0),
        "xpotrf fill": solver.xpotrf(data, 64, 69, 7),
        "xpotrf lda": solver.xpotrf(data, 64, 63, 0),
        "xpotrf double": solver.xpotrf(solver.torch.eye(8, dtype=solver.torch.float64, device="cuda"), 8, 8, 0, kind=1, compute=1),
    }  # fmt: skip


def check_statuses(checked: checks.Checks, solver: Solver) -> None:
    env = {**os.environ, "KERNELWRIGHT_MATH": "off"}
    done = subprocess.run([sys.executable, __file__, "--statuses"], env=env, capture_output=True, text=True, check=False)
    try:
        wanted = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        wanted = {}
    for name, status in statuses(solver).items():
        own = wanted.get(name)
        checked.add(f"status: {name}", status == own, f"{status}, cuSOLVER's own {own}")


def main() -> int:
    parser = checks.options(__doc__)
    parser.add_argument("--statuses", action="store_true", help="print the statuses of wrong arguments as JSON and end")
    given = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        sys.exit("cusolver_factors.py: this Python has no PyTorch: `python3 -m pip install torch`.")
    solver = Solver()
    if given.statuses:
        print(json.dumps(statuses(solver)))
        return 0
    checked = checks.Checks(given.json)
    solver.torch.manual_seed(1)
    check_factors(checked, solver)
    check_info(checked, solver)
    check_statuses(checked, solver)
    return checked.end()


if __name__ == "__main__":
    sys.exit(main())
