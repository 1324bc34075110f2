"""XLA's dots of float32 at precision HIGHEST, served by Kernelwright within `kernelwright.jax.enable`.

How `jax.lax.dot_general` becomes a call of XLA is replaced by a rule that asks a context of JAX what to do. The context is
part of what JAX's caches of compiled functions are looked up by, so a function is compiled anew within it, and not kept
for outside.
"""

import math as _math

import jax
from jax.interpreters import mlir

from ._errors import InvalidArgumentError, UnsupportedError

_HIGHEST = (jax.lax.Precision.HIGHEST, jax.lax.Precision.HIGHEST)
# Of (math, smallest, platforms); None: nothing is served.
_context = jax.make_user_context(None) if hasattr(jax, "make_user_context") else None
_replaced = set()  # platforms


def _is_served(smallest, avals, result, dimension_numbers, precision):
    lhs, rhs = avals
    if any(aval.dtype != "float32" for aval in (lhs, rhs, result)) or precision != _HIGHEST:
        return False
    if not all(isinstance(size, int) for aval in (lhs, rhs) for size in aval.shape):
        return False
    (contracted, _), _ = dimension_numbers
    return result.size * _math.prod(lhs.shape[i] for i in contracted) >= max(smallest, 1)


def _replace(platform, dot_general):
    from jax._src.interpreters import mlir as rules

    known = rules._platform_specific_lowerings[platform].get(jax.lax.dot_general_p) or rules._lowerings[jax.lax.dot_general_p]
    original = getattr(known, "rule", known)

    def lower(ctx, lhs, rhs, *, dimension_numbers, precision, **others):
        asked = _context.value
        if asked is not None:
            math, smallest, platforms = asked
            (result,) = ctx.avals_out
            if platform in platforms and _is_served(smallest, ctx.avals_in, result, dimension_numbers, precision):
                served = mlir.lower_fun(lambda a, b: dot_general(a, b, dimension_numbers, math=math), multiple_results=False)
                return served(ctx, lhs, rhs)
        return original(ctx, lhs, rhs, dimension_numbers=dimension_numbers, precision=precision, **others)

    mlir.register_lowering(jax.lax.dot_general_p, lower, platform=platform)
    _replaced.add(platform)


def enable(math, smallest, devices, dot_general):
    """The context of `kernelwright.jax.enable`."""
    if _context is None:
        raise UnsupportedError(f"enable takes a JAX that has make_user_context, and this is {jax.__version__}: update jax")
    if math not in ("fp32", "fp32_split"):
        raise InvalidArgumentError(f"math is {math!r}: pass 'fp32' or 'fp32_split'")
    unknown = set(devices) - {"cuda", "cpu"}
    if unknown:
        raise InvalidArgumentError(f"devices has {', '.join(sorted(unknown))}: pass 'cuda' or 'cpu'")
    for platform in devices:
        if platform not in _replaced:
            _replace(platform, dot_general)
    return _context((math, smallest, tuple(sorted(devices))))
