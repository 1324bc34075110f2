#!/usr/bin/env python3
"""PyTorch's own tests of products and linear algebra, and tensors that are awkward, beside float64 on the CPU.

    python3 tools/conformance/torch_tests.py                              PyTorch as it is
    kernelwright run -- python3 tools/conformance/torch_tests.py          under the drop-in
    python3 tools/conformance/torch_tests.py --ops 'linalg.*' --samples 10

The samples are those of PyTorch's OpInfo database, which its test_ops.py runs: each operator is called on them in
float32, forward and backward, and again in float64 on the CPU. A sample passes within the tolerance of PyTorch's own
comparison of devices (test_compare_cpu: 1e-3, absolute and relative). How many times an error is of assert_close's
stricter one for float32 is told as well, for all.py to compare with that of PyTorch as it is. Then come the tensors of
awkward.py. Needs PyTorch, and the package expecttest, which its test helpers import.
"""

from __future__ import annotations

import contextlib
import fnmatch
import importlib.util
import math
import sys
import warnings

import checks

OPS = """
mm addmm bmm baddbmm addbmm matmul __rmatmul__ mv addmv addr einsum tensordot kron inner outer cdist cov corrcoef matrix_exp
linalg.cholesky linalg.cholesky_ex cholesky_inverse cholesky_solve linalg.lu linalg.lu_factor linalg.lu_factor_ex
linalg.lu_solve linalg.qr geqrf linalg.householder_product ormqr linalg.svd linalg.svdvals linalg.eigh linalg.eigvalsh
linalg.solve linalg.solve_ex linalg.solve_triangular triangular_solve linalg.inv linalg.inv_ex linalg.lstsq linalg.pinv
linalg.matrix_power linalg.multi_dot linalg.det linalg.slogdet linalg.tensorinv linalg.tensorsolve linalg.matrix_norm
linalg.vecdot nn.functional.linear nn.functional.bilinear nn.functional.scaled_dot_product_attention
nn.functional.multi_head_attention_forward nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d
nn.functional.conv_transpose2d
""".split()
FIRST_OUTPUT = ("linalg.lstsq",)  # what follows differs between the CPU's and the GPU's routine
COMPARED = {"rtol": 1e-3, "atol": 1e-3}  # PyTorch's, between devices
STRICT = {"rtol": 1.3e-6, "atol": 1e-5}  # assert_close's for float32
SEED = 0


class Differs(Exception):
    """A result that is not the reference's."""


def exactly(value):
    """The same in float64 on the CPU, a leaf for gradients where the original is one."""
    import torch

    if isinstance(value, torch.Tensor):
        copy = value.detach().cpu()
        copy = copy.double() if copy.is_floating_point() else copy
        return copy.requires_grad_(value.requires_grad)
    return torch.float64 if value is torch.float32 else value


def tensors_of(value) -> list:
    import torch
    from torch.utils._pytree import tree_leaves

    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def share(found, exact, tolerance: dict) -> float:
    """The largest difference in the tolerance; infinite where one has a NaN or an infinity and the other none."""
    import torch

    if found.shape != exact.shape:
        raise Differs(f"the shape is {tuple(found.shape)}, not {tuple(exact.shape)}")
    found = found.detach().cpu()
    if not exact.is_floating_point():
        return 0.0 if torch.equal(found, exact) else math.inf
    found, exact = found.double(), exact.detach()
    same = (found == exact) | (found.isnan() & exact.isnan())
    shares = (found - exact).abs() / (tolerance["atol"] + tolerance["rtol"] * exact.abs())
    shares = torch.where(same, 0.0, torch.nan_to_num(shares, nan=math.inf, posinf=math.inf))
    return float(shares.max()) if shares.numel() else 0.0


def gradients(outputs: list, inputs: list) -> list:
    import torch

    outputs = [output for output in outputs if output.requires_grad]
    if not outputs or not inputs:
        return []
    torch.manual_seed(SEED + 1)
    seeds = [torch.randn(output.shape).to(output) for output in outputs]
    found = torch.autograd.grad(outputs, inputs, seeds, allow_unused=True)
    return [gradient for gradient in found if gradient is not None]


def results(op, sample, backward: bool) -> tuple[list, list]:
    """Outputs, and gradients of the inputs that want one."""
    output = sample.output_process_fn_grad(op.op(sample.input, *sample.args, **sample.kwargs))
    outputs = tensors_of(output)[: 1 if op.name in FIRST_OUTPUT else None]
    inputs = [tensor for tensor in tensors_of((sample.input, sample.args, sample.kwargs)) if tensor.requires_grad]
    return outputs, gradients(outputs, inputs) if backward else []


def is_random(op, exact) -> bool:
    """Dropout, say: two calls differ."""
    import torch

    first, second = (results(op, exact, backward=False)[0] for _ in range(2))
    return not all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(first, second, strict=True))


def compare(op, sample, backward: bool) -> dict[str, tuple[float, float]] | None:
    """Forward, and backward where it exists: the differences in the two tolerances. None for a sample that is random."""
    exact = sample.transform(exactly)
    if is_random(op, exact):
        return None
    wanted, found = results(op, exact, backward), results(op, sample, backward)
    shares = {}
    for what, here, there in zip(("forward", "backward"), found, wanted, strict=True):
        if len(here) != len(there):
            raise Differs(f"{what} gives {len(here)} tensors, not {len(there)}")
        pairs = list(zip(here, there, strict=True))
        if pairs:
            shares[what] = tuple(max(share(a, b, t) for a, b in pairs) for t in (COMPARED, STRICT))
    return shares


def evenly(items: list, most: int) -> list:
    return items if len(items) <= most else [items[round((i + 1) * len(items) / most) - 1] for i in range(most)]


def without_cudnn(op):
    """Convolutions are products of cuBLAS only where cuDNN is off."""
    import torch

    off = op.name.startswith("nn.functional.conv")
    return torch.backends.cudnn.flags(enabled=False) if off else contextlib.nullcontext()


def run_op(checked: checks.Checks, op, device: str, most_samples: int) -> None:
    import torch

    torch.manual_seed(SEED)
    name = f"{op.name}.{op.variant_test_name}".removesuffix(".")
    with checked.attempt(name) as result:
        samples = list(enumerate(op.sample_inputs(device, torch.float32, requires_grad=op.supports_autograd)))
        worst, failures, done = {}, [], 0
        for number, sample in evenly(samples, most_samples):
            try:
                with without_cudnn(op):
                    shares = compare(op, sample, op.supports_autograd)
            except Exception as error:  # a sample that raises is one that fails
                failures.append(f"{number}: {checks.first_line(error)}")
                continue
            if shares is None:
                continue
            done += 1
            for what, (compared, strict) in shares.items():
                worst[what] = max(worst.get(what, 0.0), strict)
                if not compared <= 1:
                    failures.append(f"{number} {what}: {compared:.3g} times the tolerance")
        said = ", ".join(f"{what} {value:.2g}" for what, value in worst.items())
        result["detail"] = failures[0] if failures else f"{done} samples; worst in assert_close's tolerance: {said}"
        result["passed"] = not failures
        result["samples"], result["failures"] = done, failures
        result["worst"] = {what: min(value, 1e30) for what, value in worst.items()}  # JSON has no infinities


def operators(patterns: str) -> list:
    # By itself, as it takes seconds to import.
    from torch.testing._internal.common_methods_invocations import op_db

    chosen = [name for name in OPS if any(fnmatch.fnmatch(name, pattern) for pattern in patterns.split(","))]
    return [op for op in op_db if op.name in chosen and op.variant_test_name != "singular"]


def main() -> int:
    parser = checks.options(__doc__)
    parser.add_argument("--ops", default="*", metavar="LIST", help="names or patterns, by commas; '' for none")
    parser.add_argument("--samples", type=int, default=24, metavar="N", help="at most of an operator (24)")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: to try this program out")
    parser.add_argument("--no-awkward", action="store_true", help="PyTorch's samples alone")
    parser.add_argument("--small", action="store_true", help="no tensors of gigabytes")
    given = parser.parse_args()
    for module, way_out in (("torch", "torch"), ("expecttest", "expecttest (a wheel of 10 KB)")):
        if importlib.util.find_spec(module) is None:
            sys.exit(f"torch_tests.py: this Python has no {module}: python3 -m pip install {way_out}")
    import torch

    if given.device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch_tests.py: PyTorch sees no CUDA device; --device cpu tries the program out without.")
    warnings.simplefilter("ignore")  # of deprecated names
    torch.set_float32_matmul_precision("highest")
    checked = checks.Checks(given.json)
    for op in operators(given.ops):
        run_op(checked, op, given.device, given.samples)
    if not given.no_awkward:
        import awkward

        awkward.run(checked, given.device, given.small)
    return checked.end()


if __name__ == "__main__":
    sys.exit(main())
