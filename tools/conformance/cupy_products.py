#!/usr/bin/env python3
"""Products and linear algebra of CuPy in float32, beside float64 of NumPy.

    kernelwright run --report run.json -- python3 tools/conformance/cupy_products.py --json products.json

With --json, all.py looks each product up in the report of `kernelwright run`. Needs CuPy.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import checks
import numpy


@dataclass
class Case:
    name: str
    function: Callable  # of NumPy or CuPy and the operands
    shapes: list[tuple[int, ...]]
    product: tuple[int, ...]  # m, n, k and batch
    order: str = "C"


CASES = [
    Case("matmul", lambda np, a, b: np.matmul(a, b), [(1024, 1024), (1024, 1024)], (1024, 1024, 1024)),
    Case("matmul, column-major", lambda np, a, b: a @ b, [(1024, 1536), (1536, 1280)], (1024, 1280, 1536), "F"),
    Case("matmul, odd sizes", lambda np, a, b: a @ b, [(1999, 1501), (1501, 1777)], (1999, 1777, 1501)),
    Case("dot, left turned", lambda np, a, b: np.dot(a.T, b), [(2000, 1024), (2000, 1536)], (1024, 1536, 2000)),
    Case("dot, right turned", lambda np, a, b: np.dot(a, b.T), [(1024, 2048), (1280, 2048)], (1024, 1280, 2048)),
    Case("slices", lambda np, a, b: a[:, ::2] @ b[::3], [(1024, 2048), (3072, 1024)], (1024, 1024, 1024)),
    Case("batched matmul", lambda np, a, b: a @ b, [(12, 512, 768), (12, 768, 512)], (512, 512, 768, 12)),
    Case("tensordot", lambda np, a, b: np.tensordot(a, b, 2), [(1024, 32, 32), (32, 32, 1024)], (1024, 1024, 1024)),
    Case("inner", lambda np, a, b: np.inner(a, b), [(1024, 768), (1536, 768)], (1024, 1536, 768)),
    Case("einsum ij,kj->ik", lambda np, a, b: np.einsum("ij,kj->ik", a, b), [(1536, 1024), (1024, 1024)], (1536, 1024, 1024)),
    Case("einsum bij,bjk->bik", lambda np, a, b: np.einsum("bij,bjk->bik", a, b), [(8, 640, 1024), (8, 1024, 640)], (640, 640, 1024, 8)),
    Case("a small one", lambda np, a, b: a @ b, [(48, 40), (40, 56)], (48, 56, 40)),
    Case("matrix times vector", lambda np, a, b: a @ b, [(2048, 2048), (2048,)], (2048, 1, 2048)),
]  # fmt: skip


def share(found, exact, magnitude, depth: int) -> float:
    allowed = checks.sum_error(depth) * magnitude + checks.SMALLEST_SUBNORMAL
    shares = numpy.abs(found.astype(numpy.float64) - exact) / allowed
    return float(numpy.nan_to_num(shares, nan=math.inf).max())


def run_case(checked: checks.Checks, case: Case, np, random: numpy.random.Generator) -> None:
    operands = [numpy.asarray(random.uniform(-1, 1, shape), numpy.float32, order=case.order) for shape in case.shapes]
    wide = [operand.astype(numpy.float64) for operand in operands]
    with checked.attempt(case.name) as result:
        found = on_host(case.function(np, *(np.asarray(operand) for operand in operands)))
        exact, magnitude = case.function(numpy, *wide), case.function(numpy, *map(numpy.abs, wide))
        value = share(found, exact, magnitude, case.product[2]) if found.shape == exact.shape else math.inf
        result.update(passed=value <= 1, detail=f"{value:.2f} of what an FP32 sum may have")
        checked.expect(case.name, *case.product)


def on_host(array) -> numpy.ndarray:
    return array.get() if hasattr(array, "get") else array


def run_linear_algebra(checked: checks.Checks, np, random: numpy.random.Generator, size: int = 3000) -> None:
    a = random.uniform(-1, 1, (size, size)).astype(numpy.float32)
    spd = a @ a.T + size * numpy.eye(size, dtype=numpy.float32)
    right = random.uniform(-1, 1, (size, 500)).astype(numpy.float32)

    def near(result: dict, found, wanted, most: float) -> None:
        far = float(numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted))
        result.update(passed=far < most, detail=f"residual {far:.1e}, relative")

    with checked.attempt("cholesky") as result:
        lower = on_host(np.linalg.cholesky(np.asarray(spd))).astype(numpy.float64)
        near(result, lower @ lower.T, spd, 1e-5)
    with checked.attempt("solve") as result:
        found = on_host(np.linalg.solve(np.asarray(spd), np.asarray(right)))
        near(result, spd.astype(numpy.float64) @ found, right, 1e-4)
    with checked.attempt("inv") as result:
        near(result, spd.astype(numpy.float64) @ on_host(np.linalg.inv(np.asarray(spd))), numpy.eye(size), 1e-3)
    with checked.attempt("qr") as result:
        q, r = (on_host(part).astype(numpy.float64) for part in np.linalg.qr(np.asarray(a[:, :1000])))
        near(result, q @ r, a[:, :1000], 1e-5)
    with checked.attempt("svd") as result:
        u, s, v = (
            on_host(part).astype(numpy.float64)
            for part in np.linalg.svd(np.asarray(a[:600, :400]), full_matrices=False)
        )
        near(result, u * s @ v, a[:600, :400], 1e-5)
    with checked.attempt("eigh") as result:
        s, u = (on_host(part).astype(numpy.float64) for part in np.linalg.eigh(np.asarray(spd[:800, :800])))
        near(result, u * s @ u.T, spd[:800, :800], 1e-5)


def main() -> int:
    parser = checks.options(__doc__)
    parser.add_argument("--numpy", action="store_true", help="NumPy in CuPy's place, to try this program out")
    given = parser.parse_args()
    if not given.numpy and importlib.util.find_spec("cupy") is None:
        sys.exit("cupy_products.py: this Python has no CuPy: python3 -m pip install cupy-cuda13x")
    if given.numpy:
        np = numpy
    else:
        import cupy as np
    checked = checks.Checks(given.json)
    random = numpy.random.default_rng(0)
    for case in CASES:
        run_case(checked, case, np, random)
    run_linear_algebra(checked, np, random, 300 if given.numpy else 3000)
    return checked.end()


if __name__ == "__main__":
    sys.exit(main())
