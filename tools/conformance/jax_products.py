#!/usr/bin/env python3
"""Products of jax.numpy in float32 with precision="highest", compiled and not, beside float64 of NumPy.

    kernelwright run --report run.json -- python3 tools/conformance/jax_products.py --json products.json
    XLA_FLAGS=--xla_gpu_enable_triton_gemm=false kernelwright run -- python3 tools/conformance/jax_products.py

XLA times cuBLAS against kernels that it makes itself (Triton) and takes the faster; the flag leaves cuBLAS alone. With
--json, all.py looks each product up in the report of `kernelwright run`. Needs JAX with CUDA.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import checks
import numpy

HIGHEST = "highest"


@dataclass
class Case:
    name: str
    function: Callable  # of jax.numpy and the operands
    shapes: list[tuple[int, ...]]
    product: tuple[int, ...]  # m, n, k, batch of the product that XLA is to ask for


def einsum(pattern: str) -> Callable:
    return lambda np, *operands: np.einsum(pattern, *operands, **precision_of(np))


def precision_of(np) -> dict:
    return {} if np is numpy else {"precision": HIGHEST}


def matmul(np, a, b):
    return np.matmul(a, b, **precision_of(np))


def dot_general(contracting, batch) -> Callable:
    def function(np, a, b):
        if np is not numpy:
            import jax

            return jax.lax.dot_general(a, b, (contracting, batch), precision=HIGHEST)
        assert (contracting, batch) == (((1,), (2,)), ((0,), (1,)))
        return numpy.einsum("bkm,nbk->bmn", a, b)

    return function


CASES = [
    Case("matmul", matmul, [(1024, 1024), (1024, 1024)], (1024, 1024, 1024)),
    Case("matmul, odd sizes", matmul, [(1999, 1501), (1501, 1777)], (1999, 1777, 1501)),
    Case("left operand turned", lambda np, a, b: matmul(np, a.T, b), [(2000, 1024), (2000, 1536)], (1024, 1536, 2000)),
    Case("right operand turned", lambda np, a, b: matmul(np, a, b.T), [(1024, 2048), (1280, 2048)], (1024, 1280, 2048)),
    Case("dot", lambda np, a, b: np.dot(a, b, **precision_of(np)), [(2048, 512), (512, 2048)], (2048, 2048, 512)),
    Case("tensordot", lambda np, a, b: np.tensordot(a, b, 2, **precision_of(np)), [(1024, 32, 32), (32, 32, 1024)], (1024, 1024, 1024)),
    Case("batched matmul", matmul, [(12, 512, 768), (12, 768, 512)], (512, 512, 768, 12)),
    Case("einsum ij,kj->ik", einsum("ij,kj->ik"), [(1536, 1024), (1024, 1024)], (1536, 1024, 1024)),
    Case("einsum bij,bjk->bik", einsum("bij,bjk->bik"), [(8, 640, 1024), (8, 1024, 640)], (640, 640, 1024, 8)),
    Case("einsum of attention", einsum("bqhd,bkhd->bhqk"), [(2, 1024, 8, 256), (2, 1024, 8, 256)], (1024, 1024, 256, 16)),
    Case("einsum of a layer", einsum("bsi,io->bso"), [(4, 512, 1024), (1024, 2048)], (2048, 2048, 1024)),
    Case("dot_general", dot_general(((1,), (2,)), ((0,), (1,))), [(6, 1024, 512), (640, 6, 1024)], (512, 640, 1024, 6)),
    Case("a small one", matmul, [(48, 40), (40, 56)], (48, 56, 40)),
    Case("matrix times vector", matmul, [(2048, 2048), (2048,)], (2048, 1, 2048)),
]  # fmt: skip


def share(found, exact, magnitude, depth: int) -> float:
    allowed = checks.sum_error(depth) * magnitude + checks.SMALLEST_SUBNORMAL
    shares = numpy.abs(numpy.asarray(found, numpy.float64) - exact) / allowed
    return float(numpy.nan_to_num(shares, nan=math.inf).max())


def judge(result: dict, found, exact, magnitude, depth: int) -> None:
    value = share(found, exact, magnitude, depth) if found.shape == exact.shape else math.inf
    result.update(passed=value <= 1, detail=f"{value:.2f} of what an FP32 sum may have")


def run_case(checked: checks.Checks, case: Case, random: numpy.random.Generator) -> None:
    import jax
    import jax.numpy as jnp

    operands = [random.uniform(-1, 1, shape).astype(numpy.float32) for shape in case.shapes]
    wide = [operand.astype(numpy.float64) for operand in operands]
    exact, magnitude = case.function(numpy, *wide), case.function(numpy, *map(numpy.abs, wide))
    depth = case.product[2]
    there = [jax.device_put(operand) for operand in operands]
    plain = lambda *given: case.function(jnp, *given)  # noqa: E731
    for how, function in (("as it is", plain), ("compiled", jax.jit(plain))):
        with checked.attempt(f"{case.name}, {how}") as result:
            judge(result, function(*there), exact, magnitude, depth)
            checked.expect(case.name, *case.product)


def run_programs(checked: checks.Checks, random: numpy.random.Generator) -> None:
    """Products within larger compiled functions."""
    import jax
    import jax.numpy as jnp

    x, w = (random.uniform(-1, 1, (1024, 1024)).astype(numpy.float32) for _ in range(2))

    def loss(w, x):
        return jnp.sum(jnp.tanh(jnp.matmul(x, w, precision=HIGHEST) / 32))

    with checked.attempt("gradient of a layer") as result:
        found = jax.jit(jax.grad(loss))(w, x)
        seed = (1 - numpy.tanh(x.astype(numpy.float64) @ w / 32) ** 2) / 32
        # The seed has an error of its own, of the first product.
        judge(result, found, x.T.astype(numpy.float64) @ seed, 2 * numpy.abs(x.T) @ numpy.abs(seed), 1024)
        checked.expect("gradient of a layer", 1024, 1024, 1024)

    with checked.attempt("ten products in a loop") as result:
        turn = numpy.linalg.qr(w.astype(numpy.float64))[0].astype(numpy.float32)
        found = jax.jit(lambda x, w: jax.lax.fori_loop(0, 10, lambda _, y: jnp.matmul(y, w, precision=HIGHEST), x))(
            x, turn
        )
        exact = x.astype(numpy.float64) @ numpy.linalg.matrix_power(turn.astype(numpy.float64), 10)
        far = float(numpy.linalg.norm(found - exact) / numpy.linalg.norm(exact))
        result.update(passed=far < 1e-5, detail=f"{far:.1e} from float64's, relative")

    with checked.attempt("vmap of a product") as result:
        a, b = (random.uniform(-1, 1, (8, 512, 512)).astype(numpy.float32) for _ in range(2))
        found = jax.jit(jax.vmap(lambda a, b: jnp.matmul(a, b, precision=HIGHEST)))(a, b)
        judge(result, found, a.astype(numpy.float64) @ b, numpy.abs(a).astype(numpy.float64) @ numpy.abs(b), 512)

    spd = x @ x.T + 1024 * numpy.eye(1024, dtype=numpy.float32)
    with checked.attempt("cholesky") as result:
        with jax.default_matmul_precision(HIGHEST):
            found = numpy.asarray(jnp.linalg.cholesky(jnp.asarray(spd)), numpy.float64)
        far = float(numpy.linalg.norm(found @ found.T - spd) / numpy.linalg.norm(spd))
        result.update(passed=far < 1e-5, detail=f"residual {far:.1e}, relative")
    with checked.attempt("solve") as result:
        with jax.default_matmul_precision(HIGHEST):
            found = numpy.asarray(jnp.linalg.solve(jnp.asarray(spd), jnp.asarray(w)), numpy.float64)
        far = float(numpy.linalg.norm(spd.astype(numpy.float64) @ found - w) / numpy.linalg.norm(w))
        result.update(passed=far < 1e-4, detail=f"residual {far:.1e}, relative")


def main() -> int:
    parser = checks.options(__doc__)
    parser.add_argument("--any-device", action="store_true", help="also without a GPU, to try this program out")
    given = parser.parse_args()
    if importlib.util.find_spec("jax") is None:
        sys.exit("jax_products.py: this Python has no JAX: python3 -m pip install 'jax[cuda13]'")
    import jax

    if jax.default_backend() != "gpu" and not given.any_device:
        sys.exit("jax_products.py: JAX sees no CUDA device; --any-device tries the program out without.")
    checked = checks.Checks(given.json)
    random = numpy.random.default_rng(0)
    for case in CASES:
        run_case(checked, case, random)
    run_programs(checked, random)
    return checked.end()


if __name__ == "__main__":
    sys.exit(main())
