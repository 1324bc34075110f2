"""Attention, forward, of float32 arrays."""

from typing import Any, Literal, Optional, Union

from . import _core
from ._errors import InvalidArgumentError

Math = Literal["fp32", "fp32_split"]
Causal = Union[bool, Literal["from_start", "from_end"]]

_RULES = {False: 0, None: 0, "none": 0, "from_start": 1, True: 2, "from_end": 2}


def attention(
    q: Any, k: Any, v: Any, *, causal: Causal = False, mask: Any = None, scale: Optional[float] = None, out: Any = None,
    math: Math = "fp32", stream: Optional[int] = None,
) -> Any:  # fmt: skip
    """softmax(scale · q kᵀ + mask) v for each head of each entry of a batch, without the scores in memory.

    q       (batch, heads, queries, dim), dim at most 256; leading dimensions may be missing.
    k, v    (batch, kv_heads, keys, dim); heads is a multiple of kv_heads, which as many query heads share.
    causal  "from_start": query t sees keys 0 to t. True or "from_end": the last query sees all keys, as with a cache.
    mask    (batch, heads, queries, keys), added to the scaled products; all but its last dimension may be 1 or missing.
            -inf hides a key. A query that sees no key has zeros in the result.
    scale   1/√dim where none is given.
    out     Of q's size, with dense rows; shares no element with what is read.
    math    "fp32" or "fp32_split", as in `matmul`; the latter is no less accurate than two FP32 products and a softmax.
    stream  A cudaStream_t as an int; by default that of the arrays' package.

    Strides are free but for rows, whose elements are neighbours; others are copied, with a CopyWarning.
    InvalidArgumentError: sizes that do not fit, arrays on different devices. TypeError: elements that are not float32.

    >>> import numpy as np, kernelwright as kw
    >>> q = np.zeros((1, 1, 1, 2), np.float32)
    >>> kw.attention(q, np.zeros((1, 1, 3, 2), np.float32), np.arange(6, dtype=np.float32).reshape(1, 1, 3, 2))
    array([[[[2., 3.]]]], dtype=float32)
    """
    if not isinstance(causal, (bool, str, type(None))) or causal not in _RULES:
        raise InvalidArgumentError(f"causal is {causal!r}: pass True, False, 'from_start' or 'from_end'")
    return _core.attention(q, k, v, out, mask, scale, _RULES[causal], math, stream, False)
