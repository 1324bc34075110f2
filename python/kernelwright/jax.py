"""Kernelwright's products for JAX: within jit, vmap and grad, in float32.

    import kernelwright.jax
    y = kernelwright.jax.matmul(x, w)
    y = kernelwright.jax.dot_general(x, w, (((1,), (0,)), ((), ())))
    with kernelwright.jax.enable(), jax.default_matmul_precision("highest"):   # XLA's own dots of float32
        loss = jax.jit(jax.grad(f))(x, w)

A product is one call from XLA on the stream that XLA gives it (jax.ffi); vmap makes it a batch, and its gradients are
products of the same arithmetic. How arrays are spread over devices is XLA's to say: it gathers what a call takes.
"""

import functools
import math as _math

import jax
import jax.numpy as jnp

from . import _core, _jax_enable
from ._errors import InvalidArgumentError

__all__ = ["dot_general", "enable", "matmul"]

_MATHS = {"fp32": 0, "fp32_split": 1}

if not hasattr(_core, "xla_matmul_cpu"):
    raise ImportError("this build of kernelwright has no calls for XLA: build it with KW_JAX_INCLUDE")
jax.ffi.register_ffi_target("kernelwright_matmul", _core.xla_matmul_cpu, platform="cpu")
jax.ffi.register_ffi_target("kernelwright_matmul", _core.xla_matmul_gpu, platform="CUDA")


def _call(a, b, turned, math):
    """a @ b of (..., m, k) and (..., k, n); bit 0 of `turned`: a is stored (..., k, m), bit 1: b (..., n, k)."""
    m = a.shape[-1] if turned & 1 else a.shape[-2]
    n = b.shape[-2] if turned & 2 else b.shape[-1]
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    result = jax.ShapeDtypeStruct((*batch, m, n), jnp.float32)
    # Of a batch dimension that one operand lacks, vmap gives it one of length 1, which repeats.
    call = jax.ffi.ffi_call("kernelwright_matmul", result, vmap_method="expand_dims")
    return call(a, b, turned=turned, math=math)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def _product(a, b, turned, math):
    return _call(a, b, turned, math)


def _forward(a, b, turned, math):
    return _product(a, b, turned, math), (a, b)


def _backward(turned, math, kept, gradient):
    a, b = kept
    a_turned, b_turned = bool(turned & 1), bool(turned & 2)
    # da = g bᵀ, or its transpose b gᵀ where a is stored turned; db likewise.
    if a_turned:
        of_a = _product(b, gradient, (1 if b_turned else 0) | 2, math)
    else:
        of_a = _product(gradient, b, 0 if b_turned else 2, math)
    if b_turned:
        of_b = _product(gradient, a, 1 | (2 if a_turned else 0), math)
    else:
        of_b = _product(a, gradient, 0 if a_turned else 1, math)
    return _summed_to(of_a, a.shape), _summed_to(of_b, b.shape)


def _summed_to(x, shape):
    """Over the batch dimensions that were repeated."""
    extra = x.ndim - len(shape)
    axes = [*range(extra), *(extra + i for i, size in enumerate(shape) if size == 1 and x.shape[extra + i] != 1)]
    return (x.sum(axes) if axes else x).reshape(shape)


_product.defvjp(_forward, _backward)


def _checked(math, *arrays):
    if math not in _MATHS:
        raise InvalidArgumentError(f"math is {math!r}: pass 'fp32' or 'fp32_split'")
    arrays = [jnp.asarray(array) for array in arrays]
    for name, array in zip("ab", arrays):
        if array.dtype != jnp.float32:
            raise TypeError(f"{name} has elements of type {array.dtype}: convert it to float32")
    return arrays


def matmul(a, b, *, math: str = "fp32_split"):
    """a @ b of float32 arrays, as jax.numpy.matmul has it.

    a     (..., m, k), or a vector of k elements.
    b     (..., k, n), or a vector of k elements.
    math  "fp32_split" (no less accurate than FP32) or "fp32"; the gradients' products take the same.

    ValueError: sizes that do not fit. TypeError: elements that are not float32.
    """
    a, b = _checked(math, a, b)
    if a.ndim == 0 or b.ndim == 0:
        raise InvalidArgumentError("a and b must have a dimension: pass vectors, matrices or batches of them")
    one_row, one_column = a.ndim == 1, b.ndim == 1
    a, b = a[None] if one_row else a, b[:, None] if one_column else b
    if a.shape[-1] != b.shape[-2]:
        raise InvalidArgumentError(f"a has {a.shape[-1]} columns and b has {b.shape[-2]} rows, which must be as many")
    c = _product(a, b, 0, _MATHS[math])
    c = c[..., 0] if one_column else c
    return c[..., 0, :] if one_row and not one_column else c[..., 0] if one_row else c


def dot_general(lhs, rhs, dimension_numbers, *, math: str = "fp32_split"):
    """jax.lax.dot_general of float32 arrays: ((contracted of lhs, of rhs), (batch of lhs, of rhs)).

    The result has the batch dimensions, then what is left of lhs, then of rhs. Where the contracted dimensions are the
    first or the last ones beside the batch, arrays are used as they lie; else XLA transposes them. Errors as `matmul`.
    """
    lhs, rhs = _checked(math, lhs, rhs)
    (lhs_contracted, rhs_contracted), (lhs_batch, rhs_batch) = dimension_numbers
    for one, other, what in ((lhs_contracted, rhs_contracted, "contracted"), (lhs_batch, rhs_batch, "batch")):
        if [lhs.shape[i] for i in one] != [rhs.shape[i] for i in other]:
            raise InvalidArgumentError(f"{what} dimensions {tuple(one)} of {lhs.shape} and {tuple(other)} of {rhs.shape} differ")
    # The contracted dimensions in one order for both; the other operand follows the first one's.
    order = sorted(range(len(lhs_contracted)), key=lambda i: lhs_contracted[i])
    a, a_turned, a_free = _as_matrices(lhs, [lhs_contracted[i] for i in order], lhs_batch)
    b, b_turned, b_free = _as_matrices(rhs, [rhs_contracted[i] for i in order], rhs_batch)
    # Of b, rows that lie along the contracted dimension are the transpose of what a product takes.
    c = _product(a, b, (1 if a_turned else 0) | (0 if b_turned else 2), _MATHS[math])
    return c.reshape(tuple(lhs.shape[i] for i in lhs_batch) + a_free + b_free)


def enable(math: str = "fp32_split", *, smallest: int = 0, devices=("cuda",)):
    """A context in which XLA's own float32 dots of precision HIGHEST are computed by Kernelwright.

        with kernelwright.jax.enable(), jax.default_matmul_precision("highest"):
            y = f(x)

    All that JAX makes of dot_general is served: matmul, einsum, gradients, vmap, functions under jit, which are compiled
    anew for this context; what was compiled outside of it stays as it was. Other precisions and types go to XLA.

    math      "fp32_split" (no less accurate than FP32) or "fp32".
    smallest  Dots of fewer multiplications stay XLA's.
    devices   Of which platform: ("cuda",), or with "cpu" for tests.

    UnsupportedError: a JAX without `jax.make_user_context`.
    """
    return _jax_enable.enable(math, smallest, devices, dot_general)


def _as_matrices(x, contracted, batch):
    """x as (batch, free, contracted), or turned as (batch, contracted, free) where it lies so; and its free sizes."""
    free = [i for i in range(x.ndim) if i not in contracted and i not in batch]
    here = [i for i in range(x.ndim) if i not in batch]
    turned = here == [*contracted, *free] and here != [*free, *contracted]
    order = [*batch, *contracted, *free] if turned else [*batch, *free, *contracted]
    if order != list(range(x.ndim)):
        x = x.transpose(order)
    shape = x.shape
    sizes = tuple(shape[len(batch) + (len(contracted) if turned else 0) :][: len(free)])
    first = len(contracted) if turned else len(free)
    rows = _math.prod(shape[len(batch) : len(batch) + first])
    columns = _math.prod(shape[len(batch) + first :])
    return x.reshape(*shape[: len(batch)], rows, columns), turned, sizes
